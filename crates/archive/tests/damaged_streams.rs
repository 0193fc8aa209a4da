//! Corrupt RLP exports and header streams: an error with a location, never a panic, a hang or
//! memory out of proportion.

mod chain;

use std::fs;
use std::path::Path;

use blockmill_archive::{Archive, ChunkLimit, Column, Error, Inspection, inspect};
use chain::{blocks, columns, gzip, headers, read, read_chunks, write};

const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

/// The four kinds of files, of blocks 1 and 2.
fn kinds() -> [(&'static str, Vec<u8>); 4] {
    let (headers, blocks) = (headers(1..=2), blocks(1..=2));
    let packed = (gzip(&headers), gzip(&blocks));
    [("h", headers), ("b", blocks), ("h.gz", packed.0), ("b.gz", packed.1)]
}

fn inspect_file(path: &Path) -> Inspection {
    inspect(&[path.to_path_buf()], true).unwrap()
}

/// Is there nothing wrong with a file, and is it known at all?
fn is_sound(path: &Path) -> bool {
    inspect(&[path.to_path_buf()], true).is_ok_and(|inspection| inspection.is_sound())
}

#[test]
fn files_cut_at_every_byte_are_errors_unless_cut_between_blocks() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in kinds() {
        let whole = read(&[write(folder.path(), name, &bytes)], ALL).unwrap();
        let mut good = 0;
        for len in 0..bytes.len() {
            let path = write(folder.path(), name, &bytes[..len]);
            let sound = is_sound(&path);
            match read(std::slice::from_ref(&path), ALL) {
                Ok((headers, _)) => {
                    good += 1;
                    assert!(sound && headers.len() < whole.0.len());
                    assert!(whole.0.bytes.starts_with(&headers.bytes));
                }
                Err(error) => {
                    assert!(!sound, "{name} cut at {len}");
                    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
                }
            }
        }
        // after the first block
        assert_eq!(good, if name.ends_with(".gz") { 0 } else { 1 }, "{name}");
    }
}

#[test]
fn blocks_before_the_cut_are_handed_out_before_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = headers(0..=999);
    bytes.truncate(bytes.len() - 1);
    let archive = Archive::open(&[write(folder.path(), "h", &bytes)]).unwrap();
    let (chunks, result) = read_chunks(&archive, ChunkLimit::default(), ALL);
    assert_eq!(chunks.iter().map(|c| c.blocks()).sum::<usize>(), 999);
    let Err(Error::Truncated { location, what, needed, available }) = result else {
        panic!("{result:?}");
    };
    assert_eq!((what, needed), ("header", available + 1));
    assert_eq!(location.offset + available, bytes.len() as u64);
}

#[test]
fn a_flipped_bit_in_any_byte_is_an_error_or_seen_in_the_content() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in kinds() {
        let whole = read(&[write(folder.path(), name, &bytes)], ALL).unwrap();
        for i in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[i] ^= 1 << (i % 8);
            let path = write(folder.path(), name, &flipped);
            let sound = is_sound(&path);
            match read(&[path], ALL) {
                // nothing guards the time in gzip's header or a code that no byte uses
                Ok(found) => {
                    assert_eq!(found == whole, name.ends_with(".gz"), "byte {i} of {name}")
                }
                Err(error) => {
                    assert!(!sound, "byte {i} of {name}: {error}");
                    assert!(error.to_string().contains(name), "{error}");
                }
            }
        }
    }
}

#[test]
fn huge_length_prefixes_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[u8], u64); 4] = [
        (&[0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], 1 << 63),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], u64::MAX),
        (&[0xfb, 0x10, 0, 0, 0], 0x1000_0000),
        (&[0xf9, 0xff, 0xff], 0xffff),
    ];
    for (prefix, len) in cases {
        // as a first list it is no archive that anybody would know; so after a good header
        for inner in [&[0xa0][..], &[0xf9, 2, 0]] {
            let first = if inner[0] == 0xa0 { headers(0..=0) } else { blocks(0..=0) };
            let path = write(folder.path(), "x", &[&first, prefix, inner].concat());
            match read(&[path], ALL).unwrap_err() {
                Error::TooLarge { location, announced, .. } => {
                    assert!(announced >= len.saturating_add(1));
                    assert_eq!(location.offset, first.len() as u64);
                }
                // a block may have 64 KiB, a header not
                Error::Truncated { what, needed, .. } => {
                    assert_eq!((what, needed), ("block", 0xffff + 3));
                }
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_gzip_bomb_is_unpacked_no_further_than_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    // 256 MiB of zeros after a good header, in members of 1 MiB, pack to 256 KiB
    let zeros = gzip(&vec![0; 1 << 20]).repeat(256);
    let path = write(folder.path(), "bomb.gz", &[gzip(&headers(0..=0)), zeros].concat());
    let start = std::time::Instant::now();
    let Err(Error::Rlp { location, .. }) = read(&[path], ALL) else {
        panic!("zeros are no headers")
    };
    assert_eq!((location.offset, location.unpacked), (headers(0..=0).len() as u64, true));
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn strings_non_canonical_prefixes_and_noise_are_no_archives() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [&[u8]; 7] =
        [b"", b"\0", b"hello, world", &[0xc0], &[0xc1, 0x80], &[0xff; 9], &[0xb8, 0x38, 0xa0]];
    for bytes in cases {
        let path = write(folder.path(), "x", bytes);
        let error = read(&[path], ALL).unwrap_err();
        assert!(matches!(error, Error::UnknownFormat { .. }), "{bytes:02x?}: {error}");
    }
    let long_form = [&[0xf8, 0x21, 0xa0][..], &[1; 32]].concat();
    let error = read(&[write(folder.path(), "x", &long_form)], ALL).unwrap_err();
    assert!(matches!(error, Error::Rlp { .. }), "{error}");
}

#[test]
fn an_unsorted_export_is_reported_where_its_order_matters() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = [blocks(0..=4), blocks(6..=6), blocks(5..=5), blocks(7..=9)].concat();
    let path = write(folder.path(), "x.rlp", &bytes);
    let error = read(std::slice::from_ref(&path), 2..=8).unwrap_err();
    let Error::Gap { expected: 5, found: 6, location, .. } = error else { panic!("{error}") };
    assert_eq!(location.offset, blocks(0..=4).len() as u64);
    let report = inspect_file(&path).files.remove(0);
    assert_eq!(report.corruption.len(), 3, "{:?}", report.corruption);
    assert!(report.corruption[0].text.contains("expected block 5"), "{:?}", report.corruption[0]);
    assert_eq!((report.first, report.last, report.blocks), (Some(0), Some(9), 10));
}

#[test]
fn files_that_do_not_join_are_named_both() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x-1", &headers(0..=4));
    write(folder.path(), "x-2", &headers(6..=9));
    let error = read(&[folder.path().to_path_buf()], ALL).unwrap_err();
    let Error::Gap { expected: 5, found: 6, before, location } = &error else { panic!("{error}") };
    assert!(before.ends_with("x-1") && location.file.ends_with("x-2"), "{error}");
    // one that begins again is no gap, and the same file under two names is read once
    fs::copy(folder.path().join("x-1"), folder.path().join("x-2")).unwrap();
    assert_eq!(
        read(&[folder.path().to_path_buf()], ALL).unwrap(),
        (columns(0..=4).0, Column::new())
    );
}

#[test]
fn archives_of_different_formats_do_not_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let paths =
        [write(folder.path(), "a", &headers(0..=4)), write(folder.path(), "b", &blocks(5..=9))];
    let error = read(&paths, ALL).unwrap_err();
    assert!(matches!(error, Error::Mixed { .. }), "{error}");
    assert!(error.to_string().contains("RLP export"), "{error}");
}

#[test]
fn faults_of_a_file_of_noise_are_listed_up_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = [blocks(0..=0), columns(0..=0).1.bytes.repeat(5000)].concat();
    let report = inspect_file(&write(folder.path(), "x", &bytes)).files.remove(0);
    assert_eq!((report.corruption.len(), report.blocks), (101, 5001));
}

#[test]
fn an_empty_file_that_is_named_like_an_archive_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x-1.rlp", &blocks(0..=4));
    write(folder.path(), "checksums.txt", b"0123");
    let paths = [folder.path().to_path_buf()];
    assert_eq!(read(&paths, ALL).unwrap(), columns(0..=4));
    assert!(inspect(&paths, false).unwrap().is_sound());
    write(folder.path(), "x-2.rlp.gz", b"");
    let error = read(&paths, ALL).unwrap_err();
    assert!(error.to_string().contains("x-2.rlp.gz"), "{error}");
    assert!(!inspect(&paths, false).unwrap().is_sound());
}
