//! Checks documents of shards for contradictions, and doubtful records against the bytes of files.

use super::documents::{Bodies, BodyResult, Headers, Record, SCHEMA};
use crate::BlockHash;
use crate::error::Error;
use crate::header::rules::verify_work;
use crate::index::pass1::announced_height;
use crate::index::scan::files::{io_error, open};
use crate::options::Options;
use blockmill_archive::blkdat::{
    BlockFile, BlockFiles, Corruption, CorruptionKind, FRAME, HEADER, MAX_BLOCK, MIN_BLOCK,
    Positioned, Shape, Source, Walk,
};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::ops::Range;

/// Maximum number of corrupt ranges of a file in a document.
const MAX_LISTED: usize = 1000;
/// Minimum size of a transaction and of an input, in bytes.
const LEAST_TRANSACTION: u64 = 60;
const LEAST_INPUT: u64 = 41;

/// Checks that a field of the shard of `file` has the expected value.
fn expect<T: PartialEq + Display>(
    file: &BlockFile,
    field: impl Into<String>,
    expected: T,
    found: T,
) -> Result<(), Error> {
    match expected == found {
        true => Ok(()),
        false => Err(inconsistent(file, field, expected, found)),
    }
}

fn inconsistent(
    file: &BlockFile,
    field: impl Into<String>,
    expected: impl Display,
    found: impl Display,
) -> Error {
    let (path, field) = (file.path().to_path_buf(), field.into());
    Error::Inconsistent { path, field, expected: expected.to_string(), found: found.to_string() }
}

/// Checks the headers of all shards against each other and against their files. Reads the bytes
/// between records, and records without proof of work, parent or child.
///
/// # Errors
/// Returns [`Error::Inconsistent`] with the first wrong field, and [`Error::Archive`] if a file
/// cannot be read.
pub(super) fn headers(
    files: &BlockFiles,
    shards: &[(&Headers, &[u32])],
    options: &Options,
) -> Result<(), Error> {
    let records = || shards.iter().flat_map(|(shard, _)| &shard.records);
    let hashes: HashSet<BlockHash> = records().map(|record| record.found(0).hash).collect();
    let parents: HashSet<BlockHash> =
        records().map(|record| record.found(0).header().previous()).collect();
    for (shard, own) in shards {
        if shard.sources.is_empty() {
            let (path, field) = (std::path::PathBuf::new(), "sources".to_owned());
            let (expected, found) = ("a file".into(), "none".into());
            return Err(Error::Inconsistent { path, field, expected, found });
        }
        let Some(first) = own.first().and_then(|file| files.files().get(*file as usize)) else {
            continue;
        };
        expect(first, "schema", SCHEMA, shard.schema)?;
        expect(first, "chain", options.params.name, shard.chain.as_str())?;
        for (i, source) in shard.sources.iter().enumerate() {
            let Some(file) = own.get(i).and_then(|file| files.files().get(*file as usize)) else {
                continue;
            };
            expect(file, format!("sources[{i}].bytes"), file.length(), source.bytes)?;
            let is_hash = source.sha256.len() == 64
                && source.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            let of = |it: bool| if it { "64 hexadecimal digits" } else { "another text" };
            expect(file, format!("sources[{i}].sha256"), of(true), of(is_hash))?;
            layout(file, i as u32, shard)?;
        }
        if let Some(stray) = shard.records.iter().position(|it| it.file as usize >= own.len()) {
            let (field, most) = (format!("records[{stray}].file"), own.len());
            return Err(inconsistent(
                first,
                field,
                format!("below {most}"),
                shard.records[stray].file,
            ));
        }
        doubtful(files, own, shard, (&hashes, &parents), options)?;
    }
    Ok(())
}

/// Checks that records and corrupt ranges of a file cover it without gaps, up to zeros at its end.
fn layout(file: &BlockFile, number: u32, shard: &Headers) -> Result<(), Error> {
    let own = (0..).zip(&shard.records).filter(|(_, record)| record.file == number);
    let own: Vec<(usize, &Record)> = own.collect();
    let ranges: Vec<&Corruption> = shard
        .corruption
        .iter()
        .filter(|(file, _)| *file == number)
        .map(|(_, range)| range)
        .collect();
    if shard.unlisted > 0 && ranges.len() < MAX_LISTED && shard.sources.len() == 1 {
        return Err(inconsistent(file, "unlisted", 0, shard.unlisted));
    }
    sizes(file, &own)?;
    let Shape::Records { .. } = file.shape() else { return whole(file, &own) };
    let is_gap = |range: &&&Corruption| !matches!(range.kind, CorruptionKind::WrongSize { .. });
    let gaps: HashMap<u64, u64> =
        ranges.iter().filter(is_gap).map(|range| (range.offset, range.length)).collect();
    let listed_to = match shard.unlisted {
        0 => u64::MAX,
        _ => ranges.last().map_or(0, |range| range.offset),
    };
    let (mut at, mut used) = (0, 0);
    for (i, record) in &own {
        let start = record.offset.saturating_sub(FRAME);
        let gap = gaps.get(&at).copied().filter(|_| start > at).unwrap_or(0);
        used += usize::from(gap > 0);
        if at + gap != start && at < listed_to {
            let field = format!("records[{i}].offset");
            return Err(inconsistent(file, field, at + gap + FRAME, record.offset));
        }
        at = record.offset + u64::from(record.size);
    }
    let length = file.length();
    let tail = gaps.get(&at).copied().unwrap_or(0);
    used += usize::from(tail > 0);
    if at + tail > length {
        return Err(inconsistent(file, "records", format!("{length} bytes"), at + tail));
    }
    let listed = ranges.iter().filter(is_gap).count();
    expect(file, "corruption (ranges between records)", used, listed)?;
    if shard.unlisted > 0 {
        return Ok(());
    }
    // the rest must be zeros
    match blocks_in(file, at + tail..length)? {
        (None, true) => {}
        (Some(offset), _) => {
            let field = format!("records[{}]", own.len());
            return Err(inconsistent(file, field, format!("a record at byte {offset}"), "none"));
        }
        (None, false) => {
            let expected = format!("a corrupt range from byte {} on", at + tail);
            return Err(inconsistent(file, "corruption", expected, "nothing"));
        }
    }
    for range in ranges.iter().filter(is_gap) {
        let bytes = range.offset..range.offset + range.length;
        if let (Some(offset), _) = blocks_in(file, bytes)? {
            return Err(inconsistent(
                file,
                "corruption",
                format!("a record at byte {offset}"),
                range,
            ));
        }
    }
    lengths(file, &own, &ranges)?;
    last_length(file, &own, &ranges)
}

/// Checks that each record has the size of a possible block.
fn sizes(file: &BlockFile, own: &[(usize, &Record)]) -> Result<(), Error> {
    let (least, most) = (MIN_BLOCK, MAX_BLOCK);
    match own.iter().find(|(_, record)| !(least..=most).contains(&record.size)) {
        None => Ok(()),
        Some((i, record)) => {
            let field = format!("records[{i}].size");
            Err(inconsistent(file, field, format!("{least} to {most}"), record.size))
        }
    }
}

/// Checks corrupt ranges against their bytes: wrong length fields, and the first bytes of others.
fn lengths(
    file: &BlockFile,
    own: &[(usize, &Record)],
    corruption: &[&Corruption],
) -> Result<(), Error> {
    for corruption in corruption {
        if let CorruptionKind::Junk(stated) = corruption.kind {
            let mut first = bytes_at(file, corruption.offset, 4)?;
            first.resize(4, 0);
            let (expected, stated) =
                (blockmill_verdict::Digits(&first), blockmill_verdict::Digits(&stated));
            let field = format!("corruption at byte {}", corruption.offset);
            expect(file, field, expected.to_string(), stated.to_string())?;
        }
        let CorruptionKind::WrongSize { stated, found } = corruption.kind else { continue };
        let record = own.iter().find(|(_, record)| record.offset == corruption.offset + FRAME);
        let size = record.map(|(_, record)| record.size);
        if size != Some(found) {
            let expected = size.map_or("a record".into(), |size| format!("{size} bytes"));
            return Err(inconsistent(file, "corruption", expected, corruption));
        }
        let frame = bytes_at(file, corruption.offset, FRAME as usize)?;
        let field = frame.last_chunk::<4>().map_or(0, |field| u32::from_le_bytes(*field));
        expect(file, format!("corruption at byte {} (stated)", corruption.offset), field, stated)?;
    }
    Ok(())
}

/// Checks the length field of the last record, which zeros may follow.
fn last_length(
    file: &BlockFile,
    own: &[(usize, &Record)],
    corruption: &[&Corruption],
) -> Result<(), Error> {
    let Some((i, record)) = own.last() else { return Ok(()) };
    let start = record.offset.saturating_sub(FRAME);
    let is_wrong = |it: &&&Corruption| matches!(it.kind, CorruptionKind::WrongSize { .. });
    if corruption.iter().filter(is_wrong).any(|corruption| corruption.offset == start) {
        return Ok(());
    }
    let frame = bytes_at(file, start, FRAME as usize)?;
    let stated = frame.last_chunk::<4>().map_or(0, |field| u32::from_le_bytes(*field));
    expect(file, format!("records[{i}].size"), stated, record.size)
}

/// Checks the records of a file without frames by reading it again.
fn whole(file: &BlockFile, own: &[(usize, &Record)]) -> Result<(), Error> {
    let opened = open(file)?;
    let mut walk = Walk::new(file, Positioned::new(&opened));
    let mut next = own.iter();
    while let Some(found) =
        walk.next_record().map_err(|error| io_error(file, "cannot read", error))?
    {
        let stated = next.next();
        let place = |offset: u64, size: u32| format!("{size} bytes at byte {offset}");
        let expected = place(found.offset, found.size);
        let stated = stated.map_or("none".into(), |(_, record)| place(record.offset, record.size));
        expect(file, "records", expected, stated)?;
    }
    match next.next() {
        None => Ok(()),
        Some((i, _)) => Err(inconsistent(file, format!("records[{i}]"), "none", "a record")),
    }
}

/// Returns the first record that begins in a range of a file, and whether the file has only zeros
/// from there on if there is none. Reads also the bytes after the range, to find the end of a
/// record.
fn blocks_in(file: &BlockFile, range: Range<u64>) -> Result<(Option<u64>, bool), Error> {
    if range.is_empty() {
        return Ok((None, true));
    }
    let opened = open(file)?;
    let mut walk = Walk::stretch(file, Positioned::new(&opened), range.start, file.length());
    let found = walk.next_record().map_err(|error| io_error(file, "cannot read", error))?;
    let start = found.map(|found| found.offset - FRAME).filter(|start| range.contains(start));
    Ok((start, walk.into_report().corruption_count == 0))
}

/// Reads bytes of a file and removes their obfuscation. Returns fewer bytes at the end of the file.
fn bytes_at(file: &BlockFile, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
    let opened = open(file)?;
    let mut source = Positioned::new(&opened);
    let bytes =
        source.look(offset, length).map_err(|error| io_error(file, "cannot read", error))?;
    let mut bytes = bytes[..length.min(bytes.len())].to_vec();
    file.key().apply(&mut bytes, offset);
    Ok(bytes)
}

/// Reads doubtful records again: those without proof of work, parent or child, and the heights that
/// blocks without a parent in the shard announce.
fn doubtful(
    files: &BlockFiles,
    own: &[u32],
    shard: &Headers,
    (hashes, parents): (&HashSet<BlockHash>, &HashSet<BlockHash>),
    options: &Options,
) -> Result<(), Error> {
    let in_shard: HashSet<BlockHash> = shard.records.iter().map(|it| it.found(0).hash).collect();
    for (i, record) in shard.records.iter().enumerate() {
        let Some(number) = own.get(record.file as usize).copied() else { continue };
        let Some(file) = files.files().get(number as usize) else { continue };
        let found = record.found(number);
        let previous = found.header().previous();
        let is_first = found.hash == options.params.genesis_hash;
        let is_known = is_first || hashes.contains(&previous);
        let is_proven = verify_work(&options.params, found.header().bits(), &found.hash).is_ok();
        if !(is_known && is_proven && parents.contains(&found.hash)) {
            let bytes = match file.shape() {
                Shape::Hex => continue,
                Shape::Records { .. } | Shape::Raw | Shape::Headers => {
                    bytes_at(file, record.offset, HEADER)?
                }
            };
            let (expected, stated) =
                (blockmill_verdict::Digits(&bytes), blockmill_verdict::Digits(&record.header.0));
            let field = format!("records[{i}].header");
            expect(file, field, expected.to_string(), stated.to_string())?;
        }
        let announced = match in_shard.contains(&previous) {
            true => None,
            false => announced_height(files, options, &found),
        };
        let text = |height: Option<u32>| height.map_or("none".into(), |it| it.to_string());
        let field = format!("records[{i}].announced");
        expect(file, field, text(announced), text(record.announced))?;
    }
    Ok(())
}

/// Checks the results of bodies against the records of their shard.
///
/// # Errors
/// Returns [`Error::Inconsistent`] with the first wrong field.
pub(super) fn bodies(
    file: &BlockFile,
    size_of: impl Fn(&BodyResult) -> Option<u32>,
    bodies: &Bodies,
) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for (i, row) in bodies.rows.iter().enumerate() {
        let field = |name: &str| format!("rows[{i}].{name}");
        let Some(size) = size_of(row) else {
            return Err(inconsistent(file, field("offset"), "the offset of a record", row.offset));
        };
        if !seen.insert((row.file, row.offset)) {
            return Err(inconsistent(file, field("offset"), "each record once", row.offset));
        }
        let bytes =
            u64::from(size.saturating_sub(row.trailing_bytes)).saturating_sub(MIN_BLOCK.into());
        let most = bytes / LEAST_TRANSACTION;
        let counts = match row.fault {
            Some(_) => (0, 0),
            None => (1, most),
        };
        if !(counts.0..=counts.1).contains(&row.transactions) {
            let expected = format!("{} to {}", counts.0, counts.1);
            return Err(inconsistent(file, field("transactions"), expected, row.transactions));
        }
        let least = row.transactions.saturating_sub(1);
        let most = if row.fault.is_some() { 0 } else { least + bytes / LEAST_INPUT };
        if !(least..=most).contains(&row.inputs) {
            let expected = format!("{least} to {most}");
            return Err(inconsistent(file, field("inputs"), expected, row.inputs));
        }
        let (end, trailing) = (row.offset + u64::from(size), u64::from(row.trailing_bytes));
        if row.trailing_bytes >= size {
            return Err(inconsistent(
                file,
                field("trailing_bytes"),
                format!("below {size}"),
                row.trailing_bytes,
            ));
        }
        let is_within =
            |it: &Record| it.offset >= end - trailing && it.offset + u64::from(it.size) <= end;
        if file.shape() != Shape::Hex && !row.hidden.iter().all(is_within) {
            let expected = format!("records in the last {trailing} bytes");
            return Err(inconsistent(file, field("hidden"), expected, "others"));
        }
    }
    Ok(())
}
