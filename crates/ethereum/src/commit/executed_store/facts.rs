//! The state's part of a commit: `docs/formats/state-log.md`.

use super::Limits;
use crate::Hash;
use crate::state::StateKind;
use std::ops::Range;

/// Magic bytes, by the kind of state.
const MAGIC: [(StateKind, &[u8; 8]); 3] = [
    (StateKind::Memory, b"BMSTATE1"),
    (StateKind::Pages, b"BMSTATEP"),
    (StateKind::FlatTrie, b"BMSTATEF"),
];
/// Bytes of all fields.
const LEN: usize = 81;
/// Encodes that there is no checkpoint.
const NONE: u64 = u64::MAX;

/// Where state and log are, as of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where the state is.
    pub kind: StateKind,
    /// The last block whose changes are in the log or in the checkpoint.
    pub block: u64,
    /// Its hash.
    pub hash: Hash,
    /// The checkpoint, or the state on disk, is the state after this block. `None` until a state on
    /// disk is committed: these facts must not be committed then.
    pub checkpoint: Option<u64>,
    /// The first block in each log, if it is not empty.
    pub first: [u64; 2],
    /// Offset of the first record after the checkpoint, in the active log.
    pub start: u64,
    /// The log that is appended to.
    pub active: usize,
}

impl Facts {
    /// Facts of a genesis state: it is in the table, or the first commit of a state on disk writes
    /// it.
    pub(crate) fn at_genesis(kind: StateKind, hash: Hash) -> Self {
        let checkpoint = (kind == StateKind::Memory).then_some(0);
        Self { kind, checkpoint, ..Self::at_checkpoint(0, hash) }
    }

    /// Facts of a state that is the checkpoint, with empty logs.
    pub(crate) fn at_checkpoint(block: u64, hash: Hash) -> Self {
        let first = [block + 1, 0];
        let kind = StateKind::Memory;
        Self { kind, block, hash, checkpoint: Some(block), first, start: 0, active: 0 }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![];
        let magic = MAGIC.iter().find(|(kind, _)| *kind == self.kind);
        out.extend(magic.map_or(MAGIC[0].1, |found| found.1));
        out.extend(self.block.to_le_bytes());
        out.extend(self.hash);
        for number in [self.checkpoint.unwrap_or(NONE), self.first[0], self.first[1], self.start] {
            out.extend(number.to_le_bytes());
        }
        out.push(self.active as u8);
        out
    }

    /// Decodes facts; `None` for other bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (magic, fields) = bytes.split_first_chunk::<8>()?;
        let (kind, _) = MAGIC.into_iter().find(|(_, known)| *known == magic)?;
        if bytes.len() != LEN {
            return None;
        }
        let number = |range: Range<usize>| {
            fields.get(range)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
        };
        let checkpoint = number(40..48)?;
        let facts = Self {
            kind,
            block: number(0..8)?,
            hash: *fields.get(8..40)?.first_chunk()?,
            checkpoint: Some(checkpoint).filter(|number| *number != NONE),
            first: [number(48..56)?, number(56..64)?],
            start: number(64..72)?,
            active: usize::from(*fields.last()?),
        };
        let fits = facts.active < 2
            && facts.block < NONE
            && facts.checkpoint.is_none_or(|number| number <= facts.block);
        fits.then_some(facts)
    }

    /// Whether the other log should become active at the next checkpoint.
    pub(crate) fn is_long(&self, limits: &Limits) -> bool {
        (self.block + 1).saturating_sub(self.first[self.active]) >= limits.depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::options::NamedOption;

    #[test]
    fn facts_are_read_as_they_were_written() {
        let (hash, checkpoint) = ([9; 32], Some(5));
        let kind = StateKind::Memory;
        let facts = Facts { kind, block: 7, hash, checkpoint, first: [3, 6], start: 99, active: 1 };
        let of_kinds = StateKind::available().map(|kind| Facts::at_genesis(kind, [1; 32]));
        for facts in [facts, Facts { checkpoint: None, ..facts }].into_iter().chain(of_kinds) {
            let bytes = facts.encode();
            assert_eq!(Facts::decode(&bytes), Some(facts));
            assert!((0..bytes.len()).all(|len| Facts::decode(&bytes[..len]).is_none()));
        }
        let wrong = [Facts { active: 2, ..facts }, Facts { checkpoint: Some(8), ..facts }];
        assert!(wrong.iter().all(|facts| Facts::decode(&facts.encode()).is_none()));
    }
}
