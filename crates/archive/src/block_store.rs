//! The store of an Ethereum import, read as an archive: its blocks are verified, imported and
//! converted like those of any other. Bytes: `docs/formats/segment.md`.
//!
//! A store states the hash of each block, and every piece of it has a checksum. It does not say how
//! its receipts are encoded: they stand as they did in the archive that they came from. Each list
//! tells, and a chunk ends where the encoding changes.

use std::fs::{File, TryLockError};
use std::mem;
use std::ops::RangeInclusive;
use std::path::Path;

use blockmill_store::ChainStore;

use crate::chunk::PackedBlocks;
use crate::format::Kept;
use crate::open::ReadBlocks;
use crate::{Chunk, ChunkLimit, Column, Error, FileReport, ReceiptEncoding, Want};

/// Does the folder hold a store of blocks, as its manifest says?
///
/// # Errors
/// When the system does not say it.
pub fn is_store(folder: &Path) -> Result<bool, Error> {
    Ok(ChainStore::is_in(folder)?)
}

fn open(folder: &Path) -> Result<ChainStore, Error> {
    Ok(ChainStore::open_read_only(folder)?.0)
}

/// Numbers of the first and of the last block; none in an empty store. A first block that an import
/// added is left out, as in the archive that the store was imported from.
pub(crate) fn block_range(folder: &Path) -> Result<Option<(u64, u64)>, Error> {
    let store = open(folder)?;
    let Some(tip) = store.tip() else { return Ok(None) };
    Ok(first_of(&store)?.map(|first| (first, tip.number)))
}

/// The first block that counts as one of the archive.
fn first_of(store: &ChainStore) -> Result<Option<u64>, Error> {
    let Some(first) = store.first() else { return Ok(None) };
    let has_more = store.tip().is_some_and(|tip| tip.number > first);
    let added = has_more && store.is_first_added()?;
    Ok(Some(first + u64::from(added)))
}

/// What a store keeps, and of which chain it is.
pub(crate) fn kept(folder: &Path) -> Result<Kept, Error> {
    let store = open(folder)?;
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else {
        return Ok(Kept::default());
    };
    Ok(Kept {
        bodies: store.body(first)?.is_some(),
        receipts: store.receipts(first)?.is_some(),
        chain: Some(tip.chain),
        total: Some(tip.total_difficulty).filter(|total| *total != [0; 32]),
    })
}

/// What a user should know before reading.
pub(crate) fn notes(folder: &Path) -> Vec<String> {
    let lock = File::open(folder.join("lock"));
    let used =
        lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    let note = "the store is being written to: this is what it held at the start";
    used.then(|| note.to_string()).into_iter().collect()
}

/// Fills in `report`; `deep` reads every item of every column.
pub(crate) fn inspect(folder: &Path, deep: bool, report: &mut FileReport) {
    report.notes.extend(notes(folder));
    let kept = match kept(folder) {
        Ok(kept) => kept,
        Err(error) => return report.damaged(&error),
    };
    let what = match (kept.bodies, kept.receipts) {
        (false, _) => "headers",
        (true, false) => "headers and bodies",
        (true, true) => "headers, bodies and receipts",
    };
    report.notes.push(format!("a store of blockmill: {what}"));
    match block_range(folder) {
        Ok(Some((first, last))) => {
            (report.first, report.last) = (Some(first), Some(last));
            report.blocks = last - first + 1;
            if deep {
                crate::deep::check_blocks(
                    folder,
                    first..=last,
                    report,
                    crate::deep::compare_hashes,
                );
            }
        }
        Ok(None) => report.notes.push("nothing was committed yet".into()),
        Err(error) => report.damaged(&error),
    }
}

/// Reads the blocks of one store whose numbers are in a range.
pub(crate) struct Reader {
    store: ChainStore,
    want: Want,
    next: u64,
    /// The number after the last one.
    end: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({}..{})", self.next, self.end)
    }
}

impl Reader {
    pub fn new(folder: &Path, want: Want, range: RangeInclusive<u64>) -> Result<Self, Error> {
        let store = open(folder)?;
        let after = store.tip().map_or(0, |tip| tip.number + 1);
        let first = first_of(&store)?.unwrap_or(after);
        let next = (*range.start()).clamp(first, after);
        let end = range.end().saturating_add(1).clamp(next, after);
        Ok(Self { store, want, next, end })
    }

    /// Reads the next chunk. False at the end.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        into.clear();
        into.first = self.next;
        let mut bytes = 0;
        while self.next < self.end && into.hashes.len() < limit.blocks && bytes < limit.bytes {
            let number = self.next;
            let receipts = match self.want.receipts {
                true => self.store.receipts(number)?,
                false => None,
            };
            let encoding = receipts.as_deref().and_then(encoding_of);
            if into.encoding.is_some() && encoding.is_some() && into.encoding != encoding {
                break;
            }
            into.encoding = into.encoding.or(encoding);
            let (Some(header), Some(hash)) =
                (self.store.header(number)?, self.store.hash_of(number)?)
            else {
                break;
            };
            let body = if self.want.bodies { self.store.body(number)? } else { None };
            into.headers.push(&header);
            into.hashes.push(hash);
            body.iter().for_each(|body| into.bodies.push(body));
            receipts.iter().for_each(|receipts| into.receipts.push(receipts));
            bytes = into.headers.bytes.len() + into.bodies.bytes.len() + into.receipts.bytes.len();
            self.next += 1;
        }
        Ok(!into.hashes.is_empty())
    }
}

impl ReadBlocks for Reader {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|packed| self.read(limit, packed))
    }
}

/// How a list of receipts is written; none when it is empty. A receipt of a typed transaction is a
/// byte string, a legacy one has four items of which the third is the bloom; what geth's database
/// has is a list without bloom, or one of more items.
fn encoding_of(list: &[u8]) -> Option<ReceiptEncoding> {
    const BLOOM: usize = 256;
    let mut receipts = blockmill_rlp::Reader::new(list).list().ok()?;
    if receipts.is_empty() {
        return None;
    }
    let Ok(mut fields) = receipts.clone().list() else {
        return Some(ReceiptEncoding::Consensus);
    };
    let mut lengths = vec![];
    while let (false, Ok(item)) = (fields.is_empty(), fields.item()) {
        lengths.push(item.payload.len());
    }
    let consensus = lengths.len() == 4 && lengths[2] == BLOOM;
    receipts.item().ok()?;
    Some(if consensus { ReceiptEncoding::Consensus } else { ReceiptEncoding::Storage })
}

/// Items of consecutive blocks.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    first: u64,
    headers: Column,
    bodies: Column,
    receipts: Column,
    hashes: Vec<[u8; 32]>,
    encoding: Option<ReceiptEncoding>,
}

impl PackedBlocks for Packed {
    fn blocks(&self) -> usize {
        self.hashes.len()
    }

    fn disk_bytes(&self) -> u64 {
        let columns = [&self.headers, &self.bodies, &self.receipts];
        let bytes = columns.map(|column| column.bytes.len() + 8 * column.len());
        (bytes.iter().sum::<usize>() + 32 * self.hashes.len()) as u64
    }

    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        chunk.first = Some(self.first);
        mem::swap(&mut chunk.headers, &mut self.headers);
        mem::swap(&mut chunk.bodies, &mut self.bodies);
        mem::swap(&mut chunk.receipts, &mut self.receipts);
        mem::swap(&mut chunk.stated_hashes, &mut self.hashes);
        chunk.receipt_encoding = self.encoding.unwrap_or_default();
        Ok(())
    }
}

impl Packed {
    fn clear(&mut self) {
        [&mut self.headers, &mut self.bodies, &mut self.receipts]
            .into_iter()
            .for_each(Column::clear);
        self.hashes.clear();
        self.encoding = None;
    }
}
