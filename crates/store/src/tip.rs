//! The state that the commits of a chain store carry.

use crate::manifest::Fields;

/// The most blocks in a small run: places in a big run then take 24 bits, as filters assume.
const MAX_RUN_ITEMS: u64 = 1 << 20;

/// The last committed block, and what the importer needs to continue from it. The store itself
/// reads only `number` and `hash`; the rest is kept for the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tip {
    /// Number of the last block.
    pub number: u64,
    /// Hash of the last block.
    pub hash: [u8; 32],
    /// Total difficulty (or chain work) up to this block, big-endian.
    pub total_difficulty: [u8; 32],
    /// Number of the block that is trusted without a check, where the import began.
    pub anchor_number: u64,
    /// Hash of that block.
    pub anchor_hash: [u8; 32],
    /// Identifies the chain: for example the genesis hash.
    pub chain: [u8; 32],
    /// How deeply the blocks were verified, in the caller's own numbers.
    pub level: u8,
}

/// What a manifest says of a chain in addition to its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChainState {
    /// Blocks in a small run of the hash index: a power of two.
    pub run_items: u64,
    /// Whether the importer added the first block, which the archive leaves out.
    pub first_added: bool,
    /// Number of the first block.
    pub first: u64,
    /// The last block.
    pub tip: Tip,
}

impl ChainState {
    pub fn encode(&self) -> Vec<u8> {
        let ChainState { run_items, first_added, first, tip } = self;
        // no run has 2^32 blocks
        let head = run_items | u64::from(*first_added) << 32;
        let mut out = vec![];
        for number in [head, *first, tip.number, tip.anchor_number] {
            out.extend(number.to_le_bytes());
        }
        let hashes = [tip.hash, tip.total_difficulty, tip.anchor_hash, tip.chain];
        out.extend(hashes.as_flattened());
        out.push(tip.level);
        out
    }

    /// Decodes the state. Returns the bytes after it as well: the state of the parts next to the
    /// blocks.
    pub fn decode(bytes: &[u8]) -> Option<(ChainState, &[u8])> {
        let mut fields = Fields(bytes);
        let (run_items, first_added) = (fields.short()?.into(), fields.short()?);
        let first = fields.long()?;
        let (number, anchor_number) = (fields.long()?, fields.long()?);
        let (hash, total_difficulty) = (fields.array()?, fields.array()?);
        let (anchor_hash, chain, level) = (fields.array()?, fields.array()?, fields.byte()?);
        let tip = Tip { number, hash, total_difficulty, anchor_number, anchor_hash, chain, level };
        let first_added = match first_added {
            0 => false,
            1 => true,
            _ => return None,
        };
        let state = ChainState { run_items, first_added, first, tip };
        is_run_length(run_items).then_some((state, fields.0))
    }
}

/// Checks the number of blocks in a small run of the hash index.
pub(crate) fn is_run_length(items: u64) -> bool {
    items.is_power_of_two() && items <= MAX_RUN_ITEMS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_a_chain_is_read_as_it_was_written() {
        let tip = Tip { number: 9, hash: [1; 32], level: 0xff, ..Tip::default() };
        for first_added in [false, true] {
            let state = ChainState { run_items: 1 << 16, first_added, first: 3, tip };
            let bytes = [state.encode(), vec![7; 5]].concat();
            assert_eq!(ChainState::decode(&bytes), Some((state, &[7; 5][..])));
        }
    }
}
