//! Random corruption.

use std::fs;
use std::ops::Range;
use std::path::Path;

use blockmill_testkit::Random;

use crate::chains::{Files, Kind, Original, Packing, pack};
use crate::oracle;

/// A corrupt copy of an archive.
pub struct Mutant {
    /// The files as they lie on disk.
    pub files: Files,
    /// Whether any reader must take the archive for a whole one.
    pub harmless: bool,
    sibling: Files,
    kinds: Vec<&'static str>,
}

/// What is done to an archive. The first ones are about records, the last about bytes.
const KINDS: [&str; 19] = [
    "nothing",
    "record deleted",
    "record repeated",
    "records swapped",
    "foreign record",
    "record's head changed",
    "cut between records",
    "file deleted",
    "files exchanged",
    "file cut",
    "bytes inserted",
    "bytes deleted",
    "bytes changed",
    "bit flipped",
    "bits flipped",
    "zeroed",
    "noise at the end",
    "zeros at the end",
    "byte at the end",
];

/// Reorderings and zeros that Bitcoin Core itself leaves.
const HARMLESS_TO_BLOCKS: [&str; 4] =
    ["nothing", "record repeated", "records swapped", "zeros at the end"];

impl Mutant {
    /// A copy with one to two kinds of corruption.
    pub fn new(original: &Original, random: &mut Random) -> Self {
        let mut files = original.files.clone();
        let count = if random.below(5_u32) == 0 { 2 } else { 1 };
        let mut kinds = vec![];
        // of a compressed file half of the mutations are in what it unpacks to
        let inside = original.packing == Packing::None || random.coin();
        if !inside {
            files.values_mut().for_each(|bytes| *bytes = pack(original.packing, bytes));
        }
        for _ in 0..count {
            let kind = random.pick(&KINDS);
            let done = mutate(original, kind, &mut files, inside, random);
            kinds.push(if done { kind } else { "nothing" });
        }
        if inside {
            files.values_mut().for_each(|bytes| *bytes = pack(original.packing, bytes));
        }
        let allowed = |kind: &&str| match original.kind {
            Kind::Blocks => HARMLESS_TO_BLOCKS.contains(kind),
            _ => *kind == "nothing",
        };
        let harmless = kinds.iter().all(allowed);
        Self { files, harmless, sibling: original.sibling.clone(), kinds }
    }

    /// The kind of corruption, or that there are two.
    pub fn kind(&self) -> String {
        match &self.kinds[..] {
            [kind] => (*kind).into(),
            _ => "two of these".into(),
        }
    }

    /// Everything that was done.
    pub fn what(&self) -> String {
        self.kinds.join(", ")
    }

    /// Writes the files to a folder.
    pub fn write(&self, folder: &Path) {
        for (name, bytes) in self.files.iter().chain(&self.sibling) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("room for a small file");
        }
    }
}

/// Does one thing to the files; false where there is nothing to do it to.
fn mutate(
    original: &Original,
    kind: &str,
    files: &mut Files,
    inside: bool,
    random: &mut Random,
) -> bool {
    let names: Vec<String> = files.keys().cloned().collect();
    if names.is_empty() {
        return false;
    }
    let name = random.pick(&names);
    match kind {
        "nothing" => true,
        "file deleted" => files.remove(&name).is_some(),
        "files exchanged" => {
            let other = random.pick(&names);
            let (a, b) = (files[&name].clone(), files[&other].clone());
            let differ = a != b;
            files.insert(name, b);
            files.insert(other, a);
            differ
        }
        "record deleted"
        | "record repeated"
        | "records swapped"
        | "foreign record"
        | "record's head changed"
        | "cut between records" => inside && mutate_records(original, kind, files, random),
        _ => match files.get_mut(&name) {
            Some(bytes) => mutate_bytes(kind, bytes, random),
            None => false,
        },
    }
}

/// The records of all files as they are now.
fn extents(original: &Original, files: &Files) -> Vec<(String, Range<usize>)> {
    let of_file = |(name, bytes): (&String, &Vec<u8>)| -> Vec<(String, Range<usize>)> {
        let ranges = oracle::extents(original.kind, name, bytes, files);
        ranges.into_iter().map(|range| (name.clone(), range)).collect()
    };
    files.iter().flat_map(of_file).collect()
}

fn mutate_records(original: &Original, kind: &str, files: &mut Files, random: &mut Random) -> bool {
    let extents = extents(original, files);
    if extents.is_empty() {
        return false;
    }
    // blocks are obfuscated by their places, so they are moved in the clear
    let key = oracle::xor_key(files);
    let in_the_clear = |files: &mut Files| {
        if original.kind == Kind::Blocks {
            oracle::apply_key(files, key);
        }
    };
    in_the_clear(files);
    let (name, range) = random.pick(&extents);
    let record = files[&name][range.clone()].to_vec();
    match kind {
        "record deleted" => splice(files, &name, range, &[]),
        "record repeated" => {
            let (other, at) = random.pick(&extents);
            splice(files, &other, at.start..at.start, &record);
        }
        "records swapped" => {
            let (other, at) = random.pick(&extents);
            let second = files[&other][at.clone()].to_vec();
            // the later one first, so that places in front of it stay
            let first_is_later = (&name, range.start) > (&other, at.start);
            if first_is_later {
                splice(files, &name, range, &second);
                splice(files, &other, at, &record);
            } else if (&name, range.start) < (&other, at.start) {
                splice(files, &other, at, &record);
                splice(files, &name, range, &second);
            }
        }
        "foreign record" => {
            let foreign = match original.kind {
                Kind::Blocks => oracle::framed(&original.foreign, &record),
                _ => original.foreign.clone(),
            };
            let end = if random.coin() { range.end } else { range.start };
            splice(files, &name, range.start..end, &foreign);
        }
        "record's head changed" => {
            let head = range.start..range.end.min(range.start + 8);
            let at = head.start + random.below(head.len());
            let bytes = files.get_mut(&name).expect("a file with records");
            bytes[at] = random.next_u64() as u8;
        }
        _ => files.get_mut(&name).expect("a file with records").truncate(range.end),
    }
    in_the_clear(files);
    true
}

fn splice(files: &mut Files, name: &str, range: Range<usize>, by: &[u8]) {
    let bytes = files.get_mut(name).expect("a file with records");
    bytes.splice(range, by.iter().copied());
}

fn mutate_bytes(kind: &str, bytes: &mut Vec<u8>, random: &mut Random) -> bool {
    let at = random.below(bytes.len() + 1);
    let length = match random.below(3_u32) {
        0 => random.below(4_usize) + 1,
        1 => random.below(40_usize) + 1,
        _ => random.below(bytes.len().max(1)) + 1,
    };
    let range = at..bytes.len().min(at + length);
    match kind {
        "file cut" => bytes.truncate(at),
        "bytes inserted" => {
            let new = random.bytes(length.min(300));
            bytes.splice(at..at, new);
        }
        "bytes deleted" => {
            bytes.drain(range);
        }
        "bytes changed" => random.fill(&mut bytes[range.start..range.end.min(range.start + 40)]),
        "bit flipped" | "bits flipped" if bytes.is_empty() => return false,
        "bit flipped" => flip(bytes, random),
        "bits flipped" => (0..random.below(8_u32) + 2).for_each(|_| flip(bytes, random)),
        "zeroed" => bytes[range].fill(0),
        "noise at the end" => {
            let new = random.bytes(length.min(300));
            bytes.extend(new);
        }
        "zeros at the end" => bytes.resize(bytes.len() + length, 0),
        _ => bytes.push(random.next_u64() as u8),
    }
    true
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8_u32);
}
