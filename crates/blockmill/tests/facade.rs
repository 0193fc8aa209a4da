//! The crate as a program uses it: verdicts, blocks of each chain, and an early end.

use blockmill::{Contents, Level, Status, VerifyOptions, archive::Format, blocks, inspect, verify};
use blockmill_generate::ethereum::{Recipe, generate};
use blockmill_hashes::{keccak256, sha256d};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The last block of the generated chain.
const LAST: u64 = 3000;
/// A chain of real rules without proof of work, and the byte that is damaged.
const HIVE: &str = "ethereum/chains/hive-sync/chain.rlp";
const DAMAGED: usize = 1_000_000;

fn without_seals() -> VerifyOptions {
    VerifyOptions { seal: Some("off".into()), ..VerifyOptions::default() }
}

/// A generated chain of headers in `folder`.
fn headers(folder: &Path, last: u64) -> PathBuf {
    let out = folder.join("headers.rlp");
    let recipe = Recipe { last, seed: 1, format: Format::HeaderStream, gzip: false };
    generate(&recipe, &out, |_| ()).unwrap();
    out
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_valid_archive_is_verified() {
    let folder = folder();
    let options = VerifyOptions { label: Some("here".into()), ..without_seals() };
    let verified = verify(&[headers(folder.path(), LAST)], &options).unwrap();
    assert_eq!(verified.status, Status::Verified);
    assert_eq!((verified.first(), verified.last()), (Some(0), Some(LAST)));
    assert_eq!(verified.blocks(), LAST + 1);
    assert_eq!(verified.tip().number, LAST);
    assert!(verified.tip().hash.starts_with("0x"));
    assert_eq!((&*verified.record.label, &*verified.record.level), ("here", "headers"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_fault_has_block_rule_and_place() {
    let folder = folder();
    let file = folder.path().join("chain.rlp");
    let mut bytes = blockmill_testkit::read(HIVE).to_vec();
    bytes[DAMAGED] ^= 1;
    fs::write(&file, bytes).unwrap();
    let genesis = blockmill_testkit::fixture(HIVE).with_file_name("genesis.json");
    let options = VerifyOptions {
        level: Some(Level::Bodies),
        chain: Some(genesis.display().to_string()),
        ..without_seals()
    };
    let outcome = verify(&[&file], &options).unwrap_err();
    assert_eq!(outcome.status, Status::Invalid);
    let fault = outcome.fault.as_ref().unwrap();
    assert_eq!((fault.block, fault.rule.as_deref()), (Some(1647), Some("logs bloom")));
    assert_eq!(fault.file.as_ref(), Some(&file));
    assert!(fault.offset.is_some() && fault.expected.is_some() && fault.found.is_some());
    assert!(outcome.record.is_some());
    let text = outcome.to_string();
    assert!(text.contains("1647") || text.contains("1,647"), "{text}");
    // blocks before the fault are delivered, and the verdict is the same
    let mut reader = blocks(&[&file], &options);
    let last = reader.by_ref().last().map_or(0, |block| block.number);
    assert!(last < 1647, "{last}");
    assert_eq!(reader.finish().unwrap_err().fault, outcome.fault);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_incomplete_archive_has_shortfalls() {
    let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let outcome = verify(&[&archive], &VerifyOptions::default()).unwrap_err();
    assert_eq!(outcome.status, Status::Incomplete);
    assert!(outcome.fault.is_none(), "{outcome}");
    assert!(!outcome.shortfalls.is_empty());
    assert!(outcome.to_string().starts_with("incomplete: "), "{outcome}");
    let options = VerifyOptions { partial: true, ..VerifyOptions::default() };
    let verified = verify(&[&archive], &options).unwrap();
    assert_eq!((verified.status, verified.last()), (Status::Partial, Some(400)));
    assert_eq!(verified.shortfalls, outcome.shortfalls);
}

#[test]
fn options_without_a_meaning_are_usage() {
    let folder = folder();
    let path = headers(folder.path(), 10);
    let seal = VerifyOptions { seal: Some("2/1".into()), ..VerifyOptions::default() };
    let threads = VerifyOptions { threads: Some(0), ..without_seals() };
    let with = VerifyOptions { with: vec!["hash=none".into()], ..without_seals() };
    for options in [seal, threads, with] {
        let outcome = verify(&[&path], &options).unwrap_err();
        assert_eq!(outcome.status, Status::Usage, "{outcome}");
        assert!(!outcome.to_string().is_empty());
    }
    let missing = folder.path().join("nothing");
    assert_eq!(verify(&[&missing], &without_seals()).unwrap_err().status, Status::Usage);
    assert_eq!(blocks(&[&missing], &without_seals()).finish().unwrap_err().status, Status::Usage);
    assert_eq!(inspect(&[&missing], false).unwrap_err().status, Status::Usage);
    assert_eq!(verify(&[] as &[PathBuf], &without_seals()).unwrap_err().status, Status::Usage);
}

#[test]
fn headers_arrive_in_order_with_their_hashes() {
    let folder = folder();
    let path = headers(folder.path(), LAST);
    let options = VerifyOptions { chunk: 100, ..without_seals() };
    let mut reader = blocks(&[&path], &options);
    let mut archive = vec![];
    for (number, block) in reader.by_ref().enumerate() {
        assert_eq!(block.number, number as u64);
        assert_eq!(block.hash, keccak256(&block.header));
        assert_eq!(block.body, None);
        archive.extend(block.header);
    }
    assert_eq!(archive, fs::read(&path).unwrap());
    assert_eq!(reader.finish().unwrap().last(), Some(LAST));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn bitcoin_blocks_are_those_of_the_file() {
    let path = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let options = VerifyOptions { partial: true, ..VerifyOptions::default() };
    let mut reader = blocks(&[&path], &options);
    let file = fs::read(&path).unwrap();
    let mut next = 0;
    let mut previous = [0; 32];
    for block in reader.by_ref() {
        assert_eq!(block.number, next);
        assert_eq!(block.header[4..36], previous);
        assert_eq!(block.hash, sha256d(&block.header));
        let bytes = [block.header, block.body.unwrap()].concat();
        assert!(file.windows(bytes.len()).any(|window| window == bytes), "block {next}");
        (previous, next) = (block.hash, next + 1);
    }
    assert_eq!((next, reader.finish().unwrap().last()), (401, Some(400)));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn neo_blocks_are_those_of_the_dump() {
    let path = blockmill_testkit::fixture("neo/chain50x2.acc");
    let chain = path.with_extension("yml").display().to_string();
    let options = VerifyOptions { chain: Some(chain), ..VerifyOptions::default() };
    let mut reader = blocks(&[&path], &options);
    let dump = fs::read(&path).unwrap();
    let mut rest = &dump[..];
    let mut previous: Option<(u64, [u8; 32])> = None;
    let mut count = 0;
    for block in reader.by_ref() {
        if let Some((number, hash)) = previous {
            assert_eq!(block.number, number + 1);
            assert_eq!(block.header[4..36], hash);
        }
        let bytes = [block.header, block.body.unwrap()].concat();
        let at = rest.windows(bytes.len()).position(|window| window == bytes).unwrap();
        rest = &rest[at + bytes.len()..];
        previous = Some((block.number, block.hash));
        count += 1;
    }
    assert!(count > 40, "{count} blocks");
    assert_eq!(reader.finish().unwrap().last(), previous.map(|(number, _)| number));
}

#[test]
fn an_early_drop_stops_the_run() {
    let folder = folder();
    let path = headers(folder.path(), 100_000);
    let begun = Instant::now();
    let whole = verify(&[&path], &without_seals()).map(|_| begun.elapsed()).unwrap();
    let options = VerifyOptions { chunk: 100, ..without_seals() };
    let mut reader = blocks(&[&path], &options);
    assert_eq!(reader.next().map(|block| block.number), Some(0));
    let begun = Instant::now();
    drop(reader);
    assert!(begun.elapsed() < whole.max(Duration::from_secs(1)), "{:?}", begun.elapsed());
    assert!(options.cancel.is_cancelled());
}

#[test]
fn a_run_that_is_cancelled_is_interrupted() {
    let folder = folder();
    let options = VerifyOptions { chunk: 10, ..without_seals() };
    options.cancel.cancel();
    let outcome = verify(&[headers(folder.path(), LAST)], &options).unwrap_err();
    assert_eq!(outcome.status, Status::Interrupted);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_inspection_has_the_contents_of_each_chain() {
    let folder = folder();
    let found = inspect(&[headers(folder.path(), LAST)], true).unwrap();
    assert_eq!(found.status, Status::Ok);
    let Contents::Ethereum(found) = *found.contents else { panic!("{found:?}") };
    assert_eq!((found.files[0].first, found.files[0].last), (Some(0), Some(LAST)));

    let blocks = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let found = inspect(&[blocks], false).unwrap();
    assert_ne!(found.status, Status::Ok);
    let Contents::Bitcoin(found) = *found.contents else { panic!("{found:?}") };
    assert_eq!((found.network.as_deref(), found.tip.unwrap().number), (Some("testnet3"), 400));
    assert_eq!(found.document["chain"]["height"], 400);

    let dump = blockmill_testkit::fixture("neo/chain50x2.acc");
    let found = inspect(&[dump], false).unwrap();
    let Contents::Neo(found) = *found.contents else { panic!("{found:?}") };
    assert!(found.inspection.files[0].blocks > 40);
}
