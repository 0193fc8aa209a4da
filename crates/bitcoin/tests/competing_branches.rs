//! Branches, copies and later runs: whatever the way to the best good chain was, the coins are
//! those of connecting its blocks one after the other.

use crate::generated_chain::{Lock, Maker, pay};
use crate::generated_headers::Random;
use crate::imports::{End, options, run, run_well, with, write};
use blockmill_bitcoin::import::Options;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
use std::path::Path;

/// Ways to work: threads, memory, options.
const WAYS: [(usize, u64, &[&str]); 4] = [
    (1, 16 << 20, &[]),
    (2, 1 << 20, &[]),
    (5, 1 << 20, &["scripts=library", "coins=when-spent"]),
    (2, 1 << 20, &["stages=serial"]),
];

/// The options of a way.
fn way((threads, memory, settings): (usize, u64, &[&str]), params: &Params) -> Options {
    Options { threads, memory, ..with(&options(params.clone()), settings) }
}

/// Writes blocks to a new file next to the existing ones.
fn add(folder: &Path, name: &str, params: &Params, blocks: &[Vec<u8>]) {
    let mut bytes = vec![];
    for block in blocks {
        bytes.extend(params.magic);
        bytes.extend((block.len() as u32).to_le_bytes());
        bytes.extend(block);
    }
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// The chain with a block at its end whose only script fails, and what follows it.
fn with_bad_script(mut maker: Maker, later: u32) -> Maker {
    let at = maker.pool.iter().position(|coin| coin.lock == Lock::Witness).unwrap();
    let mut bad = pay(&[maker.pool[at].clone()], 1);
    bad.inputs[0].witness = vec![vec![0]];
    let draft = maker.draft_of(vec![bad]);
    maker.push(draft);
    maker.extend(later);
    maker
}

/// The heights at which a fault is reported, and the text.
fn fault(outcome: Result<(), blockmill_bitcoin::Error>) -> String {
    outcome.expect_err("a fault").to_string()
}

#[test]
fn a_first_half_and_then_all_is_like_all_at_once() {
    let params = Params::regtest();
    let maker = Maker::of(&params, 1, 700);
    let expected = End::naive(&maker.blocks);
    for each in WAYS {
        let options = way(each, &params);
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        add(folder.path(), "blk00000.dat", &params, &maker.blocks[..350]);
        run_well(folder.path(), &options, data.path());
        End::of(data.path(), &options).assert_same(&End::naive(&maker.blocks[..350]), "half");
        add(folder.path(), "blk00001.dat", &params, &maker.blocks[350..]);
        let run = run_well(folder.path(), &options, data.path());
        assert_eq!((run.resumed.unwrap().height, run.range), (349, Some((350, 700))));
        End::of(data.path(), &options).assert_same(&expected, "all");
    }
}

#[test]
fn runs_that_end_at_a_height_go_on_where_they_ended() {
    let params = Params::regtest();
    let maker = Maker::of(&params, 2, 400);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &params, &maker.blocks, 60_000, true);
    let data = tempfile::tempdir().unwrap();
    for until in [1, 2, 105, 106, 399, 400, 5_000] {
        let options = Options { until: Some(until), ..way(WAYS[1], &params) };
        let run = run_well(folder.path(), &options, data.path());
        let last = until.min(400);
        assert_eq!(run.tip.unwrap().height, last);
        let expected = End::naive(&maker.blocks[..=last as usize]);
        End::of(data.path(), &options).assert_same(&expected, "until");
        let options = Options { level: blockmill_bitcoin::Level::Headers, ..options };
        let run = run_well(folder.path(), &options, tempfile::tempdir().unwrap().path());
        let hash = BlockHash(blockmill_hashes::sha256d(&maker.blocks[last as usize][..80]));
        assert_eq!((run.range, run.blocks), (Some((1, last)), last.into()), "{until}");
        assert_eq!(run.tip.map(|tip| (tip.height, tip.hash)), Some((last, hash)), "{until}");
    }
}

#[test]
fn a_better_branch_takes_over_by_undo_data() {
    let params = Params::regtest();
    let trunk = Maker::of(&params, 3, 300);
    let (mut first, mut second) = (trunk.branch(4), trunk.branch(5));
    first.extend(150);
    second.extend(200);
    let expected = End::naive(&second.blocks);
    for each in WAYS {
        let options = way(each, &params);
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        add(folder.path(), "blk00000.dat", &params, &first.blocks);
        run_well(folder.path(), &options, data.path());
        End::of(data.path(), &options).assert_same(&End::naive(&first.blocks), "first");
        add(folder.path(), "blk00001.dat", &params, &second.blocks[301..]);
        let run = run_well(folder.path(), &options, data.path());
        assert_eq!((run.disconnected, run.range), (150, Some((301, 500))));
        assert_eq!(run.stale, 150);
        End::of(data.path(), &options).assert_same(&expected, "second");
    }
}

#[test]
fn a_better_branch_with_a_bad_block_is_tried_and_left() {
    let params = Params::regtest();
    let trunk = Maker::of(&params, 6, 300);
    let (mut good, mut bad) = (trunk.branch(7), trunk.branch(8));
    good.extend(60);
    bad.extend(50);
    let bad = with_bad_script(bad, 40);
    let expected = End::naive(&good.blocks);
    let hash = blockmill_hashes::sha256d(&bad.blocks[351][..80]);
    for each in WAYS {
        let options = way(each, &params);
        // both at once, and the bad one after the good one
        for at_once in [true, false] {
            let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            add(folder.path(), "blk00001.dat", &params, &good.blocks);
            if !at_once {
                run_well(folder.path(), &options, data.path());
            }
            add(folder.path(), "blk00000.dat", &params, &bad.blocks[301..]);
            for again in [false, true] {
                let (run, outcome) = run(folder.path(), &options, data.path());
                let text = fault(outcome);
                assert!(text.contains(&format!("block 351 ({})", BlockHash(hash))), "{text}");
                assert!(text.contains("blk00000.dat"), "{text}");
                assert_eq!(run.tip.unwrap().height, 360, "again: {again}");
                End::of(data.path(), &options).assert_same(&expected, "left");
            }
        }
    }
}

#[test]
fn of_several_bad_branches_each_is_named() {
    let params = Params::regtest();
    let trunk = Maker::of(&params, 9, 150);
    let mut good = trunk.branch(10);
    good.extend(5);
    let branches = [20, 30].map(|later| with_bad_script(trunk.branch(later.into()), later));
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    add(folder.path(), "blk00000.dat", &params, &good.blocks);
    add(folder.path(), "blk00001.dat", &params, &branches[0].blocks[151..]);
    add(folder.path(), "blk00002.dat", &params, &branches[1].blocks[151..]);
    let options = way(WAYS[1], &params);
    let (run, outcome) = run(folder.path(), &options, data.path());
    let text = fault(outcome) + &run.notes.join("\n");
    for (branch, file) in branches.iter().zip(["blk00001.dat", "blk00002.dat"]) {
        let id = BlockHash(blockmill_hashes::sha256d(&branch.blocks[151][..80])).to_string();
        assert!(text.contains(&id) && text.contains(file), "{id} {text}");
    }
    End::of(data.path(), &options).assert_same(&End::naive(&good.blocks), "good");
}

/// Batches after the bad block are already connected when its script fails.
#[test]
fn blocks_connected_after_a_bad_script_are_disconnected() {
    let params = Params::regtest();
    let maker = with_bad_script(Maker::of(&params, 11, 700), 1_300);
    let expected = End::naive(&maker.blocks[..701]);
    for each in WAYS {
        let options = way(each, &params);
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(folder.path(), &params, &maker.blocks, 1 << 20, false);
        let (_, outcome) = run(folder.path(), &options, data.path());
        let text = fault(outcome);
        assert!(text.contains("block 701 "), "{text}");
        End::of(data.path(), &options).assert_same(&expected, "taken back");
    }
}

#[test]
fn a_good_copy_is_used_instead_of_a_corrupt_record() {
    let params = Params::regtest();
    let maker = Maker::of(&params, 12, 300);
    let expected = End::naive(&maker.blocks);
    let mut random = Random::new(13);
    for each in WAYS {
        let options = way(each, &params);
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (mut corrupt, mut copies, mut bad) = (maker.blocks.clone(), vec![], vec![]);
        for _ in 0..10 {
            let height = 1 + random.below(300);
            let block = &mut corrupt[height];
            let at = 80 + random.below(block.len() - 80);
            block[at] ^= 1 << random.below(8);
            // a second corrupt copy, and a good one
            copies.push(block.clone());
            copies.push(maker.blocks[height].clone());
            bad.push(height);
        }
        let places = write(folder.path(), &params, &corrupt, 1 << 20, false);
        add(folder.path(), "blk00009.dat", &params, &copies);
        let run = run_well(folder.path(), &options, data.path());
        End::of(data.path(), &options).assert_same(&expected, "copies");
        let notes = run.notes.join("\n");
        for height in bad {
            // flipped twice at the same place, it is good again
            if corrupt[height] != maker.blocks[height] {
                let (file, offset) = &places[height];
                assert!(notes.contains(&format!("block {height} (")), "{height}: {notes}");
                assert!(notes.contains(&format!("{file} at byte {offset}")), "{notes}");
            }
        }
    }
}

/// The store has blocks whose first record in the files is corrupt by now.
#[test]
fn a_good_copy_serves_to_disconnect_too() {
    let params = Params::regtest();
    let trunk = Maker::of(&params, 14, 200);
    let (mut first, mut second) = (trunk.branch(15), trunk.branch(16));
    first.extend(20);
    second.extend(30);
    let options = way(WAYS[0], &params);
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    add(folder.path(), "blk00001.dat", &params, &first.blocks);
    run_well(folder.path(), &options, data.path());
    let mut corrupt = first.blocks[205..210].to_vec();
    corrupt.iter_mut().for_each(|block| *block.last_mut().unwrap() ^= 1);
    // now the first record of these blocks
    add(folder.path(), "blk00000.dat", &params, &corrupt);
    add(folder.path(), "blk00002.dat", &params, &second.blocks[201..]);
    let run = run_well(folder.path(), &options, data.path());
    assert_eq!(run.disconnected, 20);
    End::of(data.path(), &options).assert_same(&End::naive(&second.blocks), "second");
}

#[test]
fn what_is_assumed_valid_does_not_hide_a_bad_block() {
    let params = Params::regtest();
    let mut maker = Maker::of(&params, 17, 150);
    let mut draft = maker.draft();
    draft.transactions[0].outputs[0].value += 1;
    maker.push(draft);
    maker.extend(10);
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), &params, &maker.blocks, 1 << 20, false);
    let mut options = options(params.clone());
    options.assume_valid = Some(BlockHash(blockmill_hashes::sha256d(&maker.blocks[161][..80])));
    let (_, outcome) = run(folder.path(), &options, data.path());
    let text = fault(outcome);
    assert!(text.contains("block 151 ") && text.contains("bad-cb-amount"), "{text}");
    End::of(data.path(), &options).assert_same(&End::naive(&maker.blocks[..151]), "amount");
    // a run up to a lower block may name it too
    options.until = Some(100);
    let data = tempfile::tempdir().unwrap();
    run_well(folder.path(), &options, data.path());
    // a block that is nowhere is an error
    options.assume_valid = Some(BlockHash([7; 32]));
    let text = fault(run(folder.path(), &options, data.path()).1);
    assert!(text.contains("--assume-valid: block 0707"), "{text}");
}
