//! Whole files: written, read, corrupt.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Writer, index::CURRENT};
use crate::formats::e2store::accumulator::tests::proof;
use crate::formats::e2store::framing::FrameEncoder;
use crate::formats::e2store::write::put_framed;
use crate::formats::e2store::{self, Kind, PROOF};
use crate::input::pack::{ALL, pack};
use crate::sample::{chain, read};
use crate::{
    Accumulates, Archive, Chunk, ChunkLimit, Error, FileReport, Format, Packed, Part,
    ReceiptEncoding, Want, inspect,
};
use blockmill_rlp::Encode;

const EVERYTHING: Want = Want { bodies: true, receipts: true };

/// A generated chain with receipts in slim encoding.
fn slim(first: u64, count: u64, body: usize) -> Chunk {
    Chunk { receipt_encoding: ReceiptEncoding::Slim, ..chain(first, count, body) }
}

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

fn name_of(file: &Path) -> &str {
    file.file_name().unwrap().to_str().unwrap()
}

/// Writes `bytes` under a name that says nothing of them.
fn changed(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("changed.ere");
    fs::write(&path, bytes).unwrap();
    path
}

fn same_blocks(a: &Chunk, b: &Chunk) -> bool {
    (&a.headers, &a.bodies, &a.receipts, &a.total_difficulties)
        == (&b.headers, &b.bodies, &b.receipts, &b.total_difficulties)
}

fn read_one(file: &Path) -> Result<Vec<Chunk>, Error> {
    read(&[file.to_path_buf()], EVERYTHING, ChunkLimit::default())
}

fn report(file: &Path, deep: bool) -> FileReport {
    inspect(&[file.to_path_buf()], deep).unwrap().files.remove(0)
}

/// The records of a file: type and place of each.
fn records(bytes: &[u8]) -> Vec<(u16, std::ops::Range<usize>)> {
    let (mut at, mut found) = (0, vec![]);
    while at < bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 2..at + 6].try_into().unwrap()) as usize;
        found.push((u16::from_le_bytes([bytes[at], bytes[at + 1]]), at..at + 8 + len));
        at += 8 + len;
    }
    found
}

#[test]
fn what_is_written_is_read_again_whole_and_in_small_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let written = slim(0, 20, 300);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let last = blockmill_hashes::keccak256(written.headers.get(19));
    let hash: String = last[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(name_of(&files[0]), format!("testnet-00000-{hash}-noproofs.ere"));
    let chunks = read_one(&files[0]).unwrap();
    assert!(same_blocks(&chunks[0], &written));
    assert_eq!((chunks.len(), chunks[0].first), (1, Some(0)));
    assert_eq!(chunks[0].receipt_encoding, ReceiptEncoding::Slim);
    assert_eq!(chunks[0].accumulates, Some(Accumulates::BlocksBeforeMerge));
    assert_eq!(chunks[0].era_end.map(|end| (end.first, end.blocks)), Some((0, 20)));
    let bytes = fs::read(&files[0]).unwrap();
    for (part, section) in
        [(Part::Header, 0), (Part::Body, 1), (Part::Receipts, 2), (Part::TotalDifficulty, 4)]
    {
        let at = chunks[0].location(part, 7).unwrap().offset as usize;
        assert_eq!(bytes[at..at + 2], CURRENT.sections[section].to_le_bytes(), "{part:?}");
    }
    let small = read(&files, EVERYTHING, ChunkLimit { blocks: 3, bytes: 1 << 20 }).unwrap();
    assert_eq!(small.iter().map(Chunk::blocks).collect::<Vec<_>>(), [3, 3, 3, 3, 3, 3, 2]);
    let headers: Vec<_> = small.iter().flat_map(|chunk| chunk.headers.iter()).collect();
    assert!(headers.into_iter().eq(written.headers.iter()));
    let headers = read(&files, Want::default(), ChunkLimit::default()).unwrap();
    assert!(headers[0].headers == written.headers && headers[0].bodies.is_empty());
}

#[test]
fn sections_follow_each_other_and_the_first_records_say_which_format_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (blocks, with_receipts) in [(1, true), (1, false), (3, true)] {
        let out = folder.path().join(format!("{blocks}-{with_receipts}"));
        let mut chunk = slim(0, blocks, 10);
        if !with_receipts {
            chunk.receipts.clear();
        }
        let file = write(&out, &[chunk]).unwrap().remove(0);
        let bytes = fs::read(&file).unwrap();
        let kinds: Vec<_> = records(&bytes).into_iter().map(|(kind, _)| kind).collect();
        let mut expected = vec![0x3265];
        let sections: &[u16] = if with_receipts { &[3, 4, 10, 6] } else { &[3, 4, 6] };
        sections.iter().for_each(|kind| expected.extend(vec![*kind; blocks as usize]));
        expected.extend([7, 0x3267]);
        assert_eq!(kinds, expected);
        assert_eq!(name_of(&file).ends_with("-noproofs-noreceipts.ere"), !with_receipts);
        let other = folder.path().join("x");
        fs::write(&other, &bytes).unwrap();
        assert_eq!(e2store::kind_of(&other, &bytes[..16]).unwrap(), Some(Kind::Ere));
        let archive = Archive::open(&[other]).unwrap();
        assert_eq!((archive.format(), archive.has_receipts()), (Format::Ere, with_receipts));
    }
}

#[test]
fn a_compressed_file_gives_the_same_blocks_and_places_that_count_unpacked_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let written = slim(0, 20, 300);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let plain = fs::read(&files[0]).unwrap();
    for compression in ALL {
        fs::write(&files[0], pack(compression, &plain)).unwrap();
        let chunks = read_one(&files[0]).unwrap();
        assert!(same_blocks(&chunks[0], &written), "{compression}");
        assert!(chunks[0].location(Part::Body, 0).unwrap().unpacked);
        let mut bad = plain.clone();
        bad[1400] ^= 1;
        fs::write(&files[0], pack(compression, &bad)).unwrap();
        let error = read_one(&files[0]).unwrap_err();
        assert!(error.to_string().contains("at unpacked byte"), "{compression}: {error}");
    }
}

#[test]
fn eras_go_to_files_of_their_own_and_receipts_are_there_for_all_blocks_of_a_file_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut unknown = slim(8193, 2, 10);
    unknown.receipts.clear();
    let files = write(folder.path(), &[slim(8190, 3, 10), unknown]).unwrap();
    assert!(name_of(&files[0]).starts_with("testnet-00000-"));
    assert!(name_of(&files[1]).starts_with("testnet-00001-"));
    assert!(name_of(&files[1]).ends_with("-noproofs-noreceipts.ere"));
    let chunks = read(&files, EVERYTHING, ChunkLimit::default()).unwrap();
    let firsts: Vec<_> = chunks.iter().map(|c| (c.first, c.blocks(), c.receipts.len())).collect();
    assert_eq!(firsts, [(Some(8190), 2, 2), (Some(8192), 3, 0)]);
    assert!(!Archive::open(&files).unwrap().has_receipts());
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[slim(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    for len in 8..bytes.len() {
        let cut = changed(folder.path(), &bytes[..len]);
        let error = read_one(&cut).unwrap_err();
        let is_cut = matches!(error, Error::Truncated { .. } | Error::Missing { .. });
        assert!(is_cut, "cut at {len}: {error}");
    }
    let longer = changed(folder.path(), &[&bytes[..], b"more"].concat());
    let error = read_one(&longer).unwrap_err().to_string();
    assert!(error.ends_with("end of the file: expected no more bytes, found 4 more"), "{error}");
}

#[test]
fn a_flipped_bit_anywhere_but_in_the_first_number_is_damage_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let written = slim(0, 2, 20);
    let files = write(folder.path(), std::slice::from_ref(&written)).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let index = records(&bytes).pop().unwrap().1;
    let first_number = index.start + 8..index.start + 16;
    let mut harmless = 0;
    for at in (0..bytes.len()).filter(|at| !first_number.contains(at)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let bad = changed(folder.path(), &flipped);
        if report(&bad, true).corruption.is_empty() {
            // A copy's distance may name other bytes of the same value, as in an empty bloom.
            let chunks = read_one(&bad).unwrap();
            assert!(same_blocks(&chunks[0], &written), "byte {at}");
            harmless += 1;
        }
    }
    assert!(harmless < bytes.len() / 50, "{harmless} flips passed");
    assert_eq!(report(&files[0], true).corruption, []);
}

#[test]
fn offsets_that_do_not_point_at_the_parts_of_blocks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[slim(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let index = records(&bytes).pop().unwrap().1;
    let entry = |i: usize| index.start + 16 + 8 * i;
    for (i, relative) in [(0, 0), (4, i64::MIN), (5, i64::MAX), (6, -1), (7, -1_000_000)] {
        let mut bad = bytes.clone();
        bad[entry(i)..entry(i) + 8].copy_from_slice(&i64::to_le_bytes(relative));
        let error = read_one(&changed(folder.path(), &bad)).unwrap_err();
        let found = error.location().map(|location| location.offset);
        assert_eq!(found, Some(entry(i) as u64), "{error}");
    }
    // one that points into a section is found when the record does not end there
    for i in 4..12 {
        let mut bad = bytes.clone();
        let low = bad[entry(i)].wrapping_add(8);
        bad[entry(i)] = low;
        assert!(read_one(&changed(folder.path(), &bad)).is_err(), "entry {i}");
    }
}

#[test]
fn a_name_that_does_not_fit_the_content_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), &[slim(8192, 3, 40)]).unwrap().remove(0);
    let refusal = |name: &str| {
        let path = folder.path().join(name);
        fs::copy(&file, &path).unwrap();
        read_one(&path).unwrap_err().to_string()
    };
    let hash = refusal("testnet-00001-deadbeef-noproofs.ere");
    assert!(hash.contains("hash of the last block in the name of the file"), "{hash}");
    let era = refusal(&name_of(&file).replace("-00001-", "-00002-"));
    assert!(era.contains("era in the name of the file: expected 1"), "{era}");
    // names of another shape say nothing
    let other = folder.path().join("testnet-deadbeef.ere");
    fs::copy(&file, &other).unwrap();
    assert_eq!(read_one(&other).unwrap()[0].blocks(), 3);
}

#[test]
fn files_of_the_first_version_have_other_types() {
    let folder = tempfile::tempdir().unwrap();
    let written = slim(0, 3, 40);
    let file = write(folder.path(), std::slice::from_ref(&written)).unwrap().remove(0);
    let mut bytes = fs::read(&file).unwrap();
    for (kind, place) in records(&bytes) {
        let early = match kind {
            0x0a => 0x08_u16,
            0x3267 => 0x3266,
            kind => kind,
        };
        bytes[place.start..place.start + 2].copy_from_slice(&early.to_le_bytes());
    }
    let early = folder.path().join("early.erae");
    fs::write(&early, &bytes).unwrap();
    assert!(same_blocks(&read_one(&early).unwrap()[0], &written));
    let found = report(&early, true);
    assert_eq!((found.format, found.corruption.len()), (Some(Format::Ere), 0));
    assert!(found.notes.iter().any(|note| note.contains(".erae")), "{:?}", found.notes);
}

/// A file of blocks with all other parts, and a proof of each of `kind`.
fn with_proofs(bytes: &[u8], kind: u64, proofs: &[Vec<u8>]) -> Vec<u8> {
    let mut records = records(bytes);
    let index = records.pop().unwrap().1;
    let totals = records.iter().position(|(kind, _)| *kind == 6).unwrap();
    let (mut out, mut frames) = (vec![], FrameEncoder::new());
    let mut offsets: [Vec<usize>; 5] = Default::default();
    for (i, (kind_of_record, place)) in records.into_iter().enumerate() {
        if i == totals {
            for branch in proofs {
                offsets[4].push(out.len());
                let item = blockmill_rlp::RawList(&[&[kind.encode(), branch.encode()].concat()]);
                put_framed(&mut out, &mut frames, PROOF, &item.encode());
            }
        }
        let part = [3, 4, 10, 6].iter().position(|kind| *kind == kind_of_record);
        part.into_iter().for_each(|part| offsets[part].push(out.len()));
        out.extend_from_slice(&bytes[place]);
    }
    let at = out.len();
    let mut data = bytes[index.start + 8..index.start + 16].to_vec();
    for block in 0..proofs.len() {
        let relative = offsets.iter().map(|part| part[block] as i64 - at as i64);
        data.extend(relative.flat_map(i64::to_le_bytes));
    }
    data.extend([5, proofs.len() as u64].map(u64::to_le_bytes).as_flattened());
    e2store::put_header(&mut out, 0x3267, data.len() as u32);
    [out, data].concat()
}

#[test]
fn proofs_by_the_accumulator_are_verified_and_others_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let written = slim(0, 21, 40);
    let file = write(folder.path(), std::slice::from_ref(&written)).unwrap().remove(0);
    let bytes = fs::read(&file).unwrap();
    let hashes = written.headers.iter().map(blockmill_hashes::keccak256);
    let known: Vec<_> = hashes.zip(written.total_difficulties.iter().copied()).collect();
    let proofs: Vec<_> = (0..21).map(|index| proof(&known, index)).collect();
    let unchecked = |kind, proofs: &[Vec<u8>], limit| -> Result<u64, Error> {
        let file = changed(folder.path(), &with_proofs(&bytes, kind, proofs));
        let chunks = read(&[file], EVERYTHING, limit)?;
        assert_eq!(chunks.iter().map(Chunk::blocks).sum::<usize>(), 21);
        Ok(chunks.iter().map(|chunk| chunk.unchecked_proofs).sum())
    };
    let small = ChunkLimit { blocks: 4, bytes: 1 << 20 };
    for limit in [ChunkLimit::default(), small] {
        assert_eq!(unchecked(0, &proofs, limit).unwrap(), 0);
        // a proof by roots of the beacon chain, and one that is too short for this type
        assert_eq!(unchecked(1, &proofs, limit).unwrap(), 21);
        let mut short = proofs.clone();
        short[3].truncate(64);
        assert_eq!(unchecked(0, &short, limit).unwrap(), 1);
        let mut exchanged = proofs.clone();
        exchanged.swap(5, 6);
        let error = unchecked(0, &exchanged, limit).unwrap_err();
        assert!(error.to_string().contains("accumulator by the proof"), "{error}");
        let mut flipped = proofs.clone();
        flipped[20][479] ^= 1;
        assert!(unchecked(0, &flipped, limit).is_err());
    }
    // the blocks before a wrong proof are whole
    let mut exchanged = proofs.clone();
    exchanged.swap(5, 6);
    let file = changed(folder.path(), &with_proofs(&bytes, 0, &exchanged));
    let archive = Archive::open(&[file]).unwrap();
    let mut reader = archive.reader(EVERYTHING, ChunkLimit::default(), 0..=20).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    assert!(reader.read(&mut packed).unwrap());
    assert!(packed.unpack(&mut chunk).is_err());
    assert_eq!((chunk.blocks(), chunk.bodies.len(), chunk.era_end), (5, 5, None));
    // a reader of headers leaves proofs out
    let file = changed(folder.path(), &with_proofs(&bytes, 0, &proofs[1..]));
    assert!(read(std::slice::from_ref(&file), EVERYTHING, small).is_err());
    let file = changed(folder.path(), &with_proofs(&bytes, 1, &proofs));
    let headers = read(std::slice::from_ref(&file), Want::default(), small).unwrap();
    assert_eq!(headers.iter().map(|chunk| chunk.unchecked_proofs).sum::<u64>(), 0);
    let found = report(&file, true);
    assert_eq!(found.corruption, []);
    assert!(found.notes.iter().any(|note| note.contains("not checked: 21 proofs")), "{found:?}");
}

#[test]
fn inspection_counts_the_records_of_a_file_without_index() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[slim(0, 3, 40)]).unwrap();
    let bytes = fs::read(&files[0]).unwrap();
    let found = report(&changed(folder.path(), &bytes[..bytes.len() - 60]), false);
    assert_eq!((found.format, found.blocks, found.last), (Some(Format::Ere), 3, None));
    assert_eq!(found.corruption.len(), 1, "{:?}", found.corruption);
    assert!(found.notes[0].contains("3 header records, 3 body records"), "{:?}", found.notes);
}

#[test]
fn writers_refuse_what_the_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let error = |chunks: &[Chunk]| write(folder.path(), chunks).unwrap_err().to_string();
    assert!(error(&[]).contains("at least one block"));
    assert!(error(&[chain(0, 2, 1)]).contains("slim encoding"));
    let mut blocks = slim(5, 2, 1);
    blocks.total_difficulties.clear();
    // these blocks have a difficulty
    assert!(error(&[blocks.clone()]).contains("total difficulties"));
    blocks.bodies.clear();
    assert!(error(&[blocks]).contains("a body for each header"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
