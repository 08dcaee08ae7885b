//! Every script of `tests/scripts` holds, and a script that is wrong fails.

use crate::script;

use std::path::{Path, PathBuf};

fn script_paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tcp"));
    paths.sort();
    paths
}

#[test]
fn every_script_holds() {
    let paths = script_paths();
    let failures: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let error = script::run(&std::fs::read_to_string(path).unwrap()).err()?;
            Some(format!("{}: {error}", path.file_name().unwrap().to_string_lossy()))
        })
        .collect();
    assert!(paths.len() >= 60, "only {} scripts found", paths.len());
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// The patterns between backticks in the last column of the table in the scripts' README.
fn named_in_the_table() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("| source | rule | scripts |").nth(1).expect("the table of rules");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let columns: Vec<&str> = rows.map(|row| row.split('|').nth(3).expect("three columns")).collect();
    assert!(columns.len() >= 40, "only {} rules found", columns.len());
    let quoted = columns.iter().flat_map(|column| column.split('`').skip(1).step_by(2));
    quoted.filter(|name| !name.ends_with(".rs")).map(String::from).collect()
}

/// Whether `name` matches `pattern`, in which a `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().any(|(at, _)| matches(after, &rest[at..])) || after.is_empty()
        }),
    }
}

#[test]
fn the_table_of_rules_names_every_script_and_no_other() {
    let patterns = named_in_the_table();
    let names: Vec<String> =
        script_paths().iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let missing: Vec<_> = patterns.iter().filter(|p| !names.iter().any(|name| matches(p, name))).collect();
    let unnamed: Vec<_> = names.iter().filter(|name| !patterns.iter().any(|p| matches(p, name))).collect();
    assert!(missing.is_empty(), "the README names scripts that do not exist: {missing:?}");
    assert!(unnamed.is_empty(), "scripts that the README does not name: {unnamed:?}");
}

const GOOD: &str = "end sender\n0 open\n0 > syn 0\n = cwnd 3 timer 1\n";

#[test]
fn a_good_script_passes() {
    script::run(GOOD).unwrap();
}

#[test]
fn what_is_not_understood_fails() {
    for (wrong, why) in [
        ("end sender\n", "nothing happens"),
        ("0 open\n", "no line `end"),
        ("end middle\n0 open\n", "no end"),
        ("end sender\noption mss 3\n0 open\n", "unknown field"),
        ("end sender\noption mss_bytes 0\n0 open\n", "mss_bytes"),
        ("end sender\noption congestion_control.name vegas\n0 open\n", "vegas"),
        ("end sender\n0 opne\n", "no step"),
        ("end sender\n1 open\n0 > syn 0\n", "backwards"),
        ("end sender\n-1 open\n", "no time"),
        ("end sender\n0 open\n0 > sin 0\n", "no packet"),
        ("end sender\n0 open\n0 > data 5:5\n", "no range"),
        ("end sender\n0 open\n0 > syn 0\n = cwnd\n", "pairs"),
        ("end sender\n0 open\n0 > syn 0\n = dwnd 3\n", "cannot be asserted"),
        ("end receiver\n0 write 5\n", "no such call"),
    ] {
        let error = script::run(wrong).expect_err(wrong);
        assert!(error.contains(why), "{wrong:?} gave: {error}");
    }
}

#[test]
fn what_does_not_happen_fails() {
    for (wrong, why) in [
        ("end sender\n0 open\n0 > syn 1\n", "expected"),
        ("end sender\n0 open\n0.1 > syn 0\n", "came out at 0 s"),
        ("end sender\n0 open\n0.1 write 5\n", "unexpected"),
        ("end sender\n0 open\n0 > syn 0\n0 > ack 1\n", "nothing came out"),
        ("end sender\n0 open\n", "after the last line"),
        ("end sender\n0 open\n0 > syn 0\n = cwnd 4\n", "cwnd is 3, not 4"),
        ("end sender\n0 open\n0 > syn 0\n = timer 1.1\n", "timer is"),
        ("end sender\n0 open\n0 > syn 0\n1.5 write 1\n", "unexpected: 1 "),
    ] {
        let error = script::run(wrong).expect_err(wrong);
        assert!(error.contains(why), "{wrong:?} gave: {error}");
    }
}
