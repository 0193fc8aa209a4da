//! A frame, looked into on any thread: its bytes against its sum, everything in the order of keys,
//! and of the tries all but what it shares with its neighbours.

use super::{Counts, Entry, FRAME_HEAD, FrameHead, Kind, Position, Take, Wrong, sum};
use crate::commit::executed_store::{Input, Malformed};
use crate::fault::Error;
use crate::state::{Account, EMPTY_CODE};
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::{EMPTY_ROOT, Part, RootBuilder};
use blockmill_verdict::Hex;
use std::ops::Range;

/// A frame, and the keys next to it.
#[derive(Default)]
pub(super) struct Frame {
    /// Where in the file it begins.
    pub offset: u64,
    pub head: FrameHead,
    pub raw_head: Vec<u8>,
    pub payload: Vec<u8>,
    /// The last account that ends before the frame.
    pub ended: Option<Hash>,
    /// The last slot before it, if it has more slots of that account.
    pub slot_before: Option<Hash>,
    /// What the next frame begins with.
    pub after: Option<Position>,
    pub looked: Option<Result<Looked, Wrong>>,
    buffers: Buffers,
}

/// What a frame has.
#[derive(Default)]
pub(super) struct Looked {
    pub counts: Counts,
    /// Hashes of its codes.
    pub codes: Vec<Hash>,
    /// Slots of an account that other frames have slots of, too.
    pub storage: Option<Part>,
    /// The account that ends with those, if it ends here, and its root.
    pub claim: Option<(Address, Hash)>,
    /// Codes that its accounts have.
    pub used: Vec<(Address, Hash)>,
    /// The accounts that end here, in their trie.
    pub accounts: Part,
}

/// What is used again from frame to frame.
#[derive(Default)]
struct Buffers {
    hasher: Option<ManyKeccak>,
    roots: RootBuilder,
    /// Slots, 32 bytes each.
    words: Vec<u8>,
    /// Where each ends.
    word_ends: Vec<u32>,
    keys: Vec<Hash>,
    /// Values as their tries have them, back to back.
    values: Vec<u8>,
    value_ends: Vec<u32>,
    /// The accounts of the frame.
    stretches: Vec<Stretch>,
    addresses: Vec<u8>,
    address_ends: Vec<u32>,
    account_keys: Vec<Hash>,
    leaves: Vec<Vec<u8>>,
}

/// An account of the frame.
struct Stretch {
    /// Where in the frame.
    offset: usize,
    address: Address,
    /// None where the account goes on.
    account: Option<(Account, Hash)>,
    /// Of the frame's slots.
    slots: Range<usize>,
}

impl Frame {
    /// Fills `looked`.
    pub fn look(&mut self) {
        let looked = self.looked();
        self.looked = Some(looked);
    }

    /// Gives all that a frame has that was looked into.
    pub fn entries(&self, take: &mut Take<'_>) -> Result<(), Error> {
        let Self { head, payload, buffers, .. } = self;
        match head.kind {
            Kind::Codes => {
                let mut input = Input { bytes: payload, offset: 0 };
                // it was read before
                while let Ok(length) = input.count(1)
                    && let Ok(code) = input.take(length, "a code")
                {
                    take(Entry::Code(&blockmill_hashes::keccak256(code), code))?;
                }
                Ok(())
            }
            Kind::Accounts | Kind::Slots => buffers.entries(take),
            Kind::End => Ok(()),
        }
    }

    fn wrong(
        offset: usize,
        account: Option<Address>,
        expected: impl ToString,
        found: impl ToString,
    ) -> Wrong {
        Wrong { offset, account, expected: expected.to_string(), found: found.to_string() }
    }

    fn looked(&mut self) -> Result<Looked, Wrong> {
        let head: Option<&[u8; FRAME_HEAD]> = self.raw_head.as_slice().try_into().ok();
        let found = head.map(|head| sum(head, &self.payload));
        if found != Some(self.head.sum) {
            let expected = format!("a frame with the sum {:08x}", self.head.sum);
            return Err(Self::wrong(0, None, expected, format!("{:08x}", found.unwrap_or(0))));
        }
        match self.head.kind {
            Kind::Codes => self.codes(),
            Kind::Accounts | Kind::Slots => self.accounts(),
            Kind::End => Ok(Looked::default()),
        }
    }

    /// The frame begins and ends where its head says.
    fn bounds(&self, first: Position, last: Position) -> Result<(), Wrong> {
        for (place, head, found) in
            [("first", self.head.first, first), ("last", self.head.last, last)]
        {
            if head != found {
                let expected = format!("{place} {}, as its head says", Shown(head));
                return Err(Self::wrong(0, None, expected, Shown(found)));
            }
        }
        Ok(())
    }

    fn codes(&mut self) -> Result<Looked, Wrong> {
        let mut input = Input { bytes: &self.payload, offset: 0 };
        let mut looked = Looked::default();
        while input.offset < input.bytes.len() {
            let offset = input.offset;
            let length = input.count(1)?;
            let hash = blockmill_hashes::keccak256(input.take(length, "a code")?);
            if let Some(before) = looked.codes.last().filter(|before| **before >= hash) {
                let expected = format!("a code with a hash above {}", Hex(before));
                return Err(Self::wrong(offset, None, expected, Hex(&hash)));
            }
            looked.codes.push(hash);
        }
        let (Some(first), Some(last)) = (looked.codes.first(), looked.codes.last()) else {
            return Err(Self::wrong(0, None, "a code", "nothing"));
        };
        let position = |key: &Hash| Position { key: *key, slot: Hash::default() };
        self.bounds(position(first), position(last))?;
        looked.counts.codes = looked.codes.len() as u64;
        Ok(looked)
    }

    fn accounts(&mut self) -> Result<Looked, Wrong> {
        let Self { buffers, payload, head, .. } = self;
        buffers.clear();
        buffers.read(payload, head.kind)?;
        buffers.hash();
        buffers.check_order()?;
        let (Some(first), Some(last)) = (buffers.position(true), buffers.position(false)) else {
            return Err(Self::wrong(0, None, "an account", "nothing"));
        };
        self.bounds(first, last)?;
        let Self { buffers, head, ended, slot_before, after, .. } = self;
        let mut looked = Looked::default();
        looked.counts.slots = buffers.keys.len() as u64;
        let goes_on = head.kind == Kind::Slots;
        for at in 0..buffers.stretches.len() {
            let before = slot_before.as_ref().filter(|_| at == 0);
            let after = after.as_ref().filter(|_| goes_on).map(|after| &after.slot);
            if before.is_some() || after.is_some() {
                looked.storage = Some(buffers.part(at, before, after));
                let stretch = &buffers.stretches[at];
                looked.claim = stretch.account.map(|(_, root)| (stretch.address, root));
            } else {
                buffers.check_storage(at)?;
            }
            let Stretch { address, account, .. } = &buffers.stretches[at];
            let Some((account, storage_root)) = account else { continue };
            let (nonce, balance) = (account.nonce, account.balance);
            let code_hash = &account.code_hash;
            buffers.leaves.push(Leaf { nonce, balance, storage_root, code_hash }.encode());
            looked.counts.accounts += 1;
            if account.code_hash != EMPTY_CODE {
                looked.used.push((*address, account.code_hash));
            }
        }
        let Buffers { roots, account_keys, leaves, .. } = buffers;
        let leaves = account_keys.iter().zip(&*leaves);
        // a frame of slots has no account that ends
        let after = after.as_ref().map(|after| &after.key);
        looked.accounts = roots.part(ended.as_ref(), leaves, after);
        Ok(looked)
    }
}

impl Buffers {
    fn clear(&mut self) {
        for bytes in [&mut self.words, &mut self.values, &mut self.addresses] {
            bytes.clear();
        }
        for ends in [&mut self.word_ends, &mut self.value_ends, &mut self.address_ends] {
            ends.clear();
        }
        self.keys.clear();
        self.account_keys.clear();
        self.stretches.clear();
        self.leaves.clear();
    }

    fn entries(&self, take: &mut Take<'_>) -> Result<(), Error> {
        for Stretch { address, account, slots, .. } in &self.stretches {
            let leaves = leaves(&self.keys, &self.values, &self.value_ends, slots.clone());
            for (at, (_, value)) in slots.clone().zip(leaves) {
                let slot = U256::from_be_slice(&self.words[32 * at..32 * (at + 1)]);
                // a short one is its own encoding, else its length stands in front
                let value = if value.len() > 1 { &value[1..] } else { value };
                take(Entry::Slot(address, slot, U256::from_be_slice(value)))?;
            }
            if let Some((account, _)) = account {
                take(Entry::Account(address, account))?;
            }
        }
        Ok(())
    }

    /// Reads the accounts of a frame and their slots.
    fn read(&mut self, payload: &[u8], kind: Kind) -> Result<(), Malformed> {
        let mut input = Input { bytes: payload, offset: 0 };
        while input.offset < payload.len() {
            let offset = input.offset;
            let address: Address = input.array("an address")?;
            self.addresses.extend(address);
            self.address_ends.push(self.addresses.len() as u32);
            let (account, has_slots) = match kind {
                Kind::Slots => (None, true),
                _ => {
                    let account = input.account()?;
                    match input.byte("0 or 1")? {
                        0 => (Some((account, EMPTY_ROOT)), false),
                        1 => (Some((account, input.array("a storage root")?)), true),
                        other => return Err(input.malformed("0 or 1", other)),
                    }
                }
            };
            let from = self.word_ends.len();
            if has_slots {
                self.read_slots(&mut input)?;
            }
            let slots = from..self.word_ends.len();
            self.stretches.push(Stretch { offset, address, account, slots });
            if kind == Kind::Slots && input.offset < payload.len() {
                let left = payload.len() - input.offset;
                return Err(input.malformed("the end of a frame of slots", left));
            }
        }
        Ok(())
    }

    fn read_slots(&mut self, input: &mut Input<'_>) -> Result<(), Malformed> {
        let count = input.count(3)?;
        if count == 0 {
            return Err(input.malformed("slots", count));
        }
        for _ in 0..count {
            let slot = input.word_bytes()?;
            let end = self.words.len() + 32;
            self.words.resize(end - slot.len(), 0);
            self.words.extend_from_slice(slot);
            self.word_ends.push(end as u32);
            match input.word_bytes()? {
                [] => return Err(input.malformed("a value that is not 0", 0)),
                [byte] if *byte < 0x80 => self.values.push(*byte),
                value => {
                    self.values.push(0x80 + value.len() as u8);
                    self.values.extend_from_slice(value);
                }
            }
            self.value_ends.push(self.values.len() as u32);
        }
        Ok(())
    }

    /// The keys of slots and accounts.
    fn hash(&mut self) {
        let hasher = self.hasher.get_or_insert_with(ManyKeccak::detect);
        self.keys.resize(self.word_ends.len(), [0; 32]);
        hasher.keccak256_column(&self.words, &self.word_ends, &mut self.keys);
        self.account_keys.resize(self.address_ends.len(), [0; 32]);
        hasher.keccak256_column(&self.addresses, &self.address_ends, &mut self.account_keys);
    }

    fn check_order(&self) -> Result<(), Wrong> {
        let above = |what: &str, key: &Hash| format!("{what} with a key above {}", Hex(key));
        for (at, pair) in self.account_keys.windows(2).enumerate() {
            if pair[0] >= pair[1] {
                let Stretch { offset, address, .. } = &self.stretches[at + 1];
                let expected = above("an account", &pair[0]);
                return Err(Frame::wrong(*offset, Some(*address), expected, Hex(&pair[1])));
            }
        }
        for stretch in &self.stretches {
            for pair in self.keys[stretch.slots.clone()].windows(2) {
                if pair[0] >= pair[1] {
                    let (expected, found) = (above("a slot", &pair[0]), Hex(&pair[1]));
                    let account = Some(stretch.address);
                    return Err(Frame::wrong(stretch.offset, account, expected, found));
                }
            }
        }
        Ok(())
    }

    /// The first or the last position of the frame.
    fn position(&self, first: bool) -> Option<Position> {
        let (key, stretch) = match first {
            true => (self.account_keys.first()?, self.stretches.first()?),
            false => (self.account_keys.last()?, self.stretches.last()?),
        };
        let keys = &self.keys[stretch.slots.clone()];
        let slot = if first { keys.first() } else { keys.last() };
        Some(Position { key: *key, slot: slot.copied().unwrap_or_default() })
    }

    /// The trie of some of an account's slots.
    fn part(&mut self, at: usize, before: Option<&Hash>, after: Option<&Hash>) -> Part {
        let Self { roots, stretches, keys, values, value_ends, .. } = self;
        let leaves = leaves(keys, values, value_ends, stretches[at].slots.clone());
        roots.part(before, leaves, after)
    }

    /// Compares the root of an account's storage, all of which is here.
    fn check_storage(&mut self, at: usize) -> Result<(), Wrong> {
        let Self { roots, stretches, keys, values, value_ends, .. } = self;
        let Stretch { offset, address, account, slots } = &stretches[at];
        let Some((_, expected)) = account else { return Ok(()) };
        let found = match slots.is_empty() {
            true => EMPTY_ROOT,
            false => roots.sorted(leaves(keys, values, value_ends, slots.clone())),
        };
        if found != *expected {
            let expected = format!("slots with the root {}", Hex(expected));
            return Err(Frame::wrong(*offset, Some(*address), expected, Hex(&found)));
        }
        Ok(())
    }
}

/// Slots as the leaves of a trie.
fn leaves<'a>(
    keys: &'a [Hash],
    values: &'a [u8],
    ends: &'a [u32],
    slots: Range<usize>,
) -> impl Iterator<Item = (&'a Hash, &'a [u8])> {
    slots.map(move |at| {
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        (&keys[at], &values[start as usize..ends[at] as usize])
    })
}

/// A position in words.
pub(super) struct Shown(pub Position);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "key {}", Hex(&self.0.key))?;
        match self.0.slot == Hash::default() {
            true => Ok(()),
            false => write!(f, ", slot {}", Hex(&self.0.slot)),
        }
    }
}

impl From<Malformed> for Wrong {
    fn from(malformed: Malformed) -> Self {
        let Malformed { offset, expected, found } = malformed;
        Self { offset, account: None, expected: expected.into(), found }
    }
}
