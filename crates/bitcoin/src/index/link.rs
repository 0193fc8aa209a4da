//! Linking found headers to a tree, in the order in which Core would.
//!
//! Blocks are taken in the order of the files; one whose parent is not linked yet waits for it, and
//! follows at once when it is. So of two tips with equal work the one with the lower number was
//! complete first, which is the one that Core keeps.
//!
//! What a record itself decides is worked out in the order of the records, and gathered in 32 bytes
//! for each: linking jumps from record to record when files are out of order, and then needs one
//! cache line of each. The table takes 16 to 32 bytes more while the tree is made.

use super::Found;
use super::hash_table::HashTable;
use super::tree::{Anchor, Block, GENESIS, Refused, Tree, Why};
use super::work::WorkMemo;
use crate::BlockHash;
use crate::header::Claims;
use crate::header::rules::{
    Known, MEDIAN_BLOCKS, Parent, Violation, begins_period, median, real_bits, verify_after,
    verify_known, verify_work,
};
use crate::params::Params;

/// What [`Record::block`] says of a record that is not linked.
const UNLINKED: u32 = u32::MAX;
/// And of one that is not linked and has no proof of work.
const UNPROVEN: u32 = u32::MAX - 1;
/// And of one that was refused.
const REFUSED: u32 = u32::MAX - 2;
/// No more records than this have a number. Their list would take 549 GB.
const MAX_RECORDS: usize = REFUSED as usize - 1;
/// Records that are looked up at once.
const BATCH: usize = 32;
/// The end of a list, or no parent.
const NONE: u32 = u32::MAX;

impl Tree {
    /// The first block and nothing else.
    pub(crate) fn empty(params: &Params) -> Tree {
        Linker::new(params, None, vec![], None).finish()
    }

    /// Builds the tree of what a scan found, in the order of files and offsets (it is sorted
    /// here when it comes otherwise). `now` is the clock, see
    /// [`verify_header`](crate::header::rules::verify_header).
    ///
    /// Time and memory are proportional to the number of records, whatever they contain.
    pub fn build(params: &Params, mut found: Vec<Found>, now: Option<u64>) -> Tree {
        found.truncate(MAX_RECORDS);
        if !found.is_sorted_by_key(position) {
            found.sort_unstable_by_key(position);
        }
        Self::build_from(params, None, found, now)
    }

    /// The same for files that begin in the middle of a chain: `anchor` stands in the place of the
    /// first block. Rules that ask for blocks before it are left out.
    pub(crate) fn build_from(
        params: &Params,
        anchor: Option<Anchor>,
        found: Vec<Found>,
        now: Option<u64>,
    ) -> Tree {
        let mut linker = Linker::new(params, anchor, found, now);
        linker.enter_hashes();
        linker.look_at_records();
        linker.link_all();
        linker.finish()
    }
}

fn position(found: &Found) -> (u32, u64) {
    (found.file, found.offset)
}

/// What linking needs of a record.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Record {
    claims: Claims,
    /// The record of the block before; [`NONE`] when there is none.
    parent: u32,
    /// Its block, [`UNLINKED`], [`UNPROVEN`] or [`REFUSED`].
    block: u32,
    /// The last of the records that wait for this one; they form a ring in `next`.
    waiting: u32,
    next: u32,
}

/// A tree in the making.
struct Linker<'a> {
    params: &'a Params,
    now: Option<u64>,
    tree: Tree,
    table: HashTable,
    records: Vec<Record>,
    /// Records that repeat another: the other, the record.
    repeats: Vec<(u32, u32)>,
    queue: Vec<u32>,
    works: WorkMemo,
}

impl<'a> Linker<'a> {
    fn new(
        params: &'a Params,
        anchor: Option<Anchor>,
        found: Vec<Found>,
        now: Option<u64>,
    ) -> Linker<'a> {
        let count = found.len();
        let mut blocks = Vec::with_capacity(count + 1);
        let first = anchor.and_then(|anchor| found.get(anchor.record as usize));
        blocks.push(
            first.map_or_else(|| Block::genesis(params), |first| Block::root(first.header())),
        );
        Linker {
            params,
            now,
            table: HashTable::new(count),
            records: Vec::with_capacity(count),
            repeats: Vec::new(),
            queue: Vec::new(),
            works: WorkMemo::new(),
            tree: Tree {
                genesis_hash: anchor.map_or(params.genesis_hash, |anchor| anchor.hash),
                anchor,
                found,
                blocks,
                copies: Vec::new(),
                refused: Vec::new(),
                orphans: Vec::new(),
                choice: None,
                repeated: 0,
                parents_later: 0,
                held_back: 0,
                released: 0,
                unlinked: 0,
            },
        }
    }

    fn enter_hashes(&mut self) {
        for record in 0..self.tree.found.len() as u32 {
            if let Some(first) = self.table.insert(record, &self.tree.found) {
                self.repeats.push((first, record));
            }
        }
        self.tree.repeated = self.repeats.len() as u32;
    }

    /// What follows from a record without any other, and where its parent is.
    fn look_at_records(&mut self) {
        let (params, table, found) = (self.params, &self.table, &self.tree.found);
        for batch in found.chunks(BATCH) {
            // first all slots of a batch, then all records that they name: so the CPU waits for
            // many cache lines at once
            let mut guesses = [NONE; BATCH];
            for (guess, one) in guesses.iter_mut().zip(batch) {
                *guess = table.guess(&one.header().previous());
            }
            self.records.extend(batch.iter().zip(guesses).map(|(one, guess)| {
                let (previous, claims) = (one.header().previous(), one.header().claims());
                let parent = match found.get(guess as usize) {
                    Some(parent) if parent.hash == previous => guess,
                    _ => table.get(&previous, found).unwrap_or(NONE),
                };
                let proven = verify_work(params, claims.bits, &one.hash).is_ok();
                let block = if proven { UNLINKED } else { UNPROVEN };
                Record { claims, parent, block, waiting: NONE, next: NONE }
            }));
        }
    }

    /// Goes through the records in the order of the files, as Core does.
    fn link_all(&mut self) {
        let genesis = self.table.get(&self.tree.genesis_hash, &self.tree.found);
        let mut repeats = 0;
        let mut stray = Vec::new();
        for record in 0..self.records.len() as u32 {
            if let Some((first, _)) = self.repeats.get(repeats).filter(|(_, it)| *it == record) {
                // it waits as long as the first does
                self.tree.released += u32::from(self.is_waiting(*first));
                repeats += 1;
                continue;
            }
            let parent = self.records[record as usize].parent;
            if genesis == Some(record) {
                self.tree.blocks[GENESIS as usize].record = record;
                self.records[record as usize].block = GENESIS;
            } else if parent != NONE {
                self.tree.parents_later += u32::from(parent > record);
                if self.is_waiting(parent) {
                    self.tree.held_back += 1;
                    self.wait(record, parent);
                    continue;
                }
                self.link_after(record, parent);
            } else if self.previous(record) == self.tree.genesis_hash {
                self.link(record, GENESIS);
            } else {
                stray.push(record);
                continue;
            }
            self.link_waiting(record);
        }
        self.collect_orphans(&stray);
        self.count_order(stray.len());
    }

    /// How many records waited and were linked or refused after all, and how many wait for ever;
    /// `stray` have no parent that could come.
    fn count_order(&mut self, stray: usize) {
        let repeats = self.repeats.iter().filter(|(first, _)| self.is_waiting(*first)).count();
        let orphans = self.tree.orphans.len();
        self.tree.unlinked = (orphans + repeats) as u32;
        let waited = self.tree.held_back + self.tree.released;
        self.tree.released = waited - (orphans - stray + repeats) as u32;
    }

    /// Is the record neither linked nor refused yet?
    #[inline]
    fn is_waiting(&self, record: u32) -> bool {
        self.records[record as usize].block > REFUSED
    }

    fn previous(&self, record: u32) -> BlockHash {
        self.tree.found[record as usize].header().previous()
    }

    /// Puts `record` at the end of those that wait for `parent`.
    fn wait(&mut self, record: u32, parent: u32) {
        let last = std::mem::replace(&mut self.records[parent as usize].waiting, record);
        let first = if last == NONE {
            record
        } else {
            std::mem::replace(&mut self.records[last as usize].next, record)
        };
        self.records[record as usize].next = first;
    }

    /// Appends those that wait for `record` to the queue, in the order in which they came.
    fn enqueue_waiting(&mut self, record: u32) {
        let last = std::mem::replace(&mut self.records[record as usize].waiting, NONE);
        let mut at = last;
        while at != NONE {
            at = self.records[at as usize].next;
            self.queue.push(at);
            if at == last {
                return;
            }
        }
    }

    /// Links or refuses everything that waited for `record`, directly or not.
    fn link_waiting(&mut self, record: u32) {
        self.enqueue_waiting(record);
        let mut at = 0;
        while let Some(&record) = self.queue.get(at) {
            at += 1;
            self.link_after(record, self.records[record as usize].parent);
            self.enqueue_waiting(record);
        }
        self.queue.clear();
    }

    /// Links `record` after the record `parent`, or refuses it if that was refused.
    #[inline]
    fn link_after(&mut self, record: u32, parent: u32) {
        match self.records[parent as usize].block {
            REFUSED => self.refuse(record, Why::Ancestor(parent)),
            block => self.link(record, block),
        }
    }

    #[cold]
    fn refuse(&mut self, record: u32, why: Why) {
        self.records[record as usize].block = REFUSED;
        self.tree.refused.push(Refused { record, why });
    }

    /// Makes `record` a block after the block `parent`, if the rules allow it.
    #[inline]
    fn link(&mut self, record: u32, parent: u32) {
        let before = self.tree.blocks[parent as usize];
        let Record { claims, block: proven, .. } = self.records[record as usize];
        // records have numbers of 32 bits, so heights have
        let height = before.height + 1;
        let verdict = if proven == UNPROVEN {
            verify_work(self.params, claims.bits, &self.tree.found[record as usize].hash)
        } else if let Some(anchor) = self.tree.anchor {
            self.verify_known(anchor, &before, &claims)
        } else {
            verify_after(self.params, &self.context(&before), &claims, self.now)
        };
        if let Err(violation) = verdict {
            return self.refuse(record, Why::Rule(height, violation));
        }
        let Claims { time, bits, .. } = claims;
        let base = self.tree.base();
        let block = self.tree.blocks.len() as u32;
        let block_work = self.works.of(bits);
        self.tree.blocks.push(Block {
            work: before.work.saturating_add(block_work),
            parent,
            height,
            time,
            bits,
            median_time: self.median_time(parent, time),
            real_bits: real_bits(self.params, height + base, bits, before.real_bits),
            first: if self.begins_period(height) { block } else { before.first },
            record,
        });
        self.records[record as usize].block = block;
    }

    /// Does a period begin at this height, counted from the first block?
    #[inline]
    fn begins_period(&self, height: u32) -> bool {
        match self.tree.anchor {
            None => begins_period(self.params, height),
            Some(Anchor { height: Some(base), .. }) => begins_period(self.params, base + height),
            Some(Anchor { height: None, .. }) => false,
        }
    }

    /// The rules that what is known of the blocks before decides.
    #[cold]
    fn verify_known(
        &self,
        anchor: Anchor,
        before: &Block,
        claims: &Claims,
    ) -> Result<(), Violation> {
        let known = Known {
            height: anchor.height.is_some(),
            period: before.first != GENESIS || self.begins_period(0),
            within: anchor.height.is_some() && !self.begins_period(before.height + 1),
            times: before.height as usize + 1 >= MEDIAN_BLOCKS,
        };
        verify_known(self.params, &self.context(before), claims, self.now, known)
    }

    /// What the rules need to know of the block before.
    #[inline]
    fn context(&self, before: &Block) -> Parent {
        let first = &self.tree.blocks[before.first as usize];
        Parent {
            height: before.height + self.tree.base(),
            time: before.time,
            bits: before.bits,
            median_time: before.median_time,
            real_bits: before.real_bits,
            first_time: first.time,
            first_bits: first.bits,
        }
    }

    /// The median of `time` and the times of `parent` and the nine before it.
    #[inline]
    fn median_time(&self, parent: u32, time: u32) -> u32 {
        let mut times = [time; MEDIAN_BLOCKS];
        let mut at = parent;
        let mut free = MEDIAN_BLOCKS - 1;
        while free > 0 {
            let block = &self.tree.blocks[at as usize];
            free -= 1;
            times[free] = block.time;
            if at == GENESIS {
                break;
            }
            at = block.parent;
        }
        median(&mut times[free..]).unwrap_or(time)
    }

    /// What is left waits for blocks that no file has: each belongs to the record in front of it.
    fn collect_orphans(&mut self, stray: &[u32]) {
        for &root in stray {
            self.tree.orphans.push((root, root));
            self.enqueue_waiting(root);
            let mut at = 0;
            while let Some(&record) = self.queue.get(at) {
                at += 1;
                self.tree.orphans.push((root, record));
                self.enqueue_waiting(record);
            }
            self.queue.clear();
        }
    }

    fn finish(mut self) -> Tree {
        let records = &self.records;
        let linked = self.repeats.iter().filter_map(|(first, record)| {
            let block = records[*first as usize].block;
            (block < REFUSED).then_some((block, *record))
        });
        self.tree.copies = linked.collect();
        self.tree.copies.sort_unstable();
        self.tree
    }
}
