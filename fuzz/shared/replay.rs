//! The corpus of a fuzz target as a test: what was found stays found, without a fuzzer.

use std::path::Path;

use wifair_core::Rng;

/// Variants of a target's inputs together under `WIFAIR_VALIDATE`.
const VARIANTS: usize = 30_000;

/// Runs `check` on every input that is kept for `target`, and on what is easily forgotten; with `WIFAIR_VALIDATE=1` on
/// many inputs with some bytes changed as well.
pub fn replay(target: &str, check: impl Fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let listed = std::fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut files: Vec<_> = listed.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", corpus.display());
    let validate = std::env::var_os("WIFAIR_VALIDATE").is_some_and(|v| v == "1");
    let variants = if validate { VARIANTS.div_ceil(files.len()) } else { 0 };
    for file in files {
        let input = std::fs::read(&file).unwrap();
        let name = file.file_name().expect("a file").to_string_lossy();
        told(&name, &input, &check);
        let mut rng = Rng::stream(1, &name, "variants");
        for variant in 0..variants {
            told(&format!("{name}, variant {variant}"), &changed(&input, &mut rng), &check);
        }
    }
    for input in [&[][..], &[0; 64], &[255; 64]] {
        told("constant", input, &check);
    }
}

/// Says which input it was when a check panics, and keeps the bytes.
fn told(name: &str, input: &[u8], check: impl Fn(&[u8])) {
    struct OnPanic<'a>(&'a str, &'a [u8]);
    impl Drop for OnPanic<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the input was {}: {:?}", self.0, self.1);
            }
        }
    }
    let _told = OnPanic(name, input);
    check(input);
}

/// A few bytes are others, or go, or come.
fn changed(input: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut below = |n: usize| (rng.unit() * n as f64) as usize;
    for _ in 0..=below(4) {
        let at = below(bytes.len() + 1);
        let length = (1 + below(8)).min(bytes.len() - at);
        let new: Vec<u8> = (0..below(9)).map(|_| below(256) as u8).collect();
        bytes.splice(at..at + length, new);
    }
    bytes
}
