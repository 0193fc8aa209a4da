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
use blockmill_verdict::Status;
use serde_json::{Value, json};
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

/// Paths of all values of a document; elements of lists have no number.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut all = vec![];
    walk(value, &mut |path, changed| all.push((path, changed)), &|changed| changed, "");
    all
}

/// Gives every change of `value` to `each`, as the document that `whole` makes of it.
fn walk(
    value: &Value,
    each: &mut dyn FnMut(String, Value),
    whole: &dyn Fn(Value) -> Value,
    path: &str,
) {
    let mut give = |changed: Value| each(path.to_owned(), whole(changed));
    match value {
        Value::Null => give(json!(1)),
        Value::Bool(value) => give(json!(!value)),
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            [number.wrapping_add(1), number.wrapping_sub(1), 0, 99_999]
                .into_iter()
                .filter(|other| *other != number)
                .for_each(|other| give(json!(other)));
        }
        Value::String(text) => {
            for at in [0, text.len() / 2, text.len().saturating_sub(1)] {
                let Some(char) = text.get(at..=at) else { continue };
                let other = if char == "7" { "8" } else { "7" };
                give(json!(format!("{}{other}{}", &text[..at], &text[at + 1..])));
            }
            give(json!(format!("{text}1")));
        }
        Value::Array(list) => {
            for i in 0..list.len() {
                let mut less = list.clone();
                less.remove(i);
                give(json!(less));
                let mut more = list.clone();
                more.insert(i, list[i].clone());
                give(json!(more));
            }
            for (i, item) in list.iter().enumerate() {
                let whole = |changed: Value| {
                    let mut list = list.clone();
                    list[i] = changed;
                    whole(json!(list))
                };
                walk(item, each, &whole, &format!("{path}[]"));
            }
        }
        Value::Object(members) => {
            for name in members.keys() {
                let mut less = members.clone();
                less.remove(name);
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                each(path, whole(json!(less)));
            }
            for (name, member) in members {
                let whole = |changed: Value| {
                    let mut members = members.clone();
                    members.insert(name.clone(), changed);
                    whole(json!(members))
                };
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(member, each, &whole, &path);
            }
        }
    }
}

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
        for (path, changed) in changes(&serde_json::to_value(&found[unit]).unwrap()) {
            let Ok(changed) = serde_json::from_value::<Headers>(changed) else { continue };
            if changed != found[unit] {
                let mut found = found.clone();
                found[unit] = changed;
                expect(path, &found, &looked);
            }
        }
        for (path, changed) in changes(&serde_json::to_value(&looked[unit]).unwrap()) {
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
        assert_eq!(error.status(), Status::Damage);
    }
}
