//! Imports of neo-go's dumps: complete, resumed, truncated, and modified against every rule.

use crate::dumps;
use crate::dumps::{Dump, records};
use blockmill_archive::acc::{self, DumpWriter, Head};
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::fault::Cause;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, Run, import};
use blockmill_neo::params::Protocol;
use blockmill_neo::rule::Rule;
use blockmill_neo::settings::Settings;
use blockmill_neo::types::{Block, UInt256, write};
use blockmill_pipeline::options::OptionSet;
use blockmill_store::ChainStore;
use blockmill_verdict::Status;
use std::path::{Path, PathBuf};

fn options(dump: Dump) -> Options {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(dump.config)).unwrap();
    Options { threads: 2, ..Options::new(Protocol::from_yaml(&text).unwrap()) }
}

fn run(path: &Path, options: &Options, sink: &mut Sink) -> (Run, Result<(), Error>) {
    let dumps = acc::open(&[path.to_path_buf()]).unwrap();
    import(&dumps, options, sink, |_| {})
}

fn verify(path: &Path, options: &Options) -> (Run, Result<(), Error>) {
    run(path, options, &mut Sink::Discard)
}

fn write(folder: &Path, blocks: &[Vec<u8>]) -> PathBuf {
    let path = folder.join("changed.acc");
    let _ = std::fs::remove_file(&path);
    let head = Head { first: 0, count: blocks.len() as u32, incremental: false };
    let mut writer = DumpWriter::create(&path, head, false).unwrap();
    blocks.iter().for_each(|block| writer.append(block).unwrap());
    writer.finish().unwrap();
    path
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_dump_is_verified_with_every_option() {
    for dump in Dump::ALL {
        let tip = dumps::blocks(dump).last().unwrap().hash;
        let default = Settings::default();
        let others = default.neighbours().map(|(_, _, settings)| settings);
        let all: Vec<Settings> = [default].into_iter().chain(others).collect();
        // the largest dump with the defaults only
        let all = if dump.transactions > 1000 { &all[..1] } else { &all[..] };
        for settings in all {
            for level in [Level::Headers, Level::Bodies] {
                let options = Options { settings: *settings, level, ..options(dump) };
                let (run, outcome) = verify(&blockmill_testkit::fixture(dump.file), &options);
                outcome.unwrap_or_else(|error| panic!("{}: {error}", dump.name));
                assert_eq!(run.blocks, dump.blocks as u64);
                assert_eq!(run.tip, Some((dump.blocks as u32 - 1, tip)));
                if level == Level::Bodies {
                    assert_eq!(run.transactions, dump.transactions as u64);
                    assert!(run.witnesses > 0 && run.tolerated == 0);
                }
            }
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_import_resumes_at_the_end_of_the_store() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let (data, path) = (folder.path().join("data"), blockmill_testkit::fixture(dump.file));
    let blocks = dumps::blocks(dump);
    for until in [Some(7), Some(30), None, None] {
        let options = Options { until, ..options(dump) };
        let (store, _) = ChainStore::open(&data, &blockmill_store::Options::default()).unwrap();
        let before = store.tip().map(|tip| tip.number);
        let mut sink = Sink::Store(Box::new(store));
        let (run, outcome) = run(&path, &options, &mut sink);
        outcome.unwrap();
        let last = until.unwrap_or(50);
        assert_eq!(run.committed, Some(last.into()));
        assert_eq!(run.resumed.map(u64::from), before);
        assert_eq!(run.blocks, u64::from(last) + 1 - before.map_or(0, |before| before + 1));
    }
    assert!(blockmill_neo::ledger::is_neo_store(&data).unwrap());
    let (store, _) = ChainStore::open_read_only(&data).unwrap();
    for block in &blocks {
        let number = u64::from(block.header.index);
        let header = store.header(number).unwrap().unwrap();
        let body = store.body(number).unwrap().unwrap();
        assert_eq!([header, body].concat(), block.raw);
        assert_eq!(store.number_of(&block.hash.0).unwrap(), Some(number));
    }
    // another chain, and another level
    let mut sink = Sink::Store(Box::new(ChainStore::open(&data, &<_>::default()).unwrap().0));
    let other = blockmill_testkit::fixture(Dump::EMPTY.file);
    let (_, outcome) = run(&other, &options(Dump::EMPTY), &mut sink);
    assert!(matches!(outcome, Err(Error::OtherChain { .. })));
    let headers = Options { level: Level::Headers, ..options(dump) };
    let (_, outcome) = run(&path, &headers, &mut sink);
    assert!(matches!(outcome, Err(Error::OtherChain { .. })));
}

/// A block with another invocation script in the witness of its header.
fn with_invocation(block: &Block, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let witness = block.witness();
    let mut raw = block.signed_bytes().to_vec();
    raw.push(1);
    write::string(&mut raw, &change(witness.invocation));
    write::string(&mut raw, witness.verification);
    raw.extend_from_slice(&block.raw[block.header_length()..]);
    raw
}

/// Pushes signatures with another instruction, with a length of two bytes.
fn pushed_by_pushdata2(invocation: &[u8]) -> Vec<u8> {
    let (pushes, []) = invocation.as_chunks::<66>() else { panic!("no pushes of signatures") };
    pushes.iter().flat_map(|push| [&[0x0d, 64, 0], &push[2..]].concat()).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn witnesses_of_headers_in_other_forms_are_run_by_the_machine() {
    const NOP: u8 = 0x21;
    const PUSH1: u8 = 0x11;
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let blocks = dumps::blocks(dump);
    let changed = |change: &dyn Fn(u32, &[u8]) -> Vec<u8>| {
        let block = |block: &Block| match block.header.index {
            0 => block.raw.clone(),
            height => with_invocation(block, |invocation| change(height, invocation)),
        };
        blocks.iter().map(block).collect::<Vec<_>>()
    };
    for level in [Level::Headers, Level::Bodies] {
        let options = Options { level, ..options(dump) };
        let after_nop = changed(&|_, invocation| [&[NOP], invocation].concat());
        let longer = changed(&|_, invocation| pushed_by_pushdata2(invocation));
        for records in [after_nop, longer] {
            assert_ne!(records[50], blocks[50].raw);
            let (run, outcome) = verify(&write(folder.path(), &records), &options);
            outcome.unwrap();
            assert_eq!(run.blocks, 51);
        }
        // one signature less, one item too many, a wrong signature
        let wrong = |height: u32, invocation: &[u8]| match height {
            30 => [&[NOP], &invocation[66..]].concat(),
            _ => invocation.to_vec(),
        };
        let more = |height: u32, invocation: &[u8]| match height {
            31 => [&[PUSH1], invocation].concat(),
            _ => invocation.to_vec(),
        };
        let forged = |height: u32, invocation: &[u8]| {
            let mut other = [&[NOP], invocation].concat();
            other[40] ^= u8::from(height == 32);
            other
        };
        for (records, height) in
            [(changed(&wrong), 30), (changed(&more), 31), (changed(&forged), 32)]
        {
            let found = broken(folder.path(), &options, &records);
            assert_eq!(found, (height, Rule::BlockWitness, height));
        }
    }
}

/// The broken rule of a modified chain, and its height.
fn broken(folder: &Path, options: &Options, blocks: &[Vec<u8>]) -> (u64, Rule, u64) {
    let (run, outcome) = verify(&write(folder, blocks), options);
    match outcome {
        Err(Error::Fault(fault)) => match fault.cause {
            Cause::Rule(violation) => {
                assert_eq!(fault.location.unwrap().file, folder.join("changed.acc"));
                (fault.block, violation.rule, run.blocks)
            }
            cause => panic!("{cause:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_changed_header_is_refused_by_the_rule_that_it_breaks() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let (records, options) = (records(dump), options(dump));
    let change = |height: usize, at: usize| {
        let mut blocks = records.clone();
        blocks[height][at] ^= 1;
        blocks
    };
    // version, hash before, merkle root, time, nonce, primary, next consensus: all are signed
    for (at, rule) in [
        (0, Rule::BlockWitness),
        (4, Rule::PreviousHash),
        (36, Rule::BlockWitness),
        (76, Rule::BlockWitness),
        (88, Rule::BlockWitness),
        (89, Rule::BlockWitness),
    ] {
        for height in [1, 20, 50] {
            let found = broken(folder.path(), &options, &change(height, at));
            assert_eq!(found, (height as u64, rule, height as u64), "byte {at} of {height}");
        }
    }
    // bodies are not signed: a dropped transaction changes the merkle root
    let mut bodiless = records.clone();
    let height =
        dumps::blocks(dump).iter().rposition(|block| block.transactions.len() == 1).unwrap();
    let block = &dumps::blocks(dump)[height];
    bodiless[height].truncate(block.header_length());
    bodiless[height].push(0);
    assert_eq!(broken(folder.path(), &options, &bodiless).1, Rule::MerkleRoot);
    let mut later = change(20, 0);
    later[20] = records[20].clone();
    // 128 is no consensus node; time 0 is not later than the parent's
    later[20][88] = 128;
    assert_eq!(broken(folder.path(), &options, &later).1, Rule::PrimaryIndex);
    later[20] = records[20].clone();
    later[20][68..76].copy_from_slice(&[0; 8]);
    assert_eq!(broken(folder.path(), &options, &later).1, Rule::Timestamp);
    assert_eq!(broken(folder.path(), &options, &change(0, 80)).1, Rule::Genesis);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_changed_witness_is_refused() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let (records, options) = (records(dump), options(dump));
    let blocks = dumps::blocks(dump);
    let (mut of_blocks, mut of_transactions) = (0, 0);
    for (height, block) in blocks.iter().enumerate().skip(1).step_by(7) {
        let mut changed = records.clone();
        let start = block.header.witness.invocation.start as usize;
        changed[height][start + 10] ^= 1;
        assert_eq!(broken(folder.path(), &options, &changed).1, Rule::BlockWitness);
        let mut changed = records.clone();
        let start = block.header.witness.verification.start as usize;
        changed[height][start + 10] ^= 1;
        assert_eq!(broken(folder.path(), &options, &changed).1, Rule::BlockAccount);
        of_blocks += 1;
        for transaction in block.transactions() {
            let Some(witness) = transaction.witnesses().next() else { continue };
            if witness.invocation.is_empty() {
                continue;
            }
            // hashes do not cover witnesses, so nothing else changes
            let at = witness.invocation.as_ptr() as usize - block.raw.as_ptr() as usize;
            let mut changed = records.clone();
            changed[height][at + 10] ^= 1;
            let found = broken(folder.path(), &options, &changed);
            assert_eq!(found, (height as u64, Rule::Witness, height as u64));
            let lenient = Protocol { verify_transactions: false, ..(*options.protocol).clone() };
            let lenient = Options { protocol: lenient.into(), ..options.clone() };
            let (run, outcome) = verify(&folder.path().join("changed.acc"), &lenient);
            outcome.unwrap();
            assert_eq!((run.tolerated, run.first_tolerated.len()), (1, 1));
            of_transactions += 1;
        }
    }
    assert!(of_blocks > 3 && of_transactions > 3, "{of_blocks} {of_transactions}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn another_network_is_recognised_by_its_signatures() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let options = options(dump);
    let other = Protocol { magic: 43, ..(*options.protocol).clone() };
    let other = Options { protocol: other.into(), ..options };
    assert_eq!(broken(folder.path(), &other, &records(dump)), (1, Rule::BlockWitness, 1));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_truncated_dump_is_verified_up_to_its_end_and_incomplete() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let bytes = blockmill_testkit::read(dump.file);
    let path = folder.path().join("cut.acc");
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let options = options(dump);
    let (run, outcome) = verify(&path, &options);
    assert_eq!(run.blocks, 50);
    let error = outcome.unwrap_err();
    assert_eq!(error.status(), Status::Incomplete, "{error}");
    assert!(error.to_string().starts_with("block 50"), "{error}");
    let (run, outcome) = verify(&path, &Options { partial: true, ..options });
    outcome.unwrap();
    assert_eq!((run.blocks, run.shortfalls.len()), (50, 1));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn dumps_from_the_middle_need_the_parent_block() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let records = records(dump);
    let incremental = |first: usize, end: usize| {
        let path = folder.path().join(format!("{first}.acc"));
        let (number, count) = (first as u32, (end - first) as u32);
        let head = Head { first: number, count, incremental: true };
        let mut writer = DumpWriter::create(&path, head, true).unwrap();
        records[first..end].iter().for_each(|block| writer.append(block).unwrap());
        writer.finish().unwrap();
        path
    };
    let options = options(dump);
    let (_, outcome) = verify(&incremental(20, 51), &options);
    assert!(matches!(outcome, Err(Error::NoBeginning { expected: 19, found: 20 })));
    // the genesis block follows from the configuration
    let (run, outcome) = verify(&incremental(1, 20), &options);
    outcome.unwrap();
    assert_eq!(run.blocks, 19);
    incremental(0, 5);
    let dumps = acc::open(&[folder.path().to_path_buf()]).unwrap();
    let (run, outcome) = import(&dumps, &options, &mut Sink::Discard, |_| {});
    outcome.unwrap();
    let tip: UInt256 = dumps::blocks(dump)[50].hash;
    assert_eq!((run.blocks, run.tip), (51, Some((50, tip))));
}
