//! The block store: append blocks, commit them, return to an earlier one.
//!
//! The store holds consecutive blocks `first..` in columns: headers, and optionally bodies and
//! receipts. Each column is a segment of raw bytes and a segment of end offsets; block hashes of 32
//! bytes have a segment of their own. All segments are parts of one [`Store`], whose commits carry
//! the last block. The hash index is not committed: it follows from the hashes and is rebuilt where
//! it is corrupt. Opening: `chain_open.rs`, reading: `chain_read.rs`, removing: `chain_remove.rs`,
//! committing: `chain_commit.rs`, what commits carry: `chain_state.rs`.

use std::{ffi::OsStr, path::PathBuf, sync::Arc};

use crate::{
    checksummed_file::ChecksummedFile,
    column::{Column, Items},
    crash::CrashPoint,
    disk::{Disk, RealDisk},
    error::{Error, Result, mismatch},
    hash_index::{self, HashIndex},
    manifest::{self, LIGHT, PartFacts},
    opening::LOCK,
    segment::Segment,
    segmented_file::SegmentedFile,
    store::Store,
    tip::ChainState,
};

/// One chunk of consecutive blocks to append.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// Number of the first block of the chunk.
    pub first: u64,
    /// Block hashes.
    pub hashes: &'a [[u8; 32]],
    /// Header bytes.
    pub headers: Items<'a>,
    /// Body bytes; either every block of a store has them or none.
    pub bodies: Option<Items<'a>>,
    /// Receipt bytes; either every block of a store has them or none.
    pub receipts: Option<Items<'a>>,
}

/// How to open a store. The two sizes hold for a new one; an existing one keeps its own.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes in a file before the next one is begun; at least 4096.
    pub file_bytes: u64,
    /// Blocks in a small run of the hash index; a power of two.
    pub run_items: u64,
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// Stop as if killed when this crash point is reached for the n-th time, counted from 0.
    /// Crash tests use it.
    pub crash_at: Option<(CrashPoint, u32)>,
}

impl Default for Options {
    fn default() -> Options {
        let disk = Arc::new(RealDisk);
        Options { file_bytes: 1 << 30, run_items: 1 << 16, disk, crash_at: None }
    }
}

/// Names of the segments, in the order of [`ChainStore::files`].
pub(crate) const SEGMENTS: [&str; 7] =
    ["headers", "headers-ends", "bodies", "bodies-ends", "receipts", "receipts-ends", "hashes"];

/// A store of consecutive blocks in a folder.
pub struct ChainStore {
    pub(crate) dir: PathBuf,
    /// `None` if it is only read.
    pub(crate) store: Option<Store>,
    /// Facts of the parts next to the blocks, as of the commit that was opened.
    pub(crate) found: Vec<PartFacts>,
    /// The state of these parts, as of the last commit of them.
    pub(crate) state_of_parts: Vec<u8>,
    pub(crate) columns: [Column; 3],
    pub(crate) hashes: Segment,
    pub(crate) index: HashIndex,
    /// Its last block is that of the last commit; its first block is known after the first append.
    pub(crate) state: ChainState,
    /// Blocks that are committed.
    pub(crate) committed: u64,
}

/// Returns whether `name` is a file name that a chain store uses. Other files in its folder do not
/// belong to the store.
#[must_use]
pub fn is_own_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_index = |index: &str| SegmentedFile::number_of(name, index).is_some();
    [LOCK, manifest::NAME, manifest::TEMPORARY].contains(&name)
        || LIGHT.contains(&name)
        || SEGMENTS.into_iter().any(|segment| Segment::is_own_file(name, segment))
        || hash_index::FILES.into_iter().any(is_index)
}

impl ChainStore {
    /// The files of all segments, in the order of [`SEGMENTS`].
    pub(crate) fn files(&self) -> [&ChecksummedFile; 7] {
        let [headers, bodies, receipts] = &self.columns;
        [
            &headers.data.file,
            &headers.ends.file,
            &bodies.data.file,
            &bodies.ends.file,
            &receipts.data.file,
            &receipts.ends.file,
            &self.hashes.file,
        ]
    }

    /// Number of blocks, those not yet committed included.
    pub fn count(&self) -> u64 {
        self.hashes.len() / 32
    }

    /// Number of the block after the last one.
    pub(crate) fn next(&self) -> u64 {
        self.state.first + self.count()
    }

    /// Appends a chunk. The bytes go to the operating system, and count only when
    /// [`ChainStore::commit`] returns. The first chunk of a store fixes where it begins and which
    /// columns it keeps.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the chunk does not follow the last block, its columns differ from
    /// those of the store or their ends make no sense; nothing is written then. After any other
    /// error the store must be opened again.
    pub fn append(&mut self, blocks: &Blocks) -> Result<()> {
        self.writable()?;
        let items = [Some(blocks.headers), blocks.bodies, blocks.receipts];
        self.check_chunk(blocks, &items)?;
        if blocks.hashes.is_empty() {
            return Ok(());
        }
        self.change(|chain| {
            if chain.count() == 0 {
                chain.state.first = blocks.first;
            }
            for (column, items) in items.iter().enumerate() {
                if let Some(items) = items {
                    chain.append_column(column, items)?;
                }
                chain.reach(CrashPoint::AfterColumn)?;
            }
            chain.hashes.append(blocks.hashes.as_flattened())?;
            chain.reach(CrashPoint::AfterHashes)?;
            chain.index.append(blocks.hashes, &chain.hashes.file)?;
            chain.reach(CrashPoint::AfterIndex)
        })
    }

    fn append_column(&mut self, index: usize, items: &Items) -> Result<()> {
        let half = self.hashes.folder.is_due(CrashPoint::HalfData);
        let data = &mut self.columns[index].data;
        let base = data.len();
        if half {
            data.append(&items.bytes[..items.bytes.len() / 2])?;
            return Err(Error::Crash(CrashPoint::HalfData));
        }
        data.append(items.bytes)?;
        self.reach(CrashPoint::AfterData)?;
        self.columns[index].append_ends(base, items.ends)
    }

    fn check_chunk(&self, blocks: &Blocks, items: &[Option<Items>; 3]) -> Result<()> {
        if self.count() > 0 {
            if blocks.first != self.next() {
                return Err(mismatch("block number", self.next(), blocks.first));
            }
            let kept = self.columns.each_ref().map(|column| column.count() > 0);
            let given = items.map(|column| column.is_some());
            if given != kept {
                return Err(mismatch(BLOCK_PARTS, part_names(kept), part_names(given)));
            }
        } else if blocks.first.checked_add(1 << 48).is_none() {
            return Err(mismatch("first block number", "below 2^64 - 2^48", blocks.first));
        }
        items.iter().flatten().try_for_each(|items| items.check(blocks.hashes.len()))
    }

    /// The store, if it can be written to.
    pub(crate) fn writable(&mut self) -> Result<&mut Store> {
        match &mut self.store {
            None => Err(Error::ReadOnly { path: self.dir.clone() }),
            Some(store) if store.failed => Err(Error::Failed { path: self.dir.clone() }),
            Some(store) => Ok(store),
        }
    }

    /// Makes a change of memory and disk; one that fails may have changed one and not the other.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.writable()?.failed = true;
        change(self)?;
        self.store.iter_mut().for_each(|store| store.failed = false);
        Ok(())
    }

    /// Dies here if that is the plan.
    pub(crate) fn reach(&self, point: CrashPoint) -> Result<()> {
        self.hashes.folder.reach(point)
    }
}

/// What an [`Error::Mismatch`] is about if blocks have other parts than those of the store.
pub const BLOCK_PARTS: &str = "parts of blocks, as the store keeps them";

fn part_names(are_there: [bool; 3]) -> String {
    let names = ["headers", "bodies", "receipts"].into_iter().zip(are_there);
    let names: Vec<_> = names.filter_map(|(name, is_there)| is_there.then_some(name)).collect();
    names.join(", ")
}
