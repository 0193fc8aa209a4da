//! The beacon state of an era, as far as this program needs it: the roots of the blocks of the era
//! and of all eras before. A state of the main network has some 300 MB, so it is unpacked piece by
//! piece. The checksum of every piece is compared; the rest of the state is not checked.

use blockmill_verdict::Digits;
use std::ops::Range;

use super::index::{ERA_SLOTS, Index};
use super::ssz::{Fault, Type, pair};
use crate::Error;
use crate::formats::e2store::pieces::unpack_pieces;
use crate::formats::e2store::word;

type Hash = [u8; 32];

/// Place of the root of the validators of the genesis, after the time of the genesis.
const VALIDATORS: usize = 8;
const SLOT: usize = VALIDATORS + 32;
/// Place of the roots of blocks: after the slot, the fork and the latest header.
const BLOCK_ROOTS: usize = SLOT + 8 + 16 + 112;
const ROOTS: usize = 32 * ERA_SLOTS as usize;
const STATE_ROOTS: usize = BLOCK_ROOTS + ROOTS;
/// Place of the offset of the historical roots, the first offset of a state.
const HISTORICAL_ROOTS: usize = STATE_ROOTS + ROOTS;
/// Place of the offset of the next field of variable length, the votes for eth1 data.
const VOTES: usize = HISTORICAL_ROOTS + 4 + 72;
/// Place of the offset of the historical summaries, from Capella on.
const SUMMARIES: usize = 2_736_649;
/// Place of the offset of the field after them, the pending deposits, from Electra on.
const PENDING_DEPOSITS: usize = SUMMARIES + 4 + 48;

/// Length of the fixed part of a state up to Bellatrix: Phase 0, Altair, Bellatrix.
const EARLY: [usize; 3] = [2_687_377, 2_736_629, 2_736_633];
/// Of Capella and Deneb.
const CAPELLA: usize = 2_736_653;
/// Of Electra, and of Fulu.
const ELECTRA: [usize; 2] = [2_736_713, 2_737_225];

/// The most eras that a state can have roots of: those of three thousand years.
const MOST_ERAS: u64 = 1 << 20;

/// The longest fixed part that is read. That of Fulu has 2.7 MB.
const MAX_FIXED: usize = 16 << 20;

/// The roots in a beacon state.
#[derive(Debug)]
pub(crate) struct State {
    /// The root of the latest block at each slot of the era.
    pub block_roots: Vec<Hash>,
    /// The root that names the file: of the roots of blocks and states of the era. In the era of
    /// the genesis, the root of the validators.
    pub era_root: Hash,
    /// The root of each era up to the fork Capella.
    pub historical_roots: Vec<Hash>,
    /// The root of the blocks of each era after that.
    pub summaries: Vec<Hash>,
    /// Whether the state is of a fork that is not known.
    pub is_later: bool,
}

impl State {
    /// Reads the state of a file, and compares the root of its era with the last one in the state.
    pub(super) fn read(index: &Index) -> Result<Self, Error> {
        let mut parts = Parts::default();
        let what = "beacon state";
        let bad = |fault: Fault| index.file.bad(index.state(), what, fault.expected, fault.found);
        unpack_pieces(&index.file, index.state(), what, |piece| {
            parts.take(piece, index.era()).map_err(bad)
        })?;
        parts.state(index).map_err(bad)
    }
}

/// The wanted parts of a state, while it is unpacked.
#[derive(Debug, Default)]
struct Parts {
    /// Bytes so far.
    size: u64,
    /// The fixed part, as far as it is known.
    head: Vec<u8>,
    /// The lists of roots, when the fixed part is complete.
    lists: Option<[List; 2]>,
}

/// A list in a state: its place, and its bytes so far.
#[derive(Debug, Default)]
struct List {
    place: Range<u64>,
    bytes: Vec<u8>,
}

impl List {
    /// Adds the part of the list that is in a piece of the state at `at`.
    fn take(&mut self, at: u64, piece: &[u8]) {
        let inside = |place: u64| place.saturating_sub(at).min(piece.len() as u64) as usize;
        self.bytes.extend_from_slice(&piece[inside(self.place.start)..inside(self.place.end)]);
    }
}

impl Parts {
    /// Takes the next piece of the state at the end of era `era`.
    fn take(&mut self, piece: &[u8], era: u64) -> Result<(), Fault> {
        let at = self.size;
        self.size += piece.len() as u64;
        if let Some(lists) = &mut self.lists {
            lists.iter_mut().for_each(|list| list.take(at, piece));
            return Ok(());
        }
        self.head.extend_from_slice(piece);
        if self.head.len() < VOTES + 4 {
            return Ok(());
        }
        let fixed = self.fixed_size();
        if !(VOTES + 4..=MAX_FIXED).contains(&fixed) {
            let expected = format!("a fixed part of {} to {MAX_FIXED} bytes", VOTES + 4);
            return Err(Fault::new(expected, format!("{fixed} bytes")));
        }
        if self.head.len() >= fixed {
            let mut lists = self.lists(era)?;
            lists.iter_mut().for_each(|list| list.take(0, &self.head));
            self.lists = Some(lists);
        }
        Ok(())
    }

    /// The offset at `at` of the fixed part.
    fn offset(&self, at: usize) -> u64 {
        let bytes = self.head.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
    }

    fn fixed_size(&self) -> usize {
        self.offset(HISTORICAL_ROOTS) as usize
    }

    /// The places of the historical roots and summaries. The first list follows the fixed part.
    fn lists(&self, era: u64) -> Result<[List; 2], Fault> {
        let fixed = self.fixed_size();
        let summaries = self.offset(SUMMARIES);
        let summaries = match () {
            // the last field: to the end of the state
            () if fixed == CAPELLA => summaries..u64::MAX,
            () if ELECTRA.contains(&fixed) => summaries..self.offset(PENDING_DEPOSITS),
            () => 0..0,
        };
        // one byte more than there may be, so that too many are noticed
        let limit = 64 * era.min(MOST_ERAS) + 1;
        let list = |place: Range<u64>| match place.start <= place.end {
            true => {
                let end = place.end.min(place.start.saturating_add(limit));
                Ok(List { place: place.start..end, bytes: vec![] })
            }
            false => Err(Fault::new("offsets that ascend", format!("{place:?}"))),
        };
        Ok([list(fixed as u64..self.offset(VOTES))?, list(summaries)?])
    }

    /// The state, when all of it is read.
    fn state(self, index: &Index) -> Result<State, Fault> {
        static ROOTS_OF_ERA: Type = Type::Hashes(ERA_SLOTS as usize);
        let Some([historical, summaries]) = &self.lists else {
            return Err(Fault::new("a beacon state", format!("{} bytes", self.size)));
        };
        let slot = word(&self.head, SLOT);
        if slot != index.end_slot {
            let expected = format!("slot {}, as in the index", index.end_slot);
            return Err(Fault::new(expected, slot.to_string()));
        }
        let fixed = self.fixed_size();
        let is_known = fixed == CAPELLA || EARLY.contains(&fixed) || ELECTRA.contains(&fixed);
        let block_roots = &self.head[BLOCK_ROOTS..STATE_ROOTS];
        let state_roots = &self.head[STATE_ROOTS..HISTORICAL_ROOTS];
        let era_root = match slot {
            0 => hashes(&self.head[VALIDATORS..SLOT])[0],
            _ => pair(&ROOTS_OF_ERA.root(block_roots)?, &ROOTS_OF_ERA.root(state_roots)?),
        };
        let historical_roots = hashes(&historical.bytes);
        let (pairs, _) = summaries.bytes.as_chunks::<64>();
        let pairs: Vec<_> = pairs.iter().map(|pair| hashes(pair)).collect();
        if is_known {
            let bytes = historical.bytes.len() + summaries.bytes.len() / 2;
            expect_roots(bytes, index.era())?;
            let last = pairs.last().map(|pair_of| pair(&pair_of[0], &pair_of[1]));
            expect_last(last.or(historical_roots.last().copied()), &era_root)?;
        }
        Ok(State {
            block_roots: hashes(block_roots),
            era_root,
            historical_roots,
            summaries: pairs.iter().map(|pair| pair[0]).collect(),
            is_later: !is_known,
        })
    }
}

fn hashes(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks().0.to_vec()
}

/// A state has the root of each era up to it.
fn expect_roots(bytes: usize, era: u64) -> Result<(), Fault> {
    if bytes as u64 == 32 * era {
        return Ok(());
    }
    let found = format!("{} and {} bytes", bytes / 32, bytes % 32);
    Err(Fault::new(format!("roots of {era} eras"), found))
}

/// The last root is that of the era that ends with the state.
fn expect_last(last: Option<Hash>, era_root: &Hash) -> Result<(), Fault> {
    match last.filter(|last| last != era_root) {
        None => Ok(()),
        Some(last) => Err(Fault::new(
            format!("{} as the root of the era, by its roots of blocks", Digits(era_root)),
            Digits(&last).to_string(),
        )),
    }
}
