//! Whole files: written, read, corrupt.

use std::fs;
use std::path::{Path, PathBuf};

use crate::input::pack::{ALL, pack};
use crate::sample::{chain, header, read};
use crate::{
    Archive, Chunk, ChunkLimit, Error, FileReport, Format, Packed, Part, ReceiptEncoding, Want,
    inspect,
};

use super::Writer;
use crate::formats::e2store;

const EVERYTHING: Want = Want { bodies: true, receipts: true };

/// Writes `chunks` into a folder; the files in order.
fn write(folder: &Path, chunks: &[Chunk]) -> Result<Vec<PathBuf>, Error> {
    let mut writer = Writer::create(folder, "testnet", false)?;
    chunks.iter().try_for_each(|chunk| writer.append(chunk))?;
    writer.finish()?;
    let files = fs::read_dir(folder).map_err(Error::io("cannot list", folder))?;
    let mut files: Vec<_> = files.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

fn same_blocks(a: &Chunk, b: &Chunk) -> bool {
    (&a.headers, &a.bodies, &a.receipts, &a.total_difficulties)
        == (&b.headers, &b.bodies, &b.receipts, &b.total_difficulties)
}

fn report(file: &Path, deep: bool) -> FileReport {
    inspect(&[file.to_path_buf()], deep).unwrap().files.remove(0)
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let written = chain(0, 20, 300);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let chunks = read(&files, EVERYTHING, ChunkLimit::default()).unwrap();
    assert!(same_blocks(&chunks[0], &written));
    assert_eq!((chunks.len(), chunks[0].first), (1, Some(0)));
    assert_eq!(chunks[0].receipt_encoding, ReceiptEncoding::Consensus);
    assert_eq!(chunks[0].era_end.map(|end| (end.first, end.blocks)), Some((0, 20)));
    let bytes = fs::read(&files[0]).unwrap();
    for (part, kind) in [
        (Part::Header, e2store::COMPRESSED_HEADER),
        (Part::Body, e2store::COMPRESSED_BODY),
        (Part::Receipts, e2store::COMPRESSED_RECEIPTS),
        (Part::TotalDifficulty, e2store::TOTAL_DIFFICULTY),
    ] {
        let at = chunks[0].location(part, 7).unwrap().offset as usize;
        assert_eq!(bytes[at..at + 2], kind.to_le_bytes(), "{part:?}");
    }
}

#[test]
fn a_compressed_file_gives_the_same_blocks_and_places_that_count_unpacked_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let written = chain(0, 20, 300);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let plain = fs::read(&files[0]).unwrap();
    for compression in ALL {
        let packed = pack(compression, &plain);
        fs::write(&files[0], &packed).unwrap();
        for limit in [ChunkLimit::default(), ChunkLimit { blocks: 20, bytes: 0 }] {
            let chunks = read(&files, EVERYTHING, limit).unwrap();
            let headers: Vec<_> = chunks.iter().flat_map(|chunk| chunk.headers.iter()).collect();
            assert!(headers.into_iter().eq(written.headers.iter()), "{compression}");
            assert!(chunks[0].location(Part::Header, 0).unwrap().unpacked);
        }
        let found = report(&files[0], true);
        assert!(found.corruption.is_empty() && found.blocks == 20, "{compression}: {found:?}");
        assert!(found.notes[0].contains(compression.name()), "{:?}", found.notes);
        // a file that is cut short, and corrupt content
        fs::write(&files[0], &packed[..packed.len() - 3]).unwrap();
        let error = read(&files, EVERYTHING, ChunkLimit::default()).map(drop).unwrap_err();
        assert!(matches!(error, Error::Compressed { .. }), "{compression}: {error}");
        let mut bad = plain.clone();
        bad[1400] ^= 1;
        fs::write(&files[0], pack(compression, &bad)).unwrap();
        let error = read(&files, EVERYTHING, ChunkLimit::default()).map(drop).unwrap_err();
        assert!(error.to_string().contains("at unpacked byte"), "{compression}: {error}");
    }
}

#[test]
fn eras_go_to_files_of_their_own_and_gaps_between_them_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[chain(8190, 3, 10), chain(8193, 2, 10)]).unwrap();
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert!(names[0].starts_with("testnet-00000-") && names[1].starts_with("testnet-00001-"));
    let chunks = read(&files, EVERYTHING, ChunkLimit::default()).unwrap();
    let firsts: Vec<_> = chunks.iter().map(|c| (c.first, c.blocks())).collect();
    assert_eq!(firsts, [(Some(8190), 2), (Some(8192), 3)]);

    let other = tempfile::tempdir().unwrap();
    let late = write(other.path(), &[chain(8193, 2, 10)]).unwrap();
    let files = [files[0].clone(), late[0].clone()];
    let error = read(&files, EVERYTHING, ChunkLimit::default()).unwrap_err();
    assert!(matches!(error, Error::Gap { expected: 8192, found: 8193, .. }), "{error}");
}

#[test]
fn chunks_keep_to_limits_and_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[chain(100, 10, 1000)]).unwrap();
    let archive = Archive::open(&files).unwrap();
    let sizes = |limit, range| -> Vec<(Option<u64>, usize, bool)> {
        let mut reader = archive.reader(EVERYTHING, limit, range).unwrap();
        let (mut packed, mut chunk, mut sizes) = (Packed::new(), Chunk::new(), vec![]);
        while reader.read(&mut packed).unwrap() {
            packed.unpack(&mut chunk).unwrap();
            sizes.push((chunk.first, chunk.blocks(), chunk.era_end.is_some()));
        }
        sizes
    };
    let blocks = ChunkLimit { blocks: 4, ..ChunkLimit::default() };
    assert_eq!(
        sizes(blocks, 0..=u64::MAX),
        [(Some(100), 4, false), (Some(104), 4, false), (Some(108), 2, true)]
    );
    assert_eq!(sizes(blocks, 103..=105), [(Some(103), 3, false)]);
    assert_eq!(sizes(blocks, 200..=300), []);
    let bytes = ChunkLimit { blocks: 100, bytes: 1 };
    assert_eq!(sizes(bytes, 0..=101), [(Some(100), 1, false), (Some(101), 1, false)]);
}

#[test]
fn headers_alone_are_the_same_from_fat_and_from_thin_blocks() {
    for body in [10, 40_000] {
        let folder = tempfile::tempdir().unwrap();
        let mut written = chain(0, 5, body);
        // One header that is longer than the first guess.
        let long = header(5, 3000);
        let mut more = chain(5, 1, body);
        more.headers.clear();
        more.headers.push(&long);
        let files = write(folder.path(), &[written.clone(), more]).unwrap();
        written.headers.push(&long);
        let chunks = read(&files, Want::default(), ChunkLimit::default()).unwrap();
        assert_eq!(chunks[0].headers, written.headers);
        assert_eq!(chunks[0].total_difficulties.len(), 6);
        assert!(chunks[0].bodies.is_empty() && chunks[0].receipts.is_empty());
        let all = read(&files, EVERYTHING, ChunkLimit::default()).unwrap();
        for part in [Part::Header, Part::TotalDifficulty] {
            assert_eq!(chunks[0].location(part, 4), all[0].location(part, 4));
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[chain(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let cut = folder.path().join("cut.era1");
    for len in 8..bytes.len() {
        fs::write(&cut, &bytes[..len]).unwrap();
        assert!(
            read(std::slice::from_ref(&cut), EVERYTHING, ChunkLimit::default()).is_err(),
            "cut at {len}"
        );
    }
}

#[test]
fn a_flipped_bit_anywhere_but_in_the_first_number_is_damage_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let written = chain(0, 2, 20);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let first_number = bytes.len() - 32..bytes.len() - 24;
    let bad = folder.path().join("bad.era1");
    let mut harmless = 0;
    for at in (0..bytes.len()).filter(|at| !first_number.contains(at)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&bad, &flipped).unwrap();
        if report(&bad, true).corruption.is_empty() {
            // A copy's distance may name other bytes of the same value, as in an empty bloom.
            let chunks =
                read(std::slice::from_ref(&bad), EVERYTHING, ChunkLimit::default()).unwrap();
            assert!(same_blocks(&chunks[0], &written), "byte {at}");
            harmless += 1;
        }
    }
    assert!(harmless < bytes.len() / 50, "{harmless} flips passed");
    fs::write(&bad, &bytes).unwrap();
    assert_eq!(report(&bad, true).corruption, []);
}

#[test]
fn index_offsets_that_do_not_point_at_blocks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[chain(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let entry = |i: usize| bytes.len() - 8 - 8 * (3 - i);
    for (i, relative) in [(0, 0), (1, i64::MIN), (1, i64::MAX), (2, -1), (2, -1_000_000)] {
        let mut bad = bytes.clone();
        bad[entry(i)..entry(i) + 8].copy_from_slice(&relative.to_le_bytes());
        fs::write(&files[0], &bad).unwrap();
        let error = read(&files, EVERYTHING, ChunkLimit::default()).unwrap_err();
        assert!(
            matches!(&error, Error::Index { location, .. } if location.offset == entry(i) as u64)
        );
    }
    // One that points into a block is found when its records do not end there.
    let mut bad = bytes.clone();
    bad[entry(1)] += 8;
    fs::write(&files[0], &bad).unwrap();
    assert!(read(&files, EVERYTHING, ChunkLimit::default()).is_err());
}

#[test]
fn inspect_counts_the_blocks_of_a_file_without_index() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[chain(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() - 60]).unwrap();
    let found = report(&files[0], false);
    assert_eq!((found.format, found.blocks, found.last), (Some(Format::Era1), 3, None));
    assert_eq!(found.corruption.len(), 2, "{:?}", found.corruption);
}

#[test]
fn records_of_other_types_may_stand_before_the_accumulator() {
    let folder = tempfile::tempdir().unwrap();
    let written = chain(0, 3, 40);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let (blocks, rest) = bytes.split_at(bytes.len() - (40 + 8 + 24 + 16));
    let mut other = vec![];
    e2store::put_header(&mut other, 0x4242, 5);
    other.extend_from_slice(b"other");
    let mut bytes = [blocks, &other, rest].concat();
    for i in 0..3 {
        let at = bytes.len() - 8 - 8 * (3 - i);
        let relative = i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) - 13;
        bytes[at..at + 8].copy_from_slice(&relative.to_le_bytes());
    }
    fs::write(&files[0], &bytes).unwrap();
    let chunks = read(&files, EVERYTHING, ChunkLimit::default()).unwrap();
    assert!(same_blocks(&chunks[0], &written));
}

#[test]
fn a_bomb_in_a_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = chain(0, 1, 40);
    // A header that unpacks to more than headers may have.
    let mut header = written.headers.get(0).to_vec();
    header.resize(crate::MAX_HEADER + 1, 0);
    written.headers.clear();
    written.headers.push(&header);
    let files = write(folder.path(), &[written]).unwrap();
    let error = read(&files, Want::default(), ChunkLimit::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn writers_refuse_what_the_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let error = |chunks: &[Chunk]| write(folder.path(), chunks).unwrap_err().to_string();
    assert!(error(&[]).contains("at least one block"));
    assert!(error(&[chain(0, 2, 1), chain(3, 1, 1)]).contains("expected block 2, found block 3"));
    let mut blocks = chain(5, 2, 1);
    blocks.total_difficulties.clear();
    assert!(error(&[blocks.clone()]).contains("total difficulties"));
    blocks.receipt_encoding = ReceiptEncoding::Storage;
    assert!(error(&[blocks.clone()]).contains("consensus encoding"));
    blocks.bodies.clear();
    assert!(error(&[blocks]).contains("a body for each header"));
    assert!(Writer::create(folder.path(), "a/b", false).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn rewrites_published_files_byte_for_byte() {
    let fixtures = blockmill_testkit::fixtures();
    let eras = fixtures.join("ethereum/era1");
    for network in ["mainnet", "sepolia"] {
        let files: Vec<_> = fs::read_dir(&eras)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(network))
            .collect();
        assert!(!files.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), network, false).unwrap();
        for chunk in read(&files, EVERYTHING, ChunkLimit::default()).unwrap() {
            writer.append(&chunk).unwrap();
        }
        writer.finish().unwrap();
        for file in files {
            let written = folder.path().join(file.file_name().unwrap());
            assert!(fs::read(&written).unwrap() == fs::read(&file).unwrap(), "{file:?}");
        }
    }
}
