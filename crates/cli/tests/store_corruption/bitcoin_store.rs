//! A store of Bitcoin: coins, undo data, block index.

use super::program::{Random, Scratch, blockmill, run, succeed};
use super::{Counts, Deed, TRIALS, Work, assert_all_hit, files, renew};
use blockmill_bitcoin::check::StorePart;
use blockmill_bitcoin::coins::Statistics;
use blockmill_bitcoin::import::Tip;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// How many blocks before the last one the store is committed.
const COMMITS: [u32; 3] = [30, 20, 10];
/// One in so many corrupt stores is imported into, even where the check says that nothing mends.
const ALSO: u32 = 4;

fn import(data: &Path, blocks: &Path) -> Command {
    let mut command = blockmill("import --threads 1 --cache 16 --data");
    command.arg(data).arg(blocks);
    command
}

/// What a store answers: its last block and all coins.
fn answers(data: &Path) -> Result<Option<(Tip, Statistics)>, blockmill_bitcoin::Error> {
    let stored = blockmill_bitcoin::inspect::stored(data)?;
    Ok(stored.map(|stored| (stored.tip, stored.statistics)))
}

#[test]
fn corruption_of_a_store_of_coins_never_gives_a_wrong_answer() {
    let scratch = Scratch::new("damage-coins");
    let (blocks, base) = (scratch.path("blocks"), scratch.path("base"));
    let (whole, folder) = (scratch.path("whole"), Work::new("coins"));
    let work = folder.0.clone();
    let mut generate =
        blockmill("generate bitcoin --inputs 800 --coins 200 --block-inputs 20 --out");
    succeed(generate.arg(&blocks));
    succeed(&mut import(&whole, &blocks));
    let oracle = answers(&whole).expect("answers").expect("a tip");
    let commits = COMMITS.map(|before| oracle.0.height - before);
    for height in commits {
        succeed(import(&base, &blocks).args(["--until", &height.to_string()]));
    }
    let stored = files(&base);
    let good = blockmill_bitcoin::check::check(&base, &mut |_| true).expect("a check");
    assert!(good.corruption.is_empty(), "{:?}", good.corruption);
    assert_eq!((good.undo_blocks, good.network), (commits[2].into(), Some("regtest")));

    let mut random = Random::new_each_run("coins");
    let (mut counts, mut kinds) = (Counts::default(), BTreeSet::new());
    for trial in 0..TRIALS {
        renew(&base, &work);
        let deed = Deed::random(&mut random, &stored, &work, &mut kinds);
        let found = blockmill_bitcoin::check::check(&work, &mut |_| true);
        let found = found.unwrap_or_else(|error| panic!("{deed:?}: {error}")).corruption;
        let mends = found.iter().all(|corruption| corruption.part == StorePart::Index);
        if deed.is_none() {
            assert!(found.is_empty(), "nothing was changed: {found:?}");
        }
        if !mends && trial % ALSO > 0 {
            counts.detected += 1;
            continue;
        }
        let ended = run(&mut import(&work, &blocks));
        let text = format!("{deed:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{text}");
        match ended.code {
            Some(0) => match answers(&work) {
                Ok(answers) => {
                    assert!(answers == Some(oracle), "a wrong answer: {text}");
                    counts.harmless += u32::from(found.is_empty());
                    counts.repaired += u32::from(!found.is_empty() && mends);
                    counts.detected += u32::from(!mends);
                }
                Err(error) => {
                    assert!(!mends, "the check found nothing, and then {error}: {text}");
                    assert_eq!(
                        error.status(),
                        blockmill_verdict::Status::Corrupt,
                        "{error}: {text}"
                    );
                    counts.detected += 1;
                }
            },
            // says so, names the store, and says what to do
            Some(4) => {
                assert!(!found.is_empty(), "the check found nothing: {text}");
                assert!(ended.stderr.contains("blockmill check DATA"), "{text}");
                assert!(ended.stderr.contains(work.to_str().expect("UTF-8")), "{text}");
                counts.detected += 1;
            }
            code => panic!("exit code {code:?}: {text}"),
        }
    }
    counts.print("coins", &kinds);
    assert_all_hit(&stored, &kinds);
}

#[test]
fn a_flip_in_the_magic_of_the_index_is_not_another_network() {
    let scratch = Scratch::new("damage-magic");
    let (blocks, base, work) =
        (scratch.path("blocks"), scratch.path("base"), Work::new("damage-magic-work"));
    let mut generate = blockmill("generate bitcoin --inputs 40 --coins 20 --block-inputs 20 --out");
    succeed(generate.arg(&blocks));
    succeed(&mut import(&base, &blocks));
    let oracle = answers(&base).expect("answers");
    assert!(oracle.is_some());
    for bit in 0..32 {
        renew(&base, &work.0);
        let path = work.0.join("index");
        let mut index = std::fs::read(&path).expect("an index");
        index[8 + bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &index).expect("a write");
        let ended = run(&mut import(&work.0, &blocks));
        assert_eq!(ended.code, Some(0), "bit {bit}: {}", ended.stderr);
        assert_eq!(answers(&work.0).expect("answers"), oracle, "bit {bit}");
    }
}
