//! The corpus of a fuzz target as a test: what was found stays found, without a fuzzer.

use std::io::Read;
use std::path::Path;

use wifair_core::Rng;

/// Variants of a target's inputs together under `WIFAIR_VALIDATE`.
const VARIANTS: usize = 30_000;

/// Runs `check` on every input that is kept for `target`, and on what is easily forgotten; with `WIFAIR_VALIDATE=1` on
/// many inputs with some bytes changed as well.
pub fn replay(target: &str, check: impl Fn(&[u8])) {
    let inputs = kept(target);
    assert!(!inputs.is_empty(), "the corpus of {target} is empty");
    let validate = std::env::var_os("WIFAIR_VALIDATE").is_some_and(|v| v == "1");
    let variants = if validate { VARIANTS.div_ceil(inputs.len()) } else { 0 };
    for (name, input) in inputs {
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

/// The names and contents of the inputs in a target's archive, in its order: by name.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fuzz/corpus/{target}.tar"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(file);
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().to_string_lossy().into_owned(), content)
        })
        .collect()
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
