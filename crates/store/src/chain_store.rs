//! The block store: append blocks, read them back by number or by hash.
//!
//! Blocks `first..` without a gap, in columns: headers, and where the caller has them bodies and
//! receipts, each a segmented file of raw bytes with one of end offsets beside it; 32-byte
//! hashes; the hash index. How appended bytes become committed and durable is told in
//! `commit.rs`, how a store comes back after a crash in `recovery.rs`.

use std::{
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
};

use crate::{
    checkpoint::{self, CheckpointFile, Layout, SUMS, State, Tip},
    commit::{CrashPlan, CrashPoint},
    error::{Error, Result, mismatch},
    hash_index::{self, HashIndex},
    segmented_file,
    summed::SummedFile,
};

/// The largest item that a store takes: far above any block, and a bound on what a damaged end
/// offset can make a read allocate.
pub const MAX_ITEM_BYTES: u64 = 1 << 27;

/// Items of one column, back to back.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// The bytes of all items.
    pub bytes: &'a [u8],
    /// Where each item ends in `bytes`; the last end is the length of `bytes`.
    pub ends: &'a [u32],
}

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
    /// Stop as if killed when this crash point is reached for the n-th time, counted from 0.
    /// Crash tests use it.
    pub crash_at: Option<(CrashPoint, u32)>,
}

impl Default for Options {
    fn default() -> Options {
        Options { file_bytes: 1 << 30, run_items: 1 << 16, crash_at: None }
    }
}

impl Options {
    pub(crate) fn layout(&self) -> Result<Layout> {
        let layout = Layout { file_bytes: self.file_bytes, run_items: self.run_items };
        match layout.check() {
            Ok(()) => Ok(layout),
            Err(damage) => Err(mismatch(damage.0, damage.1, damage.2)),
        }
    }
}

/// The file that a writer locks.
pub(crate) const LOCK: &str = "lock";

/// Columns of items: headers, bodies, receipts.
pub(crate) const COLUMNS: usize = 3;

/// Names of the files and of their sums, in the order of [`ChainStore::files`].
const FILES: [[&str; 2]; SUMS] = [
    ["headers", "headers-sums"],
    ["headers-ends", "headers-ends-sums"],
    ["bodies", "bodies-sums"],
    ["bodies-ends", "bodies-ends-sums"],
    ["receipts", "receipts-sums"],
    ["receipts-ends", "receipts-ends-sums"],
    ["hashes", "hashes-sums"],
];

/// A column: the bytes of its items and the end of each, both growing at the end only.
pub(crate) struct Column {
    pub data: SummedFile,
    pub ends: SummedFile,
}

impl Column {
    /// Where item `position` ends in `data`.
    pub fn end_of(&self, position: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.ends.read(position * 8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// A store of consecutive blocks in a folder.
pub struct ChainStore {
    pub(crate) dir: PathBuf,
    pub(crate) layout: Layout,
    pub(crate) columns: [Column; 3],
    pub(crate) hashes: SummedFile,
    pub(crate) index: HashIndex,
    pub(crate) checkpoint: CheckpointFile,
    /// Sequence number of the newest checkpoint.
    pub(crate) sequence: u64,
    /// What was appended; its tip is that of `committed`.
    pub(crate) appended: State,
    pub(crate) committed: State,
    pub(crate) durable: State,
    /// Held while the store is open for writing; `None` when it is open for reading.
    pub(crate) lock: Option<File>,
    /// A write failed: memory and disk may differ.
    pub(crate) failed: bool,
    pub(crate) crash: CrashPlan,
}

/// Segmented files of a store in `dir`, not yet resumed.
pub(crate) fn files(dir: &Path, layout: Layout, writable: bool) -> ([Column; 3], SummedFile) {
    let files = FILES.map(|names| SummedFile::new(dir, names, layout.file_bytes, writable));
    let [headers, header_ends, bodies, body_ends, receipts, receipt_ends, hashes] = files;
    let columns = [
        Column { data: headers, ends: header_ends },
        Column { data: bodies, ends: body_ends },
        Column { data: receipts, ends: receipt_ends },
    ];
    (columns, hashes)
}

/// Lengths of the seven files of [`ChainStore::files`] in a given state.
pub(crate) fn file_lengths(state: &State) -> [u64; SUMS] {
    let ends = state.kept.map(|kept| if kept { state.count * 8 } else { 0 });
    let [headers, bodies, receipts] = state.bytes;
    [headers, ends[0], bodies, ends[1], receipts, ends[2], state.count * 32]
}

/// Is `name` that of a file that a store gives itself? Whatever else lies in its folder is not the
/// store's.
#[must_use]
pub fn is_own_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if name == LOCK || name == checkpoint::FILE_NAME {
        return true;
    }
    let Some((file, number)) = name.rsplit_once('.') else { return false };
    let is_own = FILES.iter().flatten().chain(&hash_index::FILES).any(|own| *own == file);
    is_own && number.parse().is_ok_and(|number| segmented_file::file_name(file, number) == name)
}

impl ChainStore {
    /// The files that a checkpoint vouches for.
    pub(crate) fn files(&self) -> [&SummedFile; SUMS] {
        let [headers, bodies, receipts] = &self.columns;
        [
            &headers.data,
            &headers.ends,
            &bodies.data,
            &bodies.ends,
            &receipts.data,
            &receipts.ends,
            &self.hashes,
        ]
    }

    /// The same, for writing.
    pub(crate) fn files_mut(&mut self) -> [&mut SummedFile; SUMS] {
        let [headers, bodies, receipts] = &mut self.columns;
        [
            &mut headers.data,
            &mut headers.ends,
            &mut bodies.data,
            &mut bodies.ends,
            &mut receipts.data,
            &mut receipts.ends,
            &mut self.hashes,
        ]
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
        self.check_writable()?;
        let items = [Some(blocks.headers), blocks.bodies, blocks.receipts];
        self.check_chunk(blocks, &items)?;
        if blocks.hashes.is_empty() {
            return Ok(());
        }
        self.failed = true;
        for (column, items) in items.iter().enumerate() {
            if let Some(items) = items {
                self.append_column(column, items)?;
            }
            self.crash.reach(CrashPoint::AfterColumn)?;
        }
        self.hashes.append(blocks.hashes.as_flattened())?;
        self.crash.reach(CrashPoint::AfterHashes)?;
        self.index.append(blocks.hashes, &self.hashes)?;
        self.crash.reach(CrashPoint::AfterIndex)?;
        if self.appended.count == 0 {
            self.appended.first = blocks.first;
            self.appended.kept = items.map(|column| column.is_some());
        }
        self.appended.count += blocks.hashes.len() as u64;
        self.appended.bytes = [0, 1, 2].map(|i| self.columns[i].data.len());
        self.appended.tails = self.files().map(SummedFile::tail);
        self.failed = false;
        Ok(())
    }

    fn append_column(&mut self, index: usize, items: &Items) -> Result<()> {
        let Column { data, ends } = &mut self.columns[index];
        let base = data.len();
        if self.crash.is_due(CrashPoint::HalfData) {
            data.append(&items.bytes[..items.bytes.len() / 2])?;
            return Err(Error::Crash(CrashPoint::HalfData));
        }
        data.append(items.bytes)?;
        self.crash.reach(CrashPoint::AfterData)?;
        let absolute: Vec<u8> =
            items.ends.iter().flat_map(|end| (base + u64::from(*end)).to_le_bytes()).collect();
        ends.append(&absolute)
    }

    fn check_chunk(&self, blocks: &Blocks, items: &[Option<Items>; 3]) -> Result<()> {
        let count = blocks.hashes.len();
        if self.appended.count > 0 {
            if blocks.first != self.appended.next() {
                return Err(mismatch("block number", self.appended.next(), blocks.first));
            }
            let kept = items.map(|column| column.is_some());
            if kept != self.appended.kept {
                let expected = format!("{:?}", self.appended.kept);
                return Err(mismatch("headers, bodies, receipts", expected, format!("{kept:?}")));
            }
        } else if blocks.first.checked_add(1 << 48).is_none() {
            return Err(mismatch("first block number", "below 2^64 - 2^48", blocks.first));
        }
        items.iter().flatten().try_for_each(|items| items.check(count))
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.lock.is_none() {
            return Err(Error::ReadOnly { path: self.dir.clone() });
        }
        if self.failed {
            return Err(Error::Failed { path: self.dir.clone() });
        }
        Ok(())
    }

    /// The last committed block; `None` in an empty store.
    pub fn tip(&self) -> Option<Tip> {
        (self.committed.count > 0).then_some(self.committed.tip)
    }

    /// Number of the first block; `None` in an empty store.
    pub fn first(&self) -> Option<u64> {
        (self.appended.count > 0).then_some(self.appended.first)
    }

    /// Number of blocks, those not yet committed included.
    pub fn count(&self) -> u64 {
        self.appended.count
    }

    /// Header bytes of block `number`, or `None` when the store does not have it.
    pub fn header(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(0, number)
    }

    /// Body bytes of block `number`, or `None` when the store does not have them.
    pub fn body(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(1, number)
    }

    /// Receipt bytes of block `number`, or `None` when the store does not have them.
    pub fn receipts(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(2, number)
    }

    /// Hash of block `number`, or `None` when the store does not have it.
    pub fn hash_of(&self, number: u64) -> Result<Option<[u8; 32]>> {
        let Some(position) = self.position(number) else { return Ok(None) };
        let mut hash = [0; 32];
        self.hashes.read(position * 32, &mut hash)?;
        Ok(Some(hash))
    }

    /// Appends to `into` the hashes of `count` blocks from `number` on, or of those that the store
    /// has.
    pub fn hashes(&self, number: u64, count: u64, into: &mut Vec<[u8; 32]>) -> Result<()> {
        let Some(position) = self.position(number) else { return Ok(()) };
        let count = count.min(self.appended.count - position) as usize;
        let from = into.len();
        into.resize(from + count, [0; 32]);
        self.hashes.read(position * 32, into[from..].as_flattened_mut())
    }

    /// Number of the block with this hash, or `None` when the store does not have it.
    pub fn number_of(&self, hash: &[u8; 32]) -> Result<Option<u64>> {
        Ok(self.index.find(hash, &self.hashes)?.map(|position| self.appended.first + position))
    }

    /// The file and the byte where the header of block `number` begins, as far as that is known.
    pub fn header_place(&self, number: u64) -> (PathBuf, u64) {
        let before = self.position(number).and_then(|position| position.checked_sub(1));
        let start = before.and_then(|before| self.columns[0].end_of(before).ok()).unwrap_or(0);
        self.columns[0].data.location(start)
    }

    fn position(&self, number: u64) -> Option<u64> {
        number.checked_sub(self.appended.first).filter(|p| *p < self.appended.count)
    }

    pub(crate) fn item(&self, column: usize, number: u64) -> Result<Option<Vec<u8>>> {
        let Some(position) = self.position(number) else { return Ok(None) };
        if !self.appended.kept[column] {
            return Ok(None);
        }
        let Column { data, ends } = &self.columns[column];
        let (start, end) = match position.checked_sub(1) {
            None => (0, self.columns[column].end_of(0)?),
            Some(before) => {
                (self.columns[column].end_of(before)?, self.columns[column].end_of(position)?)
            }
        };
        if start > end || end > data.len() || end - start > MAX_ITEM_BYTES {
            let (path, offset) = ends.location(position * 8);
            return Err(Error::Damaged {
                path,
                offset,
                what: "end of an item",
                expected: format!("{start} to {}", data.len().min(start + MAX_ITEM_BYTES)),
                found: end.to_string(),
            });
        }
        let mut bytes = vec![0; (end - start) as usize];
        data.read(start, &mut bytes)?;
        Ok(Some(bytes))
    }
}

impl Items<'_> {
    fn check(&self, count: usize) -> Result<()> {
        if self.ends.len() != count {
            return Err(mismatch("number of items", count, self.ends.len()));
        }
        let mut start = 0;
        for end in self.ends {
            if *end < start || u64::from(end - start) > MAX_ITEM_BYTES {
                let expected = format!("{start} to {}", u64::from(start) + MAX_ITEM_BYTES);
                return Err(mismatch("end of an item", expected, end));
            }
            start = *end;
        }
        if start as usize != self.bytes.len() {
            return Err(mismatch("bytes in a column", start, self.bytes.len()));
        }
        Ok(())
    }
}
