//! Bitcoin block files: blocks after a magic and a size, in any order.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memmem;

use super::Truth;
use crate::chains::Files;

const MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];
const KEY: &str = "xor.dat";

/// The key of a folder; zeros when there is none.
pub fn xor_key(files: &Files) -> [u8; 8] {
    files.get(KEY).and_then(|key| key.as_slice().try_into().ok()).unwrap_or_default()
}

/// Obfuscates all block files, or undoes it.
pub fn apply_key(files: &mut Files, key: [u8; 8]) {
    for (_, bytes) in files.iter_mut().filter(|(name, _)| *name != KEY) {
        bytes.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
    }
}

/// Whole records, wherever they are. The bytes are as they lie in the file.
pub fn extents(name: &str, bytes: &[u8], files: &Files) -> Vec<Range<usize>> {
    if name == KEY {
        return vec![];
    }
    let key = xor_key(files);
    let clear: Vec<u8> = bytes.iter().zip(key.iter().cycle()).map(|(b, k)| b ^ k).collect();
    let mut ranges: Vec<Range<usize>> = vec![];
    for at in memmem::find_iter(&clear, &MAGIC) {
        let Some(size) = clear.get(at + 4..at + 8).and_then(|size| size.try_into().ok()) else {
            continue;
        };
        let end = at + 8 + u32::from_le_bytes(size) as usize;
        let inside_another = ranges.last().is_some_and(|last| at < last.end);
        if end <= clear.len() && end > at + 88 && !inside_another {
            ranges.push(at..end);
        }
    }
    ranges
}

/// A block in a record like `sample`.
pub fn framed(block: &[u8], sample: &[u8]) -> Vec<u8> {
    [&sample[..4], &(block.len() as u32).to_le_bytes(), block].concat()
}

/// Every block of a folder, in the order of files and places.
pub fn blocks_of(files: &Files) -> Vec<Vec<u8>> {
    let mut clear = files.clone();
    apply_key(&mut clear, xor_key(files));
    let mut blocks = vec![];
    for (name, bytes) in files {
        let records = extents(name, bytes, files).into_iter();
        blocks.extend(records.map(|range| clear[name][range.start + 8..range.end].to_vec()));
    }
    blocks
}

fn hash(block: &[u8]) -> [u8; 32] {
    blockmill_hashes::sha256d(&block[..80])
}

/// The longest chain, from the genesis block on.
fn longest(blocks: &[Vec<u8>]) -> Vec<&[u8]> {
    let mut by_hash: HashMap<[u8; 32], &[u8]> = HashMap::new();
    for block in blocks {
        by_hash.insert(hash(block), block);
    }
    let mut longest: Vec<&[u8]> = vec![];
    for block in blocks {
        let mut chain: Vec<&[u8]> = vec![block];
        while let Some(parent) = by_hash.get(&chain[chain.len() - 1][4..36]) {
            chain.push(parent);
        }
        if chain.len() > longest.len() {
            longest = chain;
        }
    }
    longest.reverse();
    longest
}

/// The headers of the longest chain, back to back.
pub fn headers_of(files: &Files) -> Vec<u8> {
    let blocks = blocks_of(files);
    longest(&blocks).into_iter().flat_map(|block| block[..80].to_vec()).collect()
}

/// How many bytes in a row are taken for a piece of a block, and how many of them are not zero.
const PIECE: usize = 8;
const LEAST_CONTENT: usize = 4;

/// Every piece of the records of `blocks`.
fn pieces_of<'a>(blocks: impl Iterator<Item = &'a [u8]>) -> HashSet<Vec<u8>> {
    let mut pieces = HashSet::new();
    for block in blocks {
        pieces.extend(framed(block, &MAGIC).windows(PIECE).map(<[u8]>::to_vec));
    }
    pieces.retain(|piece| piece.iter().filter(|byte| **byte != 0).count() >= LEAST_CONTENT);
    pieces
}

/// What is left of a file without the whole records of `blocks`.
fn remainders<'a>(bytes: &'a [u8], blocks: &[Vec<u8>]) -> Vec<&'a [u8]> {
    let mut inside = vec![false; bytes.len()];
    for block in blocks {
        let record = framed(block, &MAGIC);
        for at in memmem::find_iter(bytes, &record) {
            inside[at..at + record.len()].fill(true);
        }
    }
    let mut found = vec![];
    let mut at = 0;
    for run in inside.chunk_by(|a, b| a == b) {
        if !run[0] {
            found.push(&bytes[at..at + run.len()]);
        }
        at += run.len();
    }
    found
}

/// Is there anything left of the blocks that are `missing`? Bytes that other blocks have, too, show
/// nothing, but for the beginning of a record.
fn has_pieces(clear: &Files, blocks: &[Vec<u8>], missing: &[&[u8]]) -> bool {
    let mut pieces = pieces_of(missing.iter().copied());
    let others = blocks.iter().map(Vec::as_slice).filter(|block| !missing.contains(block));
    for piece in pieces_of(others) {
        pieces.remove(&piece);
    }
    let is_left = |rest: &&[u8]| {
        let head = rest.starts_with(&MAGIC) && rest.len() < PIECE;
        head || rest.windows(PIECE).any(|piece| pieces.contains(piece))
    };
    clear.values().any(|bytes| remainders(bytes, blocks).iter().any(is_left))
}

/// Only the longest chain counts: a branch that lost is no part of it, and its bodies are never
/// read (the program says how many such blocks there are). The genesis block is known to every
/// reader, so that it may be missing.
pub fn truth(original: &Files, found: &Files, foreign: &[u8], must: bool) -> Truth {
    let blocks = blocks_of(original);
    let chain = longest(&blocks);
    if found.get(KEY).is_some_and(|key| key.len() != 8) {
        return Truth::Broken("the key has another length".into());
    }
    let mut clear = found.clone();
    apply_key(&mut clear, xor_key(found));
    clear.remove(KEY);
    let is_there = |block: &&[u8]| clear.values().any(|bytes| memmem::find(bytes, block).is_some());
    if is_there(&foreign) {
        return Truth::Broken("a block is there that connects to nothing".into());
    }
    let missing: Vec<&[u8]> = chain.iter().copied().filter(|block| !is_there(block)).collect();
    if missing.is_empty() {
        let must = must && found.get(KEY) == original.get(KEY);
        return Truth::Same { last: chain.len() as u64 - 1, must };
    }
    let there = 1 + chain[1..].iter().take_while(|block| is_there(block)).count();
    if there == chain.len() {
        return Truth::Same { last: there as u64 - 1, must: false };
    }
    let later = chain[there..].iter().any(is_there);
    match later || there < 2 || has_pieces(&clear, &blocks, &missing) {
        true => Truth::Broken(format!("block {there} is missing or changed")),
        // files that end exactly after a block, as those of a node that was not as far
        false => Truth::Part { from: None, last: there as u64 - 1 },
    }
}
