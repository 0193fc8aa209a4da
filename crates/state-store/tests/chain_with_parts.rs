//! A table, a log file and a segment next to the blocks of a chain store: at every moment of a kill
//! or a power loss they are those of one commit, with its blocks; runs that do not need them leave
//! them as they are; corruption in them is reported.

use std::{fs, path::Path, sync::Arc};

use crate::executed_chain::{Chain, Parts};
use crate::generated_blocks::{FIRST, Random, assert_holds, extend, folder, small, tip};
use blockmill_state_store::PAGE_FORMAT;
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{ChainStore, CrashPoint, Error, Options, Result, TableOptions};
use blockmill_testkit::{rounds, spread};

/// The last block.
const END: u64 = FIRST + 119;
/// Here the chain goes back by so much, once.
const TURN: (u64, u64) = (FIRST + 89, 30);

/// A step of a life: blocks are appended, executed, or given up. False at the end.
fn step(chain: &mut Chain, turned: &mut bool) -> Result<bool> {
    let last = chain.blocks.tip().map(|tip| tip.number);
    let executed = chain.next().checked_sub(1).filter(|number| *number >= FIRST);
    match last {
        Some(last) if last == TURN.0 && !*turned && executed == Some(last) => {
            *turned = true;
            chain.unwind(last - TURN.1)?;
        }
        // sometimes the blocks are two commits ahead
        Some(last) if executed != Some(last) && last % 3 != 2 => chain.execute()?,
        Some(END) => return Ok(false),
        last => extend(&mut chain.blocks, last.map_or(FIRST + 9, |last| last + 10))?,
    }
    Ok(true)
}

/// What a store may be found as: its last block, the first one that is not executed.
type Found = (Option<u64>, u64);

fn found(chain: &Chain) -> Found {
    (chain.blocks.tip().map(|tip| tip.number), chain.next())
}

/// Checks all of a chain.
fn assert_whole(chain: &Chain) {
    chain.assert_fits();
    assert_holds(&chain.blocks, found(chain).0);
}

#[test]
fn a_kill_at_any_point_leaves_all_parts_of_one_commit() {
    let undisturbed = folder();
    let (mut chain, _) = Chain::open(undisturbed.path(), &small()).unwrap();
    let (mut expected, mut turned) = (vec![found(&chain)], false);
    while step(&mut chain, &mut turned).unwrap() {
        expected.push(found(&chain));
    }
    for point in CrashPoint::ALL {
        for nth in 0.. {
            let dir = folder();
            let options = Options { crash_at: Some((point, nth)), ..small() };
            let (mut chain, _) = Chain::open(dir.path(), &options).unwrap();
            let (mut turned, mut done) = (false, 0);
            let crashed = loop {
                match step(&mut chain, &mut turned) {
                    Ok(true) => done += 1,
                    Ok(false) => break false,
                    Err(Error::Crash(at)) => break at == point,
                    Err(error) => panic!("{point:?} {nth}: {error}"),
                }
            };
            drop(chain);
            let (mut chain, _) = Chain::open(dir.path(), &small()).unwrap();
            assert_whole(&chain);
            let at = expected[done..].iter().take(2).position(|step| *step == found(&chain));
            assert!(at.is_some(), "{point:?} {nth}: {:?}", found(&chain));
            // the step of the crash may have to be made again
            turned &= !crashed || at == Some(1) || expected[done].0 != Some(TURN.0);
            while step(&mut chain, &mut turned).unwrap() {}
            assert_whole(&chain);
            assert_eq!(found(&chain), (Some(END), END + 1));
            if !crashed {
                assert!(nth > 0, "{point:?} was never reached");
                break;
            }
        }
    }
}

#[test]
fn a_power_loss_at_any_moment_leaves_all_parts_of_one_commit() {
    let (disk, dir) = (SimulatedDisk::default(), Path::new("chain"));
    let options = |disk: &SimulatedDisk| Options { disk: Arc::new(disk.clone()), ..small() };
    let mut steps = vec![];
    let (mut chain, _) = Chain::open(dir, &options(&disk)).unwrap();
    let mut turned = false;
    steps.push((found(&chain), 0, disk.now()));
    loop {
        let begun = disk.now();
        if !step(&mut chain, &mut turned).unwrap() {
            break;
        }
        steps.push((found(&chain), begun, disk.now()));
    }
    let (mut tried, mut went_back) = (0, 0);
    for moment in spread(disk.now() + 1) {
        // what was executed was durable
        let executed = |(found, _, counted): &(Found, _, _)| *counted <= moment && found.1 > FIRST;
        let safe = steps.iter().rposition(executed);
        let safe = safe.and_then(|at| steps[..=at].iter().position(|s| s.0.1 == steps[at].0.1));
        let begun = steps.iter().rposition(|step| step.1 <= moment).unwrap();
        for percent in [0, 30, 80, 97, 100] {
            let mut random = Random::new(tried as u64);
            let left = disk.lost_power(moment, &mut || random.below(100) < percent);
            let (mut chain, _) = Chain::open(dir, &options(&left)).unwrap();
            let found = found(&chain);
            let may = steps[safe.unwrap_or(0)..=begun].iter().any(|step| step.0 == found);
            assert!(may, "moment {moment}, {percent} %: {found:?}");
            chain.assert_fits();
            went_back += usize::from(percent < 100 && found != steps[begun].0);
            tried += 1;
            if tried % 7 == 0 {
                assert_whole(&chain);
                while step(&mut chain, &mut true).unwrap() {}
                assert_whole(&chain);
            }
        }
    }
    println!("{tried} power losses, {went_back} of which lost a commit");
    assert!(tried > rounds(1000) && went_back > rounds(100), "{tried} tried, {went_back} hurt");
}

#[test]
fn a_store_gets_parts_when_they_are_asked_for_and_keeps_those_that_are_not() {
    let dir = folder();
    let (mut blocks, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut blocks, FIRST + 9).unwrap();
    drop(blocks);
    let (mut chain, recovery) = Chain::open(dir.path(), &small()).unwrap();
    assert!(!recovery.created && chain.next() == FIRST);
    chain.execute().unwrap();
    drop(chain);
    // runs that know blocks only append, sync and go back
    let (mut blocks, _) = ChainStore::open(dir.path(), &small()).unwrap();
    assert_eq!(blocks.parts_besides().len(), 4);
    extend(&mut blocks, FIRST + 19).unwrap();
    blocks.sync().unwrap();
    extend(&mut blocks, FIRST + 29).unwrap();
    blocks.truncate_after(&tip(FIRST + 24)).unwrap();
    drop(blocks);
    assert!(ChainStore::is_in(dir.path()).unwrap());
    let reader = Chain::open_read_only(dir.path()).unwrap();
    assert_eq!(found(&reader), (Some(FIRST + 24), FIRST + 10));
    assert_whole(&reader);
    let (mut chain, _) = Chain::open(dir.path(), &small()).unwrap();
    assert_whole(&chain);
    // the reader keeps what it has while the parts change
    chain.execute().unwrap();
    reader.assert_fits();
    assert_whole(&Chain::open_read_only(dir.path()).unwrap());
    // parts of another store, none twice, no name twice
    let other = folder();
    let (mut stranger, _) = Chain::open(other.path(), &small()).unwrap();
    let Chain { blocks, parts } = &mut chain;
    let last = tip(FIRST + 24);
    let wrong = blocks.commit_with(&last, &mut stranger.parts.all(), &[]);
    assert!(matches!(wrong, Err(Error::Mismatch { .. })));
    let long = blocks.commit_with(&last, &mut parts.all(), &vec![0; (1 << 19) + 1]);
    assert!(matches!(long, Err(Error::Mismatch { .. })));
    chain.assert_fits();
    chain.blocks.commit_with(&last, &mut [], &[]).unwrap();
    drop(chain);
    let twice = |name| {
        let options = TableOptions::new(1 << 18);
        let opened = ChainStore::open_with(dir.path(), &small(), |opening| {
            Parts::open(opening)?;
            opening.table(name, &options).map(drop)
        });
        assert!(matches!(opened, Err(Error::Mismatch { .. })), "{name}");
    };
    ["events", "headers", "hashes"].into_iter().for_each(twice);
}

#[test]
fn corruption_of_a_part_is_reported_and_is_none_of_the_blocks() {
    let dir = folder();
    let (mut chain, _) = Chain::open(dir.path(), &small()).unwrap();
    let mut turned = true;
    while step(&mut chain, &mut turned).unwrap() {}
    drop(chain);
    let check = || {
        let (blocks, corruption) = ChainStore::open_corrupt(dir.path()).unwrap();
        assert!(corruption.is_empty());
        let corruption = blocks.check(Some(&PAGE_FORMAT), 2, &|_| true).unwrap();
        assert_eq!(blocks.last_whole(&corruption, None), Some(END));
        corruption
    };
    assert_eq!(check().len(), 0);
    let mut files = 0;
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let part = ["accounts.", "changes.", "events.", "events-sums.", "pages.", "pages-index."];
        let Some(part) = part.iter().find(|part| name.starts_with(**part)) else { continue };
        files += 1;
        let whole = fs::read(&path).unwrap();
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let corruption = check();
            assert!(!corruption.is_empty(), "{name} at {at}");
            for corruption in corruption {
                assert!(
                    corruption.is_besides
                        && !corruption.mends_itself
                        && corruption.blocks.is_none()
                );
                // sums speak of what they are sums of
                let file = corruption.error.report().file.unwrap();
                let reported = file.file_name().unwrap().to_str().unwrap().to_owned();
                let part = part.replace("-sums", "");
                assert!(reported.starts_with(&part), "{name} at {at}: {reported}");
            }
        }
        fs::remove_file(&path).unwrap();
        assert!(!check().is_empty(), "{name} removed");
        fs::write(&path, &whole).unwrap();
    }
    assert!(files > 8, "{files} files");
    assert_eq!(check().len(), 0);
}
