//! Bodies and receipts that are not those of their headers.

use crate::Good;
use crate::blocks::{Blocks, items, list};

/// Number of the last block, and of a block whose body or receipts are changed, or a later one.
const LAST: u64 = 2_000;
const AT: usize = 1_900;

/// A chain, and the number of the block to change, which has transactions.
fn chain() -> (Blocks, usize) {
    let blocks = Blocks::generated(LAST);
    let at = blocks.with_transactions(AT);
    (blocks, at)
}

/// Gives block `at` these ommers, and the header their hash.
fn set_ommers(blocks: &mut Blocks, at: usize, ommers: &[Vec<u8>]) {
    let ommers = list(ommers);
    blocks.bodies[at] = list(&[items(&blocks.bodies[at])[0].clone(), ommers.clone()]);
    blocks.edit(at, |header| header.ommers_hash = blockmill_hashes::keccak256(&ommers));
}

#[test]
fn transactions_of_another_block_are_refused() {
    let (blocks, at) = chain();
    for format in ["rlp", "rlp-gz", "freezer", "era1"] {
        let mut good = Good::new("transactions", format, blocks.clone());
        let mut changed = blocks.clone();
        // the last byte before the empty list of ommers belongs to a signature
        let end = changed.bodies[at].len() - 2;
        changed.bodies[at][end] ^= 1;
        let text = good.refuses_blocks(&changed, at as u64, "transactions root");
        assert!(text.contains(" byte "), "{text}");

        let mut changed = blocks.clone();
        changed.edit(at, |header| header.transactions_root[0] ^= 1);
        good.refuses_blocks(&changed, at as u64, "transactions root");

        let mut changed = blocks.clone();
        changed.bodies[at] = vec![0xc2, 0xc0, 0xc0];
        if format.starts_with("rlp") {
            good.refuses_blocks(&changed, at as u64, "transactions root");
        }
    }
}

#[test]
fn ommers_that_are_not_those_of_the_header_are_refused() {
    let (blocks, at) = chain();
    for format in ["rlp", "era1"] {
        let mut good = Good::new("ommers-hash", format, blocks.clone());
        let mut changed = blocks.clone();
        changed.edit(at, |header| header.ommers_hash[0] ^= 1);
        good.refuses_blocks(&changed, at as u64, "ommers hash");

        let mut changed = blocks.clone();
        let ommers = list(&[changed.headers[at - 3].clone()]);
        changed.bodies[at] = list(&[items(&changed.bodies[at])[0].clone(), ommers]);
        good.refuses_blocks(&changed, at as u64, "ommers hash");
    }
}

#[test]
fn ommers_that_break_a_rule_are_refused() {
    let (blocks, at) = chain();
    let mut good = Good::new("ommer-rules", "rlp", blocks.clone());
    // siblings of earlier blocks: the same parents, another state
    let sibling = |i: usize, state: u8| {
        let mut changed = blocks.clone();
        changed.edit(i, |header| header.state_root[0] ^= state);
        changed.headers[i].clone()
    };
    let refused = [
        (vec![blocks.headers[at - 2].clone()], "ommer is not an ancestor"),
        (vec![sibling(at - 9, 1)], "ommer's parent is a recent ancestor"),
        (vec![sibling(at, 1)], "ommer's parent is a recent ancestor"),
        (vec![sibling(at - 2, 1), sibling(at - 2, 1)], "ommer included once"),
        ([1, 2, 3].map(|state| sibling(at - 2, state)).to_vec(), "at most two ommers"),
    ];
    for (ommers, rule) in &refused {
        let mut changed = blocks.clone();
        set_ommers(&mut changed, at, ommers);
        good.refuses_blocks(&changed, at as u64, rule);
    }
    // once is right, twice is not: up to the first, this is another good chain
    let mut changed = blocks.clone();
    set_ommers(&mut changed, at, &[sibling(at - 2, 1)]);
    set_ommers(&mut changed, at + 1, &[sibling(at - 2, 1)]);
    let corrupt = good.next_copy();
    changed.write("rlp", &corrupt);
    good.stops_at(&corrupt, at as u64 + 1, "ommer included once");
}

#[test]
fn receipts_of_another_block_are_refused() {
    let (blocks, at) = chain();
    for format in ["freezer", "era1"] {
        let mut good = Good::new("receipts", format, blocks.clone());
        let mut changed = blocks.clone();
        // the first byte of the first receipt's state root
        let state = changed.receipts[at].iter().position(|byte| *byte == 0xa0).unwrap() + 1;
        changed.receipts[at][state] ^= 1;
        let text = good.refuses_blocks(&changed, at as u64, "receipts root");
        assert!(text.contains(" at byte "), "{text}");

        let mut changed = blocks.clone();
        changed.receipts[at] = vec![0xc0];
        good.refuses_blocks(&changed, at as u64, "receipt");

        let mut changed = blocks.clone();
        changed.edit(at, |header| header.receipts_root[0] ^= 1);
        good.refuses_blocks(&changed, at as u64, "receipts root");

        let mut changed = blocks.clone();
        changed.edit(at, |header| header.logs_bloom[5] ^= 1);
        good.refuses_blocks(&changed, at as u64, "logs bloom");

        let mut changed = blocks.clone();
        changed.edit(at, |header| header.gas_used += 1);
        good.refuses_blocks(&changed, at as u64, "gas used by the receipts");
    }
}
