//! Errors of traces.

use std::fmt;
use std::path::{Path, PathBuf};

use wifair_core::SpecError;

/// Why a trace could not be written.
#[derive(Debug)]
pub enum TraceError {
    /// A trace of something that is not in the plan, or a plan that cannot be run.
    Spec(SpecError),
    /// A file that could not be written.
    File(PathBuf, std::io::Error),
}

impl TraceError {
    pub(super) fn at(path: &Path, error: std::io::Error) -> TraceError {
        TraceError::File(path.into(), error)
    }
}

impl From<SpecError> for TraceError {
    fn from(error: SpecError) -> TraceError {
        TraceError::Spec(error)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Spec(error) => error.fmt(f),
            TraceError::File(path, error) => write!(f, "{}: cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for TraceError {}
