//! Dumps of every kind: written, read, cut and corrupt.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Batch, Dumps, Head, MAX_BLOCK, MIN_BLOCK, Reader, looks_like, open};
use crate::acc::DumpWriter;
use crate::input::pack::{ALL, pack};
use crate::{ChunkLimit, Error, Family};
use blockmill_testkit::Random;
use blockmill_verdict::Status;

/// A block of this height, as far as a dump checks it.
fn block(random: &mut Random, height: u32) -> Vec<u8> {
    let length = MIN_BLOCK as usize + random.below(400_usize);
    let mut block = random.bytes(length);
    block[..4].fill(0);
    block[84..88].copy_from_slice(&height.to_le_bytes());
    block
}

fn blocks(first: u32, count: u32) -> Vec<Vec<u8>> {
    let mut random = Random::new(u64::from(first) << 32 | u64::from(count));
    (first..first + count).map(|height| block(&mut random, height)).collect()
}

fn head(first: u32, count: u32) -> Head {
    Head { first, count, incremental: first != 0 }
}

fn dump(head: Head, blocks: &[Vec<u8>]) -> Vec<u8> {
    let records =
        blocks.iter().map(|block| [&(block.len() as u32).to_le_bytes(), &block[..]].concat());
    [head.bytes()].into_iter().chain(records).collect::<Vec<_>>().concat()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// All blocks from a height on that are not repeated, and the error at their end.
fn read_all(dumps: &Dumps, from: u32, limit: ChunkLimit) -> (Vec<Vec<u8>>, Option<Error>) {
    let ([new, _], error) = read_both(Reader::new(dumps, from, limit));
    (new, error)
}

/// New blocks, repeated blocks, and the error at their end.
fn read_both(mut reader: Reader) -> ([Vec<Vec<u8>>; 2], Option<Error>) {
    let (mut batch, mut found) = (Batch::default(), [vec![], vec![]]);
    loop {
        match reader.read(&mut batch) {
            Ok(true) => {
                assert!(!batch.is_empty());
                for i in 0..batch.len() {
                    let height = batch.first() + i as u32;
                    assert_eq!(super::height_of(batch.block(i)), Some(height));
                    found[usize::from(batch.is_repeated())].push(batch.block(i).to_vec());
                }
            }
            Ok(false) => return (found, None),
            Err(error) => {
                assert!(matches!(reader.read(&mut batch), Ok(false)));
                return (found, Some(error));
            }
        }
    }
}

const LIMITS: [ChunkLimit; 3] = [
    ChunkLimit { blocks: 1, bytes: 0 },
    ChunkLimit { blocks: 7, bytes: 1000 },
    ChunkLimit { blocks: 2048, bytes: 8 << 20 },
];

#[test]
fn what_is_written_is_read_again_in_every_compression() {
    let folder = tempfile::tempdir().unwrap();
    for (first, incremental) in [(0, false), (1, false), (0, true), (15, true)] {
        let blocks = blocks(first, 40);
        let head = Head { first, count: 40, incremental };
        let path = folder.path().join(format!("{first}-{incremental}.acc"));
        let mut writer = DumpWriter::create(&path, head, false).unwrap();
        blocks.iter().for_each(|block| writer.append(block).unwrap());
        writer.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, dump(head, &blocks));
        let mut paths = vec![path];
        for compression in ALL {
            let packed = pack(compression, &bytes);
            paths.push(write(folder.path(), &format!("packed-{compression}"), &packed));
        }
        for (path, limit) in paths.iter().flat_map(|path| LIMITS.map(|limit| (path, limit))) {
            assert!(looks_like(path).unwrap());
            assert_eq!(Family::detect(std::slice::from_ref(path)).unwrap(), Family::Neo);
            let dumps = open(std::slice::from_ref(path)).unwrap();
            assert_eq!(dumps.range(), Some((first, first + 39)));
            let (found, error) = read_all(&dumps, 0, limit);
            assert!(error.is_none() && found == blocks);
            let (found, _) = read_all(&dumps, first + 7, limit);
            assert_eq!(found, blocks[7..]);
        }
    }
}

#[test]
fn incremental_dumps_are_read_in_the_order_of_their_heights() {
    let folder = tempfile::tempdir().unwrap();
    let whole = blocks(0, 30);
    // the names are in another order, and the second repeats some of the first
    for (name, first, count) in [("c.acc", 0, 12), ("b.acc", 10, 10), ("a.acc", 20, 10)] {
        let range = first as usize..(first + count) as usize;
        write(folder.path(), name, &dump(head(first, count), &whole[range]));
    }
    write(folder.path(), "README", b"no dump");
    let dumps = open(&[folder.path().to_path_buf()]).unwrap();
    for limit in LIMITS {
        for from in [0, 11, 12, 25] {
            let (found, error) = read_all(&dumps, from, limit);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(found, whole[from as usize..]);
        }
    }
    fs::remove_file(folder.path().join("b.acc")).unwrap();
    let dumps = open(&[folder.path().to_path_buf()]).unwrap();
    let (found, error) = read_all(&dumps, 0, LIMITS[1]);
    assert_eq!(found, whole[..12]);
    assert!(matches!(error, Some(Error::Gap { expected: 12, found: 20, .. })), "{error:?}");
}

#[test]
fn blocks_of_heights_that_came_before_are_handed_out_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, other) = (blocks(0, 30), blocks(5, 20));
    write(folder.path(), "a.acc", &dump(head(0, 30), &whole));
    write(folder.path(), "b.acc", &dump(head(5, 20), &other));
    let dumps = open(&[folder.path().to_path_buf()]).unwrap();
    assert_eq!(dumps.repeated(), Some((5, 24)));
    for limit in LIMITS {
        let ([new, repeated], error) = read_both(Reader::new(&dumps, 0, limit));
        assert!(error.is_none() && new == whole && repeated == other);
        // a store with blocks 0 to 9, and an end before the end of the dumps
        let reader = Reader::new(&dumps, 0, limit).continuing(10).until(Some(12));
        let ([new, repeated], error) = read_both(reader);
        assert!(error.is_none() && new == whole[10..13]);
        assert_eq!(repeated, [&whole[..10], &other[..8]].concat());
        let ([new, repeated], _) = read_both(Reader::new(&dumps, 8, limit).until(Some(20)));
        assert!(new == whole[8..21] && repeated == other[3..16]);
    }
    // one that is cut is incomplete, although all of its blocks came before
    let bytes = dump(head(0, 30), &whole);
    let path = write(folder.path(), "cut.acc", &bytes[..bytes.len() - 10]);
    let reader = Reader::new(&open(&[path]).unwrap(), 0, LIMITS[1]).continuing(30);
    let ([new, repeated], error) = read_both(reader);
    assert!(new.is_empty() && repeated == whole[..29]);
    assert_eq!(error.unwrap().status(), Status::Incomplete);
    let path = folder.path().join("a.acc");
    assert_eq!(open(&[path]).unwrap().repeated(), None);
}

/// The first block of a dump of an older layout, up to its first transaction.
fn older_block(height_at: usize, witnesses_at: usize, height: u32) -> Vec<u8> {
    let mut block = Random::new(height.into()).bytes(200);
    block[..4].fill(0);
    block[height_at..height_at + 4].copy_from_slice(&height.to_le_bytes());
    block[witnesses_at] = 1;
    block
}

#[test]
fn dumps_of_older_layouts_are_unsupported_by_name_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for (height_at, witnesses_at, name) in
        [(72, 104, "Neo 2"), (76, 100, "a preview of Neo 3"), (76, 101, "a preview of Neo 3")]
    {
        for (first, incremental) in [(0, false), (1, false), (0, true), (7_000_000, true)] {
            let head = Head { first, count: 3, incremental };
            let block = older_block(height_at, witnesses_at, first);
            let bytes = dump(head, &[block]);
            let packed = pack(ALL[0], &bytes);
            for (file, bytes) in [("chain.acc", &bytes), ("chain", &bytes), ("packed", &packed)] {
                let path = write(folder.path(), file, bytes);
                assert_eq!(Family::detect(std::slice::from_ref(&path)).unwrap(), Family::Neo);
                let error = open(&[path]).unwrap_err();
                assert_eq!(error.status(), Status::Unrecognised, "{error}");
                assert!(error.to_string().contains(name), "{error}");
            }
        }
    }
}

#[test]
fn an_export_of_ethereum_is_no_dump_whatever_its_roots_are() {
    let folder = tempfile::tempdir().unwrap();
    // two lists, a parent and an address of zeros, and a root with a byte where a dump of Neo 2 has
    // the number of witnesses
    let mut bytes = [0; 200];
    bytes[..7].copy_from_slice(&[0xf9, 0x02, 0x65, 0xf9, 0x02, 0x5f, 0xa0]);
    bytes[92..112].fill(0xf3);
    bytes[112] = 1;
    let path = write(folder.path(), "chain", &bytes);
    assert_eq!(Family::detect(&[path]).unwrap(), Family::Ethereum);
}

#[blockmill_testkit::needs(cases)]
#[test]
fn the_dump_of_neo_2_is_unsupported_by_name() {
    let case = blockmill_testkit::case("12-neo-zip-and-csharp-config/neo2");
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(case.join("chain.acc")).unwrap();
    for path in [case, write(folder.path(), "chain", &bytes)] {
        assert!(looks_like(&path).unwrap());
        let error = open(&[path]).unwrap_err();
        assert_eq!(error.status(), Status::Unrecognised, "{error}");
        assert!(error.to_string().contains("Neo 2"), "{error}");
    }
}

#[test]
fn a_cut_dump_gives_its_whole_blocks_and_says_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(0, 5);
    let bytes = dump(head(0, 5), &blocks);
    let mut end = 4;
    let ends: Vec<usize> = blocks
        .iter()
        .map(|block| {
            end += 4 + block.len();
            end
        })
        .collect();
    for length in 100..bytes.len() {
        let path = write(folder.path(), "cut.acc", &bytes[..length]);
        let (found, error) = read_all(&open(&[path]).unwrap(), 0, LIMITS[2]);
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(found, blocks[..whole], "{length}");
        let error = error.unwrap();
        assert_eq!(error.status(), Status::Incomplete, "{error}");
        let start = if whole == 0 { 4 } else { ends[whole - 1] };
        assert_eq!(error.location().unwrap().offset, start as u64, "{error}");
        let at_end = length == start;
        assert_eq!(matches!(error, Error::Missing { .. }), at_end, "{error}");
    }
    // only its name identifies a shorter one
    let path = write(folder.path(), "cut.acc", &bytes[..50]);
    assert!(matches!(open(&[path]), Err(Error::Truncated { available: 50, .. })));
    let path = write(folder.path(), "cut", &bytes[..50]);
    assert!(!looks_like(&path).unwrap());
    assert!(matches!(open(&[path]), Err(Error::UnknownFormat { .. })));
}

#[test]
fn damage_is_named_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(0, 5);
    let second = 4 + 4 + blocks[0].len();
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = dump(head(0, 5), &blocks);
        change(&mut bytes);
        let path = write(folder.path(), "damaged.acc", &bytes);
        let (found, error) = read_all(&open(&[path]).unwrap(), 0, LIMITS[2]);
        let error = error.unwrap();
        (found.len(), error.location().unwrap().offset as usize, error)
    };
    let (count, at, error) = read(&|bytes| bytes[second + 3] = 0xff);
    assert!(matches!(error, Error::TooLarge { limit, .. } if limit == u64::from(MAX_BLOCK)));
    assert_eq!((count, at), (1, second));
    let (count, at, error) = read(&|bytes| bytes[second..second + 4].fill(0));
    assert!(matches!(error, Error::BadRecord { .. }), "{error}");
    assert_eq!((count, at), (1, second));
    let (count, at, error) = read(&|bytes| bytes[second + 4 + 84] = 9);
    assert!(matches!(error, Error::Gap { expected: 1, found: 9, .. }), "{error}");
    assert_eq!((count, at), (1, second + 4));
    let (count, at, error) = read(&|bytes| bytes.push(0));
    assert!(matches!(error, Error::BadRecord { .. }), "{error}");
    assert_eq!((count, at), (5, dump(head(0, 5), &blocks).len()));
    // a lower count leaves bytes after the last block, a higher one lacks blocks
    let (count, _, error) = read(&|bytes| bytes[0] = 4);
    assert!(count == 4 && matches!(error, Error::BadRecord { .. }), "{error}");
    let (count, _, error) = read(&|bytes| bytes[0] = 6);
    assert!(count == 5 && matches!(error, Error::Missing { .. }), "{error}");
}

#[test]
fn other_files_are_no_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    for length in [0, 3, 95, 96, 1000] {
        let noise = random.bytes(length);
        let zeros = vec![0; length];
        for (name, bytes) in [("noise", noise), ("zeros", zeros)] {
            assert!(!looks_like(&write(folder.path(), name, &bytes)).unwrap(), "{name} {length}");
        }
    }
    let path = write(folder.path(), "noise.acc", &random.bytes(500));
    assert!(looks_like(&path).unwrap());
    assert!(matches!(open(&[path]), Err(Error::BadMagic { .. })));
}

#[test]
fn a_writer_takes_the_blocks_that_were_said_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(3, 3);
    let path = folder.path().join("x.acc");
    let whole = Head { first: 3, count: 3, incremental: false };
    assert!(matches!(DumpWriter::create(&path, whole, false), Err(Error::Unwritable { .. })));
    let mut writer = DumpWriter::create(&path, head(3, 2), true).unwrap();
    assert!(matches!(writer.append(&blocks[1]), Err(Error::Unwritable { .. })));
    assert!(matches!(writer.append(&[]), Err(Error::Unwritable { .. })));
    writer.append(&blocks[0]).unwrap();
    writer.append(&blocks[1]).unwrap();
    assert!(matches!(writer.append(&blocks[2]), Err(Error::Unwritable { .. })));
    writer.finish().unwrap();
    let (found, error) = read_all(&open(std::slice::from_ref(&path)).unwrap(), 0, LIMITS[0]);
    assert!(error.is_none() && found == blocks[..2]);
    let writer = DumpWriter::create(&folder.path().join("y.acc"), head(3, 2), false).unwrap();
    assert!(matches!(writer.finish(), Err(Error::Unwritable { .. })));
    assert!(!folder.path().join("y.acc").exists());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn dumps_of_neo_go_are_read() {
    for (name, count) in [("neo/chain50x2.acc", 51), ("neo/gen/empty2000-sr.acc.zst", 2004)] {
        let dumps = open(&[blockmill_testkit::fixture(name)]).unwrap();
        assert_eq!(dumps.range(), Some((0, count - 1)));
        let (found, error) = read_all(&dumps, 0, ChunkLimit::default());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(found.len(), count as usize);
    }
}
