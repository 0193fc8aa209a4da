//! Finds archives and their formats by content.

use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::input::{Compression, Input, is_pipe};
use crate::{Error, block_store, foreign, freezer, stream};

/// A format of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// e2store files of 8,192 blocks with bodies, receipts and an accumulator.
    Era1,
    /// geth's "ancient" folder of append-only tables.
    Freezer,
    /// The store of an Ethereum import of this program.
    Store,
    /// What `geth export` writes: one RLP list for each block. Plain or compressed.
    RlpExport,
    /// The RLP of headers, one after the other. Plain or compressed.
    HeaderStream,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Era1 => "era1 file",
            Self::Freezer => "ancient folder",
            Self::Store => "store",
            Self::RlpExport => "RLP export",
            Self::HeaderStream => "header stream",
        })
    }
}

/// The record that opens every e2store file: type "e2", length 0.
const E2STORE_VERSION: [u8; 8] = [0x65, 0x32, 0, 0, 0, 0, 0, 0];

/// A file, or an ancient folder, and its format.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file, or the folder that holds the tables (the `chain` folder where there is one).
    pub path: PathBuf,
    pub format: Format,
}

/// Finds the archives in `paths`, all in natural order. Fails at the first path that holds none;
/// files in a folder that are no archives and do not claim to be any are passed over.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, Error> {
    let mut found = vec![];
    for path in paths {
        if !is_folder(path)? {
            let format = format_of_file(path).map_err(|error| foreign::name(path, error))?;
            found.push(Found { path: path.clone(), format });
            continue;
        }
        let before = found.len();
        for path in candidates(path)? {
            let format = format_of(&path);
            match format {
                Ok(format) => found.push(Found { path, format }),
                Err(Error::UnknownFormat { .. } | Error::Foreign { .. })
                    if !claims_to_be_archive(&path) => {}
                Err(error) => return Err(error),
            }
        }
        if found.len() == before {
            let found = foreign::what_is_in(path);
            return Err(foreign::name(path, Error::UnknownFormat { path: path.clone(), found }));
        }
    }
    found.sort_by(|a, b| natural_order(&a.path, &b.path));
    Ok(found)
}

/// Whether the path is a folder, and not a file or a pipe. A device could wait for ever, or never
/// end.
pub(crate) fn is_folder(path: &Path) -> Result<bool, Error> {
    use std::os::unix::fs::FileTypeExt;
    if is_pipe(path) {
        return Ok(false);
    }
    let kind = fs::metadata(path).map_err(Error::io("cannot open", path))?.file_type();
    if kind.is_dir() || kind.is_file() {
        return Ok(kind.is_dir());
    }
    let found = if kind.is_socket() { "a socket" } else { "a device" };
    Err(Error::Special { path: path.to_path_buf(), found })
}

/// What a folder may stand for: a store, the tables in it or in its `chain` folder, else each of
/// its files.
/// In natural order.
pub(crate) fn candidates(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if block_store::is_store(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    if let Some(tables) = freezer::tables_folder(folder) {
        return Ok(vec![tables]);
    }
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io("cannot list", folder))? {
        let path = entry.map_err(Error::io("cannot list", folder))?.path();
        let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if path.is_file() && !hidden {
            files.push(path);
        }
    }
    files.sort_by(|a, b| natural_order(a, b));
    Ok(files)
}

/// The format of a file, or of a folder that is one archive.
pub(crate) fn format_of(path: &Path) -> Result<Format, Error> {
    match path.is_dir() {
        true if block_store::is_store(path) => Ok(Format::Store),
        true => Ok(Format::Freezer),
        false => format_of_file(path),
    }
}

/// The format of one file, by its first bytes.
pub(crate) fn format_of_file(path: &Path) -> Result<Format, Error> {
    let (head, _) = Input::open(path)?.head(E2STORE_VERSION.len() + 2);
    if let Some(next) = head.strip_prefix(&E2STORE_VERSION) {
        let foreign = foreign::recognise_e2store(path, next.try_into().ok());
        return foreign.map_or(Ok(Format::Era1), Err);
    }
    stream::detect(path)
}

/// True for the endings that archives usually have. Such a file of another content is damaged,
/// while others in a folder, such as a list of checksums, are nobody's business.
pub(crate) fn claims_to_be_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let ends = |name: &[u8]| [&b".era1"[..], b".rlp"].iter().any(|ending| name.ends_with(ending));
    let packed = Compression::ENDINGS.iter().find_map(|e| name.strip_suffix(e.as_bytes()));
    ends(packed.unwrap_or(name))
}

/// Compares paths so that a run of digits counts as one number: `x-2` before `x-10`.
pub(crate) fn natural_order(a: &Path, b: &Path) -> Ordering {
    let (mut x, mut y) = (a.as_os_str().as_encoded_bytes(), b.as_os_str().as_encoded_bytes());
    while !x.is_empty() && !y.is_empty() {
        let (left, right) = (digits(x), digits(y));
        let order = if left > 0 && right > 0 {
            compare_numbers(&x[..left], &y[..right])
        } else {
            x[0].cmp(&y[0])
        };
        if order != Ordering::Equal {
            return order;
        }
        (x, y) = (&x[left.max(1)..], &y[right.max(1)..]);
    }
    // equal as numbers but written differently (1 and 01): any fixed order will do
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

fn compare_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let zeros = |n: &[u8]| n.iter().take_while(|c| **c == b'0').count();
    let (a, b) = (&a[zeros(a)..], &b[zeros(b)..]);
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_names_count_as_numbers() {
        let mut names =
            ["x-10", "x-9", "x-010b", "x-2/b", "x-2/a", "a", "x-", "x-99999999999999999"];
        names.sort_by(|a, b| natural_order(Path::new(a), Path::new(b)));
        let expected =
            ["a", "x-", "x-2/a", "x-2/b", "x-9", "x-10", "x-010b", "x-99999999999999999"];
        assert_eq!(names, expected);
    }

    #[test]
    fn order_is_total_for_numbers_with_zeros_in_front() {
        let (a, b) = (Path::new("f1"), Path::new("f01"));
        assert_ne!(natural_order(a, b), Ordering::Equal);
        assert_eq!(natural_order(a, b), natural_order(b, a).reverse());
        assert_eq!(natural_order(a, a), Ordering::Equal);
    }
}
