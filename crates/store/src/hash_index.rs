//! From a block hash to the position of the block, in bounded memory.
//!
//! After each 65,536 blocks, their hash prefixes are sorted and appended to the index as one run;
//! after 16 small runs, one big run over the same blocks is appended as well. A run covers a fixed
//! range of blocks and has a fixed size, so its position follows from its number. A look-up scans
//! the unsealed tail in memory, then reads one or two blocks of each run that no bigger run covers:
//! at 25 million blocks, 23 big runs and at most 15 small ones. A prefix only proposes a block; the
//! full hash in the hashes decides. A filter in memory for the tail and for each run, built at the
//! first query of the run, answers for most absent hashes; at 25 million blocks the filters take 40
//! MB.
//!
//! The index holds nothing that does not follow from the hashes, so missing or corrupt runs are
//! rebuilt: in the files if the store is open for writing, in memory if a reader finds one. Layout:
//! `docs/formats/segment.md`.

use std::sync::Arc;

use crate::{
    checksummed_file::ChecksummedFile,
    error::{Error, Result, hex},
    filter::Filter,
    index_level::{Level, prefix, prefixes, seal_from_hashes},
    segment::Segment,
    segmented_file::SegmentedFile,
};

/// Small runs in a big one.
const FAN_OUT: u64 = 16;
/// Names of its files: small runs, big runs.
pub(crate) const FILES: [&str; 2] = ["index-small", "index-big"];

/// The index; see the module text.
pub(crate) struct HashIndex {
    /// Small runs, big runs.
    levels: [Level; 2],
    /// Hash prefixes of the blocks after the last small run, in order.
    tail: Vec<u64>,
    tail_filter: Filter,
}

impl HashIndex {
    /// An empty index of `hashes` in the same folder; [`HashIndex::restore`] fills it.
    pub fn new(hashes: &Segment, run_items: u64, writable: bool) -> HashIndex {
        let (folder, file_bytes) = (&hashes.folder, hashes.file_bytes());
        let [small, big] = FILES.map(|name| {
            SegmentedFile::new(Arc::clone(&folder.disk), &folder.dir, name, file_bytes, writable)
        });
        let small = Level::new(small, run_items);
        let big = Level::new(big, run_items * FAN_OUT);
        let tail_filter = Filter::with_room(run_items as usize);
        HashIndex { levels: [small, big], tail: Vec::new(), tail_filter }
    }

    /// Makes all runs survive a power loss. The caller syncs the folder afterwards.
    pub fn sync(&mut self) -> Result<()> {
        for level in &mut self.levels {
            level.file.sync()?;
            level.file.mark_durable();
        }
        Ok(())
    }

    /// Takes in the hashes of new blocks, which `all` already ends with.
    pub fn append(&mut self, mut hashes: &[[u8; 32]], all: &ChecksummedFile) -> Result<()> {
        let run_items = self.levels[0].run_items as usize;
        while !hashes.is_empty() {
            let (now, later) = hashes.split_at(hashes.len().min(run_items - self.tail.len()));
            for prefix in now.iter().map(prefix) {
                self.tail.push(prefix);
                self.tail_filter.insert(prefix);
            }
            hashes = later;
            if self.tail.len() == run_items {
                let [small, big] = &mut self.levels;
                small.seal(&self.tail)?;
                self.tail.clear();
                self.tail_filter.clear();
                if small.runs() % FAN_OUT == 0 {
                    seal_from_hashes(big, all)?;
                }
            }
        }
        Ok(())
    }

    /// Position of the block with this hash, counted from the first block of the store.
    pub fn find(&self, hash: &[u8; 32], all: &ChecksummedFile) -> Result<Option<u64>> {
        let wanted = prefix(hash);
        let [small, big] = &self.levels;
        let mut is_hit = |item: u64| {
            let mut found = [0; 32];
            all.read(item * 32, &mut found)?;
            Ok(found == *hash)
        };
        let tail_start = small.runs() * small.run_items;
        let tail = if self.tail_filter.may_hold(wanted) { &self.tail[..] } else { &[] };
        for (place, _) in (0..).zip(tail).filter(|(_, p)| **p == wanted) {
            if is_hit(tail_start + place)? {
                return Ok(Some(tail_start + place));
            }
        }
        let small_runs = (big.runs() * FAN_OUT..small.runs()).map(|run| (small, run));
        for (level, run) in (0..big.runs()).map(|run| (big, run)).chain(small_runs).rev() {
            if let Some(item) = level.find_or_mend(run, wanted, all, &mut is_hit)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Runs of each level for `count` blocks.
    pub fn runs(&self, count: u64) -> [u64; 2] {
        self.levels.each_ref().map(|level| count / level.run_items)
    }

    /// Bytes of all runs for `count` blocks.
    pub fn bytes(&self, count: u64) -> u64 {
        self.levels.iter().map(|level| count / level.run_items * level.run_bytes()).sum()
    }

    /// Compares a run with the hashes. Returns its size in bytes and what is wrong. A run of
    /// corrupt hashes is skipped.
    pub fn check(
        &self,
        level: usize,
        run: u64,
        all: &ChecksummedFile,
    ) -> Result<(u64, Option<Error>)> {
        let level = &self.levels[level];
        for block in 0..level.run_blocks() {
            match level.read_block(run, block) {
                Err(error @ Error::Corrupt { .. }) => return Ok((level.run_bytes(), Some(error))),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        let expected = match level.build(run, all) {
            Err(Error::Corrupt { .. }) => return Ok((level.run_bytes(), None)),
            other => other?,
        };
        let (mut found, start) = (vec![0; expected.len()], run * level.run_bytes());
        level.file.read(start, &mut found)?;
        let Some(at) = (0..found.len()).find(|at| expected[*at] != found[*at]) else {
            return Ok((level.run_bytes(), None));
        };
        let (path, offset) = level.file.location(start + at as u64);
        let (expected, found) = (hex(&expected[at..=at]), hex(&found[at..=at]));
        let error = Error::Corrupt { path, offset, what: "run of the index", expected, found };
        Ok((level.run_bytes(), Some(error)))
    }

    /// Makes the index match the first `count` hashes of `all`: runs beyond them are cut off, runs
    /// that are missing, or corrupt after the first `trusted` hashes, are built again. Returns how
    /// many were built. An index open for reading builds none, and mends those that it is asked
    /// for.
    pub fn restore(
        &mut self,
        count: u64,
        trusted: u64,
        all: &ChecksummedFile,
        writable: bool,
    ) -> Result<u64> {
        let mut built = 0;
        for level in &mut self.levels {
            level.forget();
            let (runs, run_bytes) = (count / level.run_items, level.run_bytes());
            level.file.resume(runs * run_bytes, 0);
            if !writable {
                continue;
            }
            let there = (level.file.whole_len() / run_bytes).min(runs);
            level
                .file
                .resume(there * run_bytes, (trusted / level.run_items).min(there) * run_bytes);
            level.file.cut(there * run_bytes)?;
            for run in trusted / level.run_items..there {
                if !level.is_whole(run) {
                    let bytes = level.build(run, all)?;
                    level.file.rewrite(run * run_bytes, &bytes)?;
                    built += 1;
                }
            }
            for _ in there..runs {
                seal_from_hashes(level, all)?;
                built += 1;
            }
        }
        let small = &self.levels[0];
        self.tail = prefixes(all, small.runs() * small.run_items..count)?;
        self.tail_filter.clear();
        self.tail.iter().for_each(|prefix| self.tail_filter.insert(*prefix));
        Ok(built)
    }
}
