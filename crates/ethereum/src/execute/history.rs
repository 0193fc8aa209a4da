//! What calls of contracts come to in storage, learnt from the calls before them: so the slots of
//! the next ones are known before they are executed.
//!
//! Calls of a *kind* name the same contract and begin with the same four bytes, a function's.
//! A *place* is a slot of theirs, as far as it does not depend on the call: either it is always the
//! same, or it is that of a mapping as Solidity lays them out, Keccak-256 of key and base, where
//! the key is the sender or a word of the input. Which places a call came to is found from the
//! slots and from what was hashed; nothing is known of the contract. A place that does not come
//! again soon is forgotten. Nothing rests on it but which reads are made early.

use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Places of a kind of calls at most.
const PLACES: usize = 16;
/// Bytes that everything which was learnt takes at most.
const MOST: usize = 1 << 20;
/// Bytes of a kind of calls besides its places, with its share of free ones.
const KIND: usize = 2 * size_of::<(Kind, Vec<Seen>)>();
/// Members of a structure in a mapping: the slots behind the one that is named by a hash.
const MEMBERS: U256 = U256::from_limbs([8, 0, 0, 0]);

/// A slot of a contract.
pub type Slot = (Address, U256);

/// A call as far as slots may depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The contract that is called.
    pub to: &'a Address,
    /// Who calls it.
    pub sender: &'a Address,
    /// Function and arguments.
    pub input: &'a [u8],
}

/// What [`Call`]s have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind {
    to: Address,
    function: [u8; 4],
}

/// A word of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Sender,
    Argument(u8),
}

/// A slot of each call of a kind; see the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    address: Address,
    /// The slot, or where the mapping stands.
    base: U256,
    /// The keys of mappings, the outermost first.
    keys: [Option<Word>; 2],
    /// Which member of a structure.
    member: u8,
}

/// A place, and how much it is expected: one more for each call that comes to it, one less for each
/// that does not; at most 3, from 2 on it is read early, with none it is forgotten.
#[derive(Clone, Copy, Debug)]
struct Seen {
    place: Place,
    trust: u8,
}

impl Call<'_> {
    fn kind(&self) -> Option<Kind> {
        let function = *self.input.first_chunk()?;
        Some(Kind { to: *self.to, function })
    }

    /// The words that may be keys.
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

    /// The place of a slot, from what was hashed: two words each, and their hash.
    fn place(&self, (address, slot): Slot, hashed: &[([u8; 64], U256)]) -> Place {
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
            return Place { address, base: slot, keys: [None; 2], member: 0 };
        };
        let outer = hashed.iter().find(|(_, hash)| *hash == base);
        let (base, keys) = match outer.and_then(|(message, _)| of_word(message)) {
            Some((outer, base)) => (base, [Some(outer), Some(inner)]),
            None => (base, [Some(inner), None]),
        };
        Place { address, base, keys, member }
    }
}

/// Kinds of calls with their places; those that came again since the last turn, and those that did
/// not. At a turn the latter are forgotten.
#[derive(Debug, Default)]
struct Table {
    now: HashMap<Kind, Vec<Seen>>,
    before: HashMap<Kind, Vec<Seen>>,
    /// Bytes of the former.
    bytes: usize,
}

impl Table {
    fn get(&self, kind: &Kind) -> &[Seen] {
        self.now.get(kind).or_else(|| self.before.get(kind)).map_or(&[], |seen| seen)
    }

    /// Takes in which places a call came to.
    fn learn(&mut self, kind: Kind, found: &[Place]) {
        let known = self.now.remove(&kind);
        self.bytes -= known.as_ref().map_or(0, bytes);
        let mut seen = known.or_else(|| self.before.remove(&kind)).unwrap_or_default();
        for Seen { place, trust } in &mut seen {
            *trust = if found.contains(place) { (*trust + 1).min(3) } else { *trust - 1 };
        }
        seen.retain(|seen| seen.trust > 0);
        for place in found {
            if seen.len() < PLACES && !seen.iter().any(|seen| seen.place == *place) {
                seen.push(Seen { place: *place, trust: 1 });
            }
        }
        if seen.is_empty() {
            return;
        }
        if self.bytes + bytes(&seen) > MOST / 2 {
            (self.before, self.bytes) = (std::mem::take(&mut self.now), 0);
        }
        self.bytes += bytes(&seen);
        self.now.insert(kind, seen);
    }
}

fn bytes(seen: &Vec<Seen>) -> usize {
    KIND + seen.capacity() * size_of::<Seen>()
}

/// Slots that calls are expected to come to.
#[derive(Debug, Default)]
pub struct Foreseen {
    /// With their values, as a state on disk had them; one may be there twice.
    pub values: Vec<(Slot, U256)>,
    /// The turn of the state when it was asked.
    pub turn: u64,
}

/// The same by slot, for who looks some of them up.
#[derive(Debug, Default)]
pub struct ForeseenValues<'a> {
    values: &'a [(Slot, U256)],
    /// Their places in that list.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    turn: u64,
}

impl Foreseen {
    /// Their values by slot.
    pub fn by_slot(&self) -> ForeseenValues<'_> {
        let (values, turn) = (&self.values[..], self.turn);
        let hasher = DefaultHashBuilder::default();
        let hash = |at: &u32| hasher.hash_one(values[*at as usize].0);
        let mut places = HashTable::with_capacity(values.len());
        for at in (0..=u32::MAX).take(values.len()) {
            // of two of one slot either will do: what is newer is in memory
            places.insert_unique(hash(&at), at, hash);
        }
        ForeseenValues { values, places, hasher, turn }
    }
}

impl ForeseenValues<'_> {
    /// The value of a slot, where it was read in this turn of the state: then what is newer than it
    /// is in memory.
    pub fn get(&self, slot: &Slot, turn: u64) -> Option<U256> {
        if turn != self.turn || self.values.is_empty() {
            return None;
        }
        let is_it = |at: &u32| self.values[*at as usize].0 == *slot;
        let at = self.places.find(self.hasher.hash_one(slot), is_it)?;
        Some(self.values[*at as usize].1)
    }
}

/// What was learnt, for those who execute and those who read ahead.
#[derive(Debug, Default)]
pub struct History(Mutex<Table>);

/// A place of a call whose slot is being found.
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

    /// Takes in the slots that a call came to, and what it hashed: two words each, and their hash.
    pub fn learn(&self, call: &Call<'_>, slots: &[Slot], hashed: &[([u8; 64], U256)]) {
        let Some(kind) = call.kind() else { return };
        let found: Vec<Place> = slots.iter().map(|slot| call.place(*slot, hashed)).collect();
        self.table().learn(kind, &found);
    }

    /// The slots that calls are expected to come to, each once.
    pub fn foresee<'a>(
        &self,
        hasher: ManyKeccak,
        calls: impl Iterator<Item = Call<'a>>,
    ) -> Vec<Slot> {
        let mut open: Vec<Open> = vec![];
        let table = self.table();
        for call in calls {
            let seen = call.kind().map_or(&[][..], |kind| table.get(&kind));
            for Seen { place, .. } in seen.iter().filter(|seen| seen.trust > 1) {
                let Place { address, base, keys, member } = *place;
                let words = keys.map(|key| key.and_then(|word| call.word(word)));
                // an input may be too short
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

/// Goes from mappings to the slots of their keys.
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
