//! Predicts the slots of calls from the slots of earlier calls, so that they can be prefetched.
//!
//! Calls of the same *kind* have the same contract and the same first four bytes of input, the
//! function. A *pattern* describes a slot of such calls: either a constant slot, or an entry of a
//! mapping in Solidity's layout, Keccak-256 of key and base, with the sender or a word of the input
//! as the key. Patterns are derived from the slots and the hashes of a call; the contract's code is
//! not analysed. A pattern that does not recur soon is dropped. A wrong prediction costs a read and
//! nothing else.

use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limit of the patterns of a kind of calls.
const PATTERNS: usize = 16;
/// Limit of the bytes of all patterns.
const MOST: usize = 1 << 20;
/// Bytes of a kind of calls without its patterns, hash table slack included.
const KIND: usize = 2 * size_of::<(CallKind, Vec<Tracked>)>();
/// Limit of the members of a structure in a mapping: the slots from the hash on.
const MEMBERS: U256 = U256::from_limbs([8, 0, 0, 0]);

/// A slot of a contract.
pub type Slot = (Address, U256);

/// The parts of a call on which slots can depend.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The contract that is called.
    pub to: &'a Address,
    /// The caller.
    pub sender: &'a Address,
    /// Function and arguments.
    pub input: &'a [u8],
}

/// What the [`Call`]s of a kind have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallKind {
    to: Address,
    function: [u8; 4],
}

/// A word of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Sender,
    Argument(u8),
}

/// How the slot of a call is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pattern {
    address: Address,
    /// The slot, or the base of the mapping.
    base: U256,
    /// The keys of mappings, the outermost first.
    keys: [Option<Word>; 2],
    /// Index of the member of a structure.
    member: u8,
}

/// A pattern with its confidence: a call that uses it adds one, up to 3, any other call subtracts
/// one. Slots are predicted from 2 on; at 0 the pattern is dropped.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    pattern: Pattern,
    confidence: u8,
}

impl Call<'_> {
    fn kind(&self) -> Option<CallKind> {
        let function = *self.input.first_chunk()?;
        Some(CallKind { to: *self.to, function })
    }

    /// The words that can be keys.
    fn words(&self) -> impl Iterator<Item = (Word, Hash)> {
        let mut sender = [0; 32];
        sender[12..].copy_from_slice(self.sender);
        let arguments = self.input.get(4..).unwrap_or(&[]).as_chunks().0;
        let arguments = (0..8).map(Word::Argument).zip(arguments.iter().copied());
        [(Word::Sender, sender)].into_iter().chain(arguments)
    }

    fn word(&self, word: Word) -> Option<Hash> {
        self.words().find(|(own, _)| *own == word).map(|(_, bytes)| bytes)
    }

    /// Derives the pattern of a slot from hashed messages of two words and their digests.
    fn pattern(&self, (address, slot): Slot, hashed: &[([u8; 64], U256)]) -> Pattern {
        let of_word = |message: &[u8; 64]| {
            let (key, base) = message.split_first_chunk::<32>()?;
            let word = self.words().find(|(_, bytes)| bytes == key)?.0;
            Some((word, U256::from_be_slice(base)))
        };
        let found = hashed.iter().find_map(|(message, hash)| {
            let member = slot.checked_sub(*hash).filter(|member| *member < MEMBERS)?;
            Some((of_word(message)?, member.to::<u8>()))
        });
        let Some(((inner, base), member)) = found else {
            return Pattern { address, base: slot, keys: [None; 2], member: 0 };
        };
        let outer = hashed.iter().find(|(_, hash)| *hash == base);
        let (base, keys) = match outer.and_then(|(message, _)| of_word(message)) {
            Some((outer, base)) => (base, [Some(outer), Some(inner)]),
            None => (base, [Some(inner), None]),
        };
        Pattern { address, base, keys, member }
    }
}

/// Kinds of calls with their patterns, in two generations: a kind that was not called during a
/// generation is dropped.
#[derive(Debug, Default)]
struct Table {
    current: HashMap<CallKind, Vec<Tracked>>,
    previous: HashMap<CallKind, Vec<Tracked>>,
    /// Bytes of the current generation.
    bytes: usize,
}

impl Table {
    fn get(&self, kind: &CallKind) -> &[Tracked] {
        self.current.get(kind).or_else(|| self.previous.get(kind)).map_or(&[], |tracked| tracked)
    }

    /// Records the patterns of a call.
    fn record(&mut self, kind: CallKind, found: &[Pattern]) {
        let known = self.current.remove(&kind);
        self.bytes -= known.as_ref().map_or(0, bytes);
        let mut tracked = known.or_else(|| self.previous.remove(&kind)).unwrap_or_default();
        for Tracked { pattern, confidence } in &mut tracked {
            *confidence = match found.contains(pattern) {
                true => (*confidence + 1).min(3),
                false => *confidence - 1,
            };
        }
        tracked.retain(|tracked| tracked.confidence > 0);
        for pattern in found {
            if tracked.len() < PATTERNS && !tracked.iter().any(|known| known.pattern == *pattern) {
                tracked.push(Tracked { pattern: *pattern, confidence: 1 });
            }
        }
        if tracked.is_empty() {
            return;
        }
        if self.bytes + bytes(&tracked) > MOST / 2 {
            (self.previous, self.bytes) = (std::mem::take(&mut self.current), 0);
        }
        self.bytes += bytes(&tracked);
        self.current.insert(kind, tracked);
    }
}

fn bytes(tracked: &Vec<Tracked>) -> usize {
    KIND + tracked.capacity() * size_of::<Tracked>()
}

/// Slots of a state on disk that were read before their execution.
#[derive(Debug, Default)]
pub struct PrefetchedSlots {
    /// Slots and their values on disk. A slot can occur twice.
    pub values: Vec<(Slot, U256)>,
    /// Generation of the state when they were read.
    pub generation: u64,
}

/// An index of [`PrefetchedSlots`].
#[derive(Debug, Default)]
pub struct PrefetchedIndex<'a> {
    values: &'a [(Slot, U256)],
    /// Indexes into `values`.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    generation: u64,
}

impl PrefetchedSlots {
    /// Builds an index by slot.
    pub fn index(&self) -> PrefetchedIndex<'_> {
        let (values, generation) = (&self.values[..], self.generation);
        let hasher = DefaultHashBuilder::default();
        let hash = |at: &u32| hasher.hash_one(values[*at as usize].0);
        let mut places = HashTable::with_capacity(values.len());
        for at in (0..=u32::MAX).take(values.len()) {
            // either of two entries will do: a newer value is in memory
            places.insert_unique(hash(&at), at, hash);
        }
        PrefetchedIndex { values, places, hasher, generation }
    }
}

impl PrefetchedIndex<'_> {
    /// The value of a slot, if it was read in this generation of the state. A newer value is in
    /// memory then.
    pub fn get(&self, slot: &Slot, generation: u64) -> Option<U256> {
        if generation != self.generation || self.values.is_empty() {
            return None;
        }
        let is_it = |at: &u32| self.values[*at as usize].0 == *slot;
        let at = self.places.find(self.hasher.hash_one(slot), is_it)?;
        Some(self.values[*at as usize].1)
    }
}

/// The history of calls, shared by the stages that execute and prefetch.
#[derive(Debug, Default)]
pub struct History(Mutex<Table>);

/// A pattern of a call, partly resolved to a slot.
struct Open {
    address: Address,
    slot: U256,
    keys: [Option<Hash>; 2],
    member: u8,
}

impl History {
    fn table(&self) -> MutexGuard<'_, Table> {
        // a panic ends the run elsewhere
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the slots of a call, and the messages of two words that it hashed with their
    /// digests.
    pub fn record(&self, call: &Call<'_>, slots: &[Slot], hashed: &[([u8; 64], U256)]) {
        let Some(kind) = call.kind() else { return };
        let found: Vec<Pattern> = slots.iter().map(|slot| call.pattern(*slot, hashed)).collect();
        self.table().record(kind, &found);
    }

    /// Predicts the slots of calls, each once.
    pub fn predict<'a>(
        &self,
        hasher: ManyKeccak,
        calls: impl Iterator<Item = Call<'a>>,
    ) -> Vec<Slot> {
        let mut open: Vec<Open> = vec![];
        let table = self.table();
        for call in calls {
            let tracked = call.kind().map_or(&[][..], |kind| table.get(&kind));
            for Tracked { pattern, .. } in tracked.iter().filter(|known| known.confidence > 1) {
                let Pattern { address, base, keys, member } = *pattern;
                let words = keys.map(|key| key.and_then(|word| call.word(word)));
                // the input may be too short
                if keys.map(|key| key.is_some()) == words.map(|word| word.is_some()) {
                    open.push(Open { address, slot: base, keys: words, member });
                }
            }
        }
        drop(table);
        (0..2).for_each(|level| descend(hasher, &mut open, level));
        let slots = open.iter().map(|open| (open.address, open.slot + U256::from(open.member)));
        let mut slots: Vec<Slot> = slots.collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

/// Resolves one level of mappings to the slots of their keys.
fn descend(hasher: ManyKeccak, open: &mut [Open], level: usize) {
    let messages = open.iter().filter_map(|open| {
        let mut message = [0; 64];
        message[..32].copy_from_slice(&open.keys[level]?);
        message[32..].copy_from_slice(&open.slot.to_be_bytes::<32>());
        Some(message)
    });
    let messages: Vec<[u8; 64]> = messages.collect();
    let all: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
    let mut hashes = vec![[0; 32]; all.len()];
    hasher.keccak256(&all, &mut hashes);
    let open = open.iter_mut().filter(|open| open.keys[level].is_some());
    open.zip(hashes).for_each(|(open, hash)| open.slot = U256::from_be_bytes(hash));
}

#[cfg(test)]
mod tests;
