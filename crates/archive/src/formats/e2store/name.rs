//! Names of files of an era: network, number of the era, first four bytes of a hash.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The network in a file's name: the part before the first dash.
pub(crate) fn network_of(file: &Path) -> Option<String> {
    let (network, _) = file.file_name()?.to_str()?.split_once('-')?;
    (!network.is_empty()).then(|| network.to_string())
}

/// Checks that a network can begin the names of files: letters, digits and `_`.
pub(crate) fn expect_network(folder: &Path, network: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !network.is_empty() && network.chars().all(plain) {
        return Ok(());
    }
    Err(Error::Unwritable {
        path: folder.to_path_buf(),
        expected: "a network name of letters, digits and _".into(),
        found: format!("{network:?}"),
    })
}

/// The files of an era in a folder, whatever hash their names have.
pub(crate) fn files_of(
    folder: &Path,
    network: &str,
    era: u64,
    ending: &str,
) -> Result<Vec<PathBuf>, Error> {
    let stem = format!("{network}-{era:05}-");
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io("cannot list", folder))? {
        let entry = entry.map_err(Error::io("cannot list", folder))?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(&stem) && name.ends_with(ending)) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
