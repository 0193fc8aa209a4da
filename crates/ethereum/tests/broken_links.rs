//! A block that the next one does not follow: one of the two is damaged, and the first is not kept,
//! wherever a chunk ends. So a sound archive can be gone on with.

use crate::execution::executed_store::{SMALL, small};
use crate::execution::imports::{Place, options, published, run};
use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Format, Packed, Want, WriteOptions,
};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::settings::Settings;
use blockmill_rlp::Encode;
use blockmill_store::ChainStore;
use std::path::{Path, PathBuf};

/// The last block of the chain.
const LAST: u64 = 54;

/// The chain with other extra data in one block, which no rule forbids.
fn damaged(path: &Path, dir: &Path, number: u64) -> PathBuf {
    let archive = Archive::open(&[path.to_path_buf()]).unwrap();
    let want = Want { bodies: true, receipts: false };
    let mut reader = archive.reader(want, ChunkLimit::default(), 0..=LAST).unwrap();
    let to = dir.join(format!("{number}.rlp"));
    let mut writer =
        ArchiveWriter::create(Format::RlpExport, &to, &WriteOptions::default()).unwrap();
    let (mut packed, mut chunk, mut found) = (Packed::new(), Chunk::new(), false);
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        let headers: Vec<_> = chunk.headers.iter().map(<[u8]>::to_vec).collect();
        chunk.headers.clear();
        for bytes in headers {
            let mut header = HeaderView::decode(&bytes).unwrap().to_owned();
            if header.number == number {
                header.extra_data = b"damaged".to_vec();
                found = true;
            }
            chunk.headers.push(&header.encode());
        }
        writer.append(&chunk).unwrap();
    }
    writer.finish().unwrap();
    assert!(found, "no block {number}");
    to
}

/// Corruptions of the blocks of each of two chunks; `open` gives the store in a folder.
fn neither_is_kept(case: &str, path: &Path, options: &Options, open: &dyn Fn(&Path) -> Sink) {
    let dir = tempfile::tempdir().unwrap();
    for number in 6..=16 {
        let (archive, store) =
            (damaged(path, dir.path(), number), dir.path().join(format!("{number}")));
        let (run_of, error) = run(archive, options, &mut open(&store));
        let error = error.unwrap_or_else(|| panic!("{case}: damage of block {number} is unseen"));
        assert!(error.contains(&format!("block {}", number + 1)), "{case}: {error}");
        assert!(run_of.committed < Some(number), "{case}: {number} of {:?}", run_of.committed);
        let (run_of, error) = run(path.to_path_buf(), options, &mut open(&store));
        assert_eq!((run_of.committed, error), (Some(LAST), None), "{case}, {number}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_block_that_the_next_one_does_not_follow_is_not_kept() {
    let (spec, path) = published("execution-apis");
    let chunk = ChunkLimit { blocks: 5, ..ChunkLimit::default() };
    for level in [Level::Headers, Level::Bodies] {
        let of_level = Options { level, chunk, ..options(spec.clone(), Settings::default()) };
        neither_is_kept(level.name(), &path, &of_level, &|dir| {
            Sink::Segments(Box::new(ChainStore::open(dir, &small()).unwrap().0))
        });
    }
    for place in Place::all() {
        let of_place = Options { chunk, ..options(spec.clone(), place.with(&[])) };
        neither_is_kept(&format!("{place:?}"), &path, &of_place, &|dir| {
            let opened = ExecutedStore::open(dir, &small(), place.limits(SMALL));
            Sink::Executed(Box::new(opened.unwrap().0))
        });
    }
}
