//! Ancient folders: tables of an index with six bytes an item, and of data.

use std::ops::Range;

use super::Truth;
use crate::chains::Files;

/// Name, letter, and whether items are Snappy blocks.
const TABLES: [(&str, char); 5] =
    [("headers", 'c'), ("hashes", 'r'), ("bodies", 'c'), ("receipts", 'c'), ("bals", 'c')];

/// Tables without which a folder is still whole: a node need not have them. They must be gone
/// altogether, and then the program has nothing to compare. Access lists (`bals`) say nothing of
/// these blocks.
const OPTIONAL: [&str; 2] = ["receipts", "bals"];

/// The largest item that is unpacked.
const MOST: usize = 1 << 20;

fn entries(index: &[u8]) -> Vec<(u16, usize)> {
    let entry = |bytes: &[u8; 6]| {
        let [a, b, c, d, e, f] = *bytes;
        (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f]) as usize)
    };
    index.as_chunks().0.iter().map(entry).collect()
}

/// File and place of each item.
fn items(index: &[u8]) -> Vec<(u16, Range<usize>)> {
    let entries = entries(index);
    let place = |(i, pair): (usize, &[(u16, usize)])| {
        // the first entry counts what was deleted in front of the first item
        let start = if i == 0 || pair[0].0 != pair[1].0 { 0 } else { pair[0].1 };
        (pair[1].0, start..pair[1].1)
    };
    entries.windows(2).enumerate().map(place).collect()
}

/// The entries of an index, and the items of a data file.
pub fn extents(name: &str, bytes: &[u8], files: &Files) -> Vec<Range<usize>> {
    if name.ends_with("idx") {
        return (0..bytes.len() / 6).map(|i| i * 6..i * 6 + 6).collect();
    }
    let Some((table, _)) = name.split_once(".0000.") else { return vec![] };
    let letter = if name.ends_with("cdat") { 'c' } else { 'r' };
    let index = files.get(&format!("{table}.{letter}idx"));
    let items = items(index.map_or(&[], Vec::as_slice)).into_iter();
    let inside = |range: &Range<usize>| range.start < range.end && range.end <= bytes.len();
    items.map(|(_, range)| range).filter(inside).collect()
}

/// The items of a table, unpacked.
fn table(files: &Files, name: &str, letter: char) -> Result<Vec<Vec<u8>>, String> {
    let path = |rest: String| format!("ancient/chain/{name}.{rest}");
    let index = files.get(&path(format!("{letter}idx"))).ok_or(format!("no index of {name}"))?;
    if entries(index).first().is_none_or(|(_, deleted)| *deleted != 0) {
        return Err(format!("{name} does not begin at 0"));
    }
    let mut found = vec![];
    for (number, range) in items(index) {
        let data = files.get(&path(format!("{number:04}.{letter}dat")));
        let bytes = data.and_then(|data| data.get(range)).ok_or(format!("{name} is cut"))?;
        found.push(match letter {
            'r' => bytes.to_vec(),
            _ if snap::raw::decompress_len(bytes).is_ok_and(|length| length <= MOST) => {
                let plain = snap::raw::Decoder::new().decompress_vec(bytes);
                plain.map_err(|error| format!("{name}: {error}"))?
            }
            _ => return Err(format!("{name} does not unpack")),
        });
    }
    Ok(found)
}

/// Is anything of a table there, but for its metadata?
fn is_there(files: &Files, name: &str) -> bool {
    let prefix = format!("ancient/chain/{name}.");
    files.keys().any(|file| file.starts_with(&prefix) && !file.ends_with(".meta"))
}

pub fn truth(original: &Files, found: &Files, must: bool) -> Truth {
    let mut last = 0;
    for (name, letter) in TABLES {
        let expected = table(original, name, letter).expect("the original's tables");
        last = expected.len() as u64 - 1;
        if OPTIONAL.contains(&name) && !is_there(found, name) {
            continue;
        }
        match table(found, name, letter) {
            Err(why) => return Truth::Broken(why),
            Ok(items) if items != expected => {
                return Truth::Broken(format!("an item of {name} is missing or changed"));
            }
            Ok(_) => {}
        }
    }
    Truth::Same { last, must }
}
