//! Whole folders: written, read, corrupt.

use std::fs;
use std::path::Path;

use crate::sample::{self, chain};
use crate::{
    Archive, Chunk, ChunkLimit, Error, FileReport, Packed, Part, ReceiptEncoding, Want, inspect,
};

use super::index::{ENTRY, Entry};
use super::{Layout, MAX_FILE, Writer};

const EVERYTHING: Want = Want { bodies: true, receipts: true };
const ROLL: u32 = 1_000_000;

/// A chain from block 0 with receipts as geth stores them.
fn stored_chain(count: u64, body: usize) -> Chunk {
    let mut chunk = chain(0, count, body);
    chunk.receipt_encoding = ReceiptEncoding::Storage;
    chunk
}

fn write(folder: &Path, layout: Layout, max_file: u32, chunks: &[Chunk]) -> Result<(), Error> {
    let mut writer = Writer::with(folder, layout, max_file)?;
    chunks.iter().try_for_each(|chunk| writer.append(chunk))?;
    writer.finish()
}

fn read(folder: &Path, want: Want, limit: ChunkLimit) -> Result<Vec<Chunk>, Error> {
    sample::read(&[folder.into()], want, limit)
}

fn report(folder: &Path, deep: bool) -> FileReport {
    inspect(&[folder.into()], deep).unwrap().files.remove(0)
}

fn same_blocks(a: &Chunk, b: &Chunk) -> bool {
    (&a.headers, &a.bodies, &a.receipts) == (&b.headers, &b.bodies, &b.receipts)
}

#[test]
fn what_is_written_is_read_again_in_both_layouts() {
    let written = stored_chain(20, 300);
    for layout in [Layout::Geth117, Layout::Geth19] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("ancient");
        write(&folder, layout, MAX_FILE, std::slice::from_ref(&written)).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        let chunks = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap();
        assert_eq!((chunks.len(), chunks[0].first), (1, Some(0)));
        assert!(same_blocks(&chunks[0], &written));
        let hashes: Vec<_> = written.headers.iter().map(blockmill_hashes::keccak256).collect();
        assert_eq!(chunks[0].stated_hashes, hashes);
        let totals = if layout == Layout::Geth19 { &written.total_difficulties[..] } else { &[] };
        assert_eq!(chunks[0].total_difficulties, totals);
        assert_eq!(chunks[0].receipt_encoding, ReceiptEncoding::Storage);
        let found = report(&folder, true);
        assert_eq!(found.corruption, []);
        assert_eq!((found.first, found.last, found.blocks), (Some(0), Some(19), 20));
        let versions: Vec<_> = found.tables.iter().map(|table| table.meta_version).collect();
        let version = (layout == Layout::Geth117).then_some(2);
        assert_eq!(versions, [version; 5]);
        assert_eq!(found.notes.iter().any(|note| note.contains("truncates")), version.is_none());
    }
}

#[test]
fn block_access_lists_are_written_by_the_newer_layout_only() {
    let temp = tempfile::tempdir().unwrap();
    let (newer, older) = (temp.path().join("newer"), temp.path().join("older"));
    let mut written = stored_chain(9, 100);
    for i in 0..9 {
        written.access_lists.push(if i % 3 == 2 { &[0xc1, 0xc0] } else { &[] });
    }
    write(&newer, Layout::Geth117, MAX_FILE, std::slice::from_ref(&written)).unwrap();
    let chunks = read(&newer, EVERYTHING, ChunkLimit::default()).unwrap();
    assert!(same_blocks(&chunks[0], &written));
    assert_eq!(chunks[0].access_lists, written.access_lists);
    for deep in [false, true] {
        let found = report(&newer, deep);
        assert_eq!(found.corruption, []);
        let note = "3 block access lists (EIP-7928), which `verify` checks";
        assert!(found.notes.iter().any(|found| found == note), "{:?}", found.notes);
    }
    let error = write(&older, Layout::Geth19, MAX_FILE, &[written]).unwrap_err();
    assert!(matches!(&error, Error::Unwritable { found, .. } if found == "one of block 2"));
}

#[test]
fn items_that_do_not_fit_go_to_the_next_file_whole() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("ancient");
    let written = stored_chain(20, 300);
    write(&folder, Layout::Geth19, 1000, std::slice::from_ref(&written)).unwrap();
    let sizes: Vec<_> = (0..)
        .map_while(|n| fs::metadata(folder.join(format!("bodies.{n:04}.cdat"))).ok())
        .map(|metadata| metadata.len())
        .collect();
    assert!(sizes.len() > 5 && sizes.iter().all(|size| *size <= 1000), "{sizes:?}");
    for blocks in [1, 3, 100] {
        let limit = ChunkLimit { blocks, ..ChunkLimit::default() };
        let chunks = read(&folder, EVERYTHING, limit).unwrap();
        assert_eq!(chunks.len(), 20usize.div_ceil(blocks));
        let bodies: Vec<_> = chunks.iter().flat_map(|chunk| chunk.bodies.iter()).collect();
        assert_eq!(bodies, written.bodies.iter().collect::<Vec<_>>());
        for chunk in &chunks {
            for i in 0..chunk.blocks() {
                let location = chunk.location(Part::Body, i).unwrap();
                let bytes = fs::read(&location.file).unwrap();
                let block = &bytes[location.offset as usize..];
                let len = snap::raw::decompress_len(block).unwrap();
                assert_eq!(len, chunk.bodies.get(i).len());
            }
        }
    }
    assert_eq!(report(&folder, true).corruption, []);
}

#[test]
fn hidden_and_deleted_bodies_are_left_out_and_the_headers_stay() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("ancient");
    let written = stored_chain(10, 100);
    write(&folder, Layout::Geth117, 400, std::slice::from_ref(&written)).unwrap();
    let tables = folder.join("chain");
    // Delete the first body files, as geth does: the index begins with the file of the tail and
    // the number of items that went away.
    let index = fs::read(tables.join("bodies.cidx")).unwrap();
    let entries: Vec<_> = index.as_chunks::<ENTRY>().0.iter().map(Entry::parse).collect();
    let deleted = entries[1..].iter().filter(|entry| entry.file < 2).count();
    assert!(deleted > 2 && deleted < 8, "{deleted}");
    let mut shorter = Entry { file: 2, end: deleted as u32 }.to_bytes().to_vec();
    shorter.extend_from_slice(&index[(deleted + 1) * ENTRY..]);
    fs::write(tables.join("bodies.cidx"), &shorter).unwrap();
    let hidden = deleted as u8 + 1;
    fs::write(tables.join("bodies.meta"), [0xc3, 2, hidden, shorter.len() as u8]).unwrap();
    fs::remove_file(tables.join("bodies.0000.cdat")).unwrap();
    fs::remove_file(tables.join("bodies.0001.cdat")).unwrap();
    // geth prunes both tables to the same tail; a single one is corruption
    assert_eq!(report(&folder, true).corruption.len(), 1);
    let receipts = fs::metadata(tables.join("receipts.cidx")).unwrap().len() as u8;
    fs::write(tables.join("receipts.meta"), [0xc3, 2, hidden, receipts]).unwrap();

    let chunks = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap();
    let shape: Vec<_> = chunks.iter().map(|c| (c.first, c.blocks(), c.bodies.len())).collect();
    let tail = usize::from(hidden);
    assert_eq!(shape, [(Some(0), tail, 0), (Some(tail as u64), 10 - tail, 10 - tail)]);
    assert_eq!(chunks[1].bodies.get(0), written.bodies.get(tail));
    let found = report(&folder, true);
    assert_eq!(found.corruption, []);
    assert!(found.notes.iter().any(|note| note.contains("are hidden")), "{:?}", found.notes);
    let bodies = found.tables.iter().find(|table| table.name == "bodies").unwrap();
    assert_eq!((bodies.items, bodies.tail), (10, tail as u64));
}

#[test]
fn shorter_tables_are_read_as_far_as_they_go_and_reported() {
    let temp = tempfile::tempdir().unwrap();
    let written = stored_chain(5, 100);
    write(&temp.path().join("a"), Layout::Geth19, MAX_FILE, &[written]).unwrap();
    let folder = temp.path().join("a");
    let index = fs::read(folder.join("receipts.cidx")).unwrap();
    fs::write(folder.join("receipts.cidx"), &index[..4 * ENTRY]).unwrap();
    let chunks = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap();
    let shape: Vec<_> = chunks.iter().map(|chunk| (chunk.blocks(), chunk.receipts.len())).collect();
    assert_eq!(shape, [(3, 3), (2, 0)]);
    let text: Vec<_> = report(&folder, false).corruption.into_iter().map(|d| d.text).collect();
    assert!(text.iter().any(|text| text.contains("as many as there are headers")), "{text:?}");
    assert!(text.iter().any(|text| text.contains("geth drops the rest")), "{text:?}");
}

#[test]
fn entries_after_the_flush_offset_do_not_count() {
    let temp = tempfile::tempdir().unwrap();
    write(&temp.path().join("a"), Layout::Geth117, MAX_FILE, &[stored_chain(5, 100)]).unwrap();
    let folder = temp.path().join("a");
    let path = folder.join("chain/headers.meta");
    fs::write(&path, [0xc3, 2, 0x80, 4 * ENTRY as u8]).unwrap();
    assert_eq!(Archive::open(std::slice::from_ref(&folder)).unwrap().range(), Some((0, Some(2))));
    let found = report(&folder, false);
    assert!(
        found.corruption.iter().any(|d| d.text.contains("the flush offset")),
        "{:?}",
        found.corruption
    );
    // A flush offset beyond the index means that the index was cut.
    fs::write(&path, [0xc3, 2, 0x80, 7 * ENTRY as u8]).unwrap();
    let error = Archive::open(&[folder]).unwrap_err();
    assert!(matches!(error, Error::Truncated { needed: 42, available: 36, .. }), "{error}");
}

#[test]
fn files_cut_anywhere_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    write(&temp.path().join("a"), Layout::Geth117, MAX_FILE, &[stored_chain(3, 40)]).unwrap();
    let tables = temp.path().join("a/chain");
    for name in ["headers", "hashes", "bodies", "receipts"] {
        let letter = if name == "hashes" { 'r' } else { 'c' };
        for file in [format!("{name}.{letter}idx"), format!("{name}.0000.{letter}dat")] {
            let path = tables.join(file);
            let bytes = fs::read(&path).unwrap();
            for len in 0..bytes.len() {
                fs::write(&path, &bytes[..len]).unwrap();
                let result = read(&tables, EVERYTHING, ChunkLimit::default());
                assert!(result.is_err(), "{} cut at {len}", path.display());
                assert_ne!(report(&tables, false).corruption, []);
            }
            fs::write(&path, &bytes).unwrap();
        }
    }
    let data = tables.join("bodies.0000.cdat");
    fs::remove_file(data).unwrap();
    let error = read(&tables, EVERYTHING, ChunkLimit::default()).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert_eq!(error.status(), blockmill_verdict::Status::Incomplete);
    assert!(report(&tables, false).corruption[0].text.contains("bodies.0000.cdat"));
}

#[test]
fn a_flipped_bit_anywhere_in_headers_is_damage_or_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let written = stored_chain(2, 20);
    write(&temp.path().join("a"), Layout::Geth117, MAX_FILE, std::slice::from_ref(&written))
        .unwrap();
    let tables = temp.path().join("a/chain");
    for file in ["headers.cidx", "headers.0000.cdat", "headers.meta", "hashes.0000.rdat"] {
        let path = tables.join(file);
        let bytes = fs::read(&path).unwrap();
        // Every bit of an index or metadata, one bit of each byte of data.
        let step = if file.ends_with("dat") { 9 } else { 1 };
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            if report(&tables, true).corruption.is_empty() {
                let chunks = read(&tables, EVERYTHING, ChunkLimit::default()).unwrap();
                assert!(same_blocks(&chunks[0], &written), "{file} bit {bit}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(report(&tables, true).corruption, []);
}

#[test]
fn index_entries_out_of_order_or_outside_the_data_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    write(&temp.path().join("a"), Layout::Geth19, MAX_FILE, &[stored_chain(5, 40)]).unwrap();
    let folder = temp.path().join("a");
    let path = folder.join("headers.cidx");
    let bytes = fs::read(&path).unwrap();
    for (entry, file, end) in [(3, 0, 1), (3, 2, 50), (5, 0, 50_000), (5, 0, u32::MAX), (1, 7, 9)] {
        let mut bad = bytes.clone();
        let at = entry * ENTRY;
        bad[at..at + ENTRY].copy_from_slice(&Entry { file, end }.to_bytes());
        fs::write(&path, &bad).unwrap();
        let error = read(&folder, Want::default(), ChunkLimit::default()).unwrap_err();
        let location = error.location().unwrap();
        assert_eq!((&location.file, location.offset), (&path, at as u64), "{error}");
        assert_ne!(report(&folder, false).corruption, []);
    }
}

#[test]
fn a_bomb_in_an_item_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    write(&temp.path().join("a"), Layout::Geth19, MAX_FILE, &[stored_chain(2, 40)]).unwrap();
    let folder = temp.path().join("a");
    let path = folder.join("bodies.0000.cdat");
    let mut bytes = fs::read(&path).unwrap();
    bytes[..5].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    fs::write(&path, &bytes).unwrap();
    let error = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { announced: 0xffff_ffff, .. }), "{error}");
}

#[test]
fn writers_refuse_what_the_format_cannot_hold_and_leave_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("a");
    let error = |chunks: &[Chunk]| {
        write(&folder, Layout::Geth117, MAX_FILE, chunks).unwrap_err().to_string()
    };
    let consensus = chain(0, 2, 10);
    assert!(error(&[consensus]).contains("storage encoding"));
    let mut late = chain(7, 2, 10);
    late.receipts.clear();
    assert!(error(&[late]).contains("begins at 0"));
    let mut without = stored_chain(2, 10);
    without.bodies.clear();
    let mut second = chain(2, 2, 10);
    second.receipt_encoding = ReceiptEncoding::Storage;
    assert!(error(&[without, second.clone()]).contains("bodies of every block"));
    second.bodies.clear();
    assert!(error(&[stored_chain(2, 10), second]).contains("bodies of every block"));
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("x"), "x").unwrap();
    assert!(error(&[]).contains("a new or empty folder"));
}

#[test]
fn a_chain_of_headers_alone_has_empty_tables_of_bodies_and_receipts() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("a");
    let mut written = stored_chain(3, 10);
    written.bodies.clear();
    written.receipts.clear();
    write(&folder, Layout::Geth117, MAX_FILE, std::slice::from_ref(&written)).unwrap();
    let chunks = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap();
    assert!(same_blocks(&chunks[0], &written));
    let found = report(&folder, true);
    assert_eq!(found.corruption, []);
    let not_checked = |table| format!("not checked: {table}, a table without items");
    assert_eq!(found.notes, ["bodies", "receipts"].map(not_checked));
}

#[test]
fn inspect_warns_that_geth_drops_bodies_that_have_no_receipts() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("a");
    let mut written = stored_chain(3, 10);
    written.receipts.clear();
    write(&folder, Layout::Geth117, MAX_FILE, &[written]).unwrap();
    let found = report(&folder, true);
    assert_eq!((found.corruption.len(), found.notes.len()), (0, 2));
    assert!(found.notes[1].contains("drops the bodies"), "{:?}", found.notes);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn rewrites_the_folders_of_geth_byte_for_byte() {
    let fixtures = blockmill_testkit::fixtures();
    let era1 = fixtures.join("ethereum/era1");
    let files =
        [era1.join("mainnet-00000-5ec1ffb8.era1"), era1.join("mainnet-00001-a5364e9a.era1")];
    let mut reader = Archive::open(&files)
        .unwrap()
        .reader(EVERYTHING, ChunkLimit::default(), 0..=u64::MAX)
        .unwrap();
    let temp = tempfile::tempdir().unwrap();
    let folder = |name| temp.path().join(name);
    let mut new = Writer::with(&folder("geth-1.17"), Layout::Geth117, ROLL).unwrap();
    let mut old = Writer::with(&folder("geth-1.9"), Layout::Geth19, MAX_FILE).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        // These blocks have no transactions, so that both encodings are the empty list.
        assert!(chunk.receipts.iter().all(|receipts| receipts == [0xc0]));
        chunk.receipt_encoding = ReceiptEncoding::Storage;
        new.append(&chunk).unwrap();
        old.append(&chunk).unwrap();
    }
    new.finish().unwrap();
    old.finish().unwrap();
    for (name, tables) in [("geth-1.17", "geth-1.17/chain"), ("geth-1.9", "geth-1.9")] {
        let theirs = fixtures.join("ethereum/freezer").join(tables);
        let ours = temp.path().join(tables);
        let mut count = 0;
        for entry in fs::read_dir(&theirs).unwrap().map(Result::unwrap) {
            if entry.file_name() != "FLOCK" {
                let written = fs::read(ours.join(entry.file_name())).unwrap();
                assert!(written == fs::read(entry.path()).unwrap(), "{:?}", entry.path());
                count += 1;
            }
        }
        assert_eq!(fs::read_dir(&ours).unwrap().count(), count);
        assert_eq!(report(&fixtures.join("ethereum/freezer").join(name), false).corruption, []);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn folders_of_both_geth_versions_open_at_each_level_and_hold_16384_blocks() {
    let fixtures = blockmill_testkit::fixtures();
    for (name, totals) in [("geth-1.17", 0), ("geth-1.17/chain", 0), ("geth-1.9", 16_384)] {
        let folder = fixtures.join("ethereum/freezer").join(name);
        let chunks = read(&folder, EVERYTHING, ChunkLimit::default()).unwrap();
        let count = |of: fn(&Chunk) -> usize| chunks.iter().map(of).sum::<usize>();
        assert_eq!(count(Chunk::blocks), 16_384, "{name}");
        assert_eq!(count(|chunk| chunk.bodies.len()), 16_384, "{name}");
        assert_eq!(count(|chunk| chunk.receipts.len()), 16_384, "{name}");
        assert_eq!(count(|chunk| chunk.total_difficulties.len()), totals, "{name}");
        for (header, stated) in chunks[3].headers.iter().zip(&chunks[3].stated_hashes).step_by(64) {
            assert_eq!(blockmill_hashes::keccak256(header), *stated);
        }
    }
}
