//! The types of the table of formats: a row, and the traits of readers and writers.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::report::{FileReport, Survey};
use crate::target::Target;
use crate::{Chunk, ChunkLimit, Error, Format, Packed, ReceiptEncoding, Want};

/// The functions that handle a format that [`Archive`](crate::Archive) reads.
pub(crate) struct Row {
    pub format: Format,
    /// Outputs of `convert --to` and `generate --format` in this format.
    pub targets: &'static [Target],
    pub recognise: Recognise,
    /// The network's name, if a file's name has it.
    pub network: fn(&Path) -> Option<String>,
    /// The blocks in a file or folder.
    pub range: fn(&Path) -> Result<BlockRange, Error>,
    pub parts: StoredParts,
    /// The contents of one file or folder, if they can differ from `parts`.
    pub contents: Option<ReadContents>,
    /// Whether files are read at random offsets. Compressed ones are then unpacked to a copy.
    pub random_access: bool,
    pub open: Open,
    /// Fills in the report of a file or folder; `true` decodes every record.
    pub inspect: fn(&Path, bool, &mut FileReport),
    pub survey: fn(&Path, Want, &mut Survey) -> Result<(), Error>,
    /// `None` if only an import writes the format.
    pub create: Option<Create>,
}

/// How a file or a folder of a format is recognised.
pub(crate) enum Recognise {
    /// By the first bytes of a file. Fails for a file that is certainly something else.
    File(fn(&Path, &[u8]) -> Result<bool, Error>),
    /// By the files of a folder. Returns the folder of the archive, which may be inside the given
    /// one. Such an archive is not combined with others.
    Folder(fn(&Path) -> Result<Option<PathBuf>, Error>),
}

/// The parts of blocks that a format stores besides headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredParts {
    /// Whether it stores bodies.
    pub bodies: bool,
    /// The encoding of receipts; `None` if it does not store them.
    pub receipts: Option<ReceiptEncoding>,
    /// Whether it stores block access lists (EIP-7928).
    pub access_lists: bool,
    /// Whether every block has its total difficulty.
    pub total_difficulties: bool,
    /// Whether an archive can leave out receipts, and total difficulties after the merge.
    pub optional: bool,
    /// Whether an archive of a whole chain begins with block 0.
    pub genesis: bool,
}

/// The parts of blocks that an archive has besides headers, and its chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    pub bodies: bool,
    pub receipts: bool,
    pub total_difficulties: bool,
    /// Whether the archive is a store of executed blocks.
    pub executed: bool,
    /// Hash of the genesis block, if the archive states it.
    pub genesis: Option<[u8; 32]>,
    /// Total difficulty of the last block, big-endian, if the archive states it in its index.
    pub total_difficulty: Option<[u8; 32]>,
}

impl From<StoredParts> for Contents {
    fn from(parts: StoredParts) -> Self {
        let StoredParts { bodies, total_difficulties, .. } = parts;
        Self { bodies, receipts: parts.receipts.is_some(), total_difficulties, ..Self::default() }
    }
}

impl Contents {
    /// The parts that both of two files have; the rest is that of the first one.
    pub fn and(self, other: Self) -> Self {
        Self {
            bodies: self.bodies && other.bodies,
            receipts: self.receipts && other.receipts,
            total_difficulties: self.total_difficulties && other.total_difficulties,
            ..self
        }
    }
}

/// Number of the first block and, if the index states it, of the last one.
pub(crate) type BlockRange = Option<(u64, Option<u64>)>;

/// Reads what an archive says of its contents.
pub(crate) type ReadContents = fn(&Path) -> Result<Contents, Error>;

/// Opens files, which are in the order of their blocks, to read the blocks of a range.
pub(crate) type Open =
    fn(Vec<PathBuf>, Want, RangeInclusive<u64>) -> Result<Box<dyn ReadBlocks>, Error>;

/// Begins an archive at a path.
pub(crate) type Create = fn(&Path, &WriteOptions) -> Result<Box<dyn WriteBlocks>, Error>;

/// A reader of archives of one format.
pub(crate) trait ReadBlocks: fmt::Debug + Send {
    /// Reads the next chunk. False at the end.
    fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error>;

    /// A note for the user on the blocks read so far.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A writer of archives of one format.
pub(crate) trait WriteBlocks: fmt::Debug + Send {
    /// Appends the blocks of `chunk`, which follow the blocks written before.
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error>;
    /// Completes the archive and makes it durable.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// Options of writers that only some formats use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Compress an RLP export or a header stream with gzip.
    pub gzip: bool,
    /// The network's name, which begins the names of era1 and ere files.
    pub network: String,
    /// era1, ere: replace files of the same eras.
    pub replace: bool,
}
