//! The data of definitions, and what runs must agree on.

use super::*;
use pipeline::record::{Program, Reindex};

fn sources(gb: f64) -> Sources {
    Sources { block: None, mainnet: vec![], gb, inputs: 20 }
}

#[test]
fn data_is_made_once_and_again_when_its_size_changes() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = vec![];
    for gb in [0.002, 0.002, 0.003] {
        let mut told = 0;
        let data = sources(gb).data(Definition::Index, folder.path(), &mut |_| told += 1);
        let data = data.unwrap().unwrap();
        let files = archive::blkdat::open(&[data.blocks], None).unwrap();
        assert_eq!((data.chain, data.tip.map(|tip| tip.len())), ("regtest", Some(64)));
        made.push((told, files.bytes() / 1_000_000));
    }
    assert_eq!(made, [(1, 2), (0, 2), (1, 3)]);
}

#[test]
fn interrupted_data_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let half = folder.path().join("connect");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("blk00000.dat"), [0; 100]).unwrap();
    let data = sources(1.0).data(Definition::ConnectAssumed, folder.path(), &mut |_| ());
    let data = data.unwrap().unwrap();
    assert!(fs::metadata(data.blocks.join("blk00000.dat")).unwrap().len() > 100_000);
    assert_eq!(data.blocks, half, "the blocks of connect serve connect-assumed, too");
}

#[test]
fn the_block_of_pr_fills_one_file_and_has_no_parent_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = sources(0.01).data(Definition::Pr, folder.path(), &mut |_| ()).unwrap().unwrap();
    let files = archive::blkdat::open(&[data.blocks], None).unwrap();
    assert_eq!(files.files().len(), 1);
    let scan = bitcoin::index::scan::pass1(&files, &[], &Setting::default(), 1).unwrap();
    assert!(scan.found.len() > 3 && scan.orphans.len() == scan.found.len());
    assert!(scan.found.iter().all(|found| found.hash == scan.found[0].hash));
}

#[test]
fn runs_must_agree_on_block_and_coins() {
    let record = |label: &str, tip: &str, coins, hash: &str| {
        let mut record = RunRecord::new(Program::default(), label);
        record.result.tip_hash = tip.into();
        let coins_hash = hash.into();
        record.reindex = Some(Reindex { coins, coins_hash, ..Reindex::default() });
        record
    };
    let first = record("a", "01", 5, "aa");
    // a peer does not count in every round, and only the first round hashes
    for fine in [record("b", "01", 5, "aa"), record("b", "01", 5, ""), record("b", "01", 0, "")] {
        same_answer(&first, &fine).unwrap();
    }
    for (wrong, reason) in [
        (record("b", "02", 5, "aa"), "b with block 0 02"),
        (record("b", "01", 6, ""), "a has 5 coins, b has 6"),
        (record("b", "01", 5, "ab"), "the coins of a have the hash aa, those of b have ab"),
    ] {
        let error = same_answer(&first, &wrong).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
