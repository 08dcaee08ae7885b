//! Gives the engine an identity that is stored with results: `WIFAIR_ENGINE`, a hash of the sources of all crates and of the
//! locked dependencies.
//!
//! Comment lines and empty lines are ignored, as are the location of the files, the compiler and its options: none of them
//! changes a result (the engine gives the same bits on any machine).

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("this crate lies among the others");
    let lock = crates.parent().expect("the crates lie in the workspace").join("Cargo.lock");
    let mut files = vec![];
    let mut folders: Vec<PathBuf> = entries(crates)?.into_iter().map(|folder| folder.join("src")).collect();
    folders.retain(|folder| folder.is_dir());
    while let Some(folder) = folders.pop() {
        println!("cargo::rerun-if-changed={}", folder.display());
        let (inner, sources): (Vec<_>, Vec<_>) =
            entries(&folder)?.into_iter().partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(sources);
    }
    // By name with `/`, so that the order is the same everywhere.
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|path| (name(&path, crates), path)).collect();
    named.sort();
    named.push(("Cargo.lock".into(), lock.clone()));
    println!("cargo::rerun-if-changed={}", lock.display());
    let mut hash = Fnv::new();
    for (name, path) in named {
        hash.add(name.as_bytes());
        for line in fs::read_to_string(&path)?.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with("//") {
                hash.add(line.as_bytes());
            }
        }
    }
    println!("cargo::rustc-env=WIFAIR_ENGINE={:016x}", hash.0);
    Ok(())
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn name(path: &Path, root: &Path) -> String {
    let below = path.strip_prefix(root).expect("it was found there");
    below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// FNV-1a, 64 bits: the standard library's hashes may change with its version.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a text and the end of it.
    fn add(&mut self, text: &[u8]) {
        for byte in text.iter().chain(b"\n") {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
