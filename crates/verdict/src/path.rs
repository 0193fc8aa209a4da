//! Paths in documents. A path may have any bytes, a document has UTF-8 only: what is none is
//! replaced there, as it is on a terminal.

use serde::Serializer;
use std::path::{Path, PathBuf};

/// For `#[serde(serialize_with)]`: a path.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<P: AsRef<Path>, S: Serializer>(path: &P, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.as_ref().display())
}

/// The same for a path that may be absent.
///
/// # Errors
/// Those of the serializer.
pub fn serialize_option<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serialize(path, to),
        None => to.serialize_none(),
    }
}
