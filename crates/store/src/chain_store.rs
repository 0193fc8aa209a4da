//! The block store: append blocks, commit them, go back to an earlier one.
//!
//! Blocks `first..` without a gap, in columns: headers, and where the caller has them bodies and
//! receipts, each a segment of raw bytes with one of end offsets beside it; 32-byte hashes in a
//! segment of their own. All are parts of one [`Store`], whose commits carry the last block. The
//! hash index is no part of it: it follows from the hashes, and is built again where it is not as
//! it should be. Opening: `chain_open.rs`, reading: `chain_read.rs`, removing: `chain_remove.rs`,
//! what commits carry: `chain_state.rs`.

use std::{ffi::OsStr, path::PathBuf, sync::Arc};

use crate::{
    checksummed_file::ChecksummedFile,
    column::{Column, Items},
    crash::CrashPoint,
    disk::{Disk, RealDisk},
    error::{Error, Result, hex, mismatch},
    hash_index::{self, HashIndex},
    manifest::{self, LIGHT, MAX_STATE, PartFacts},
    opening::LOCK,
    segment::Segment,
    segmented_file::SegmentedFile,
    store::{CommitPart, Store},
    tip::{ChainState, Tip},
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
    /// None where it is only read.
    pub(crate) store: Option<Store>,
    /// What the commit that was opened says of parts besides the blocks.
    pub(crate) found: Vec<PartFacts>,
    /// The state of these parts, as of the last commit of them.
    pub(crate) state_of_parts: Vec<u8>,
    pub(crate) columns: [Column; 3],
    pub(crate) hashes: Segment,
    pub(crate) index: HashIndex,
    /// The last block is that of the last commit, the first that of what was appended.
    pub(crate) state: ChainState,
    /// Blocks that are committed.
    pub(crate) committed: u64,
}

/// Parts besides the blocks that a commit takes in, and what kind of commit it is.
enum Others<'a, 'p> {
    Light(&'a mut [CommitPart<'p>]),
    Durable(&'a mut [CommitPart<'p>]),
}

/// Is `name` that of a file that a store gives itself? Whatever else lies in its folder is not the
/// store's.
#[must_use]
pub fn is_own_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_index = |index: &str| SegmentedFile::number_of(name, index).is_some();
    [LOCK, manifest::NAME, manifest::TEMPORARY].contains(&name)
        || LIGHT.contains(&name)
        || SEGMENTS.into_iter().any(|segment| Segment::is_own_file(name, segment))
        || hash_index::FILES.into_iter().any(is_index)
}

/// All segments of a store for writing, in the order of [`SEGMENTS`].
fn segments<'a>(columns: &'a mut [Column; 3], hashes: &'a mut Segment) -> [&'a mut Segment; 7] {
    let [headers, bodies, receipts] = columns;
    [
        &mut headers.data,
        &mut headers.ends,
        &mut bodies.data,
        &mut bodies.ends,
        &mut receipts.data,
        &mut receipts.ends,
        hashes,
    ]
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
                let (kept, given) = (format!("{kept:?}"), format!("{given:?}"));
                return Err(mismatch("headers, bodies, receipts", kept, given));
            }
        } else if blocks.first.checked_add(1 << 48).is_none() {
            return Err(mismatch("first block number", "below 2^64 - 2^48", blocks.first));
        }
        items.iter().flatten().try_for_each(|items| items.check(blocks.hashes.len()))
    }

    /// Commits everything appended so far. After it returns, the death of the process loses
    /// nothing; [`ChainStore::sync`] protects against power loss.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `tip` is not the last appended block; nothing is written then.
    pub fn commit(&mut self, tip: &Tip) -> Result<()> {
        self.writable()?;
        self.check_tip(tip, self.next())?;
        self.commit_as(tip, Others::Light(&mut []))
    }

    /// Commits everything appended so far together with `parts`, some of those that were opened in
    /// [`ChainStore::open_with`], and `state`, which is theirs: all of it or nothing. Durable when
    /// it returns. What other commits say of parts is what the last one of this kind said, so
    /// blocks may be committed ahead of them.
    ///
    /// # Errors
    /// Those of [`ChainStore::commit`]; [`Error::Mismatch`] when a part is not of this store, or
    /// when `state` is longer than half a mebibyte.
    pub fn commit_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        self.check_tip(tip, self.next())?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Durable(parts))
    }

    /// The same for segments, as a light commit: the death of the process loses nothing; after a
    /// power loss blocks and segments are those of the last commit that reached the disk whole.
    ///
    /// # Errors
    /// Those of [`ChainStore::commit_with`]; [`Error::Mismatch`] when a table or a log file among
    /// `parts` has changed, or a segment was cut, since the last commit.
    pub fn commit_light_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        self.check_tip(tip, self.next())?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Light(parts))
    }

    /// Makes everything committed so far survive a power loss.
    pub fn sync(&mut self) -> Result<()> {
        self.writable()?;
        if self.count() != self.committed {
            return Err(mismatch("blocks to sync", self.committed, self.count()));
        }
        self.commit_as(&{ self.state.tip }, Others::Durable(&mut []))
    }

    /// Removes all blocks after `tip`, those not yet committed included, and makes `tip` the last
    /// committed block. Durable when it returns.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the store does not hold that block; nothing changes then.
    pub fn truncate_after(&mut self, tip: &Tip) -> Result<()> {
        let state = self.state_of_parts.clone();
        self.truncate_after_with(tip, &mut [], &state)
    }

    /// The same, together with `parts`, which their owner has taken back to that block, and
    /// `state`, as in [`ChainStore::commit_with`].
    ///
    /// # Errors
    /// Those of [`ChainStore::truncate_after`] and of [`ChainStore::commit_with`].
    pub fn truncate_after_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        let count = match tip.number.checked_sub(self.state.first) {
            Some(position) if position < self.count() => position + 1,
            _ => {
                let (first, last) = (self.state.first, self.next().wrapping_sub(1));
                let expected = match first == last {
                    true => format!("block {last}"),
                    false => format!("one of the blocks {first} to {last}"),
                };
                return Err(mismatch("block to go back to", expected, tip.number));
            }
        };
        self.check_kept(tip.number)?;
        self.check_tip(tip, self.state.first + count)?;
        self.change(|chain| {
            for column in chain.columns.iter_mut().filter(|column| column.count() > 0) {
                column.data.cut(column.end_of(count - 1)?)?;
                column.ends.cut(count * 8)?;
            }
            chain.hashes.cut(count * 32)
        })?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Durable(parts))?;
        self.change(|chain| {
            chain.reach(CrashPoint::HalfCut)?;
            chain.index.restore(count, count, &chain.hashes.file, true).map(drop)
        })
    }

    /// Is `tip` the block before number `next`?
    fn check_tip(&self, tip: &Tip, next: u64) -> Result<()> {
        if self.count() == 0 || tip.number != next - 1 {
            let last = next.checked_sub(1).map_or("none".into(), |n| n.to_string());
            return Err(mismatch("number of the last block", last, tip.number));
        }
        let hash = self.hash_of(tip.number)?;
        if hash != Some(tip.hash) {
            let expected = hash.map_or("none".into(), |hash| hex(&hash));
            let found = hex(&tip.hash);
            return Err(mismatch("hash of the last block", expected, found));
        }
        Ok(())
    }

    /// Checks that parts and their state can be committed.
    pub(crate) fn check_parts(&mut self, parts: &[CommitPart<'_>], state: &[u8]) -> Result<()> {
        if state.len() > MAX_STATE / 2 {
            let expected = format!("at most {}", MAX_STATE / 2);
            return Err(mismatch("bytes of state of parts", expected, state.len()));
        }
        self.writable()?.check(parts)
    }

    /// Commits the blocks up to `tip` with other parts.
    fn commit_as(&mut self, tip: &Tip, others: Others<'_, '_>) -> Result<()> {
        self.change(|chain| {
            chain.reach(CrashPoint::BeforeCommit)?;
            if matches!(others, Others::Durable(_)) { chain.index.sync() } else { Ok(()) }
        })?;
        self.state.tip = *tip;
        let state = match self.count() {
            0 => vec![],
            _ => [&self.state.encode()[..], &self.state_of_parts].concat(),
        };
        let ChainStore { columns, hashes, store: Some(store), .. } = self else { return Ok(()) };
        let mut parts: Vec<_> =
            segments(columns, hashes).map(CommitPart::Segment).into_iter().collect();
        match others {
            Others::Durable(others) => {
                parts.extend(others.iter_mut().map(CommitPart::reborrow));
                store.commit_some(&mut parts, &state)?;
            }
            Others::Light(others) => {
                parts.extend(others.iter_mut().map(CommitPart::reborrow));
                store.commit_some_light(&mut parts, &state)?;
            }
        }
        self.committed = self.count();
        Ok(())
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
    fn reach(&self, point: CrashPoint) -> Result<()> {
        self.hashes.folder.reach(point)
    }
}
