//! Lists a folder of archives in natural order. Content determines the format of a file, so an
//! entry that cannot be opened may be an archive and is an error.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use blockmill_platform::files::{self, FileKind};

use crate::format::claims_blocks;
use crate::names::{is_harmless, natural_order};
use crate::{Error, STDIN};

/// The files of a folder with `wanted` names, without hidden ones, in natural order.
///
/// # Errors
///
/// Returns [`Error::Io`] if the folder cannot be listed, if an entry cannot be resolved (such as a
/// dangling link), or if an entry with the name of an archive is not a file.
pub(crate) fn files_of(
    folder: &Path,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<PathBuf>, Error> {
    let mut found = vec![];
    for path in files::list(folder).map_err(Error::io("cannot list", folder))? {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(b".") || !wanted(name) {
            continue;
        }
        let kind = match files::kind(&path) {
            // it has no blocks
            Err(_) if is_harmless(&path) && !claims_blocks(&path) => continue,
            kind => kind.map_err(Error::io("cannot open", &path))?,
        };
        match kind {
            FileKind::File => found.push(path),
            // removed since the folder was listed
            FileKind::Absent => {}
            kind if claims_blocks(&path) => return Err(no_file(&path, kind)),
            _ => {}
        }
    }
    found.sort_by(|a, b| natural_order(a, b));
    Ok(found)
}

/// Whether the path is a folder. An entry that cannot be resolved is an error.
pub(crate) fn is_folder(path: &Path) -> Result<bool, Error> {
    files::is_folder(path).map_err(Error::io("cannot open", path))
}

/// Whether the path is a file.
pub(crate) fn is_file(path: &Path) -> Result<bool, Error> {
    files::is_file(path).map_err(Error::io("cannot open", path))
}

/// Whether there is a file at the path. Anything else of that name is an error.
pub(crate) fn has_file(path: &Path) -> Result<bool, Error> {
    match files::kind(path).map_err(Error::io("cannot open", path))? {
        FileKind::Absent => Ok(false),
        FileKind::File => Ok(true),
        kind => Err(no_file(path, kind)),
    }
}

/// Whether an input is a folder, and not a file or a pipe.
///
/// # Errors
///
/// Returns [`Error::Io`] if the path does not exist or cannot be opened, and [`Error::Special`] for
/// anything else: reading a device may never end.
pub(crate) fn is_input_folder(path: &Path) -> Result<bool, Error> {
    if path == Path::new(STDIN) {
        return Ok(false);
    }
    match files::kind(path).map_err(Error::io("cannot open", path))? {
        FileKind::Folder => Ok(true),
        FileKind::File | FileKind::Pipe => Ok(false),
        FileKind::Absent => {
            let error = files::length(path).err();
            Err(Error::io("cannot open", path)(error.unwrap_or(ErrorKind::NotFound.into())))
        }
        found => Err(Error::Special { path: path.to_path_buf(), found: found.to_string() }),
    }
}

/// Bytes of a file, or of the files in a folder.
pub(crate) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return files::length(path).unwrap_or(0);
    };
    entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|m| m.len())
        .sum()
}

fn no_file(path: &Path, kind: FileKind) -> Error {
    let found = io::Error::other(format!("expected a file, found {kind}"));
    Error::io("cannot read", path)(found)
}
