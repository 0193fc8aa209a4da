//! From a block hash to the block's position, in bounded memory.
//!
//! Whenever 65,536 more blocks are in the store, their hash prefixes are sorted and appended to
//! the index as one run; whenever 16 small runs are complete, one big run over the same blocks is
//! appended too. A run covers a fixed range of blocks and has a fixed size, so its place follows
//! from its number. A look-up scans the unsealed tail in memory, then reads a block or two of
//! each run that is not covered by a bigger one: at 25 million blocks 23 big runs and at most 15
//! small ones. A prefix only proposes a block: the full hash in the hashes rope decides. A filter
//! in memory for the tail and for each run, made when the run is first asked, answers for most
//! absent hashes; at 25 million blocks the filters take 40 MB.
//!
//! The index holds nothing that the hashes do not say, so lost or damaged runs are built again.
//! Layout: `docs/formats/segment.md`.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    checkpoint::Layout,
    error::{Error, Result},
    filter::Filter,
    rope::Rope,
};

/// Small runs in a big one.
const FAN_OUT: u64 = 16;
/// Entries in an index block; an eight-byte trailer fills it up to 4096 bytes.
const BLOCK_ITEMS: usize = 511;
/// Bytes of an index block.
const BLOCK_BYTES: usize = 4096;
/// Blocks that a look-up visits by interpolation before it turns to bisection, which is never slow.
const GUESSES: u32 = 4;

/// One size of runs.
struct Level {
    rope: Rope,
    run_items: u64,
    /// Of the runs that were asked, by number.
    filters: Mutex<BTreeMap<u64, Arc<Filter>>>,
}

/// The index; see the module text.
pub(crate) struct HashIndex {
    /// Small runs, big runs.
    levels: [Level; 2],
    /// Hash prefixes of the blocks after the last small run, in order.
    tail: Vec<u64>,
    tail_filter: Filter,
}

/// The first eight bytes of a hash as a number: what runs are sorted by.
fn prefix(hash: &[u8; 32]) -> u64 {
    u64::from_be_bytes(*hash.first_chunk().unwrap_or(&[0; 8]))
}

impl Level {
    fn new(rope: Rope, run_items: u64) -> Level {
        Level { rope, run_items, filters: Mutex::default() }
    }

    /// Index blocks in a run.
    fn run_blocks(&self) -> u64 {
        self.run_items.div_ceil(BLOCK_ITEMS as u64)
    }

    fn run_bytes(&self) -> u64 {
        self.run_blocks() * BLOCK_BYTES as u64
    }

    fn runs(&self) -> u64 {
        self.rope.len() / self.run_bytes()
    }

    /// An entry is the hash prefix with its low bits replaced by the place within the run.
    fn place_mask(&self) -> u64 {
        self.run_items - 1
    }

    /// Sorts the prefixes of the next run and appends it.
    fn seal(&mut self, prefixes: &[u64]) -> Result<()> {
        let mask = self.place_mask();
        let mut entries: Vec<u64> =
            prefixes.iter().zip(0..).map(|(p, place)| p & !mask | place).collect();
        entries.sort_unstable();
        let mut out = Vec::with_capacity(self.run_bytes() as usize);
        for block in entries.chunks(BLOCK_ITEMS) {
            let start = out.len();
            out.extend(block.iter().flat_map(|e| e.to_le_bytes()));
            out.resize(start + BLOCK_ITEMS * 8, 0);
            out.extend((block.len() as u32).to_le_bytes());
            out.extend(crc32fast::hash(&out[start..]).to_le_bytes());
        }
        self.rope.append(&out)
    }

    /// Reads index block `block` of run `run` and checks it.
    fn read_block(&self, run: u64, block: u64) -> Result<Block> {
        let position = run * self.run_bytes() + block * BLOCK_BYTES as u64;
        let mut bytes = [0; BLOCK_BYTES];
        self.rope.read(position, &mut bytes)?;
        let (body, sum) = bytes.split_at(BLOCK_BYTES - 4);
        let expected = crc32fast::hash(body).to_le_bytes();
        let before = block * BLOCK_ITEMS as u64;
        let len = (self.run_items - before).min(BLOCK_ITEMS as u64) as usize;
        if expected != sum || body[BLOCK_ITEMS * 8..] != (len as u32).to_le_bytes() {
            let (path, offset) = self.rope.place(position);
            return Err(Error::Damaged {
                path,
                offset,
                what: "index block",
                expected: format!("{len} entries with CRC-32 {expected:02x?}"),
                found: format!("{:02x?}", &bytes[BLOCK_BYTES - 8..]),
            });
        }
        Ok(Block { bytes, len })
    }

    /// The filter of run `run`, made from its blocks when it is asked for the first time.
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

    /// Calls `is_hit` with each place of run `run` whose prefix is like `prefix`, until it says
    /// yes; the answer is the block's position in the chain.
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

    /// The first block of a run whose last entry is not below `wanted`.
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
struct Block {
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

impl HashIndex {
    /// An index without entries; [`HashIndex::restore`] fills it.
    pub fn new(dir: &Path, layout: Layout, writable: bool) -> HashIndex {
        let rope = |name| Rope::new(dir, name, layout.file_bytes, writable);
        let small = Level::new(rope("index-small"), layout.run_items);
        let big = Level::new(rope("index-big"), layout.run_items * FAN_OUT);
        let tail_filter = Filter::with_room(layout.run_items as usize);
        HashIndex { levels: [small, big], tail: Vec::new(), tail_filter }
    }

    /// The files of the index.
    pub fn ropes_mut(&mut self) -> impl Iterator<Item = &mut Rope> {
        self.levels.iter_mut().map(|level| &mut level.rope)
    }

    /// Takes in the hashes of new blocks, which `all` already ends with.
    pub fn append(&mut self, mut hashes: &[[u8; 32]], all: &Rope) -> Result<()> {
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
    pub fn find(&self, hash: &[u8; 32], all: &Rope) -> Result<Option<u64>> {
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
            if let Some(item) = level.find(run, wanted, &mut is_hit)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Makes the index match the first `count` hashes of `all`: runs beyond them are cut off, runs
    /// that are missing, or damaged after the first `durable` hashes, are built again. Returns how
    /// many were built. An index open for reading refuses instead of building.
    pub fn restore(&mut self, count: u64, durable: u64, all: &Rope, writable: bool) -> Result<u64> {
        let mut built = 0;
        for level in &mut self.levels {
            // a run that is cut off may come back with other blocks
            level.filters = Mutex::default();
            let runs = count / level.run_items;
            let mut good = (level.rope.whole_len() / level.run_bytes()).min(runs);
            let trusted = (durable / level.run_items).min(good);
            level.rope.resume(good * level.run_bytes(), trusted * level.run_bytes(), 0);
            let blocks = level.run_blocks();
            for run in trusted..good {
                if (0..blocks).any(|block| level.read_block(run, block).is_err()) {
                    good = run;
                    break;
                }
            }
            if writable {
                level.rope.cut(good * level.run_bytes())?;
            } else if good < runs {
                let (path, offset) = level.rope.place(good * level.run_bytes());
                return Err(Error::Damaged {
                    path,
                    offset,
                    what: "index (open for writing to build it again)",
                    expected: format!("{runs} runs"),
                    found: format!("{good}"),
                });
            }
            for _ in good..runs {
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

/// Appends the next run of `level` from the hashes on disk.
fn seal_from_hashes(level: &mut Level, all: &Rope) -> Result<()> {
    let start = level.runs() * level.run_items;
    let prefixes = prefixes(all, start..start + level.run_items)?;
    level.seal(&prefixes)
}

fn prefixes(all: &Rope, items: std::ops::Range<u64>) -> Result<Vec<u64>> {
    let mut out = Vec::with_capacity((items.end - items.start) as usize);
    all.stream(items.start * 32..items.end * 32, |piece| {
        out.extend(piece.as_chunks::<32>().0.iter().map(prefix));
    })?;
    Ok(out)
}
