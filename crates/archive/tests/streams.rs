//! RLP exports and header streams: what is read back is what was written, wherever it stands.

mod chain;

use std::fs;

use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Error, Format, Packed, Part, WriteOptions, inspect,
};
use chain::{BODIES, block, blocks, columns, gzip, header, headers, read, read_chunks, write};

const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

#[test]
fn formats_are_reported_by_content_and_not_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("a.txt", headers(0..=4), Format::HeaderStream),
        ("b.era1", gzip(&headers(0..=4)), Format::HeaderStream),
        ("c", blocks(0..=4), Format::RlpExport),
        ("d.rlp", gzip(&blocks(0..=4)), Format::RlpExport),
    ];
    for (name, bytes, format) in cases {
        let path = write(folder.path(), name, &bytes);
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        assert_eq!((archive.format(), archive.range()), (format, Some((0, None))), "{name}");
        assert_eq!(archive.disk_bytes(), bytes.len() as u64);
        let (headers, bodies) = read(&[path], ALL).unwrap();
        assert_eq!(headers, columns(0..=4).0);
        if format == Format::RlpExport {
            assert_eq!(bodies, columns(0..=4).1);
        }
    }
}

#[test]
fn chunks_keep_their_limits_and_their_order() {
    let folder = tempfile::tempdir().unwrap();
    // more than one read step, so that lists are cut by the end of a read
    for (name, bytes) in [("h", headers(5..=600)), ("b", blocks(5..=600))] {
        let archive = Archive::open(&[write(folder.path(), name, &bytes)]).unwrap();
        let limits = [(1, 1 << 20), (7, 1 << 20), (2048, 1000), (2048, 0), (2048, 8 << 20), (0, 0)];
        for (blocks, bytes) in limits {
            let (chunks, result) = read_chunks(&archive, ChunkLimit { blocks, bytes }, ALL);
            result.unwrap();
            let found: Vec<_> = chunks.iter().flat_map(|c| c.headers.iter()).collect();
            assert_eq!(found.len(), 596);
            assert!(found.iter().zip(5..).all(|(found, number)| *found == header(number)));
            // the last block of a chunk goes beyond the limit, no other does
            let before_last = |c: &Chunk| c.headers.start(c.blocks() - 1);
            assert!(chunks.iter().all(|c| c.blocks() == 1 || before_last(c) < bytes));
        }
    }
}

#[test]
fn places_point_at_the_bytes_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = blocks(1..=300);
    let plain = write(folder.path(), "plain", &bytes);
    let packed = write(folder.path(), "packed", &gzip(&bytes));
    for (path, unpacked) in [(plain, false), (packed, true)] {
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        let limit = ChunkLimit { blocks: 11, ..ChunkLimit::default() };
        for chunk in read_chunks(&archive, limit, 20..=290).0 {
            for i in 0..chunk.blocks() {
                let location = chunk.location(Part::Header, i).unwrap();
                assert_eq!((&location.file, location.unpacked), (&path, unpacked));
                assert!(bytes[location.offset as usize..].starts_with(chunk.headers.get(i)));
                let items = blockmill_rlp::Reader::new(chunk.bodies.get(i)).list().unwrap();
                let location = chunk.location(Part::Body, i).unwrap();
                assert!(bytes[location.offset as usize..].starts_with(items.rest()));
                assert_eq!(chunk.location(Part::Receipts, i), None);
            }
        }
    }
}

#[test]
fn a_range_selects_blocks_across_files() {
    let folder = tempfile::tempdir().unwrap();
    // names out of order, numbers decide; an appended gzip export has several members
    write(folder.path(), "b.rlp", &blocks(0..=9));
    write(folder.path(), "a.rlp", &[gzip(&blocks(10..=14)), gzip(&blocks(15..=19))].concat());
    let paths = [folder.path().to_path_buf()];
    for range in [0..=19, 0..=0, 3..=3, 4..=16, 9..=10, 10..=10, 19..=19, 12..=14] {
        assert_eq!(read(&paths, range.clone()).unwrap(), columns(range.clone()), "{range:?}");
    }
    assert_eq!(read(&paths, 17..=u64::MAX).unwrap(), columns(17..=19));
    assert!(read(&paths, 20..=30).unwrap().0.is_empty());
}

#[test]
fn reused_buffers_carry_nothing_over() {
    let folder = tempfile::tempdir().unwrap();
    let export = write(folder.path(), "export", &blocks(0..=50));
    let stream = write(folder.path(), "stream", &headers(60..=99));
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    for (path, range) in [(&export, 0..=50), (&stream, 60..=99), (&export, 0..=50)] {
        let archive = Archive::open(std::slice::from_ref(path)).unwrap();
        let limit = ChunkLimit { blocks: 9, ..ChunkLimit::default() };
        let mut reader = archive.reader(BODIES, limit, ALL).unwrap();
        let (mut number, mut disk_bytes) = (*range.start(), 0);
        while reader.read(&mut packed).unwrap() {
            disk_bytes += packed.disk_bytes();
            packed.unpack(&mut chunk).unwrap();
            for found in chunk.headers.iter() {
                assert_eq!(found, header(number));
                number += 1;
            }
            let with_bodies = archive.format() == Format::RlpExport;
            assert_eq!(chunk.bodies.len(), if with_bodies { chunk.blocks() } else { 0 });
        }
        assert_eq!(number, range.end() + 1);
        assert_eq!(disk_bytes, fs::metadata(path).unwrap().len());
        packed.unpack(&mut chunk).unwrap();
        assert_eq!(chunk.blocks(), 0, "a chunk unpacks only once");
    }
}

#[test]
fn writers_give_the_bytes_that_were_read() {
    let folder = tempfile::tempdir().unwrap();
    for (format, bytes) in
        [(Format::RlpExport, blocks(0..=40)), (Format::HeaderStream, headers(0..=40))]
    {
        let source = write(folder.path(), "source", &bytes);
        for gzip in [false, true] {
            let path = folder.path().join(format!("{format:?}-{gzip}"));
            let options = WriteOptions { gzip, ..WriteOptions::default() };
            let mut writer = ArchiveWriter::create(format, &path, &options).unwrap();
            let archive = Archive::open(std::slice::from_ref(&source)).unwrap();
            let limit = ChunkLimit { blocks: 7, ..ChunkLimit::default() };
            for chunk in read_chunks(&archive, limit, ALL).0 {
                writer.append(&chunk).unwrap();
            }
            writer.finish().unwrap();
            let copy = fs::read(&path).unwrap();
            assert_eq!(copy == bytes, !gzip);
            assert_eq!(read(&[path], ALL).unwrap().0, columns(0..=40).0);
        }
    }
}

#[test]
fn an_export_of_headers_without_bodies_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.rlp");
    let options = WriteOptions::default();
    let mut writer = ArchiveWriter::create(Format::RlpExport, &path, &options).unwrap();
    let mut chunk = Chunk::new();
    chunk.headers.push(&header(0));
    let error = writer.append(&chunk).unwrap_err();
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
    drop(writer);
    assert!(!path.exists());
}

#[test]
fn inspect_reads_folders_of_mixed_formats_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x-2.rlp", &blocks(0..=9));
    write(folder.path(), "x-10.rlp", &gzip(&blocks(12..=20)));
    write(folder.path(), "x-9.headers", &headers(3..=4));
    write(folder.path(), "notes.txt", b"hello");
    let inspection = inspect(&[folder.path().to_path_buf()], true).unwrap();
    let found: Vec<_> = inspection
        .files
        .iter()
        .map(|f| {
            let name = f.path.file_name().unwrap().to_str().unwrap();
            (name, f.first.zip(f.last), f.blocks, f.compression, f.corruption.len())
        })
        .collect();
    let expected = [
        ("notes.txt", None, 0, "none", 0),
        ("x-2.rlp", Some((0, 9)), 10, "none", 0),
        ("x-9.headers", Some((3, 4)), 2, "none", 0),
        ("x-10.rlp", Some((12, 20)), 9, "gzip", 0),
    ];
    assert_eq!(found, expected);
    let gaps: Vec<_> = inspection.gaps.iter().map(|g| (g.expected, g.found)).collect();
    assert_eq!(gaps, [(10, 12)]);
    assert!(!inspection.is_sound());
}

#[test]
fn inspect_counts_block_access_lists_and_they_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let plain = block(2);
    let items = blockmill_rlp::Reader::new(&plain).list().unwrap();
    let with_list = chain::list(&[items.rest(), &[0xc1, 0xc0]].concat());
    let path = write(folder.path(), "a.rlp", &with_list);
    let report = inspect(std::slice::from_ref(&path), true).unwrap().files.remove(0);
    assert_eq!(report.corruption, []);
    assert!(report.notes[0].starts_with("1 block access list (EIP-7928)"), "{:?}", report.notes);
    assert_eq!(read(std::slice::from_ref(&path), ALL).unwrap(), columns(2..=2));
    let mut reader = Archive::open(std::slice::from_ref(&path))
        .unwrap()
        .reader(BODIES, ChunkLimit::default(), ALL)
        .unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    assert!(reader.read(&mut packed).unwrap());
    packed.unpack(&mut chunk).unwrap();
    assert_eq!((chunk.access_list(0), chunk.access_lists.len()), (&[0xc1, 0xc0][..], 1));
    let copy = folder.path().join("b.rlp");
    let mut writer =
        ArchiveWriter::create(Format::RlpExport, &copy, &WriteOptions::default()).unwrap();
    writer.append(&chunk).unwrap();
    writer.finish().unwrap();
    assert_eq!(std::fs::read(copy).unwrap(), with_list);
}

/// What a reader says at the end.
fn note(paths: &[std::path::PathBuf], limit: ChunkLimit) -> Option<String> {
    let mut reader = Archive::open(paths).unwrap().reader(BODIES, limit, ALL).unwrap();
    let mut packed = Packed::new();
    while reader.read(&mut packed).unwrap() {}
    reader.note()
}

#[test]
fn equal_blocks_that_come_again_are_skipped_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[Vec<u8>], u64, usize); 5] = [
        ("first block twice", &[[blocks(0..=0), blocks(0..=9)].concat()], 1, 1),
        ("all twice", &[[blocks(0..=9), blocks(0..=9)].concat()], 10, 1),
        ("in the middle", &[[blocks(0..=7), blocks(5..=6), blocks(7..=9)].concat()], 3, 1),
        ("files that overlap", &[blocks(0..=6), blocks(3..=9), blocks(9..=9)], 5, 3),
        ("some of some", &[blocks(0..=9), blocks(2..=4)], 3, 2),
    ];
    for (name, files, again, count) in cases {
        for packed in [false, true] {
            let paths: Vec<_> = files
                .iter()
                .enumerate()
                .map(|(i, bytes)| {
                    let bytes = if packed { gzip(bytes) } else { bytes.clone() };
                    write(folder.path(), &format!("x-{i}"), &bytes)
                })
                .collect();
            assert_eq!(paths.len(), count);
            assert_eq!(read(&paths, ALL).unwrap(), columns(0..=9), "{name}");
            assert_eq!(read(&paths, 4..=8).unwrap(), columns(4..=8), "{name}");
            for blocks in [1, 2, 2048] {
                let text = note(&paths, ChunkLimit { blocks, bytes: 1 << 20 }).unwrap();
                let counted = format!("{again} block");
                assert!(text.starts_with(&counted) && text.contains("x-"), "{name}: {text}");
            }
            let inspection = inspect(&paths, true).unwrap();
            assert!(inspection.is_sound(), "{name}: {inspection:?}");
            let noted = |file: &blockmill_archive::FileReport| {
                file.notes.iter().any(|note| note.contains("came again"))
            };
            assert!(inspection.files.iter().any(noted), "{name}: {inspection:?}");
        }
    }
    let once = [write(folder.path(), "x-0", &blocks(0..=9))];
    assert_eq!(note(&once, ChunkLimit::default()), None);
}

#[test]
fn another_block_of_a_known_number_is_named_with_both_hashes() {
    let folder = tempfile::tempdir().unwrap();
    // another header, another body
    for (name, at) in [("header", 40), ("body", block(4).len() - 10)] {
        let mut other = block(4);
        other[at] ^= 1;
        for (files, inspects) in [
            (vec![[blocks(0..=5), other.clone(), blocks(5..=6)].concat()], 1),
            (vec![blocks(0..=5), [other.clone(), blocks(5..=6)].concat()], 2),
        ] {
            let paths: Vec<_> = (0..files.len())
                .map(|i| write(folder.path(), &format!("{name}-{i}"), &files[i]))
                .collect();
            assert_eq!(paths.len(), inspects);
            let error = read(&paths, ALL).unwrap_err();
            let Error::Repeated { number: 4, expected, found, before, location } = &error else {
                panic!("{name}: {error}")
            };
            let known = blockmill_hashes::keccak256(&header(4));
            assert_eq!((**expected == known, expected == found), (true, name == "body"));
            assert_eq!(before.offset, blocks(0..=3).len() as u64);
            let start = if inspects == 1 { blocks(0..=5).len() as u64 } else { 0 };
            assert_eq!(location.offset, start);
            assert_eq!(error.status(), blockmill_verdict::Status::Invalid);
            assert!(error.to_string().contains("comes again and is another one"), "{error}");
            let inspection = inspect(&paths, false).unwrap();
            let corruption: Vec<_> =
                inspection.files.iter().flat_map(|file| &file.corruption).collect();
            let named = corruption.iter().any(|corruption| corruption.text == error.to_string());
            assert!(named, "{name}: {corruption:?}");
        }
    }
}

#[test]
fn a_block_with_a_wrong_number_is_left_to_whoever_verifies_it() {
    let folder = tempfile::tempdir().unwrap();
    // it follows block 5 and says that it is block 2
    let parent = blockmill_hashes::keccak256(&header(5));
    let mut child = block(2);
    let at = child.windows(33).position(|bytes| bytes == [&[0xa0][..], &[2; 32]].concat()).unwrap();
    child[at + 1..at + 33].copy_from_slice(&parent);
    let path = write(folder.path(), "x", &[blocks(0..=5), child, blocks(7..=7)].concat());
    let (headers, _) = read(&[path], ALL).unwrap();
    assert_eq!(headers.len(), 8);
}
