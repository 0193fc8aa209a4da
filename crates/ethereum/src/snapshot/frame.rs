//! A frame, which any thread checks: its checksum, the order of its keys, and the parts of the
//! tries that it does not share with its neighbours.

mod buffers;

use self::buffers::{Buffers, FrameAccount};
use super::{Counts, Entry, FRAME_HEAD, FrameHead, FrameKind, Position, Take, Wrong, sum};
use crate::commit::executed_store::{Input, Malformed};
use crate::error::Error;
use crate::state::EMPTY_CODE;
use crate::{Address, Hash};
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::TriePart;
use blockmill_verdict::Hex;

/// A frame with the adjacent keys.
#[derive(Default)]
pub(super) struct Frame {
    /// Offset in the file.
    pub offset: u64,
    pub head: FrameHead,
    pub raw_head: Vec<u8>,
    pub payload: Vec<u8>,
    /// The last account that is complete before the frame.
    pub ended: Option<Hash>,
    /// The last slot before the frame, if the frame continues that account.
    pub slot_before: Option<Hash>,
    /// The first key of the next frame.
    pub after: Option<Position>,
    pub checked: Option<Result<Checked, Wrong>>,
    buffers: Buffers,
}

/// The result of checking a frame.
#[derive(Default)]
pub(super) struct Checked {
    pub counts: Counts,
    /// Hashes of its codes.
    pub codes: Vec<Hash>,
    /// The trie of slots of an account that is in several frames.
    pub storage: Option<TriePart>,
    /// That account and its storage root, if it is complete here.
    pub claim: Option<(Address, Hash)>,
    /// Code hashes of its accounts.
    pub used: Vec<(Address, Hash)>,
    /// The trie of the accounts that are complete here.
    pub accounts: TriePart,
}

impl Frame {
    /// Checks the frame, and sets `checked`.
    pub fn check(&mut self) {
        let checked = self.checked();
        self.checked = Some(checked);
    }

    /// Passes all entries of a checked frame to `take`.
    pub fn entries(&self, take: &mut Take<'_>) -> Result<(), Error> {
        let Self { head, payload, buffers, .. } = self;
        match head.kind {
            FrameKind::Codes => {
                let mut input = Input { bytes: payload, offset: 0 };
                // it was decoded before
                while let Ok(length) = input.count(1)
                    && let Ok(code) = input.take(length, "a code")
                {
                    take(Entry::Code(&blockmill_hashes::keccak256(code), code))?;
                }
                Ok(())
            }
            FrameKind::Accounts | FrameKind::Slots => buffers.entries(take),
            FrameKind::End => Ok(()),
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

    fn checked(&mut self) -> Result<Checked, Wrong> {
        let head: Option<&[u8; FRAME_HEAD]> = self.raw_head.as_slice().try_into().ok();
        let found = head.map(|head| sum(head, &self.payload));
        if found != Some(self.head.sum) {
            let expected = format!("a frame with the sum {:08x}", self.head.sum);
            return Err(Self::wrong(0, None, expected, format!("{:08x}", found.unwrap_or(0))));
        }
        match self.head.kind {
            FrameKind::Codes => self.codes(),
            FrameKind::Accounts | FrameKind::Slots => self.accounts(),
            FrameKind::End => Ok(Checked::default()),
        }
    }

    /// Compares the first and the last position with the head.
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

    fn codes(&mut self) -> Result<Checked, Wrong> {
        let mut input = Input { bytes: &self.payload, offset: 0 };
        let mut checked = Checked::default();
        while input.offset < input.bytes.len() {
            let offset = input.offset;
            let length = input.count(1)?;
            let hash = blockmill_hashes::keccak256(input.take(length, "a code")?);
            if let Some(before) = checked.codes.last().filter(|before| **before >= hash) {
                let expected = format!("a code with a hash above {}", Hex(before));
                return Err(Self::wrong(offset, None, expected, Hex(&hash)));
            }
            checked.codes.push(hash);
        }
        let (Some(first), Some(last)) = (checked.codes.first(), checked.codes.last()) else {
            return Err(Self::wrong(0, None, "a code", "nothing"));
        };
        let position = |key: &Hash| Position { key: *key, slot: Hash::default() };
        self.bounds(position(first), position(last))?;
        checked.counts.codes = checked.codes.len() as u64;
        Ok(checked)
    }

    fn accounts(&mut self) -> Result<Checked, Wrong> {
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
        let mut checked = Checked::default();
        checked.counts.slots = buffers.keys.len() as u64;
        let goes_on = head.kind == FrameKind::Slots;
        for at in 0..buffers.accounts.len() {
            let before = slot_before.as_ref().filter(|_| at == 0);
            let after = after.as_ref().filter(|_| goes_on).map(|after| &after.slot);
            if before.is_some() || after.is_some() {
                checked.storage = Some(buffers.part(at, before, after));
                let entry = &buffers.accounts[at];
                checked.claim = entry.account.map(|(_, root)| (entry.address, root));
            } else {
                buffers.check_storage(at)?;
            }
            let FrameAccount { address, account, .. } = &buffers.accounts[at];
            let Some((account, storage_root)) = account else { continue };
            let (nonce, balance) = (account.nonce, account.balance);
            let code_hash = &account.code_hash;
            buffers.leaves.push(Leaf { nonce, balance, storage_root, code_hash }.encode());
            checked.counts.accounts += 1;
            if account.code_hash != EMPTY_CODE {
                checked.used.push((*address, account.code_hash));
            }
        }
        let Buffers { roots, account_keys, leaves, .. } = buffers;
        let leaves = account_keys.iter().zip(&*leaves);
        // a frame of slots completes no account
        let after = after.as_ref().map(|after| &after.key);
        checked.accounts = roots.part(ended.as_ref(), leaves, after);
        Ok(checked)
    }
}

/// A position for messages.
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
