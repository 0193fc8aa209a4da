//! Finds the dumps in paths.

use blockmill_verdict::Location;
use std::path::{Path, PathBuf};

use super::head::BYTES;
use super::{Head, older};
use crate::compression::Compression;
use crate::format::claims_to_be_dump;
use crate::input::Input;
use crate::listing::{disk_bytes, is_input_folder};
use crate::names::natural_order;
use crate::{Error, LeftOut, foreign, listing};

/// Number of files of a folder that [`looks_like`] opens; it may have thousands of something else.
const FEW: usize = 16;

/// A file with a block dump.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The file.
    pub path: PathBuf,
    /// The head of the file.
    pub head: Head,
    /// The compression of the file.
    pub compression: Option<Compression>,
}

/// Dumps in the order of their first blocks.
#[derive(Clone, Debug, Default)]
pub struct Dumps {
    files: Vec<Dump>,
    left_out: LeftOut,
}

impl Dumps {
    /// A single dump.
    pub(super) fn of(dump: &Dump) -> Self {
        Self { files: vec![dump.clone()], ..Self::default() }
    }

    /// The dumps in order.
    #[must_use]
    pub fn files(&self) -> &[Dump] {
        &self.files
    }

    /// Files of the folders that are not read.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Bytes on disk. Files that cannot be read count as 0.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.files.iter().map(|dump| disk_bytes(&dump.path)).sum()
    }

    /// Heights of the first and of the last block, as the files state them.
    #[must_use]
    pub fn range(&self) -> Option<(u32, u32)> {
        let first = self.files.first()?.head.first;
        let last = self.files.iter().map(|dump| dump.head.last()).max()?;
        Some((first, last))
    }

    /// The range that spans all heights that more than one file has, as the files state them.
    #[must_use]
    pub fn repeated(&self) -> Option<(u32, u32)> {
        let mut repeated: Option<(u32, u32)> = None;
        let mut before: Option<u32> = None;
        for Dump { head, .. } in &self.files {
            if let Some(end) =
                before.filter(|end| head.first <= *end).map(|end| end.min(head.last()))
            {
                let (first, last) = repeated.unwrap_or((head.first, end));
                repeated = Some((first.min(head.first), last.max(end)));
            }
            before = before.max(Some(head.last()));
        }
        repeated
    }
}

/// The data to use instead of a dump of an older layout.
const INSTEAD: &str = "give a dump of a Neo N3 network, as `neo-go db dump` writes";

/// Opens one file; `None` if it is no dump.
fn probe(path: &Path) -> Result<Option<Dump>, Error> {
    let mut input = Input::open(path)?;
    let compression = input.compression();
    let (bytes, fault) = input.head(older::BYTES);
    if let Some(head) = Head::parse(&bytes) {
        return Ok(Some(Dump { path: path.to_path_buf(), head, compression }));
    }
    if let Some(what) = older::recognise(&bytes) {
        let (what, instead) = (what.into(), INSTEAD.into());
        return Err(Error::Unsupported { path: path.to_path_buf(), what, instead });
    }
    match fault {
        Some(fault) if fault.refused_packing().is_some() && !claims_to_be_dump(path) => Ok(None),
        Some(fault) => Err(fault),
        None if !claims_to_be_dump(path) => Ok(None),
        None => Err(no_dump(path, &bytes, compression.is_some())),
    }
}

/// The error of a file with the name of a dump and other content.
fn no_dump(path: &Path, bytes: &[u8], unpacked: bool) -> Error {
    let location = Location { file: path.to_path_buf(), offset: 0, unpacked };
    if bytes.len() < BYTES {
        let (needed, available) = (BYTES as u64, bytes.len() as u64);
        let what = "beginning of a dump with its first block";
        return Error::Truncated { location, what, needed, available };
    }
    let expected = "a count or a height and a count, then the length of a block of that height";
    Error::BadMagic { location, expected, found: bytes[..8].to_vec() }
}

/// Whether a path has dumps of any version of Neo, or files with the names of dumps. Reads the
/// first bytes of a few files.
///
/// # Errors
///
/// Returns [`Error::Io`] if a folder or a file in it cannot be opened, and [`Error::Special`] for a
/// device.
pub fn looks_like(path: &Path) -> Result<bool, Error> {
    if !is_input_folder(path)? {
        return is_dump(path);
    }
    for file in listing::files_of(path, |_| true)?.iter().take(FEW) {
        if is_dump(file)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is a dump or has the name of one. Corruption is reported when it is read.
fn is_dump(path: &Path) -> Result<bool, Error> {
    if claims_to_be_dump(path) {
        return Ok(true);
    }
    match probe(path) {
        Err(error @ Error::Io { .. }) => Err(error),
        found => Ok(matches!(found, Ok(Some(_)) | Err(Error::Unsupported { .. }))),
    }
}

/// Opens the dumps in `paths`. A folder means the dumps in it.
///
/// # Errors
///
/// Returns [`Error::Io`] if a path cannot be read, [`Error::UnknownFormat`] or [`Error::Foreign`]
/// if it has no dump, [`Error::Unsupported`] for a dump of an older layout, and
/// [`Error::Truncated`] or [`Error::BadMagic`] if a file with the name of a dump is none.
pub fn open(paths: &[PathBuf]) -> Result<Dumps, Error> {
    let (mut files, mut left_out) = (vec![], LeftOut::default());
    for path in paths {
        if !is_input_folder(path)? {
            let found = "no block dump".into();
            let none = || foreign::name(path, Error::UnknownFormat { path: path.clone(), found });
            files.push(probe(path)?.ok_or_else(none)?);
            continue;
        }
        let before = files.len();
        for file in listing::files_of(path, |_| true)? {
            match probe(&file)? {
                Some(dump) => files.push(dump),
                None => left_out.add(file)?,
            }
        }
        if files.len() == before {
            let found = foreign::what_is_in(path);
            return Err(foreign::name(path, Error::UnknownFormat { path: path.clone(), found }));
        }
    }
    files.sort_by(|a, b| {
        (a.head.first, a.head.last())
            .cmp(&(b.head.first, b.head.last()))
            .then_with(|| natural_order(&a.path, &b.path))
    });
    left_out.forget_sources_of(files.iter().map(|dump| &*dump.path));
    Ok(Dumps { files, left_out })
}
