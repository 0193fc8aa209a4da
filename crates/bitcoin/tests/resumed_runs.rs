//! Runs that go on where others ended: what was committed, what is looked at again, how far the
//! display begins.

use crate::generated_chain::Maker;
use crate::imports::{End, options, run, run_well, write};
use blockmill_archive::blkdat::open;
use blockmill_bitcoin::chainstate::committed;
use blockmill_bitcoin::import::{Options, import};
use blockmill_bitcoin::params::Params;
use blockmill_verdict::Status;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Blocks after the genesis block, so many that they are several batches.
const BLOCKS: u32 = 1_100;

fn chain() -> Vec<Vec<u8>> {
    Maker::of(&Params::regtest(), 21, BLOCKS).blocks
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => _ = fs::copy(&from, &to).unwrap(),
        }
    }
}

#[test]
fn commits_come_with_time_and_a_crash_loses_nothing_before_the_last() {
    let blocks = chain();
    let folder = tempfile::tempdir().unwrap();
    let (files, data) = (folder.path().join("files"), folder.path().join("data"));
    write(&files, &Params::regtest(), &blocks, 1 << 20, false);
    let usual = Options { threads: 1, ..options(Params::regtest()) };
    // memory for everything: without the clock there is one commit
    let other = folder.path().join("other");
    assert_eq!(run_well(&files, &usual, &other).commits, 1);
    let hasty = Options { commit_every: Duration::ZERO, ..usual.clone() };
    let crash = folder.path().join("crash");
    let mut seen = vec![];
    let opened = open(std::slice::from_ref(&files), None).unwrap();
    let (done, outcome) = import(&opened, &hasty, &data, |progress| {
        // the content of the disk at the first reported commit
        if let (None, Some(height)) = (seen.last(), progress.committed) {
            copy(&data, &crash);
            seen.push(u32::try_from(height).unwrap());
        }
        assert!(progress.committed.is_none_or(|height| height <= progress.number));
    });
    outcome.unwrap();
    assert!(done.commits > 1, "{done:?}");
    assert!(0 < seen[0] && seen[0] < BLOCKS, "{seen:?}");
    assert_eq!(committed(&crash, &usual).unwrap().unwrap().height, seen[0]);
    let resumed = run_well(&files, &usual, &crash);
    assert_eq!(resumed.resumed.unwrap().height, seen[0]);
    assert_eq!(resumed.blocks, u64::from(BLOCKS - seen[0]));
    End::of(&crash, &usual).assert_same(&End::of(&other, &usual), "after the crash");
}

#[test]
fn progress_of_a_resumed_run_begins_where_the_earlier_ended() {
    let blocks = chain();
    let folder = tempfile::tempdir().unwrap();
    let (files, data) = (folder.path().join("files"), folder.path().join("data"));
    write(&files, &Params::regtest(), &blocks, 1 << 20, false);
    let size = |blocks: &[Vec<u8>]| blocks.iter().map(Vec::len).sum::<usize>() as u64;
    let half = Options { until: Some(600), ..options(Params::regtest()) };
    run_well(&files, &half, &data);
    let opened = open(&[files], None).unwrap();
    let mut seen = vec![];
    let (_, outcome) = import(&opened, &options(Params::regtest()), &data, |progress| {
        seen.push(*progress);
    });
    outcome.unwrap();
    let (first, last) = (seen[0], *seen.last().unwrap());
    assert!(first.bytes > size(&blocks[1..=600]), "{first:?}");
    assert_eq!(first.committed, Some(600));
    let all = size(&blocks[1..]);
    assert_eq!((last.bytes, last.total_bytes), (all, Some(all)));
}

#[test]
fn blocks_of_the_store_are_checked_before_nothing_is_new() {
    let mut blocks = Maker::of(&Params::regtest(), 22, 120).blocks;
    let folder = tempfile::tempdir().unwrap();
    let (files, data) = (folder.path().join("files"), folder.path().join("data"));
    let options = options(Params::regtest());
    let places = write(&files, &options.params, &blocks, 1 << 20, false);
    run_well(&files, &options, &data);
    let again = run_well(&files, &options, &data);
    assert_eq!((again.blocks, again.rechecked), (0, Some(120)));
    let end = End::of(&data, &options);
    // a byte of a body: the headers are the same
    let path = files.join("blk00000.dat");
    let good = fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad[places[70].1 as usize + 80 + 50] ^= 1;
    fs::write(&path, &bad).unwrap();
    let (done, outcome) = run(&files, &options, &data);
    let error = outcome.unwrap_err();
    assert!(matches!(error.status(), Status::Corrupt | Status::Invalid), "{error}");
    assert!(error.to_string().contains("block 70 "), "{error}");
    assert_eq!((done.rechecked, done.disconnected), (None, 0));
    End::of(&data, &options).assert_same(&end, "after corrupt files");
    // with another copy of the block nothing is missing, and the corruption is reported
    blocks.push(blocks[70].clone());
    fs::remove_dir_all(&files).unwrap();
    write(&files, &options.params, &blocks, 1 << 20, false);
    let mut twice = fs::read(&path).unwrap();
    twice[places[70].1 as usize + 80 + 50] ^= 1;
    fs::write(&path, &twice).unwrap();
    let done = run_well(&files, &options, &data);
    assert_eq!(done.rechecked, Some(120), "{done:?}");
    assert!(done.notes.iter().any(|text| text.contains("block 70 ")), "{:?}", done.notes);
    End::of(&data, &options).assert_same(&end, "after a copy");
}
