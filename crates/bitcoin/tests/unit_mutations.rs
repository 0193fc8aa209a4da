//! Every field of the documents of Bitcoin units is changed: a join refuses what it can recompute,
//! and here is what it cannot.

use crate::generated_chain::Maker;
use crate::imports::options;
use blockmill_archive::blkdat::{BlockFiles, Network, open};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::unit::documents::{Bodies, Headers};
use blockmill_bitcoin::unit::{Join, bodies, headers};
use blockmill_bitcoin::{Error, Level};
use blockmill_testkit::mutations;
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Fields that may be changed without a trace, and why.
const UNKNOWN: [(&str, &str); 5] = [
    ("sources[].sha256", "a join does not read whole files"),
    ("rows[].transactions", "a join does not read bodies: within what fits in the block"),
    ("rows[].inputs", "a join does not read bodies: within what fits in the block"),
    ("rows[].bad", "a join does not read bodies"),
    ("rows", "a row that is left out is asked for again"),
];

/// The blocks of a chain in two files, each a unit.
fn units(folder: &Path) -> Vec<PathBuf> {
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

/// The verdict on units, with these documents.
fn verdict(
    all: &BlockFiles,
    options: &Options,
    headers: &[Headers],
    looked: &[Bodies],
) -> Result<(Run, Result<(), Error>), Error> {
    let mut join = Join::new(all, options, headers)?;
    for (unit, bodies) in looked.iter().enumerate() {
        join.take(unit, bodies.clone())?;
    }
    let tables = join.tables()?;
    if tables.iter().any(|table| !table.rows.is_empty()) {
        return Err(Error::Stopped);
    }
    Ok(join.end())
}

#[test]
fn changed_documents_of_units_are_refused_wherever_their_fields_tell() {
    let folder = tempfile::tempdir().unwrap();
    let paths = units(folder.path());
    let options = Options { level: Level::Bodies, ..options(Params::regtest()) };
    let all = files(&paths);
    let apart: Vec<_> = paths.iter().map(|path| files(std::slice::from_ref(path))).collect();
    let found: Vec<Headers> = apart.iter().map(|unit| headers(unit, &options).unwrap()).collect();
    let tables = Join::new(&all, &options, &found).unwrap().tables().unwrap();
    let looked: Vec<Bodies> = apart
        .iter()
        .zip(&tables)
        .map(|(unit, table)| bodies(unit, table, &options).unwrap())
        .collect();
    let (run, outcome) = verdict(&all, &options, &found, &looked).unwrap();
    outcome.unwrap();
    // the bytes between records could have been a block
    assert_eq!((run.blocks, run.status_of_files(false)), (24, Status::Incomplete));
    let (mut refused, mut by_name) = (0, 0);
    let (mut unchanged, mut wrong) = (BTreeMap::<String, usize>::new(), vec![]);
    let mut expect = |path: String, found: &[Headers], looked: &[Bodies]| {
        let known = UNKNOWN.iter().find(|(name, _)| path.starts_with(name));
        match (verdict(&all, &options, found, looked), known) {
            (Err(error), _) => {
                by_name += usize::from(matches!(error, Error::Inconsistent { .. }));
                refused += 1;
            }
            (Ok((_, Err(_))), _) => refused += 1,
            (Ok(_), Some((name, _))) => *unchanged.entry((*name).into()).or_default() += 1,
            (Ok(_), None) => wrong.push(path),
        }
    };
    for unit in 0..2 {
        for (path, changed) in mutations(&serde_json::to_value(&found[unit]).unwrap()) {
            let Ok(changed) = serde_json::from_value::<Headers>(changed) else { continue };
            if changed != found[unit] {
                let mut found = found.clone();
                found[unit] = changed;
                expect(path, &found, &looked);
            }
        }
        for (path, changed) in mutations(&serde_json::to_value(&looked[unit]).unwrap()) {
            let Ok(changed) = serde_json::from_value::<Bodies>(changed) else { continue };
            if changed != looked[unit] {
                let mut looked = looked.clone();
                looked[unit] = changed;
                expect(path, &found, &looked);
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
    let paths = units(folder.path());
    let options = Options { level: Level::Headers, ..options(Params::regtest()) };
    let all = files(&paths);
    let apart: Vec<_> = paths.iter().map(|path| files(std::slice::from_ref(path))).collect();
    let found: Vec<Headers> = apart.iter().map(|unit| headers(unit, &options).unwrap()).collect();
    for dropped in 0..found[1].records.len() {
        let mut found = found.clone();
        found[1].records.remove(dropped);
        let error = Join::new(&all, &options, &found).map(drop).unwrap_err();
        let Error::Inconsistent { path, field, .. } = &error else { panic!("{error}") };
        assert_eq!(path, &paths[1]);
        assert!(field.starts_with(&format!("records[{dropped}]")), "{dropped}: {error}");
        assert_eq!(error.status(), Status::Corrupt);
    }
}
