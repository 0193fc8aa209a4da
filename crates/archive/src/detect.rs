//! Detects archives and their formats by content.

use std::path::{Path, PathBuf};

use crate::format::claims_to_be_archive;
use crate::formats::{self, acc, blkdat};
use crate::input::Input;
use crate::listing::is_input_folder;
use crate::names::natural_order;
use crate::row::Recognise;
use crate::{Error, Family, Format, LeftOut, foreign, listing};

/// Bytes of a file that identify its format.
const HEAD: usize = 16;

/// A file, or an ancient folder, and its format.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file, or the folder with the tables (the `chain` folder, if there is one).
    pub path: PathBuf,
    pub format: Format,
}

/// Finds the archives in `paths`, in natural order, and the files of folders that are no archives
/// and are not named like one. Fails at the first path without an archive.
pub(crate) fn find(paths: &[PathBuf]) -> Result<(Vec<Found>, LeftOut), Error> {
    let (mut found, mut left_out) = (vec![], LeftOut::default());
    for path in paths {
        if !is_input_folder(path)? {
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
                Err(error) if error.refused_packing().is_some() && !claims_to_be_archive(&path) => {
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

/// The archives that a folder may contain: one that is a folder itself, else each file, in natural
/// order.
pub(crate) fn candidates(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    match archive_of(folder)? {
        Some((archive, _)) => Ok(vec![archive]),
        None => listing::files_of(folder, |_| true),
    }
}

/// The archive that is a folder and is found in `folder`, with its format.
pub(crate) fn archive_of(folder: &Path) -> Result<Option<(PathBuf, Format)>, Error> {
    for row in &formats::ARCHIVES {
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
    for row in &formats::ARCHIVES {
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

/// A function that reports whether a path has blocks of a family.
type LooksLike = fn(&Path) -> Result<bool, Error>;

/// The families that have archives of their own. A dump is recognised by some twenty bytes, a
/// block file by four, so dumps come first.
const FAMILIES: [(LooksLike, Family); 2] =
    [(acc::looks_like, Family::Neo), (blkdat::looks_like, Family::Bitcoin)];

impl Family {
    /// Detects the family of the archives in `paths` from names and first bytes.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if a path or a file in it cannot be opened, and [`Error::Special`] if
    /// a path is neither a file nor a folder nor a pipe.
    pub fn detect(paths: &[PathBuf]) -> Result<Self, Error> {
        for (looks_like, family) in FAMILIES {
            for path in paths {
                if looks_like(path)? {
                    return Ok(family);
                }
            }
        }
        Ok(Self::Ethereum)
    }
}
