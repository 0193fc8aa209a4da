//! Files from the middle of a chain: verified by themselves where that was meant, and with a note
//! on what they rest on; incomplete where it was not; refused where coins are needed.

use crate::generated_chain::Maker;
use crate::imports::options;
use blockmill_archive::blkdat::{Network, open};
use blockmill_bitcoin::import::{Options, Run, import};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
use blockmill_bitcoin::{Error, Level, record};
use blockmill_pipeline::record::{Program, RunRecord};
use blockmill_verdict::{ShortfallKind, Status};
use std::fs;
use std::path::Path;

fn verify(path: &Path, options: &Options) -> (Run, Result<(), Error>, RunRecord) {
    let data = tempfile::tempdir().unwrap();
    let network = Network::from_magic(options.params.magic);
    let files = open(&[path.to_path_buf()], network).unwrap();
    let (run, outcome) = import(&files, options, data.path(), |_| {});
    let record = record::of(&run, &outcome, &files, options, Program::default(), "test");
    (run, outcome, record)
}

fn by_itself(params: &Params, level: Level) -> Options {
    Options { level, by_itself: true, ..options(params.clone()) }
}

fn write(path: &Path, params: &Params, blocks: &[Vec<u8>]) {
    let record =
        |block: &Vec<u8>| [&params.magic[..], &(block.len() as u32).to_le_bytes(), block].concat();
    fs::write(path, blocks.iter().flat_map(record).collect::<Vec<u8>>()).unwrap();
}

#[test]
fn a_file_from_the_middle_is_verified_from_its_first_block() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 31, 60).blocks;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.dat");
    write(&path, &params, &blocks[20..50]);
    for level in [Level::Headers, Level::Bodies] {
        let (run, outcome, record) = verify(&path, &by_itself(&params, level));
        outcome.unwrap();
        assert_eq!(record.result.status, Status::Verified, "{run:?}");
        assert_eq!((run.range, run.blocks), (Some((20, 49)), 30), "{level:?}");
        assert_eq!(run.tip.unwrap().height, 49);
        for (until, last) in [(20, 20), (35, 35), (80, 49)] {
            let options = Options { until: Some(until), ..by_itself(&params, level) };
            let (run, outcome, _) = verify(&path, &options);
            outcome.unwrap();
            let end = run.tip.map(|tip| (tip.height, tip.hash));
            let hash = BlockHash(blockmill_hashes::sha256d(&blocks[last as usize][..80]));
            assert_eq!((run.range, end), (Some((20, last)), Some((last, hash))), "{level:?}");
        }
        let (run, outcome, _) =
            verify(&path, &Options { until: Some(19), ..by_itself(&params, level) });
        outcome.unwrap();
        assert_eq!((run.range, run.blocks, run.tip), (None, 0, None), "{level:?}");
        let anchor = record.result.anchor.unwrap();
        let id = BlockHash(blockmill_hashes::sha256d(&blocks[20][..80])).to_string();
        assert_eq!((anchor.number, &anchor.hash), (20, &id));
        assert!(record.result.unchecked[0].contains(&format!("before block {id}")));
        // nobody said that it should begin there
        let (_, outcome, record) =
            verify(&path, &Options { by_itself: false, ..by_itself(&params, level) });
        outcome.unwrap();
        assert_eq!(record.result.status, Status::Incomplete);
        let first = &record.result.shortfalls[0];
        assert_eq!((first.kind, first.blocks), (ShortfallKind::MissingBlocks, Some(19)));
        // one that is missing within is missing
        let gap = [&blocks[20..30], &blocks[31..50]].concat();
        let gapped = folder.path().join("gap.dat");
        write(&gapped, &params, &gap);
        let (run, _, record) = verify(&gapped, &by_itself(&params, level));
        assert_eq!(record.result.status, Status::Incomplete);
        assert_eq!(run.range, Some((31, 49)), "the longest piece");
    }
    // the file in which a folder begins should not
    let first = folder.path().join("blk00000.dat");
    write(&first, &params, &blocks[20..50]);
    let (_, _, record) = verify(&first, &by_itself(&params, Level::Bodies));
    assert_eq!(record.result.status, Status::Incomplete);
}

#[test]
fn coins_are_refused_and_a_wrong_height_too() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 32, 30).blocks;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.dat");
    write(&path, &params, &blocks[20..25]);
    let (_, outcome, _) = verify(&path, &by_itself(&params, Level::Execution));
    let error = outcome.unwrap_err();
    assert_eq!(error.status(), Status::Usage);
    assert!(error.to_string().contains("levels headers and bodies"), "{error}");
    let from = |from| Options { from: Some(from), ..by_itself(&params, Level::Bodies) };
    verify(&path, &from(20)).1.unwrap();
    let error = verify(&path, &from(21)).1.unwrap_err();
    assert!(
        error.to_string().contains("--from 21: the first block in these files has height 20"),
        "{error}"
    );
    assert_eq!(error.status(), Status::Usage);
    // and files that begin with the first block have no other beginning
    write(&path, &params, &blocks);
    assert_eq!(verify(&path, &from(20)).1.unwrap_err().status(), Status::Usage);
}

#[test]
fn a_bad_block_is_found_there_too_even_the_first() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 33, 40).blocks;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.dat");
    for bad in [20, 27, 39] {
        let mut blocks = blocks.clone();
        // an output's value, of the coinbase or of another
        let at = blocks[bad].len() - 12;
        blocks[bad][at] ^= 1;
        write(&path, &params, &blocks[20..]);
        let (run, outcome, _) = verify(&path, &by_itself(&params, Level::Bodies));
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains(&format!("block {bad} (")), "{bad}: {error} {run:?}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn single_real_blocks_are_verified_by_themselves() {
    let folder = blockmill_testkit::fixture("bitcoin/blocks");
    let known = [
        ("rustbitcoin-702861.raw", Params::mainnet(), 702_861),
        ("core-bench-block413567.raw", Params::mainnet(), 413_567),
        ("bcoin-block300025.raw", Params::mainnet(), 300_025),
        ("electrumx-bitcoin_testnet4_40000.raw", Params::testnet4(), 40_000),
    ];
    for (name, params, height) in known {
        for level in [Level::Headers, Level::Bodies] {
            let (run, outcome, record) = verify(&folder.join(name), &by_itself(&params, level));
            outcome.unwrap();
            assert_eq!(record.result.status, Status::Verified, "{name}: {run:?}");
            assert_eq!((run.range, run.blocks), (Some((height, height)), 1), "{name}");
        }
    }
}
