//! Changes every field of the documents of Bitcoin shards. A merge refuses all changes that it can
//! recompute; this test lists the others.

use crate::generated_chain::Maker;
use crate::imports::options;
use blockmill_archive::blkdat::{BlockFiles, Network, open};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::shard::documents::{Bodies, Headers};
use blockmill_bitcoin::shard::{Merger, bodies, headers};
use blockmill_bitcoin::{Error, Level};
use blockmill_testkit::mutations;
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Fields that can be changed without detection, and why.
const UNKNOWN: [(&str, &str); 5] = [
    ("sources[].sha256", "a merge does not read whole files"),
    ("rows[].transactions", "a merge does not read bodies: within what fits in the block"),
    ("rows[].inputs", "a merge does not read bodies: within what fits in the block"),
    ("rows[].fault", "a merge does not read bodies"),
    ("rows", "a row that is left out is asked for again"),
];

/// The blocks of a chain in two files, each a shard.
fn shards(folder: &Path) -> Vec<PathBuf> {
    let chain = Maker::of(&Params::regtest(), 17, 24).blocks;
    let magic = Params::regtest().magic;
    let record =
        |block: &Vec<u8>| [&magic[..], &(block.len() as u32).to_le_bytes(), block].concat();
    let junk = [vec![0xee; 100], vec![]];
    let file = |(i, blocks): (usize, &[Vec<u8>])| {
        let path = folder.join(format!("blk0000{i}.dat"));
        let mut records: Vec<_> = blocks.iter().map(record).collect();
        records.insert(5, junk[i].clone());
        records.push(vec![0; 1_000]);
        fs::write(&path, records.concat()).unwrap();
        path
    };
    chain.chunks(13).enumerate().map(file).collect()
}

fn files(paths: &[PathBuf]) -> BlockFiles {
    open(paths, Some(Network::Regtest)).unwrap()
}

/// The verdict on shards, with these documents.
fn verdict(
    all: &BlockFiles,
    options: &Options,
    headers: &[Headers],
    results: &[Bodies],
) -> Result<(Run, Result<(), Error>), Error> {
    let mut merger = Merger::new(all, options, headers)?;
    for (shard, bodies) in results.iter().enumerate() {
        merger.add_bodies(shard, bodies.clone())?;
    }
    let tables = merger.tables()?;
    if tables.iter().any(|table| !table.rows.is_empty()) {
        return Err(Error::Stopped);
    }
    Ok(merger.finish())
}

#[test]
fn changed_documents_of_shards_are_refused_wherever_their_fields_tell() {
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(folder.path());
    let options = Options { level: Level::Bodies, ..options(Params::regtest()) };
    let all = files(&paths);
    let alone: Vec<_> = paths.iter().map(|path| files(std::slice::from_ref(path))).collect();
    let found: Vec<Headers> = alone.iter().map(|shard| headers(shard, &options).unwrap()).collect();
    let tables = Merger::new(&all, &options, &found).unwrap().tables().unwrap();
    let results: Vec<Bodies> = alone
        .iter()
        .zip(&tables)
        .map(|(shard, table)| bodies(shard, table, &options).unwrap())
        .collect();
    let (run, outcome) = verdict(&all, &options, &found, &results).unwrap();
    outcome.unwrap();
    // the bytes between records could have been a block
    assert_eq!((run.blocks, run.status_of_files(false)), (24, Status::Incomplete));
    let (mut refused, mut by_name) = (0, 0);
    let (mut unchanged, mut wrong) = (BTreeMap::<String, usize>::new(), vec![]);
    let mut expect = |path: String, found: &[Headers], results: &[Bodies]| {
        let known = UNKNOWN.iter().find(|(name, _)| path.starts_with(name));
        match (verdict(&all, &options, found, results), known) {
            (Err(error), _) => {
                by_name += usize::from(matches!(error, Error::Inconsistent { .. }));
                refused += 1;
            }
            (Ok((_, Err(_))), _) => refused += 1,
            (Ok(_), Some((name, _))) => *unchanged.entry((*name).into()).or_default() += 1,
            (Ok(_), None) => wrong.push(path),
        }
    };
    for shard in 0..2 {
        for (path, changed) in mutations(&serde_json::to_value(&found[shard]).unwrap()) {
            let Ok(changed) = serde_json::from_value::<Headers>(changed) else { continue };
            if changed != found[shard] {
                let mut found = found.clone();
                found[shard] = changed;
                expect(path, &found, &results);
            }
        }
        for (path, changed) in mutations(&serde_json::to_value(&results[shard]).unwrap()) {
            let Ok(changed) = serde_json::from_value::<Bodies>(changed) else { continue };
            if changed != results[shard] {
                let mut results = results.clone();
                results[shard] = changed;
                expect(path, &found, &results);
            }
        }
    }
    println!("{refused} changes refused, {by_name} of them by name; not found: {unchanged:?}");
    assert!(wrong.is_empty(), "not found: {wrong:?}");
    assert!(by_name > 400 && refused >= by_name, "{refused} {by_name}");
}

#[test]
fn a_dropped_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = shards(folder.path());
    let options = Options { level: Level::Headers, ..options(Params::regtest()) };
    let all = files(&paths);
    let alone: Vec<_> = paths.iter().map(|path| files(std::slice::from_ref(path))).collect();
    let found: Vec<Headers> = alone.iter().map(|shard| headers(shard, &options).unwrap()).collect();
    for dropped in 0..found[1].records.len() {
        let mut found = found.clone();
        found[1].records.remove(dropped);
        let error = Merger::new(&all, &options, &found).map(drop).unwrap_err();
        let Error::Inconsistent { path, field, .. } = &error else { panic!("{error}") };
        assert_eq!(path, &paths[1]);
        assert!(field.starts_with(&format!("records[{dropped}]")), "{dropped}: {error}");
        assert_eq!(error.status(), Status::Corrupt);
    }
}
