//! Sysctls of a host's network namespace. As root a host could write those of the machine, too: not below `net.`, and older
//! kernels show some of the machine's in every namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/proc/sys";

fn path(root: &Path, key: &str) -> PathBuf {
    root.join(key.replace('.', "/"))
}

/// Writes a sysctl of this thread's network namespace.
///
/// # Errors
/// Returns the key and why it cannot be written.
pub fn write(key: &str, value: &str) -> Result<(), String> {
    let why = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            "this key is the machine's, not a host's".to_owned()
        }
        _ => error.to_string(),
    };
    fs::write(path(Path::new(ROOT), key), value)
        .map_err(|error| format!("sysctl {key}={value}: {}", why(error)))
}

/// The machine's values of some sysctls.
pub struct Machine {
    root: PathBuf,
    values: Vec<(String, String)>,
}

impl Machine {
    /// Reads them in this thread's network namespace; `sysctls` are keys and the values wanted for hosts.
    pub fn read(sysctls: &[(String, String)]) -> Machine {
        Machine::below(Path::new(ROOT), sysctls)
    }

    fn below(root: &Path, sysctls: &[(String, String)]) -> Machine {
        let value = |key: &String| Some((key.clone(), fs::read_to_string(path(root, key)).ok()?));
        Machine { root: root.to_owned(), values: sysctls.iter().filter_map(|(key, _)| value(key)).collect() }
    }

    /// Writes back what has changed since.
    ///
    /// # Errors
    /// Returns the key that had changed.
    pub fn restore(&self) -> Result<(), String> {
        for (key, value) in &self.values {
            let path = path(&self.root, key);
            if fs::read_to_string(&path).is_ok_and(|now| now != *value) {
                let done = match fs::write(&path, value.trim_end()) {
                    Ok(()) => "the value is restored".to_owned(),
                    Err(error) => format!("the value cannot be restored: {error}"),
                };
                return Err(format!("sysctl {key}: this key is the machine's, not a host's; {done}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_changes_for_the_machine_is_restored() {
        let root = std::env::temp_dir().join(format!("wifair-sysctl-{}", std::process::id()));
        fs::create_dir_all(root.join("net/core")).unwrap();
        let file = root.join("net/core/leak");
        fs::write(&file, "1\n").unwrap();
        let wanted =
            [("net.core.leak".to_owned(), "2".to_owned()), ("net.core.none".to_owned(), "2".to_owned())];
        let machine = Machine::below(&root, &wanted);
        machine.restore().unwrap();
        fs::write(&file, "2\n").unwrap();
        assert_eq!(
            machine.restore().unwrap_err(),
            "sysctl net.core.leak: this key is the machine's, not a host's; the value is restored"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
        fs::remove_dir_all(root).unwrap();
    }
}
