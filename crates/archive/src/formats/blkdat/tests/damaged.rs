//! Whatever is changed in a file, blocks with unchanged bytes are found, and the rest is reported.

use super::generated::{Random, blocks, records};
use super::{MAGIC, scan, scan_both_ways};
use crate::blkdat::{CorruptionKind, FRAME, FileReport, Record, XorKey};

const KEY: XorKey = XorKey([0x46, 0xc3, 0x20, 0x4f, 0x98, 0xc0, 0x17, 0xa3]);

fn scan_clear(bytes: &[u8]) -> (Vec<Record>, FileReport) {
    scan(bytes, bytes.len(), XorKey::default())
}

fn offsets(found: &[Record]) -> Vec<usize> {
    found.iter().map(|record| record.offset as usize).collect()
}

/// Every byte of the file is in a record, reported as corrupt, or a zero at the end.
fn assert_accounted(found: &[Record], report: &FileReport) {
    let wrong =
        report.corruption.iter().filter(|d| !matches!(d.kind, CorruptionKind::WrongSize { .. }));
    let named: u64 = wrong.map(|corruption| corruption.length).sum();
    let blocks: u64 = found.iter().map(|record| FRAME + u64::from(record.size)).sum();
    assert_eq!(named + blocks + report.zero_tail, report.bytes, "{report:?}");
    assert_eq!(report.records, found.len() as u64);
}

#[test]
fn whole_files_are_read_in_every_way_with_and_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let (file, starts) = records(&blocks(50, 1), MAGIC);
    for key in [XorKey::default(), KEY] {
        let (found, report) = scan_both_ways(&file, key, &folder.path().join("file"));
        assert_eq!(offsets(&found), starts);
        assert_eq!((report.corruption_count, report.zero_tail), (0, 0));
    }
}

#[test]
fn zeros_at_the_end_are_no_damage_whether_obfuscated_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let (mut file, starts) = records(&blocks(5, 2), MAGIC);
    let length = file.len();
    for zeros in [1, 3, 79, 100, 1 << 20] {
        file.resize(length + zeros, 0);
        let (found, report) = scan_both_ways(&file, KEY, &folder.path().join("file"));
        assert_eq!((offsets(&found), report.corruption_count), (starts.clone(), 0));
        assert_eq!(report.zero_tail, zeros as u64);
        // as left by a program that allocates in advance: the zeros are not obfuscated
        KEY.apply(&mut file[length..], length as u64);
        let (found, report) = scan_both_ways(&file, KEY, &folder.path().join("file"));
        assert_eq!((offsets(&found), report.corruption_count), (starts.clone(), 0));
        assert_eq!(report.zero_tail, zeros as u64);
        file.truncate(length);
    }
}

#[test]
fn a_cut_anywhere_loses_only_the_block_that_is_cut() {
    let (file, starts) = records(&blocks(8, 3), MAGIC);
    for length in 0..file.len() {
        let (found, report) = scan_clear(&file[..length]);
        let whole = starts.iter().skip(1).filter(|start| *start - 8 <= length).count();
        assert_eq!(offsets(&found), starts[..whole], "cut at {length}");
        let rest = length - if whole == 0 { 0 } else { starts[whole] - 8 };
        let expected = (rest > 0).then_some((length - rest) as u64);
        assert_eq!(
            report.corruption.first().map(|corruption| corruption.offset),
            expected,
            "at {length}"
        );
        let kinds = report.corruption.iter().map(|corruption| corruption.kind);
        assert!(kinds.clone().all(|kind| matches!(kind, CorruptionKind::Truncated { .. })));
        assert_accounted(&found, &report);
    }
}

#[test]
fn any_flipped_bit_loses_at_most_the_block_that_it_is_in() {
    let (mut file, starts) = records(&blocks(6, 4), MAGIC);
    let mut lost = 0;
    for location in 0..file.len() {
        let record = starts.iter().rposition(|start| start - 8 <= location).unwrap();
        for bit in 0..8 {
            file[location] ^= 1 << bit;
            let (found, report) = scan_clear(&file);
            let mut others = offsets(&found);
            others.retain(|offset| *offset != starts[record]);
            let mut expected = starts.clone();
            expected.remove(record);
            assert_eq!(others, expected, "bit {bit} of byte {location}");
            let in_frame = location < starts[record];
            if found.len() < starts.len() || in_frame {
                assert_eq!(report.corruption_count, 1, "bit {bit} of byte {location}");
                assert_eq!(report.corruption[0].offset, starts[record] as u64 - 8);
            } else {
                assert_eq!(report.corruption_count, 0, "bit {bit} of byte {location}");
            }
            lost += starts.len() - found.len();
            assert_accounted(&found, &report);
            file[location] ^= 1 << bit;
        }
    }
    // a wrong magic loses a block, a wrong size does not
    assert_eq!(lost, starts.len() * 32);
}

#[test]
fn junk_between_records_is_passed_over_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let chain = blocks(4, 5);
    let mut random = Random::new(6);
    let parts: [Vec<u8>; 6] = [
        random.bytes(7),
        random.bytes(200_000),
        vec![0; 300],
        [&MAGIC[..], &[0xff; 4]].concat(),
        [&MAGIC[..], &[0, 1, 0, 0], &[7; 90]].concat(),
        records(&blocks(1, 7), [0x0b, 0x11, 0x09, 0x07]).0,
    ];
    for (number, junk) in parts.iter().enumerate() {
        let mut file = junk.clone();
        let mut starts = vec![];
        for block in &chain {
            starts.push(file.len() + 8);
            file.extend(records(std::slice::from_ref(block), MAGIC).0);
            file.extend(junk);
        }
        let (found, report) = scan_both_ways(&file, KEY, &folder.path().join("file"));
        assert_eq!(offsets(&found), starts, "junk {number}");
        let zeros = number == 2;
        assert_eq!(report.corruption_count, if zeros { 4 } else { 5 }, "junk {number}");
        // zeros at the end of the last junk count as the file's
        assert!(
            report.corruption[..4].iter().all(|corruption| corruption.length == junk.len() as u64)
        );
        assert_accounted(&found, &report);
        let text = report.corruption[1].to_string();
        let expected = ["7 bytes", "200000 bytes", "300 zeros", "4294967295", "of 256", "testnet3"];
        assert!(text.contains(expected[number]), "{text}");
    }
}

#[test]
fn files_that_look_like_many_long_blocks_take_no_time() {
    // each byte begins a plausible record in which one number after the other can be read
    let mut file = vec![];
    while file.len() < 4 << 20 {
        file.extend_from_slice(&MAGIC);
        file.extend_from_slice(&[0, 0, 0x10, 0]);
        file.extend_from_slice(&[1; 81]);
    }
    let (found, report) = scan_clear(&file);
    assert_eq!(found.len(), 0);
    assert_accounted(&found, &report);
}

/// Finds records in clear bytes with every decision written out, as slowly as it likes.
mod naive {
    use super::MAGIC;
    use crate::blkdat::extent::{Tiny, block_length};

    pub fn records(file: &[u8]) -> Vec<(usize, usize)> {
        let (mut at, mut found) = (0, vec![]);
        while at + 88 <= file.len() {
            match record(file, at) {
                Some(size) => {
                    found.push((at + 8, size));
                    at += 8 + size;
                }
                None => at += 1,
            }
        }
        found
    }

    fn record(file: &[u8], at: usize) -> Option<usize> {
        let stated = u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        if file[at..at + 4] != MAGIC {
            return None;
        }
        let block = &file[at + 8..];
        let fits = (81..=4_000_000).contains(&stated) && stated <= block.len();
        if fits && is_boundary(&block[stated..], false) {
            return Some(stated);
        }
        let limit = block.len().min(4_000_000) as u64;
        let look = |at: u64| Ok::<_, ()>(Tiny::new(&block[at as usize..]));
        let found = block_length(limit, &mut { u64::MAX }, look).unwrap()? as usize;
        let inside = fits && found <= stated;
        (inside || is_boundary(&block[found..], true)).then_some(found)
    }

    fn is_boundary(rest: &[u8], or_zeros: bool) -> bool {
        let zeros = rest.iter().take(88).all(|byte| *byte == 0);
        rest.is_empty()
            || rest[..rest.len().min(4)] == MAGIC[..rest.len().min(4)]
            || (or_zeros && zeros)
    }
}

#[test]
fn thousands_of_damaged_files_give_what_the_naive_search_finds() {
    let chain = blocks(12, 8);
    let (clean, _) = records(&chain, MAGIC);
    let mut random = Random::new(9);
    for round in 0..3000 {
        let mut file = clean.clone();
        for _ in 0..1 + random.below(6) {
            mutate(&mut file, &mut random);
        }
        let (found, report) = scan_clear(&file);
        let pairs: Vec<_> = found.iter().map(|r| (r.offset as usize, r.size as usize)).collect();
        assert_eq!(pairs, naive::records(&file), "round {round}");
        assert_accounted(&found, &report);
    }
}

fn mutate(file: &mut Vec<u8>, random: &mut Random) {
    if file.is_empty() {
        return;
    }
    let location = random.below(file.len());
    let longest = 1 + random.below(400);
    let length = random.below(longest).min(file.len() - location);
    match random.below(8) {
        0 => file[location] ^= 1 << random.below(8),
        1 => file[location] = random.next_u64() as u8,
        2 => file.truncate(location),
        3 => drop(file.drain(location..location + length)),
        4 => file[location..location + length].fill(0),
        5 => drop(file.splice(location..location, random.bytes(length))),
        6 => drop(file.splice(location..location, MAGIC)),
        _ => {
            let copy = file[location..location + length].to_vec();
            let to = random.below(file.len() + 1);
            drop(file.splice(to..to, copy));
        }
    }
}

#[test]
fn damaged_files_are_read_alike_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let (clean, _) = records(&blocks(30, 10), MAGIC);
    let mut random = Random::new(11);
    for round in 0..200 {
        let mut file = clean.clone();
        (0..3).for_each(|_| mutate(&mut file, &mut random));
        let key = if round % 2 == 0 { KEY } else { XorKey::default() };
        let (found, _) = scan_both_ways(&file, key, &folder.path().join("file"));
        assert_eq!(found.len(), naive::records(&file).len(), "round {round}");
    }
}
