//! The journal against a list of records: going back, cutting, opening, damage.

mod made_points;

use std::fs;

use blockmill_store::{Error, Journal};
use made_points::{Random, folder};

/// Small files, so that records lie across their borders.
const FILE_BYTES: u64 = 1000;

#[test]
fn records_are_read_backwards_across_files_and_cuts() {
    let dir = folder();
    let mut journal = Journal::open(dir.path(), FILE_BYTES, 0).unwrap();
    let (mut random, mut records) = (Random::new(1), Vec::<(u64, Vec<u8>)>::new());
    for step in 0..2000 {
        match random.below(20) {
            0 => {
                let keep = random.below(records.len() + 1);
                records.truncate(keep);
                journal.cut(records.last().map_or(0, |(end, _)| *end)).unwrap();
            }
            1 => {
                journal.sync().unwrap();
                let len = journal.len();
                drop(journal);
                journal = Journal::open(dir.path(), FILE_BYTES, len).unwrap();
            }
            _ => {
                let record = vec![step as u8; random.below(700) as usize];
                records.push((journal.append(&record).unwrap(), record));
            }
        }
    }
    let (mut end, mut out) = (journal.len(), Vec::new());
    for (expected, record) in records.iter().rev() {
        assert_eq!(end, *expected);
        end = journal.read(end, &mut out).unwrap();
        assert_eq!(out, *record);
    }
    assert_eq!(end, 0);
    assert!(matches!(journal.read(7, &mut out), Err(Error::Mismatch { .. })));
    assert!(matches!(journal.read(journal.len() + 1, &mut out), Err(Error::Mismatch { .. })));
    assert!(matches!(journal.cut(journal.len() + 1), Err(Error::Mismatch { .. })));
}

#[test]
fn damage_is_named_and_never_believed() {
    let dir = folder();
    let mut journal = Journal::open(dir.path(), FILE_BYTES, 0).unwrap();
    let ends: Vec<u64> = (0..20u8).map(|n| journal.append(&[n; 90]).unwrap()).collect();
    journal.sync().unwrap();
    let path = dir.path().join("journal.00001");
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        fs::write(&path, other).unwrap();
        let journal = Journal::open(dir.path(), FILE_BYTES, *ends.last().unwrap()).unwrap();
        let hurt = ends.iter().position(|end| *end > FILE_BYTES + at as u64).unwrap();
        let error = journal.read(ends[hurt], &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    fs::write(&path, &bytes[..500]).unwrap();
    let Err(error) = Journal::open(dir.path(), FILE_BYTES, 1800) else { panic!("a short file") };
    let Error::Damaged { path: found, offset: 500, .. } = &error else { panic!("{error}") };
    assert_eq!(*found, path);
    assert_eq!(Journal::open(dir.path(), FILE_BYTES, ends[10]).unwrap().len(), ends[10]);
}
