//! What is in an archive: format, range, gaps, damage.

use std::path::{Path, PathBuf};

use blockmill_verdict::{Location, ShortfallKind, Status};
use serde::Serialize;

use crate::detect::{
    candidates, claims_to_be_archive, format_of, format_of_file, is_folder, natural_order,
};
use crate::open::disk_bytes;
use crate::{Archive, ChunkLimit, Error, Format, LeftOut, Packed, Want, foreign};

/// Faults that are listed of one file: a file of noise has one at every block.
const MAX_DAMAGE: usize = 100;

/// What was found in some paths.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inspection {
    /// One report for each file or ancient folder, in natural order.
    pub files: Vec<FileReport>,
    /// Block numbers that are missing between consecutive files, or that come twice.
    pub gaps: Vec<Gap>,
    /// Files of the folders that are not read and may hold blocks.
    #[serde(rename = "unread")]
    pub left_out: LeftOut,
}

impl Inspection {
    /// True when there is no damage and no gap, and no file is left that may hold blocks.
    pub fn is_sound(&self) -> bool {
        self.status() == Status::Ok
    }

    /// Files that cannot be opened count before damage, and damage before what is missing.
    pub fn status(&self) -> Status {
        let damage = || self.files.iter().flat_map(|file| &file.damage);
        match () {
            () if damage().any(|damage| damage.status == Status::Environment) => {
                Status::Environment
            }
            () if damage().next().is_some() => Status::Corrupt,
            () if !self.gaps.is_empty() || !self.left_out.unread().is_empty() => Status::Incomplete,
            () => Status::Ok,
        }
    }
}

/// One file or ancient folder.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// The file or folder.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// None when no format was recognised. That is damage when the file was named, or is named
    /// like an archive, else a note.
    pub format: Option<Format>,
    /// The network that the file's name claims.
    pub network: Option<String>,
    /// Number of the first block.
    pub first: Option<u64>,
    /// Number of the last block.
    pub last: Option<u64>,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// How the bytes are compressed: "none", "gzip", "snappy", ...
    pub compression: &'static str,
    /// The tables of an ancient folder.
    pub tables: Vec<TableReport>,
    /// Everything that is wrong.
    pub damage: Vec<Corruption>,
    /// What a user should know.
    pub notes: Vec<String>,
}

impl FileReport {
    /// Records an error as damage; beyond [`MAX_DAMAGE`] only that there was more.
    pub(crate) fn damaged(&mut self, error: &Error) {
        self.add(Corruption::from(error));
    }

    /// The same of something that is wrong.
    pub(crate) fn add(&mut self, damage: Corruption) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push(damage);
        } else if self.damage.len() == MAX_DAMAGE {
            let text = format!("more than {MAX_DAMAGE} faults; the others are not listed");
            let kind = ShortfallKind::CorruptRecord;
            self.damage.push(Corruption { location: None, kind, status: Status::Corrupt, text });
        }
    }
}

/// One table of an ancient folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// Such as "headers".
    pub name: String,
    /// Items, hidden and deleted ones included: the number of the item after the last.
    pub items: u64,
    /// Number of the first item that is still there and not hidden.
    pub tail: u64,
    /// Number of data files.
    pub files: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// "none" or "snappy".
    pub compression: &'static str,
    /// Version of the `.meta` file, where there is one.
    pub meta_version: Option<u64>,
    /// Bytes of the index that the `.meta` file calls flushed (version 2).
    pub flush_offset: Option<u64>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Corruption {
    /// Where, when it has an offset.
    pub location: Option<Location>,
    /// What a verifier calls it that counts what is missing.
    pub kind: ShortfallKind,
    /// Corruption, or trouble of this machine.
    #[serde(skip)]
    pub status: Status,
    /// The location, what was expected and what was found, in one line.
    pub text: String,
}

impl From<&Error> for Corruption {
    fn from(error: &Error) -> Self {
        let (location, kind) = (error.location().cloned(), error.shortfall_kind());
        Self { location, kind, status: error.status(), text: error.to_string() }
    }
}

/// Consecutive files that do not join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The file before.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub before: PathBuf,
    /// The file after.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub after: PathBuf,
    /// Number of the block that should come first in `after`.
    pub expected: u64,
    /// Number of the block that does.
    pub found: u64,
}

/// Looks at everything in `paths`, archives of any formats, and goes on after damage.
///
/// `deep` decodes every record: checksums, decompression, RLP shape; else only indexes and lengths
/// are read (streams of RLP have no index and are always read whole). A folder stands for
/// the archives in it. Fails when a path cannot be opened at all, and when nothing in them is an
/// archive, or is named like one.
pub fn inspect(paths: &[PathBuf], deep: bool) -> Result<Inspection, Error> {
    let mut files = vec![];
    for path in paths {
        if is_folder(path)? {
            let candidates = candidates(path)?.into_iter();
            files.extend(candidates.map(|path| (claims_to_be_archive(&path), path)));
        } else {
            files.push((true, path.clone()));
        }
    }
    files.sort_by(|a, b| natural_order(&a.1, &b.1));
    files.dedup_by(|a, b| a.1 == b.1);
    let mut left_out = LeftOut::default();
    for (_, path) in files.iter().filter(|(meant, _)| !meant) {
        if let Err(Error::UnknownFormat { .. } | Error::Foreign { .. }) = format_of(path) {
            left_out.add(path.clone())?;
        }
    }
    let mut files: Vec<_> =
        files.iter().map(|(meant, path)| inspect_one(path, *meant, deep)).collect();
    let read = files.iter().filter(|file| file.format.is_some());
    left_out.forget_sources_of(read.map(|file| &*file.path));
    if files.iter().all(|file| file.format.is_none() && !claims_to_be_archive(&file.path)) {
        return Err(nothing_in(paths));
    }
    let mut gaps = gaps(&files);
    gaps.retain(|gap| !overlaps(gap, &mut files));
    Ok(Inspection { files, gaps, left_out })
}

/// Whether files overlap instead of leaving a gap: then the blocks of both are compared, and the
/// report of the second file says what was found.
fn overlaps(gap: &Gap, files: &mut [FileReport]) -> bool {
    if gap.found >= gap.expected {
        return false;
    }
    let Some(after) = files.iter_mut().find(|file| file.path == gap.after) else { return false };
    match compared(&[gap.before.clone(), gap.after.clone()]) {
        Ok(Some(note)) => after.notes.push(note),
        Err(error @ Error::Repeated { .. }) => after.damaged(&error),
        Ok(None) | Err(_) => return false,
    }
    true
}

/// What a reader says of files that overlap.
fn compared(files: &[PathBuf]) -> Result<Option<String>, Error> {
    let archive = Archive::open(files)?;
    let want = Want { bodies: archive.has_bodies(), receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX)?;
    let mut packed = Packed::new();
    while reader.read(&mut packed)? {}
    Ok(reader.note())
}

/// Where files do not join those before them.
pub(crate) fn gaps(files: &[FileReport]) -> Vec<Gap> {
    (1..files.len()).filter_map(|i| gap(&files[..i], &files[i])).collect()
}

/// What was found instead of an archive, or the system's answer.
fn nothing_in(paths: &[PathBuf]) -> Error {
    let of_path = |path: &PathBuf| match is_folder(path) {
        Err(error) => Some(error),
        Ok(true) => {
            let found = foreign::what_is_in(path);
            Some(foreign::name(path, Error::UnknownFormat { path: path.clone(), found }))
        }
        Ok(false) => format_of_file(path).err().map(|error| foreign::name(path, error)),
    };
    let path = || paths.first().cloned().unwrap_or_default();
    let nothing = || Error::UnknownFormat { path: path(), found: "no files".into() };
    paths.iter().find_map(of_path).unwrap_or_else(nothing)
}

/// Looks at one file or ancient folder, which is `meant` to be an archive or is just there.
fn inspect_one(path: &Path, meant: bool, deep: bool) -> FileReport {
    let mut report = FileReport {
        path: path.to_path_buf(),
        bytes: disk_bytes(path),
        compression: "none",
        ..FileReport::default()
    };
    let format = format_of(path);
    match format {
        Ok(format) => {
            report.format = Some(format);
            report.network = (format.row().network)(path);
            (format.row().inspect)(path, deep, &mut report);
        }
        Err(Error::UnknownFormat { found, .. }) if !meant => {
            report.notes.push(format!("not an archive: {found}"));
        }
        Err(Error::Foreign { what, instead, .. }) => {
            report.notes.push(format!("{what}, which cannot be read: {instead}"));
        }
        Err(error) => report.damaged(&error),
    }
    report
}

/// Does a file join the one before it of the same format and network? Unknown ranges say nothing.
fn gap(before: &[FileReport], after: &FileReport) -> Option<Gap> {
    let same = |b: &&FileReport| b.format == after.format && b.network == after.network;
    let before = before.iter().filter(same).max_by_key(|file| file.last)?;
    let (last, found) = (before.last?, after.first?);
    let expected = last.saturating_add(1);
    (expected != found).then(|| Gap {
        before: before.path.clone(),
        after: after.path.clone(),
        expected,
        found,
    })
}
