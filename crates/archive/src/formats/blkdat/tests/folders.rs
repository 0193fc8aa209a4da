//! Files of a path, blocks by their locations, and files written here.

use std::fs;
use std::path::{Path, PathBuf};

use super::generated::{Random, blocks, records};
use super::scan;
use crate::Error;
use crate::blkdat::{
    BlockFiles, BlockLocation, BlockWriter, BodyReader, Network, Shape, Walk, WriterOptions,
    XorKey, inspect, looks_like, open,
};

const KEY: XorKey = XorKey(*b"\x80secret\x01");

/// Writes a chain into files of at most 4,000 bytes; returns the location of each block.
fn write(folder: &Path, chain: &[Vec<u8>], network: Network, key: XorKey) -> Vec<BlockLocation> {
    let options = WriterOptions { key, max_file: 4_000, ..WriterOptions::core(network) };
    let mut writer = BlockWriter::create(folder, options).unwrap();
    let locations = chain.iter().map(|block| writer.write(block).unwrap()).collect();
    writer.finish().unwrap();
    locations
}

fn open_one(path: &Path) -> Result<BlockFiles, Error> {
    open(&[path.to_path_buf()], None)
}

#[test]
fn what_is_written_is_found_again_at_the_same_places() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(60, 20);
    let locations = write(folder.path(), &chain, Network::Regtest, KEY);
    let files = open_one(folder.path()).unwrap();
    assert!(files.files().len() > 5);
    assert_eq!(files.network(), Some(Network::Regtest));
    let mut found = vec![];
    for (number, file) in files.files().iter().enumerate() {
        assert!(file.length() < 4_000);
        let bytes = fs::read(file.path()).unwrap();
        let (records, report) = scan(&bytes[..], bytes.len(), KEY);
        assert_eq!((report.corruption_count, report.zero_tail), (0, 0));
        let file = number as u32;
        found.extend(records.iter().map(|r| BlockLocation {
            file,
            offset: r.offset,
            size: r.size,
        }));
    }
    assert_eq!(found, locations);
    let reports = inspect(&files).unwrap();
    assert_eq!(reports.iter().map(|report| report.records).sum::<u64>(), 60);
}

#[test]
fn blocks_are_read_by_their_places_one_by_one_and_together() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(60, 21);
    let locations = write(folder.path(), &chain, Network::Regtest, KEY);
    let files = open_one(folder.path()).unwrap();
    let mut reader = BodyReader::new(&files, 3);
    let (mut bytes, mut spans) = (vec![], vec![]);
    for (location, block) in locations.iter().zip(&chain) {
        reader.read(*location, &mut bytes).unwrap();
        assert_eq!(bytes, *block);
    }
    let mut random = Random::new(22);
    for _ in 0..50 {
        let wanted: Vec<_> = (0..random.below(40)).map(|_| random.below(60)).collect();
        let locations: Vec<_> = wanted.iter().map(|block| locations[*block]).collect();
        reader.read_batch(&locations, &mut bytes, &mut spans).unwrap();
        for (span, block) in spans.iter().zip(&wanted) {
            assert_eq!(bytes[span.clone()], chain[*block]);
        }
    }
    reader.read_batch(&locations[..9], &mut bytes, &mut spans).unwrap();
    assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

#[test]
fn places_that_are_not_there_are_errors_with_file_and_offset() {
    let folder = tempfile::tempdir().unwrap();
    let locations = write(folder.path(), &blocks(1, 23), Network::Regtest, KEY);
    let files = open_one(folder.path()).unwrap();
    let mut reader = BodyReader::new(&files, 3);
    let mut read = |location| reader.read(location, &mut vec![]).unwrap_err().to_string();
    let beyond = read(BlockLocation { offset: 1 << 40, ..locations[0] });
    assert!(beyond.contains("blk00000.dat at byte 1099511627776"), "{beyond}");
    let large = read(BlockLocation { size: 4_000_001, ..locations[0] });
    assert!(large.contains("at most 4000000 bytes"), "{large}");
    let missing = read(BlockLocation { file: 9, ..locations[0] });
    assert!(missing.contains("below 1, found 9"), "{missing}");
    let file = fs::OpenOptions::new().write(true).open(files.files()[0].path()).unwrap();
    file.set_len(locations[0].offset + 5).unwrap();
    let cut = read(locations[0]);
    assert!(cut.contains("found 5"), "{cut}");
}

#[test]
fn a_datadir_its_blocks_folder_and_a_network_folder_are_all_accepted() {
    let datadir = tempfile::tempdir().unwrap();
    let chain = blocks(1, 24);
    let blocks_folder = datadir.path().join("regtest/blocks");
    write(&blocks_folder, &chain, Network::Regtest, KEY);
    let file = blocks_folder.join("blk00000.dat");
    for path in [datadir.path(), &datadir.path().join("regtest"), &blocks_folder, &file] {
        let files = open_one(path).unwrap();
        assert_eq!(files.files().len(), 1);
        assert_eq!((files.files()[0].key(), files.network()), (KEY, Some(Network::Regtest)));
        let given = open(&[path.to_path_buf()], Some(Network::Regtest)).unwrap();
        assert_eq!((given.files().len(), given.folders()), (1, files.folders()));
        assert!(looks_like(path).unwrap());
    }
    write(&datadir.path().join("blocks"), &chain, Network::Mainnet, KEY);
    let error = open_one(datadir.path()).unwrap_err();
    assert!(matches!(error, Error::Mixed { .. }), "{error}");
    for network in [Network::Mainnet, Network::Regtest] {
        let files = open(&[datadir.path().to_path_buf()], Some(network)).unwrap();
        assert_eq!(files.network(), Some(network));
    }
    let both = [datadir.path().join("blocks"), blocks_folder];
    assert!(matches!(open(&both, None).unwrap_err(), Error::Mixed { .. }));
    // nor is a datadir the folder of a network that it has not
    let other = open(&[datadir.path().join("regtest")], Some(Network::Testnet4));
    assert!(matches!(other, Err(Error::UnknownFormat { .. })), "{other:?}");
}

#[test]
fn files_are_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = records(&blocks(1, 25), Network::Regtest.magic());
    for name in ["blk100000.dat", "blk99999.dat", "blk00002.dat", "rev00000.dat", "blk1.dat.old"] {
        fs::write(folder.path().join(name), &bytes).unwrap();
    }
    let files = open_one(folder.path()).unwrap();
    let names: Vec<_> =
        files.files().iter().map(|f| f.path().file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["blk00002.dat", "blk99999.dat", "blk100000.dat"]);
}

#[test]
fn bootstrap_files_raw_blocks_and_hex_lines_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(4, 26);
    let hex: Vec<String> =
        chain.iter().map(|b| b.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let bad = ["zz".to_string(), hex[1].clone(), hex[2][..161].to_string(), hex[3].clone()];
    let shapes: [(&str, Vec<u8>, Shape, usize); 6] = [
        ("bootstrap", records(&chain, Network::Regtest.magic()).0, REGTEST, 4),
        ("junk", [vec![9; 5000], records(&chain, [0xfa, 0xbf, 0xb5, 0xda]).0].concat(), REGTEST, 4),
        ("raw", chain[2].clone(), Shape::Raw, 1),
        ("hex", (hex.join("\n") + "\n").into_bytes(), Shape::Hex, 4),
        ("hex-dos", hex.join("\r\n\r\n").into_bytes(), Shape::Hex, 4),
        ("hex-bad", [hex[0].clone(), bad.join("\n")].join("\n").into_bytes(), Shape::Hex, 3),
    ];
    for (name, bytes, shape, count) in shapes {
        let path = folder.path().join(name);
        fs::write(&path, &bytes).unwrap();
        assert!(looks_like(&path).unwrap(), "{name}");
        let files = open_one(&path).unwrap();
        assert_eq!(files.files()[0].shape(), shape, "{name}");
        let (mut walk, mut found) = (Walk::new(&files.files()[0], &bytes[..]), vec![]);
        let (mut body, mut reader) = (vec![], BodyReader::new(&files, 1));
        while let Some(record) = walk.next_record().unwrap() {
            walk.body(&record, &mut body).unwrap();
            let (mut again, location) =
                (vec![], BlockLocation { file: 0, offset: record.offset, size: record.size });
            reader.read(location, &mut again).unwrap();
            assert_eq!(body, again);
            found.push(body.clone());
        }
        assert_eq!(found.len(), count, "{name}");
        assert!(found.iter().all(|block| chain.contains(block)), "{name}");
        let corruption = match name {
            "junk" => 1,
            "hex-bad" => 2,
            _ => 0,
        };
        assert_eq!(walk.into_report().corruption_count, corruption, "{name}");
    }
    assert_eq!(open_one(folder.path()).unwrap().files().len(), 6);
}

const REGTEST: Shape = Shape::Records { magic: [0xfa, 0xbf, 0xb5, 0xda] };

#[test]
fn a_signet_with_its_own_challenge_is_known_by_its_work_or_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let custom = Network::custom_signet(b"challenge");
    write(folder.path(), &blocks(3, 27), custom, KEY);
    assert!(open_one(folder.path()).is_err());
    let files = open(&[folder.path().to_path_buf()], Some(custom)).unwrap();
    assert_eq!(files.network(), Some(custom));
    // the genesis block of all signets
    let mut genesis = vec![1, 0, 0, 0];
    genesis.resize(36, 0);
    let root = "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a";
    let digits = root.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    genesis.extend(digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()));
    for field in [1_598_918_400_u32, 0x1e03_77ae, 52_613_770] {
        genesis.extend_from_slice(&field.to_le_bytes());
    }
    genesis.push(1);
    let path = folder.path().join("custom");
    fs::write(&path, records(&[genesis], custom.magic()).0).unwrap();
    fs::remove_file(folder.path().join("xor.dat")).unwrap();
    assert_eq!(open_one(&path).unwrap().network(), Some(custom));
}

#[test]
fn other_files_and_folders_hold_no_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let missing: PathBuf = folder.path().join("missing");
    assert!(looks_like(&missing).is_err() && open_one(&missing).is_err());
    assert!(!looks_like(folder.path()).unwrap());
    for (name, bytes) in [("empty", vec![]), ("random", Random::new(28).bytes(3 << 20))] {
        fs::write(folder.path().join(name), bytes).unwrap();
        let error = open_one(&folder.path().join(name)).unwrap_err();
        assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
    }
    assert!(!looks_like(folder.path()).unwrap());
}

#[test]
fn a_file_with_the_name_of_a_block_file_is_one_where_the_network_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00007.dat");
    for bytes in [vec![], vec![0; 5_000], Random::new(29).bytes(2 << 20)] {
        fs::write(&path, bytes).unwrap();
        assert!(looks_like(&path).unwrap());
        let error = open_one(&path).unwrap_err();
        assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
        let named = open(std::slice::from_ref(&path), Some(Network::Regtest)).unwrap();
        assert_eq!(named.network(), Some(Network::Regtest));
        // as in its folder
        let whole = open(&[folder.path().to_path_buf()], Some(Network::Regtest)).unwrap();
        assert_eq!(whole.files()[0].shape(), named.files()[0].shape());
        let other = folder.path().join("other");
        fs::copy(&path, &other).unwrap();
        assert!(open(&[other], Some(Network::Regtest)).is_err());
    }
}

#[test]
fn space_is_allocated_ahead_and_cut_off_only_if_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(3, 29);
    let total: usize = chain.iter().map(|block| block.len() + 8).sum();
    for trim in [true, false] {
        let options = WriterOptions { trim, ..WriterOptions::core(Network::Regtest) };
        let folder = folder.path().join(if trim { "trimmed" } else { "allocated" });
        let mut writer = BlockWriter::create(&folder, options).unwrap();
        chain.iter().for_each(|block| _ = writer.write(block).unwrap());
        assert_eq!(writer.finish().unwrap(), 1);
        let length = fs::metadata(folder.join("blk00000.dat")).unwrap().len();
        assert_eq!(length, if trim { total as u64 } else { 16 << 20 });
        let report = inspect(&open_one(&folder).unwrap()).unwrap().remove(0);
        assert_eq!((report.records, report.zero_tail), (3, length - total as u64));
        assert!(BlockWriter::create(&folder, options).is_err());
    }
}
