//! The index file: round trips, corruption, and what is reused when files change.

use crate::generated_headers::Random;
use blockmill_bitcoin::index::{FileStamp, Found, Loaded, Saved, load, reuse, save};
use blockmill_bitcoin::types::BlockHash;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 4] = [1, 2, 3, 4];

fn stamp(name: &str, length: u64) -> FileStamp {
    FileStamp {
        path: PathBuf::from(name),
        length,
        modified: -5,
        modified_nanos: 999_999_999,
        xor_key: [1, 0, 3, 4, 5, 6, 7, 8],
    }
}

fn records(count: usize, files: u32) -> Vec<Found> {
    let mut random = Random::new(3);
    let record = |at: usize| {
        let mut header = [0; 80];
        header.fill_with(|| random.next_u64() as u8);
        let (file, size) = (at as u32 % files, random.next_u64() as u32);
        Found {
            file,
            offset: random.next_u64(),
            size,
            header,
            hash: BlockHash(blockmill_hashes::sha256d(&header)),
        }
    };
    (0..count).map(record).collect()
}

fn sample(count: usize) -> Saved {
    let files = vec![stamp("/a/blk00000.dat", 1), stamp("", 0), stamp("b c\n", u64::MAX)];
    Saved { files, found: records(count, 3) }
}

fn saved_at(path: &Path, count: usize) -> Saved {
    let saved = sample(count);
    save(path, MAGIC, &saved.files, &saved.found).unwrap();
    saved
}

#[test]
fn gives_back_what_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    assert_eq!(load(&path, MAGIC).unwrap(), Loaded::Nothing);
    for count in [0, 1, 4_095, 4_096, 4_097, 20_000] {
        let saved = saved_at(&path, count);
        assert_eq!(load(&path, MAGIC).unwrap(), Loaded::Index(saved));
    }
    // nothing else is left
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    save(&path, MAGIC, &[], &[]).unwrap();
    assert_eq!(load(&path, MAGIC).unwrap(), Loaded::Index(Saved::default()));
}

#[test]
fn finds_corruption_at_every_byte_and_leaves_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    saved_at(&path, 9);
    let whole = std::fs::read(&path).unwrap();
    let is_corrupt = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let Loaded::Corrupt(corruption) = load(&path, MAGIC).unwrap() else {
            return false;
        };
        assert_eq!(corruption.path, path);
        assert_ne!(corruption.expected, corruption.found);
        std::fs::read(&path).unwrap() == bytes
    };
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            assert!(is_corrupt(&bytes), "bit {bit} of byte {at}");
        }
        assert!(is_corrupt(&whole[..at]), "cut at {at}");
    }
    assert!(is_corrupt(&[&whole[..], &[0]].concat()));
    // numbers that would take all memory
    for at in [12..16, 16..24, 24..32] {
        let mut bytes = whole.clone();
        bytes[at.clone()].fill(0xff);
        assert!(is_corrupt(&bytes), "{at:?}");
    }
    std::fs::write(&path, &whole).unwrap();
    assert!(matches!(load(&path, MAGIC).unwrap(), Loaded::Index(_)));
}

#[test]
fn the_index_of_another_network_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    saved_at(&path, 2);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(load(&path, [9, 9, 9, 9]).unwrap(), Loaded::Foreign(MAGIC));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn refuses_to_save_what_it_could_not_load_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let saved = saved_at(&path, 4);
    assert!(save(&path, MAGIC, &saved.files[..2], &saved.found).is_err());
    let long = stamp(&"x".repeat(65_536), 1);
    assert!(save(&path, MAGIC, &[long], &[]).is_err());
    // the old one is still there
    assert_eq!(load(&path, MAGIC).unwrap(), Loaded::Index(saved));
    let nowhere = folder.path().join("no/index");
    let error = save(&nowhere, MAGIC, &[], &[]).unwrap_err();
    assert!(error.to_string().contains("no/index.tmp"), "{error}");
    assert!(load(folder.path(), MAGIC).is_err());
}

#[test]
fn takes_over_unchanged_files_only() {
    let saved = || Saved {
        files: vec![stamp("a", 1), stamp("b", 2), stamp("c", 3), stamp("d", 4)],
        found: records(40, 4),
    };
    let everything = reuse(saved(), &saved().files);
    assert_eq!((everything.found, everything.to_scan), (saved().found, vec![]));

    // b is gone, c longer, d unchanged at another place; e is new
    let mut touched = stamp("f", 6);
    touched.xor_key = [0; 8];
    let files = [stamp("d", 4), stamp("e", 5), stamp("a", 1), stamp("c", 4), touched];
    let kept = reuse(saved(), &files);
    assert_eq!(kept.to_scan, [1, 3, 4]);
    let wanted: Vec<Found> = saved()
        .found
        .into_iter()
        .filter(|r| [0, 3].contains(&r.file))
        .map(|record| Found { file: if record.file == 0 { 2 } else { 0 }, ..record })
        .collect();
    assert_eq!(kept.found, wanted);

    let changes: [fn(&mut FileStamp); 4] = [
        |file| file.length += 1,
        |file| file.modified += 1,
        |file| file.modified_nanos -= 1,
        |file| file.xor_key[7] = 0,
    ];
    for change in changes {
        let mut files = saved().files;
        change(&mut files[2]);
        let kept = reuse(saved(), &files);
        assert_eq!(kept.to_scan, [2]);
        assert!(kept.found.iter().all(|record| record.file != 2));
        assert_eq!(kept.found.len(), 30);
    }
    // the same file twice: read again at the second place
    let twice = [stamp("a", 1), stamp("a", 1)];
    assert_eq!(reuse(saved(), &twice).to_scan, [1]);
}

#[test]
fn stamps_change_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    std::fs::write(&path, [1, 2, 3]).unwrap();
    let stamp = FileStamp::read(&path, [0; 8]).unwrap();
    assert_eq!((stamp.length, &stamp.path), (3, &path));
    assert_eq!(FileStamp::read(&path, [0; 8]).unwrap(), stamp);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    assert_ne!(FileStamp::read(&path, [0; 8]).unwrap(), stamp);
    assert!(FileStamp::read(&folder.path().join("absent"), [0; 8]).is_err());
}
