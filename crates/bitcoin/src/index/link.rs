//! Links headers to a tree, in the order of Bitcoin Core.
//!
//! Blocks are linked in the order of the files. A block without a linked parent waits for it, and
//! is linked right after it. So of two tips with equal work, the one with the lower number was
//! complete first, which is the one that Core keeps.
//!
//! Properties that depend on one record only are computed first, in the order of records, and
//! stored in 32 bytes for each: if files are out of order, linking jumps between records, and then
//! reads one cache line of each. The hash table takes 16 to 32 bytes more per record while the tree
//! is built.

mod block;

use super::Found;
use super::hash_table::HashTable;
use super::tree::{Anchor, Block, GENESIS, RefusalReason, Refused, Tree};
use super::work::WorkMemo;
use crate::BlockHash;
use crate::header::Claims;
use crate::header::rules::verify_work;
use crate::params::Params;

/// [`Record::block`] of a record that is not linked yet.
const UNLINKED: u32 = u32::MAX;
/// [`Record::block`] of a record that is not linked yet, and has no proof of work.
const UNPROVEN: u32 = u32::MAX - 1;
/// [`Record::block`] of a refused record.
const REFUSED: u32 = u32::MAX - 2;
/// Maximum number of records. Their list would take 549 GB.
const MAX_RECORDS: usize = REFUSED as usize - 1;
/// Number of lookups that are interleaved to hide memory latency.
const BATCH: usize = 32;
/// The end of a list, or no parent.
const NONE: u32 = u32::MAX;

impl Tree {
    /// A tree with the first block only.
    pub(crate) fn empty(params: &Params) -> Tree {
        Linker::new(params, None, vec![], None).finish()
    }

    /// Builds the tree of `found`, in the order of files and offsets (sorts it if necessary). `now`
    /// is the clock, see [`verify_header`](crate::header::rules::verify_header).
    ///
    /// Time and memory are proportional to the number of records, for any content.
    pub fn build(params: &Params, mut found: Vec<Found>, now: Option<u64>) -> Tree {
        found.truncate(MAX_RECORDS);
        if !found.is_sorted_by_key(position) {
            found.sort_unstable_by_key(position);
        }
        Self::build_from(params, None, found, now)
    }

    /// Builds the tree of files that begin in the middle of a chain: `anchor` replaces the first
    /// block. Rules that need earlier blocks are not checked.
    pub(crate) fn build_from(
        params: &Params,
        anchor: Option<Anchor>,
        found: Vec<Found>,
        now: Option<u64>,
    ) -> Tree {
        let mut linker = Linker::new(params, anchor, found, now);
        linker.enter_hashes();
        linker.resolve_parents();
        linker.link_all();
        linker.finish()
    }
}

fn position(found: &Found) -> (u32, u64) {
    (found.file, found.offset)
}

/// The properties of a record that linking needs.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Record {
    claims: Claims,
    /// The record of the parent; [`NONE`] if there is none.
    parent: u32,
    /// Its block, [`UNLINKED`], [`UNPROVEN`] or [`REFUSED`].
    block: u32,
    /// The last record that waits for this one. The waiting records form a ring in `next`.
    waiting: u32,
    next: u32,
}

/// A tree under construction.
struct Linker<'a> {
    params: &'a Params,
    now: Option<u64>,
    tree: Tree,
    table: HashTable,
    records: Vec<Record>,
    /// Records that repeat another: the first record, the repeated one.
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

    /// Computes the properties of each record, and finds its parent.
    fn resolve_parents(&mut self) {
        let (params, table, found) = (self.params, &self.table, &self.tree.found);
        for batch in found.chunks(BATCH) {
            // first all slots of a batch, then all records that they name: the CPU waits for many
            // cache lines at once
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

    /// Links the records in the order of the files, as Core does.
    fn link_all(&mut self) {
        let genesis = self.table.get(&self.tree.genesis_hash, &self.tree.found);
        let mut repeats = 0;
        let mut stray = Vec::new();
        for record in 0..self.records.len() as u32 {
            if let Some((first, _)) = self.repeats.get(repeats).filter(|(_, it)| *it == record) {
                // it waits as long as the first one
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

    /// Counts the records that waited and were linked or refused, and those without a parent in the
    /// files. `stray` is the number of records that waited for no other record.
    fn count_order(&mut self, stray: usize) {
        let repeats = self.repeats.iter().filter(|(first, _)| self.is_waiting(*first)).count();
        let orphans = self.tree.orphans.len();
        self.tree.unlinked = (orphans + repeats) as u32;
        let waited = self.tree.held_back + self.tree.released;
        self.tree.released = waited - (orphans - stray + repeats) as u32;
    }

    /// Returns whether the record is neither linked nor refused.
    #[inline]
    fn is_waiting(&self, record: u32) -> bool {
        self.records[record as usize].block > REFUSED
    }

    fn previous(&self, record: u32) -> BlockHash {
        self.tree.found[record as usize].header().previous()
    }

    /// Appends `record` to the records that wait for `parent`.
    fn wait(&mut self, record: u32, parent: u32) {
        let last = std::mem::replace(&mut self.records[parent as usize].waiting, record);
        let first = if last == NONE {
            record
        } else {
            std::mem::replace(&mut self.records[last as usize].next, record)
        };
        self.records[record as usize].next = first;
    }

    /// Appends the records that wait for `record` to the queue, in their order.
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

    /// Links or refuses all records that wait for `record`, directly or indirectly.
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

    /// Links `record` to its parent record, or refuses it if the parent was refused.
    #[inline]
    fn link_after(&mut self, record: u32, parent: u32) {
        match self.records[parent as usize].block {
            REFUSED => self.refuse(record, RefusalReason::Ancestor(parent)),
            block => self.link(record, block),
        }
    }

    #[cold]
    fn refuse(&mut self, record: u32, reason: RefusalReason) {
        self.records[record as usize].block = REFUSED;
        self.tree.refused.push(Refused { record, reason });
    }

    /// Collects the records whose ancestors are missing, with the first record after the gap.
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
