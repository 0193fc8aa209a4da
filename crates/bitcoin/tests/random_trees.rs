//! The tree against a slow index, on random trees with blocks that break rules, repeats and gaps,
//! in any order.

use crate::generated_headers;
use crate::generated_headers::{Naive, Random, easy, found, mine, unmined};
use blockmill_bitcoin::index::{Found, GENESIS, RefusalReason, Tree};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
use std::collections::HashSet;

const TREES: u64 = 120;

/// Headers of a random tree, parents first. One in twelve breaks a rule; such blocks get children.
fn random_tree(params: &Params, random: &mut Random) -> Vec<[u8; 80]> {
    // the slow index knows what a good header is; blocks after a bad one are made blindly
    let mut naive = Naive::build(params, &[]);
    let mut bad: Vec<[u8; 80]> = Vec::new();
    let mut all = Vec::new();
    for seed in 0..150 {
        if !bad.is_empty() && random.below(10) == 0 {
            let parent = bad[random.below(bad.len())];
            let header = mine(
                4,
                &BlockHash(blockmill_hashes::sha256d(&parent)),
                seed,
                2_000_000_000,
                0x207f_ffff,
            );
            bad.push(header);
            all.push(header);
            continue;
        }
        let count = naive.entries.len();
        let parent = if random.below(4) > 0 { count - 1 } else { random.below(count) };
        let header = random_child(params, &naive, parent, seed, random);
        let one = found(&[header])[0];
        if naive.allows(params, parent, &one) {
            naive.add(parent, all.len(), &one);
        } else {
            bad.push(header);
        }
        all.push(header);
    }
    all
}

fn random_child(
    params: &Params,
    naive: &Naive,
    parent: usize,
    seed: u64,
    random: &mut Random,
) -> [u8; 80] {
    let last = &naive.entries[parent];
    let step = random.below(2_600) as i64 - 700;
    let mut time = (last.time() + step).max(naive.median(parent) + 1);
    let breaks = random.below(36);
    if breaks == 0 {
        time = naive.median(parent) - random.below(3) as i64;
    }
    let mut bits = naive.expected_bits(params, parent, time);
    if breaks == 1 {
        bits -= 1;
    }
    let version = if breaks == 2 { random.below(4) - 1 } else { 4 };
    match breaks {
        3 => unmined(version, &last.hash, seed, time as u32, bits),
        4 => unmined(version, &last.hash, seed, time as u32, 0x2100_ffff),
        _ => mine(version, &last.hash, seed, time as u32, bits),
    }
}

fn networks() -> Vec<Params> {
    let with = |min_difficulty, bip94, no_retarget| Params {
        min_difficulty,
        bip94,
        no_retarget,
        bip34_height: 10,
        bip66_height: 20,
        bip65_height: 30,
        ..easy(8)
    };
    vec![
        with(false, false, false),
        with(true, false, false),
        with(true, true, false),
        with(true, false, true),
    ]
}

/// A random list of records: some left out, some twice, in a random order.
fn random_records(params: &Params, random: &mut Random) -> Vec<Found> {
    let mut headers = random_tree(params, random);
    if random.below(3) == 0 {
        headers.push(generated_headers::genesis_header(params));
    }
    for _ in 0..random.below(5) {
        headers.push(headers[random.below(headers.len())]);
    }
    for _ in 0..random.below(3) {
        headers.remove(random.below(headers.len()));
    }
    match random.below(3) {
        0 => random.shuffle(&mut headers),
        1 => headers.reverse(),
        _ => {}
    }
    found(&headers)
}

#[test]
fn fast_and_slow_index_agree_on_random_trees() {
    for (number, params) in networks().iter().enumerate() {
        let (mut linked, mut refused, mut tips) = (0, 0, HashSet::new());
        for seed in 0..TREES {
            let mut random = Random::new(seed * 10 + number as u64);
            let records = random_records(params, &mut random);
            let naive = Naive::build(params, &records);
            let mut tree = Tree::build(params, records.clone(), None);
            compare(params, &naive, &tree, &records);
            compare_after_marks(&naive, &mut tree, &mut random);
            linked += naive.entries.len();
            refused += naive.refused.len();
            tips.insert(tree.summary().branches.len());
        }
        // the trees must be worth something
        assert!(linked > 40 * TREES as usize, "{linked} linked");
        assert!(refused > 3 * TREES as usize, "{refused} refused");
        assert!(tips.len() > 5, "{tips:?}");
    }
}

fn compare(params: &Params, naive: &Naive, tree: &Tree, records: &[Found]) {
    assert_eq!(tree.len() as usize, naive.entries.len());
    for (block, entry) in naive.entries.iter().enumerate() {
        let at = block as u32;
        assert_eq!(tree.hash(at), &entry.hash);
        assert_eq!(tree.height(at), entry.height);
        assert_eq!(i64::from(tree.time(at)), entry.time());
        assert_eq!(i64::from(tree.median_time(at)), naive.median(block));
        assert_eq!(tree.chain_work(at), entry.work.saturating_to::<u128>());
        assert_eq!(tree.parent(at) as usize, entry.parent.unwrap_or(0));
        assert_eq!(tree.record(at), entry.record.map(|record| &records[record]));
        let copies: Vec<&Found> = tree.copies(at).collect();
        let same = records.iter().filter(|record| record.hash == entry.hash);
        assert_eq!(copies, same.skip(1).collect::<Vec<_>>());
        let path = naive.path(block);
        for height in [0, entry.height / 2, entry.height.saturating_sub(1), entry.height] {
            assert_eq!(tree.ancestor(at, height), Some(path[height as usize] as u32));
        }
        assert_eq!(tree.ancestor(at, entry.height + 1), None);
    }
    let refused: HashSet<usize> = tree.refused().iter().map(|one| one.record as usize).collect();
    assert_eq!(refused, naive.refused);
    assert_eq!(refused.len(), tree.refused().len());
    for one in tree.refused() {
        if let RefusalReason::Ancestor(ancestor) = one.reason {
            let previous = records[one.record as usize].header().previous();
            assert_eq!(records[ancestor as usize].hash, previous);
        }
    }
    let chain: Vec<usize> = tree.best_chain().iter().map(|block| *block as usize).collect();
    assert_eq!(chain, naive.best_chain(&HashSet::new()));
    compare_summary(params, naive, tree, records);
}

fn compare_summary(params: &Params, naive: &Naive, tree: &Tree, records: &[Found]) {
    let summary = tree.summary();
    let chain = naive.best_chain(&HashSet::new());
    let mut gap_records = 0;
    let present: HashSet<_> = records.iter().map(|record| record.hash).collect();
    for gap in &summary.gaps {
        assert!(!present.contains(&gap.missing) && gap.missing != params.genesis_hash);
        assert_eq!(records[gap.first as usize].header().previous(), gap.missing);
        gap_records += gap.records;
    }
    assert_eq!(gap_records as usize, naive.unlinked.len());
    assert_eq!((summary.unlinked, summary.held_back), (gap_records, naive.held_back));
    let place = |hash| records.iter().position(|record| record.hash == hash);
    let first_with = |at: usize| place(records[at].hash) == Some(at);
    let parent_later =
        |at: &usize| place(records[*at].header().previous()).is_some_and(|parent| parent > *at);
    let later = (0..records.len()).filter(|at| first_with(*at)).filter(parent_later).count();
    assert_eq!(summary.parents_later as usize, later);
    assert_eq!(summary.records as usize, records.len());
    assert_eq!(summary.repeated as usize, records.len() - present.len());
    let outside = (0..naive.entries.len()).filter(|block| !chain.contains(block));
    let is_parent = |block| naive.entries.iter().any(|entry| entry.parent == Some(block));
    let tips: Vec<u32> = outside.filter(|b| !is_parent(*b)).map(|b| b as u32).collect();
    assert_eq!(summary.branches.iter().map(|branch| branch.tip).collect::<Vec<_>>(), tips);
    for branch in &summary.branches {
        let path = naive.path(branch.tip as usize);
        let shared = path.iter().zip(&chain).take_while(|(a, b)| a == b).count();
        assert_eq!(branch.fork_height as usize, shared - 1);
        assert_eq!(branch.length as usize, path.len() - shared);
        assert_eq!(tree.fork(branch.tip, summary.tip) as usize, path[shared - 1]);
    }
}

/// Marks blocks of the best chain invalid, one after the other, and chooses again.
fn compare_after_marks(naive: &Naive, tree: &mut Tree, random: &mut Random) {
    let mut bad = HashSet::new();
    let mut chain = tree.best_chain();
    for _ in 0..6 {
        let block = chain[random.below(chain.len())];
        tree.mark_invalid(block);
        if block != GENESIS {
            bad.insert(block as usize);
        }
        let before = chain.clone();
        let fork = tree.choose_again(&mut chain);
        let wanted = naive.best_chain(&bad);
        assert_eq!(chain.iter().map(|block| *block as usize).collect::<Vec<_>>(), wanted);
        let shared = before.iter().zip(&chain).take_while(|(a, b)| a == b).count();
        assert_eq!(fork as usize, shared - 1);
        assert_eq!(tree.best_chain(), chain);
    }
}

#[test]
fn many_bad_tips_are_given_up_one_by_one() {
    // 20,000 sibling blocks of equal work, all of which are bad
    let params = easy(1_000_000);
    let mut headers = Vec::new();
    for seed in 0..20_000 {
        headers.push(mine(1, &params.genesis_hash, seed, 1_400_000_000, 0x207f_ffff));
    }
    let mut tree = Tree::build(&params, found(&headers), None);
    let mut chain = tree.best_chain();
    for block in 1..tree.len() {
        assert_eq!(chain, [GENESIS, block]);
        tree.mark_invalid(block);
        assert_eq!(tree.choose_again(&mut chain), 0);
        assert!(tree.is_invalid(block));
    }
    assert_eq!(chain, [GENESIS]);
    tree.mark_invalid(GENESIS);
    assert_eq!(tree.best_chain(), [GENESIS]);
}

#[test]
fn no_records_make_a_tree_of_the_first_block() {
    let params = Params::mainnet();
    let tree = Tree::build(&params, Vec::new(), None);
    assert_eq!((tree.len(), tree.best_chain()), (1, vec![GENESIS]));
    assert_eq!(tree.summary().out_of_order_rate(), 0.0);
    assert_eq!(tree.find(&params.genesis_hash), Some(GENESIS));
    assert_eq!(tree.find(&BlockHash([1; 32])), None);
}

#[test]
fn one_orphan_repeated_many_times_is_one_gap() {
    let header = mine(1, &BlockHash([5; 32]), 1, 1_400_000_000, 0x207f_ffff);
    let tree = Tree::build(&easy(100), found(&vec![header; 50_000]), None);
    let summary = tree.summary();
    assert_eq!((summary.records, summary.repeated, summary.unlinked), (50_000, 49_999, 1));
    assert_eq!((summary.blocks, summary.gaps.len()), (1, 1));
    assert_eq!(summary.gaps[0].missing, BlockHash([5; 32]));
}

#[test]
fn copies_are_tried_in_the_order_of_the_files() {
    let params = easy(100);
    let first = mine(1, &params.genesis_hash, 1, 1_400_000_000, 0x207f_ffff);
    let second =
        mine(1, &BlockHash(blockmill_hashes::sha256d(&first)), 2, 1_400_000_001, 0x207f_ffff);
    let records = found(&[first, second, first, second, first, first]);
    let mut tree = Tree::build(&params, records.clone(), None);
    for (left, place) in [(3, 0), (2, 2), (1, 4), (0, 5)] {
        assert_eq!((tree.record(1), tree.copies(1).count()), (Some(&records[place]), left));
        assert_eq!(tree.use_copy(1), left > 0);
    }
    assert_eq!((tree.record(2), tree.copies(2).count()), (Some(&records[1]), 1));
    assert!(tree.use_copy(2) && !tree.use_copy(2));
    assert_eq!(tree.record(2), Some(&records[3]));
    assert!(!tree.use_copy(GENESIS));
    assert_eq!(tree.record(GENESIS), None);
}
