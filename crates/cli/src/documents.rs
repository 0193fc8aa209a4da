//! Files that are read as a whole: settings, records, tests. Only regular files are read, of a
//! bounded size: a device or a pipe without a writer would never end.

use anyhow::{Context, Result};
use blockmill_platform::files::FileKind;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Most bytes of such a file; the largest files of tests have some hundred megabytes.
const MOST_BYTES: u64 = 1 << 30;

/// The bytes of a file.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a regular file, or has more than 1 GiB.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = || format!("cannot read {}", path.display());
    check(path)?;
    let file = File::open(path).with_context(failed)?;
    let mut bytes = vec![];
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(too_large()).with_context(failed);
    }
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As [`read`]; bytes that are not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let text = String::from_utf8(read(path)?);
    text.with_context(|| format!("cannot read {}: expected UTF-8", path.display()))
}

/// Checks that a path names a regular file of a size that [`read`] takes, without opening it.
///
/// # Errors
/// See [`read`].
pub fn check(path: &Path) -> Result<()> {
    let failed = || format!("cannot read {}", path.display());
    let found = std::fs::metadata(path).with_context(failed)?;
    let kind = FileKind::of(found.file_type());
    if kind != FileKind::File {
        let text = format!("expected a regular file, found {kind}");
        return Err(Error::new(ErrorKind::InvalidInput, text)).with_context(failed);
    }
    if found.len() > MOST_BYTES {
        return Err(too_large()).with_context(failed);
    }
    Ok(())
}

fn too_large() -> Error {
    Error::new(ErrorKind::InvalidInput, format!("it has more than {MOST_BYTES} bytes"))
}
