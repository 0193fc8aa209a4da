//! Compressed block files of every shape are read like those that they unpack to.

use std::fs;
use std::path::{Path, PathBuf};

use super::MAGIC;
use super::generated::{blocks, records};
use crate::Error;
use crate::blkdat::{
    BlockFiles, BlockLocation, BodyReader, Network, Positioned, Shape, Walk, XOR_FILE, XorKey,
    looks_like, open,
};
use crate::input::pack::{ALL, pack};

const KEY: XorKey = XorKey(*b"\x80secret\x01");

/// Every block of some files, read by a scan and by their locations.
fn all_blocks(files: &BlockFiles) -> Vec<Vec<u8>> {
    let mut reader = BodyReader::new(files, 2);
    let mut found = vec![];
    for (number, file) in files.files().iter().enumerate() {
        let opened = file.open().unwrap();
        let mut walk = Walk::new(file, Positioned::new(&opened));
        while let Some(record) = walk.next_record().unwrap() {
            let (mut walked, mut read) = (vec![], vec![]);
            walk.body(&record, &mut walked).unwrap();
            let file = number as u32;
            let location = BlockLocation { file, offset: record.offset, size: record.size };
            reader.read(location, &mut read).unwrap();
            assert_eq!(walked, read);
            found.push(read);
        }
    }
    found
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_shape_in_every_compression_gives_the_same_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(30, 77);
    let hex = |block: &Vec<u8>| {
        let digits: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        digits + "\n"
    };
    let lines: String = chain.iter().map(hex).collect();
    let shapes = [
        (records(&chain, MAGIC).0, &chain[..], "records"),
        (chain[3].clone(), &chain[3..4], "raw"),
        (lines.into_bytes(), &chain[..], "hex"),
    ];
    for compression in ALL {
        for (plain, expected, name) in &shapes {
            let path = write(folder.path(), name, &pack(compression, plain));
            assert!(looks_like(&path).unwrap(), "{compression} {name}");
            let files = open(&[path], Some(Network::Regtest)).unwrap();
            let file = &files.files()[0];
            assert_eq!(file.compression(), Some(compression));
            assert_eq!(file.length(), plain.len() as u64);
            assert!(file.location(7).to_string().ends_with("at unpacked byte 7"));
            assert_eq!(all_blocks(&files), *expected, "{compression} {name}");
        }
    }
}

#[test]
fn a_folder_may_mix_compressed_files_and_others_and_be_obfuscated() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(30, 78);
    fs::write(folder.path().join(XOR_FILE), KEY.0).unwrap();
    for (i, blocks) in chain.chunks(10).enumerate() {
        let mut bytes = records(blocks, MAGIC).0;
        KEY.apply(&mut bytes, 0);
        let (name, bytes) = match i {
            1 => ("blk00001.dat.zst".to_string(), pack(ALL[1], &bytes)),
            i => (format!("blk0000{i}.dat"), bytes),
        };
        write(folder.path(), &name, &bytes);
    }
    let files = open(&[folder.path().to_path_buf()], None).unwrap();
    let copies: Vec<_> = files.files().iter().map(|file| file.is_copy()).collect();
    assert_eq!(copies, [false, true, false]);
    assert!(files.files().iter().all(|file| matches!(file.shape(), Shape::Records { .. })));
    assert_eq!(all_blocks(&files), chain);
}

#[test]
fn a_compressed_file_that_ends_early_is_not_taken_for_a_shorter_one() {
    let folder = tempfile::tempdir().unwrap();
    let plain = records(&blocks(30, 79), MAGIC).0;
    for compression in ALL {
        let packed = pack(compression, &plain);
        for length in [packed.len() - 1, packed.len() * 3 / 4] {
            let path = write(folder.path(), "blk00000.dat.x", &packed[..length]);
            let error = open(&[path], None).map(|files| files.bytes()).unwrap_err();
            assert!(matches!(error, Error::Compressed { .. }), "{compression}: {error}");
            assert_eq!(error.status(), blockmill_verdict::Status::Incomplete, "{compression}");
        }
    }
}
