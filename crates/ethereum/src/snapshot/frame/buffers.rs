//! The decoded accounts and slots of a frame.

use super::Frame;
use crate::commit::executed_store::{Input, Malformed};
use crate::error::Error;
use crate::snapshot::{Entry, FrameKind, Position, Take, Wrong};
use crate::state::Account;
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_trie::{EMPTY_ROOT, RootBuilder, TriePart};
use blockmill_verdict::Hex;
use std::ops::Range;

/// Decoded data of a frame; the memory is reused for the next frame.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) hasher: Option<ManyKeccak>,
    pub(super) roots: RootBuilder,
    /// Slots, 32 bytes each.
    pub(super) words: Vec<u8>,
    /// End of each slot.
    pub(super) word_ends: Vec<u32>,
    pub(super) keys: Vec<Hash>,
    /// RLP of the values, concatenated.
    pub(super) values: Vec<u8>,
    pub(super) value_ends: Vec<u32>,
    /// The accounts of the frame.
    pub(super) accounts: Vec<FrameAccount>,
    pub(super) addresses: Vec<u8>,
    pub(super) address_ends: Vec<u32>,
    pub(super) account_keys: Vec<Hash>,
    pub(super) leaves: Vec<Vec<u8>>,
}

/// An account of a frame, with its slots.
pub(super) struct FrameAccount {
    /// Offset in the frame.
    pub(super) offset: usize,
    pub(super) address: Address,
    /// Account and storage root; `None` if the account continues in the next frame.
    pub(super) account: Option<(Account, Hash)>,
    /// Range of the frame's slots.
    pub(super) slots: Range<usize>,
}

impl Buffers {
    pub(super) fn clear(&mut self) {
        for bytes in [&mut self.words, &mut self.values, &mut self.addresses] {
            bytes.clear();
        }
        for ends in [&mut self.word_ends, &mut self.value_ends, &mut self.address_ends] {
            ends.clear();
        }
        self.keys.clear();
        self.account_keys.clear();
        self.accounts.clear();
        self.leaves.clear();
    }

    pub(super) fn entries(&self, take: &mut Take<'_>) -> Result<(), Error> {
        for FrameAccount { address, account, slots, .. } in &self.accounts {
            let leaves = leaves(&self.keys, &self.values, &self.value_ends, slots.clone());
            for (at, (_, value)) in slots.clone().zip(leaves) {
                let slot = U256::from_be_slice(&self.words[32 * at..32 * (at + 1)]);
                // a short one is its own encoding; a longer one has its length before it
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
    pub(super) fn read(&mut self, payload: &[u8], kind: FrameKind) -> Result<(), Malformed> {
        let mut input = Input { bytes: payload, offset: 0 };
        while input.offset < payload.len() {
            let offset = input.offset;
            let address: Address = input.array("an address")?;
            self.addresses.extend(address);
            self.address_ends.push(self.addresses.len() as u32);
            let (account, has_slots) = match kind {
                FrameKind::Slots => (None, true),
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
            self.accounts.push(FrameAccount { offset, address, account, slots });
            if kind == FrameKind::Slots && input.offset < payload.len() {
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
    pub(super) fn hash(&mut self) {
        let hasher = self.hasher.get_or_insert_with(ManyKeccak::detect);
        self.keys.resize(self.word_ends.len(), [0; 32]);
        hasher.keccak256_column(&self.words, &self.word_ends, &mut self.keys);
        self.account_keys.resize(self.address_ends.len(), [0; 32]);
        hasher.keccak256_column(&self.addresses, &self.address_ends, &mut self.account_keys);
    }

    pub(super) fn check_order(&self) -> Result<(), Wrong> {
        let above = |what: &str, key: &Hash| format!("{what} with a key above {}", Hex(key));
        for (at, pair) in self.account_keys.windows(2).enumerate() {
            if pair[0] >= pair[1] {
                let FrameAccount { offset, address, .. } = &self.accounts[at + 1];
                let expected = above("an account", &pair[0]);
                return Err(Frame::wrong(*offset, Some(*address), expected, Hex(&pair[1])));
            }
        }
        for entry in &self.accounts {
            for pair in self.keys[entry.slots.clone()].windows(2) {
                if pair[0] >= pair[1] {
                    let (expected, found) = (above("a slot", &pair[0]), Hex(&pair[1]));
                    let account = Some(entry.address);
                    return Err(Frame::wrong(entry.offset, account, expected, found));
                }
            }
        }
        Ok(())
    }

    /// The first or the last position of the frame.
    pub(super) fn position(&self, first: bool) -> Option<Position> {
        let (key, entry) = match first {
            true => (self.account_keys.first()?, self.accounts.first()?),
            false => (self.account_keys.last()?, self.accounts.last()?),
        };
        let keys = &self.keys[entry.slots.clone()];
        let slot = if first { keys.first() } else { keys.last() };
        Some(Position { key: *key, slot: slot.copied().unwrap_or_default() })
    }

    /// The trie of some of an account's slots.
    pub(super) fn part(
        &mut self,
        at: usize,
        before: Option<&Hash>,
        after: Option<&Hash>,
    ) -> TriePart {
        let Self { roots, accounts, keys, values, value_ends, .. } = self;
        let leaves = leaves(keys, values, value_ends, accounts[at].slots.clone());
        roots.part(before, leaves, after)
    }

    /// Compares the root of an account's storage, all of which is here.
    pub(super) fn check_storage(&mut self, at: usize) -> Result<(), Wrong> {
        let Self { roots, accounts, keys, values, value_ends, .. } = self;
        let FrameAccount { offset, address, account, slots } = &accounts[at];
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
