//! Finds archives and their formats by content.

use std::cmp::Ordering;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blockmill_platform::files::{self, FileKind};

use crate::format::{ARCHIVES, Recognise};
use crate::input::{Compression, Input};
use crate::{Error, Format, LeftOut, STDIN, foreign, listing};

/// Bytes of a file that tell its format.
const HEAD: usize = 16;

/// A file, or an ancient folder, and its format.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file, or the folder that holds the tables (the `chain` folder where there is one).
    pub path: PathBuf,
    pub format: Format,
}

/// Finds the archives in `paths`, all in natural order, and the files in folders that are none and
/// do not claim to be any. Fails at the first path that holds none.
pub(crate) fn find(paths: &[PathBuf]) -> Result<(Vec<Found>, LeftOut), Error> {
    let (mut found, mut left_out) = (vec![], LeftOut::default());
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
                    if !claims_to_be_archive(&path) =>
                {
                    left_out.add(path)?;
                }
                Err(error) => return Err(error),
            }
        }
        if found.len() == before {
            let found = foreign::what_is_in(path);
            return Err(foreign::name(path, Error::UnknownFormat { path: path.clone(), found }));
        }
    }
    found.sort_by(|a, b| natural_order(&a.path, &b.path));
    left_out.forget_sources_of(found.iter().map(|found| &*found.path));
    Ok((found, left_out))
}

/// Whether a path that was named is a folder, and not a file or a pipe.
///
/// # Errors
/// [`Error::Io`] when it is not there or cannot be opened, [`Error::Special`] for anything else: a
/// device could wait for ever, or never end.
pub(crate) fn is_folder(path: &Path) -> Result<bool, Error> {
    if path == Path::new(STDIN) {
        return Ok(false);
    }
    match files::kind(path).map_err(Error::io("cannot open", path))? {
        FileKind::Folder => Ok(true),
        FileKind::File | FileKind::Pipe => Ok(false),
        FileKind::Absent => {
            let error = fs::metadata(path).err();
            Err(Error::io("cannot open", path)(error.unwrap_or(ErrorKind::NotFound.into())))
        }
        found => Err(Error::Special { path: path.to_path_buf(), found: found.to_string() }),
    }
}

/// What a folder may stand for: an archive that is a folder, else each of its files. In natural
/// order.
pub(crate) fn candidates(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    match archive_of(folder)? {
        Some((archive, _)) => Ok(vec![archive]),
        None => listing::files_of(folder, |_| true),
    }
}

/// The folder with the archive that `folder` stands for, and its format.
fn archive_of(folder: &Path) -> Result<Option<(PathBuf, Format)>, Error> {
    for row in &ARCHIVES {
        if let Recognise::Folder(find) = row.recognise
            && let Some(archive) = find(folder)?
        {
            return Ok(Some((archive, row.format)));
        }
    }
    Ok(None)
}

/// The format of a file, or of a folder that is one archive.
pub(crate) fn format_of(path: &Path) -> Result<Format, Error> {
    if !listing::is_folder(path)? {
        return format_of_file(path);
    }
    let unknown =
        || Error::UnknownFormat { path: path.to_path_buf(), found: foreign::what_is_in(path) };
    archive_of(path)?.map(|(_, format)| format).ok_or_else(unknown)
}

/// The format of one file, by its first bytes.
pub(crate) fn format_of_file(path: &Path) -> Result<Format, Error> {
    let (head, fault) = Input::open(path)?.head(HEAD);
    for row in &ARCHIVES {
        let Recognise::File(is_it) = row.recognise else { continue };
        if is_it(path, &head)? {
            return Ok(row.format);
        }
    }
    if let (Some(fault), true) = (fault, head.is_empty()) {
        return Err(fault);
    }
    let found = match &head[..] {
        [] => "an empty file".into(),
        _ => format!("the first bytes {head:02x?}"),
    };
    Err(Error::UnknownFormat { path: path.to_path_buf(), found })
}

/// True for the endings that archives usually have. Such a file of another content is damaged,
/// while others in a folder, such as a list of checksums, are nobody's business.
pub(crate) fn claims_to_be_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let packed = Compression::ENDINGS.iter().find_map(|e| name.strip_suffix(e.as_bytes()));
    let mut endings = ARCHIVES.iter().flat_map(|row| row.endings);
    endings.any(|ending| packed.unwrap_or(name).ends_with(ending.as_bytes()))
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
