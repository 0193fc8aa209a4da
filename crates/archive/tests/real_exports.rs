//! Exports of real test networks, converted and read back.

mod chain;

use std::fs;
use std::path::PathBuf;

use blockmill_archive::{Archive, ArchiveWriter, ChunkLimit, Format, WriteOptions, inspect};
use chain::{read, read_chunks};

const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

/// Each `chain.rlp` with its number of blocks.
fn exports() -> [(PathBuf, u64); 4] {
    let chains = blockmill_testkit::fixture("ethereum/chains");
    let names =
        [("hive-sync", 3000), ("hive-engine", 1024), ("geth-ethtest", 600), ("execution-apis", 54)];
    names.map(|(name, blocks)| (chains.join(name).join("chain.rlp"), blocks))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn inspect_finds_whole_chains_without_damage() {
    for (path, blocks) in exports() {
        let inspection = inspect(std::slice::from_ref(&path), true).unwrap();
        let report = &inspection.files[0];
        assert!(inspection.is_sound(), "{report:?}");
        let range = (report.first, report.last);
        assert_eq!((report.format, report.blocks), (Some(Format::RlpExport), blocks));
        assert_eq!(range, (Some(1), Some(blocks)), "{path:?}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn exports_written_again_have_the_same_bytes() {
    for (path, blocks) in exports() {
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        let (chunks, result) = read_chunks(&archive, ChunkLimit::default(), ALL);
        result.unwrap();
        // gzip is slow in debug builds: short chains only
        for gzip in [false, true].into_iter().take(if blocks < 1000 { 2 } else { 1 }) {
            let folder = tempfile::tempdir().unwrap();
            let copy = folder.path().join("copy");
            let options = WriteOptions { gzip, ..WriteOptions::default() };
            let mut writer = ArchiveWriter::create(Format::RlpExport, &copy, &options).unwrap();
            chunks.iter().for_each(|chunk| writer.append(chunk).unwrap());
            writer.finish().unwrap();
            if !gzip {
                assert!(fs::read(&copy).unwrap() == fs::read(&path).unwrap(), "{path:?}");
            }
            let source = read(std::slice::from_ref(&path), ALL).unwrap();
            assert!(read(&[copy], ALL).unwrap() == source, "{path:?}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn headers_of_an_export_make_a_header_stream() {
    for (path, _) in exports() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        let stream = folder.path().join("headers");
        let options = WriteOptions::default();
        let mut writer = ArchiveWriter::create(Format::HeaderStream, &stream, &options).unwrap();
        let (chunks, result) = read_chunks(&archive, ChunkLimit::default(), ALL);
        result.unwrap();
        chunks.iter().for_each(|chunk| writer.append(chunk).unwrap());
        writer.finish().unwrap();
        assert_eq!(
            Archive::open(std::slice::from_ref(&stream)).unwrap().format(),
            Format::HeaderStream
        );
        let (headers, bodies) = read(&[stream], ALL).unwrap();
        assert!(headers == read(&[path], ALL).unwrap().0 && bodies.is_empty());
    }
}
