//! Reads the store of an import as an archive: its blocks can be verified, imported and converted.
//!
//! This crate does not depend on a store. The program registers a [`StoreReader`] at its start.

use std::fmt;
use std::mem;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::OnceLock;

use crate::check_blocks::{check_blocks, compare_hashes};
use crate::chunk::PackedBlocks;
use crate::row::{Contents, ReadBlocks};
use crate::{Chunk, ChunkLimit, Error, FileReport, Want};

/// The functions that read stores of blocks.
#[derive(Clone, Copy, Debug)]
pub struct StoreReader {
    /// Whether the folder holds a store of blocks.
    pub is_store: fn(&Path) -> Result<bool, Error>,
    /// Opens the store in the folder for reading.
    pub open: fn(&Path) -> Result<Box<dyn StoredBlocks>, Error>,
    /// Notes for the user before the store in the folder is read.
    pub notes: fn(&Path) -> Vec<String>,
}

/// A store of blocks that is open for reading.
pub trait StoredBlocks: fmt::Debug + Send {
    /// The blocks of the store; `None` if it is empty.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store cannot be read.
    fn content(&self) -> Result<Option<StoreContent>, Error>;

    /// Appends the first of the blocks `numbers` to `into`, as many as `limit` allows. A chunk has
    /// receipts of one encoding.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store cannot be read.
    fn read(
        &mut self,
        numbers: Range<u64>,
        want: Want,
        limit: ChunkLimit,
        into: &mut Chunk,
    ) -> Result<(), Error>;
}

/// The blocks of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreContent {
    /// Number of the first block of the archive. A genesis block that the import added is left out,
    /// as in the archive that the store was imported from.
    pub first: u64,
    /// Number of the last block.
    pub last: u64,
    /// Whether there are bodies.
    pub bodies: bool,
    /// Whether there are receipts.
    pub receipts: bool,
    /// Whether every block was executed.
    pub executed: bool,
    /// Whether the last block has its block access list (EIP-7928).
    pub access_lists: bool,
    /// Hash of the genesis block.
    pub chain: [u8; 32],
    /// Total difficulty of the last block, big-endian; zero if it is unknown.
    pub total_difficulty: [u8; 32],
}

static READER: OnceLock<StoreReader> = OnceLock::new();

/// Registers the reader of stores for this process. Later calls have no effect. Without a reader no
/// folder is a store.
pub fn register_store_reader(reader: StoreReader) {
    READER.get_or_init(|| reader);
}

pub(crate) fn is_store(folder: &Path) -> Result<bool, Error> {
    READER.get().map_or(Ok(false), |reader| (reader.is_store)(folder))
}

fn open(folder: &Path) -> Result<Box<dyn StoredBlocks>, Error> {
    match READER.get() {
        Some(reader) => (reader.open)(folder),
        None => Err(Error::UnknownFormat {
            path: folder.to_path_buf(),
            found: "a store, for which no reader is registered".into(),
        }),
    }
}

/// Numbers of the first and of the last block; `None` if the store is empty.
pub(crate) fn block_range(folder: &Path) -> Result<Option<(u64, u64)>, Error> {
    Ok(open(folder)?.content()?.map(|content| (content.first, content.last)))
}

/// The parts of blocks in a store, and its chain.
pub(crate) fn contents(folder: &Path) -> Result<Contents, Error> {
    Ok(open(folder)?.content()?.map_or(Contents::default(), |content| Contents {
        bodies: content.bodies,
        receipts: content.receipts,
        executed: content.executed,
        total_difficulties: false,
        genesis: Some(content.chain),
        total_difficulty: Some(content.total_difficulty).filter(|total| *total != [0; 32]),
    }))
}

/// Notes for the user before reading.
pub(crate) fn notes(folder: &Path) -> Vec<String> {
    READER.get().map_or(vec![], |reader| (reader.notes)(folder))
}

/// Fills in `report`; `deep` reads every item of every column.
pub(crate) fn inspect(folder: &Path, deep: bool, report: &mut FileReport) {
    report.notes.extend(notes(folder));
    let content = match open(folder).and_then(|store| store.content()) {
        Ok(content) => content,
        Err(error) => return report.add_error(&error),
    };
    let what = match content.map_or((false, false), |it| (it.bodies, it.receipts)) {
        (false, _) => "headers",
        (true, false) => "headers and bodies",
        (true, true) => "headers, bodies and receipts",
    };
    let lists = match content.is_some_and(|it| it.access_lists) {
        true => ", with block access lists (EIP-7928)",
        false => "",
    };
    report.notes.push(format!("a store of blockmill: {what}{lists}"));
    let Some(StoreContent { first, last, .. }) = content else {
        return report.notes.push("nothing was committed yet".into());
    };
    (report.first, report.last) = (Some(first), Some(last));
    report.blocks = last - first + 1;
    if deep {
        let open = |want, range| Ok(Box::new(Reader::new(folder, want, range)?) as _);
        check_blocks(open, first..=last, report, compare_hashes);
    }
}

/// A reader of the blocks of one store in a range of numbers.
#[derive(Debug)]
pub(crate) struct Reader {
    store: Box<dyn StoredBlocks>,
    want: Want,
    /// Blocks that remain to be read.
    left: Range<u64>,
}

impl Reader {
    pub fn new(folder: &Path, want: Want, range: RangeInclusive<u64>) -> Result<Self, Error> {
        let store = open(folder)?;
        let (first, after) =
            store.content()?.map_or((0, 0), |content| (content.first, content.last + 1));
        let next = (*range.start()).clamp(first, after);
        let end = range.end().saturating_add(1).clamp(next, after);
        Ok(Self { store, want, left: next..end })
    }
}

impl ReadBlocks for Reader {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|Packed(chunk)| {
            chunk.clear();
            chunk.first = Some(self.left.start);
            self.store.read(self.left.clone(), self.want, limit, chunk)?;
            self.left.start += chunk.blocks() as u64;
            Ok(chunk.blocks() > 0)
        })
    }
}

/// Consecutive blocks; they are not packed.
#[derive(Debug, Default)]
pub(crate) struct Packed(Chunk);

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.0.blocks()
    }

    fn disk_bytes(&self) -> u64 {
        let Chunk { headers, bodies, receipts, access_lists, .. } = &self.0;
        let columns = [headers, bodies, receipts, access_lists];
        let bytes = columns.map(|column| column.bytes.len() + 8 * column.len());
        (bytes.iter().sum::<usize>() + 32 * self.0.stated_hashes.len()) as u64
    }

    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        mem::swap(chunk, &mut self.0);
        Ok(())
    }
}
