//! One size of runs of the hash index: sorted hash prefixes in blocks with checksums.
//!
//! Layout: `docs/formats/segment.md`.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    checksummed_file::ChecksummedFile,
    error::{Error, Result, hex},
    filter::Filter,
    segmented_file::SegmentedFile,
};

/// Entries in an index block; an eight-byte trailer fills it up to 4096 bytes.
const BLOCK_ITEMS: usize = 511;
/// Bytes of an index block.
const BLOCK_BYTES: usize = 4096;
/// Blocks that a look-up visits by interpolation before it turns to bisection, which is never slow.
const GUESSES: u32 = 4;

/// One size of runs.
pub(crate) struct Level {
    pub file: SegmentedFile,
    pub run_items: u64,
    /// Of the runs that were asked, by number.
    filters: Mutex<BTreeMap<u64, Arc<Filter>>>,
    /// Runs that the files do not have as they should be, built again, by number.
    mended: Mutex<BTreeMap<u64, Arc<Vec<u8>>>>,
}

/// The first eight bytes of a hash as a number: the sort key of runs.
pub(crate) fn prefix(hash: &[u8; 32]) -> u64 {
    u64::from_be_bytes(*hash.first_chunk().unwrap_or(&[0; 8]))
}

impl Level {
    /// Without runs, until its file is resumed.
    pub fn new(file: SegmentedFile, run_items: u64) -> Level {
        Level { file, run_items, filters: Mutex::default(), mended: Mutex::default() }
    }

    /// Drops filters and rebuilt blocks of runs: a run that is cut off may return with other
    /// blocks.
    pub fn forget(&mut self) {
        (self.filters, self.mended) = (Mutex::default(), Mutex::default());
    }

    /// Index blocks in a run.
    pub fn run_blocks(&self) -> u64 {
        self.run_items.div_ceil(BLOCK_ITEMS as u64)
    }

    /// Bytes of a run.
    pub fn run_bytes(&self) -> u64 {
        self.run_blocks() * BLOCK_BYTES as u64
    }

    /// Runs that there are.
    pub fn runs(&self) -> u64 {
        self.file.len() / self.run_bytes()
    }

    /// An entry is the hash prefix with its low bits replaced by the place within the run.
    fn place_mask(&self) -> u64 {
        self.run_items - 1
    }

    /// Encodes run `run`, whose blocks have these hash prefixes.
    fn encode(&self, run: u64, prefixes: &[u64]) -> Vec<u8> {
        let mask = self.place_mask();
        let mut entries: Vec<u64> =
            prefixes.iter().zip(0..).map(|(p, place)| p & !mask | place).collect();
        entries.sort_unstable();
        let mut out = Vec::with_capacity(self.run_bytes() as usize);
        for (block, number) in entries.chunks(BLOCK_ITEMS).zip(0..) {
            let start = out.len();
            out.extend(block.iter().flat_map(|e| e.to_le_bytes()));
            out.resize(start + BLOCK_ITEMS * 8, 0);
            out.extend((block.len() as u32).to_le_bytes());
            out.extend(self.sum(run, number, &out[start..]).to_le_bytes());
        }
        out
    }

    /// The checksum of an index block, which covers its position as well.
    fn sum(&self, run: u64, block: u64, body: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.run_items.to_le_bytes());
        hasher.update(&(run * self.run_blocks() + block).to_le_bytes());
        hasher.update(body);
        hasher.finalize()
    }

    /// Appends the next run.
    pub fn seal(&mut self, prefixes: &[u64]) -> Result<()> {
        let bytes = self.encode(self.runs(), prefixes);
        self.file.append(&bytes)
    }

    /// Returns what run `run` should be.
    pub fn build(&self, run: u64, all: &ChecksummedFile) -> Result<Vec<u8>> {
        let start = run * self.run_items;
        Ok(self.encode(run, &prefixes(all, start..start + self.run_items)?))
    }

    /// Whether the file has run `run` as it was written.
    pub fn is_whole(&self, run: u64) -> bool {
        (0..self.run_blocks()).all(|block| self.read_block(run, block).is_ok())
    }

    /// Builds run `run` again from the hashes, for as long as the store is open.
    fn mend(&self, run: u64, all: &ChecksummedFile) -> Result<()> {
        let bytes = Arc::new(self.build(run, all)?);
        self.mended.lock().unwrap_or_else(PoisonError::into_inner).insert(run, bytes);
        Ok(())
    }

    /// Reads index block `block` of run `run` and checks it.
    pub fn read_block(&self, run: u64, block: u64) -> Result<Block> {
        let offset = block * BLOCK_BYTES as u64;
        let position = run * self.run_bytes() + offset;
        let mut bytes = [0; BLOCK_BYTES];
        match self.mended.lock().unwrap_or_else(PoisonError::into_inner).get(&run) {
            Some(run) => bytes.copy_from_slice(&run[offset as usize..][..BLOCK_BYTES]),
            None => self.file.read(position, &mut bytes)?,
        }
        let (body, sum) = bytes.split_at(BLOCK_BYTES - 4);
        let expected = self.sum(run, block, body).to_le_bytes();
        let before = block * BLOCK_ITEMS as u64;
        let len = (self.run_items - before).min(BLOCK_ITEMS as u64) as usize;
        if expected != sum || body[BLOCK_ITEMS * 8..] != (len as u32).to_le_bytes() {
            let (path, offset) = self.file.location(position);
            return Err(Error::Corrupt {
                path,
                offset,
                what: "index block",
                expected: format!("{len} entries with CRC-32 {:08x}", u32::from_le_bytes(expected)),
                found: hex(&bytes[BLOCK_BYTES - 8..]),
            });
        }
        Ok(Block { bytes, len })
    }

    /// The filter of run `run`, built from its blocks at the first query.
    fn filter(&self, run: u64) -> Result<Arc<Filter>> {
        let filters = || self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(filter) = filters().get(&run) {
            return Ok(Arc::clone(filter));
        }
        let mut filter = Filter::with_room(self.run_items as usize);
        for number in 0..self.run_blocks() {
            let block = self.read_block(run, number)?;
            (0..block.len).for_each(|i| filter.insert(block.entry(i)));
        }
        let filter = Arc::new(filter);
        filters().insert(run, Arc::clone(&filter));
        Ok(filter)
    }

    /// The position of the block that [`Level::find`] finds; a corrupt run is built again first.
    pub fn find_or_mend(
        &self,
        run: u64,
        prefix: u64,
        all: &ChecksummedFile,
        is_hit: &mut impl FnMut(u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        match self.find(run, prefix, is_hit) {
            // corrupt hashes, which `is_hit` reads, stop this too
            Err(Error::Corrupt { .. }) => {
                self.mend(run, all)?;
                self.find(run, prefix, is_hit)
            }
            other => other,
        }
    }

    /// Calls `is_hit` with each block of run `run` whose prefix matches `prefix`, until it returns
    /// true. Returns the position of that block in the chain.
    fn find(
        &self,
        run: u64,
        prefix: u64,
        is_hit: &mut impl FnMut(u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        if !self.filter(run)?.may_hold(prefix) {
            return Ok(None);
        }
        let (mask, blocks) = (self.place_mask(), self.run_blocks());
        let wanted = prefix & !mask;
        let Some((mut number, mut block)) = self.first_block_reaching(run, wanted)? else {
            return Ok(None);
        };
        loop {
            let from = block.lower_bound(wanted);
            for entry in (from..block.len).map(|i| block.entry(i)) {
                if entry & !mask != wanted {
                    return Ok(None);
                }
                let item = run * self.run_items + (entry & mask);
                if is_hit(item)? {
                    return Ok(Some(item));
                }
            }
            number += 1;
            if number == blocks {
                return Ok(None);
            }
            block = self.read_block(run, number)?;
        }
    }

    /// The first block of a run whose last entry is at least `wanted`.
    fn first_block_reaching(&self, run: u64, wanted: u64) -> Result<Option<(u64, Block)>> {
        let blocks = self.run_blocks();
        let (mut low, mut high, mut best) = (0, blocks, None);
        let mut guess = ((u128::from(wanted) * u128::from(blocks)) >> 64) as u64;
        let mut reads = 0;
        while low < high {
            let number = guess.clamp(low, high - 1);
            let block = self.read_block(run, number)?;
            let (first, last) = (block.entry(0), block.entry(block.len - 1));
            reads += 1;
            if last < wanted {
                low = number + 1;
                guess = low;
            } else {
                best = Some((number, block));
                high = number;
                if first < wanted {
                    break;
                }
                guess = number.saturating_sub(1);
            }
            if reads >= GUESSES {
                guess = low.midpoint(high);
            }
        }
        Ok(best)
    }
}

/// An index block that was read and checked.
pub(crate) struct Block {
    bytes: [u8; BLOCK_BYTES],
    len: usize,
}

impl Block {
    fn entry(&self, i: usize) -> u64 {
        let bytes = self.bytes[i * 8..].first_chunk().unwrap_or(&[0; 8]);
        u64::from_le_bytes(*bytes)
    }

    fn lower_bound(&self, wanted: u64) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let mid = low.midpoint(high);
            if self.entry(mid) < wanted { low = mid + 1 } else { high = mid }
        }
        low
    }
}

/// Appends the next run of `level` from the hashes on disk.
pub(crate) fn seal_from_hashes(level: &mut Level, all: &ChecksummedFile) -> Result<()> {
    let bytes = level.build(level.runs(), all)?;
    level.file.append(&bytes)
}

/// The hash prefixes of `items`.
pub(crate) fn prefixes(all: &ChecksummedFile, items: Range<u64>) -> Result<Vec<u64>> {
    let mut out = Vec::with_capacity((items.end - items.start) as usize);
    all.stream(items.start * 32..items.end * 32, |piece| {
        out.extend(piece.as_chunks::<32>().0.iter().map(prefix));
    })?;
    Ok(out)
}
