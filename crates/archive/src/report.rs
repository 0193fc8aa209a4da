//! Results of an inspection and of a survey: files, their tables, corruption, gaps.

use std::path::PathBuf;

use blockmill_verdict::{Location, Shortfall, ShortfallKind, Status, counted};
use serde::Serialize;

use crate::{Error, Format, LeftOut};

/// Number of corruptions that are listed of one file; a file of noise has one at every block.
const MAX_CORRUPTIONS: usize = 100;

/// The result of inspecting some paths.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inspection {
    /// One report for each file or ancient folder, in natural order.
    pub files: Vec<FileReport>,
    /// Block numbers that are missing between consecutive files, or that two files have.
    pub gaps: Vec<Gap>,
    /// Files of the folders that are not read and may have blocks.
    #[serde(rename = "unread")]
    pub left_out: LeftOut,
}

impl Inspection {
    /// Whether nothing is corrupt or missing, and every file that may have blocks was read.
    pub fn is_sound(&self) -> bool {
        self.status() == Status::Ok
    }

    /// The status: files that cannot be opened come first, then files that are no archives, then
    /// corruption, then missing blocks and files that end too early.
    pub fn status(&self) -> Status {
        let missing = !self.gaps.is_empty() || !self.left_out.unread().is_empty();
        let missing = if missing { Status::Incomplete } else { Status::Ok };
        most_severe(self.files.iter().map(FileReport::status).chain([missing]))
    }
}

/// The most severe status of findings; [`Status::Ok`] without any. A verifier stops at a file that
/// it cannot open or recognise before it reads blocks.
fn most_severe(found: impl Iterator<Item = Status>) -> Status {
    let severity = |status: &Status| match status {
        Status::Ok => 0,
        Status::Incomplete => 1,
        Status::Unrecognised => 3,
        Status::Environment => 4,
        _ => 2,
    };
    found.max_by_key(severity).unwrap_or(Status::Ok)
}

/// One file or ancient folder.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// The file or folder.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// The format; `None` if it was not recognised. That is an entry in `corruption` if the user
    /// named the file or its name is that of an archive, else a note.
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
    /// Compression of the bytes: "none", "gzip", "snappy", ...
    pub compression: &'static str,
    /// The tables of an ancient folder.
    pub tables: Vec<TableReport>,
    /// All corruption found.
    pub corruption: Vec<Corruption>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl FileReport {
    /// The status of the file by its most severe corruption: [`Status::Ok`],
    /// [`Status::Incomplete`] if it ends too early, [`Status::Unrecognised`] if it is no archive,
    /// [`Status::Environment`] if it cannot be opened, and else [`Status::Corrupt`].
    pub fn status(&self) -> Status {
        most_severe(self.corruption.iter().map(Corruption::class))
    }

    /// Records an error; beyond [`MAX_CORRUPTIONS`] only that there are more.
    pub(crate) fn add_error(&mut self, error: &Error) {
        self.add(Corruption::from(error));
    }

    /// Records a corruption; beyond [`MAX_CORRUPTIONS`] only that there are more. Blocks that share
    /// a corrupt piece of a file give one corruption.
    pub(crate) fn add(&mut self, corruption: Corruption) {
        if self.corruption.last() == Some(&corruption) {
            return;
        }
        if self.corruption.len() < MAX_CORRUPTIONS {
            self.corruption.push(corruption);
        } else if self.corruption.len() == MAX_CORRUPTIONS {
            let text = format!("more than {MAX_CORRUPTIONS} faults; the others are not listed");
            let kind = ShortfallKind::CorruptRecord;
            self.corruption.push(Corruption {
                location: None,
                kind,
                status: Status::Corrupt,
                text,
            });
        }
    }
}

/// A note on the block access lists of a file or folder, if it has any.
pub(crate) fn access_lists(count: u64) -> Option<String> {
    let lists = counted(count, "block access list");
    (count > 0).then(|| format!("{lists} (EIP-7928), which `verify` checks"))
}

/// One table of an ancient folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// The name, such as "headers".
    pub name: String,
    /// Items, hidden and deleted ones included: the number of the item after the last.
    pub items: u64,
    /// Number of the first item that is neither hidden nor deleted.
    pub tail: u64,
    /// Number of data files.
    pub files: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// "none" or "snappy".
    pub compression: &'static str,
    /// Version of the `.meta` file, if there is one.
    pub meta_version: Option<u64>,
    /// Bytes of the index that the `.meta` file states as flushed (version 2).
    pub flush_offset: Option<u64>,
}

/// A corrupt part of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Corruption {
    /// The location, if it has an offset.
    pub location: Option<Location>,
    /// The kind of shortfall for a verifier.
    pub kind: ShortfallKind,
    /// The status of a verifier that ends with this error.
    #[serde(skip)]
    pub status: Status,
    /// The location, what was expected and what was found, in one line.
    pub text: String,
}

impl Corruption {
    /// The class of the status in an inspection, which knows no rules of a chain: what is neither
    /// missing nor unrecognised nor a failure of this machine is corrupt.
    pub fn class(&self) -> Status {
        match self.status {
            Status::Incomplete | Status::Unrecognised | Status::Environment => self.status,
            _ => Status::Corrupt,
        }
    }
}

impl From<&Error> for Corruption {
    fn from(error: &Error) -> Self {
        let (location, kind) = (error.location().cloned(), error.shortfall_kind());
        Self { location, kind, status: error.status(), text: error.to_string() }
    }
}

/// A gap or overlap between consecutive files.
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

/// The gaps and overlaps between consecutive files, in the order of their first blocks: a verifier
/// reads them in this order. Files of which the first block is unknown are left out.
pub(crate) fn gaps(files: &[FileReport]) -> Vec<Gap> {
    let mut order: Vec<_> = files.iter().filter(|file| file.first.is_some()).collect();
    order.sort_by_key(|file| file.first);
    (1..order.len()).filter_map(|i| gap(&order[..i], order[i])).collect()
}

/// The gap between a file and the one before it of the same format and network; `None` if they join
/// or a range is unknown.
fn gap(before: &[&FileReport], after: &FileReport) -> Option<Gap> {
    let same = |b: &&FileReport| b.format == after.format && b.network == after.network;
    let before = before.iter().copied().filter(same).max_by_key(|file| file.last)?;
    let (last, found) = (before.last?, after.first?);
    let expected = last.saturating_add(1);
    (expected != found).then(|| Gap {
        before: before.path.clone(),
        after: after.path.clone(),
        expected,
        found,
    })
}

/// What an archive states before its blocks are read, compared with its files.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Parts that are missing or corrupt by these statements. The blocks that are read may all be
    /// valid.
    pub shortfalls: Vec<Shortfall>,
    /// Notes for the user, such as a name that does not fit the content.
    pub notes: Vec<String>,
    /// Parts of the files that no reader checks, each in a sentence.
    pub unchecked: Vec<String>,
}

impl From<&Corruption> for Shortfall {
    fn from(corruption: &Corruption) -> Self {
        at(corruption.kind, &corruption.text, corruption.location.as_ref())
    }
}

impl From<&Error> for Shortfall {
    fn from(error: &Error) -> Self {
        let shortfall = at(error.shortfall_kind(), &error.to_string(), error.location());
        match error {
            Error::Gap { expected, found, .. } => {
                shortfall.of_blocks(found.saturating_sub(*expected))
            }
            _ => shortfall,
        }
    }
}

/// A shortfall with its location as a field instead of a prefix of the text.
fn at(kind: ShortfallKind, text: &str, location: Option<&Location>) -> Shortfall {
    let Some(location) = location else { return Shortfall::new(kind, text) };
    let text = text.strip_prefix(&format!("{location}: ")).unwrap_or(text);
    Shortfall::new(kind, text).at(&location.file, location.offset)
}
