//! Writes a snapshot of a state that is in memory.

use super::{Counts, FRAME, FrameHead, FrameKind, Head, MOST, Position};
use crate::commit::executed_store::{put_account, put_number, put_word};
use crate::execute::Code;
use crate::state::{Account, AccountId, State};
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::RootBuilder;
use hashbrown::HashSet;
use std::io::{self, Write};

/// The result of writing a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Numbers of entries.
    pub counts: Counts,
    /// Bytes of the file.
    pub bytes: u64,
    /// The state root of the entries, whatever the head says.
    pub state_root: Hash,
}

/// Writes `state`, which is in memory as a whole, to `out`. `None` when cancelled. Codes without an
/// account are left out.
///
/// # Errors
/// An I/O error of `out`, or of kind `InvalidData` for a code that is too long.
pub fn write(
    state: &State,
    head: &Head,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> io::Result<Option<Written>> {
    out.write_all(&head.encode())?;
    let bytes = super::HEAD as u64;
    let mut frames = Frames { out, bytes, counts: Counts::default(), frame: Frame::default() };
    let hasher = ManyKeccak::detect();
    let accounts = state.accounts_by_key(hasher);

    let used: HashSet<&Hash> = accounts.iter().map(|account| &account.3.code_hash).collect();
    let mut codes: Vec<(&Hash, &Code)> =
        state.codes().filter(|(hash, _)| used.contains(hash)).collect();
    codes.sort_unstable_by_key(|(hash, _)| *hash);
    for (hash, code) in codes {
        frames.code(hash, code.bytes())?;
    }
    frames.end_frame(FrameKind::Codes)?;
    let mut slots = Slots { hasher, roots: RootBuilder::new(), slots: vec![] };
    let mut leaves = Vec::with_capacity(accounts.len());
    for (key, id, address, account) in accounts {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let root = slots.collect(state, id);
        frames.account(&key, address, account, &root, &slots.slots)?;
        let (nonce, balance) = (account.nonce, account.balance);
        let leaf = Leaf { nonce, balance, storage_root: &root, code_hash: &account.code_hash };
        leaves.push((key, leaf.encode()));
    }
    frames.end_frame(FrameKind::Accounts)?;
    frames.frame.payload = frames.counts.encode();
    frames.end_frame(FrameKind::End)?;
    frames.out.flush()?;
    let state_root = slots.roots.sorted(leaves);
    Ok(Some(Written { counts: frames.counts, bytes: frames.bytes, state_root }))
}

/// The slots of one account.
struct Slots {
    hasher: ManyKeccak,
    roots: RootBuilder,
    /// In the order of their keys.
    slots: Vec<(Hash, U256, U256)>,
}

impl Slots {
    /// Collects the slots of an account, and returns the root of their trie.
    fn collect(&mut self, state: &State, id: AccountId) -> Hash {
        self.slots.clear();
        let all = state.slots(id);
        self.slots.extend(all.map(|(slot, value)| ([0; 32], *slot, *value)));
        let words: Vec<Hash> = self.slots.iter().map(|(_, slot, _)| slot.to_be_bytes()).collect();
        let messages: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        let mut keys = vec![[0; 32]; words.len()];
        self.hasher.keccak256(&messages, &mut keys);
        self.slots.iter_mut().zip(keys).for_each(|(slot, key)| slot.0 = key);
        self.slots.sort_unstable_by_key(|slot| slot.0);
        self.roots.sorted(self.slots.iter().map(|(key, _, value)| (key, value.encode())))
    }
}

/// The current frame.
#[derive(Default)]
struct Frame {
    payload: Vec<u8>,
    first: Option<Position>,
    last: Position,
}

impl Frame {
    fn at(&mut self, key: &Hash, slot: Hash) {
        self.last = Position { key: *key, slot };
        self.first.get_or_insert(self.last);
    }
}

struct Frames<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
    counts: Counts,
    frame: Frame,
}

impl Frames<'_> {
    /// Writes the current frame unless it is empty.
    fn end_frame(&mut self, kind: FrameKind) -> io::Result<()> {
        let Frame { payload, first, last } = std::mem::take(&mut self.frame);
        if payload.is_empty() {
            return Ok(());
        }
        if payload.len() > MOST {
            let large = format!("a code of {} bytes, more than a snapshot can have", payload.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, large));
        }
        let (length, first) = (payload.len() as u32, first.unwrap_or_default());
        let head = FrameHead { kind, length, first, last, sum: 0 }.encode(&payload);
        self.out.write_all(&head)?;
        self.out.write_all(&payload)?;
        self.bytes += (head.len() + payload.len()) as u64;
        self.frame.payload = payload;
        self.frame.payload.clear();
        Ok(())
    }

    fn code(&mut self, hash: &Hash, code: &[u8]) -> io::Result<()> {
        if self.frame.payload.len() + code.len() > FRAME {
            self.end_frame(FrameKind::Codes)?;
        }
        self.frame.at(hash, Hash::default());
        put_number(code.len() as u64, &mut self.frame.payload);
        self.frame.payload.extend(code);
        self.counts.codes += 1;
        Ok(())
    }

    fn account(
        &mut self,
        key: &Hash,
        address: &Address,
        account: &Account,
        root: &Hash,
        mut slots: &[(Hash, U256, U256)],
    ) -> io::Result<()> {
        /// Limits of the bytes of an account without slots, and of a slot.
        const ACCOUNT: usize = 20 + 10 + 33 + 33 + 33 + 10;
        const SLOT: usize = 66;
        (self.counts.accounts, self.counts.slots) =
            (self.counts.accounts + 1, self.counts.slots + slots.len() as u64);
        if self.frame.payload.len() + ACCOUNT + slots.len().saturating_mul(SLOT) > FRAME {
            self.end_frame(FrameKind::Accounts)?;
        }
        while ACCOUNT + slots.len() * SLOT > FRAME {
            let (some, rest) = slots.split_at((FRAME - ACCOUNT) / SLOT);
            self.frame.payload.extend(address);
            self.slots(key, some);
            self.end_frame(FrameKind::Slots)?;
            slots = rest;
        }
        let payload = &mut self.frame.payload;
        payload.extend(address);
        put_account(account, payload);
        match slots {
            [] => payload.push(0),
            _ => {
                payload.push(1);
                payload.extend(root);
            }
        }
        match slots {
            [] => self.frame.at(key, Hash::default()),
            slots => self.slots(key, slots),
        }
        Ok(())
    }

    /// Appends the number of slots and the slots of the account with this key.
    fn slots(&mut self, key: &Hash, slots: &[(Hash, U256, U256)]) {
        put_number(slots.len() as u64, &mut self.frame.payload);
        for (slot_key, slot, value) in slots {
            self.frame.at(key, *slot_key);
            put_word(*slot, &mut self.frame.payload);
            put_word(*value, &mut self.frame.payload);
        }
    }
}
