//! A log file against a list of records: going back, cutting, opening, corruption.

use std::{fs, path::Path};

use crate::generated_keys::{Random, folder};
use blockmill_store::{CommitPart, Error, LogFile, Result, Store, StoreOptions};

/// Small files, so that records lie across their borders.
const FILE_BYTES: u64 = 1000;

fn open(dir: &Path) -> Result<(Store, LogFile)> {
    let mut opening = Store::open(dir, &StoreOptions::default())?;
    let log = opening.log("undo", FILE_BYTES)?;
    Ok((opening.finish()?.0, log))
}

fn commit(store: &mut Store, log: &mut LogFile) {
    store.commit(&mut [CommitPart::Log(log)], b"").unwrap();
}

#[test]
fn records_are_read_backwards_across_files_and_cuts() {
    let dir = folder();
    let (mut store, mut log) = open(dir.path()).unwrap();
    let (mut random, mut records) = (Random::new(1), Vec::<(u64, Vec<u8>)>::new());
    let mut committed = records.clone();
    for step in 0..2000 {
        match random.below(20) {
            0 => {
                let keep = random.below(records.len() + 1);
                records.truncate(keep);
                log.cut(records.last().map_or(0, |(end, _)| *end)).unwrap();
                assert!(matches!(log.append(b"too early"), Err(Error::Mismatch { .. })));
                commit(&mut store, &mut log);
                committed.clone_from(&records);
            }
            1 => {
                commit(&mut store, &mut log);
                committed.clone_from(&records);
            }
            2 => {
                drop((store, log));
                (store, log) = open(dir.path()).unwrap();
                records.clone_from(&committed);
            }
            _ => {
                let record = vec![step as u8; random.below(700) as usize];
                records.push((log.append(&record).unwrap(), record));
            }
        }
    }
    let (mut end, mut out) = (log.len(), Vec::new());
    for (expected, record) in records.iter().rev() {
        assert_eq!(end, *expected);
        end = log.read(end, &mut out).unwrap();
        assert_eq!(out, *record);
    }
    assert_eq!(end, 0);
    assert!(matches!(log.read(7, &mut out), Err(Error::Mismatch { .. })));
    assert!(matches!(log.read(log.len() + 1, &mut out), Err(Error::Mismatch { .. })));
    assert!(matches!(log.cut(log.len() + 1), Err(Error::Mismatch { .. })));
}

#[test]
fn corruption_is_named_and_never_believed() {
    let dir = folder();
    let (mut store, mut log) = open(dir.path()).unwrap();
    let ends: Vec<u64> = (0..20u8).map(|n| log.append(&[n; 90]).unwrap()).collect();
    commit(&mut store, &mut log);
    drop((store, log));
    let path = dir.path().join("undo.00001");
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        fs::write(&path, other).unwrap();
        let (_store, log) = open(dir.path()).unwrap();
        let hurt = ends.iter().position(|end| *end > FILE_BYTES + at as u64).unwrap();
        let error = log.read(ends[hurt], &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        let read_only = LogFile::open_read_only(dir.path(), "undo", FILE_BYTES).unwrap();
        assert!(read_only.read(ends[hurt], &mut Vec::new()).is_err());
    }
    fs::write(&path, &bytes[..500]).unwrap();
    let Err(error) = open(dir.path()) else { panic!("a short file") };
    let Error::Corrupt { path: found, offset: 500, .. } = &error else { panic!("{error}") };
    assert_eq!(*found, path);
    fs::write(&path, &bytes).unwrap();
    fs::remove_file(dir.path().join("manifest")).unwrap();
    assert!(matches!(open(dir.path()), Err(Error::Corrupt { .. })), "a log without a manifest");
}

#[test]
fn a_commit_needs_every_part_and_none_of_another_store() {
    let (dir, other_dir) = (folder(), folder());
    let (mut store, mut log) = open(dir.path()).unwrap();
    let (mut other, mut other_log) = open(other_dir.path()).unwrap();
    for parts in [&mut [][..], &mut [CommitPart::Log(&mut other_log)]] {
        assert!(matches!(store.commit(parts, b""), Err(Error::Mismatch { .. })));
    }
    let long = vec![0; (1 << 20) + 1];
    let parts = &mut [CommitPart::Log(&mut log)];
    assert!(matches!(store.commit(parts, &long), Err(Error::Mismatch { .. })));
    commit(&mut store, &mut log);
    commit(&mut other, &mut other_log);
    drop((store, log));
    let opening = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    assert!(matches!(opening.finish(), Err(Error::Mismatch { .. })), "a part is not opened");
}
