//! Runs one replication of a plan, given as a JSON file, on so many threads, and prints how many frame exchanges all its BSSs
//! had in the measured time, and a hash of its record: for instructions per exchange of a building, and to compare two builds.
//! With `fingerprint` it prints the hash of the trajectory instead. `benches/building.py --plan` writes the plan of a building.

use wifair_sim::{Plan, fingerprint, run_on};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, threads) = match arguments.as_slice() {
        [path] => (path, Some(1)),
        [path, word] if word == "fingerprint" => (path, None),
        [path, threads] if threads.parse::<usize>().is_ok() => (path, threads.parse().ok()),
        _ => {
            eprintln!("usage: building PLAN.json [THREADS | fingerprint]");
            std::process::exit(2);
        }
    };
    let plan = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let plan = plan.and_then(|json| Plan::from_json(&json).map_err(|error| error.to_string()));
    let plan = plan.unwrap_or_else(|error| {
        eprintln!("{path}: {error}");
        std::process::exit(2);
    });
    let Some(threads) = threads else {
        return println!("{:016x}", fingerprint(&plan, 1).expect("a valid plan"));
    };
    let record = run_on(threads, &plan, 1, &mut |_| true).expect("a valid plan").expect("nobody cancels");
    let exchanges: u64 = record.bsss.iter().map(|bss| bss.exchanges).sum();
    let hash = format!("{record:?}").bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    println!("{exchanges} {hash:016x}");
}
