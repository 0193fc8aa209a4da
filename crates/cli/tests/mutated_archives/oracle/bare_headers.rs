//! Headers of Bitcoin: 80 bytes each, back to back, from the genesis block on.

use std::ops::Range;

use super::Truth;

const HEADER: usize = 80;

/// Whole headers.
pub fn extents(bytes: &[u8]) -> Vec<Range<usize>> {
    (0..bytes.len() / HEADER).map(|i| i * HEADER..(i + 1) * HEADER).collect()
}

fn hash(header: &[u8]) -> [u8; 32] {
    blockmill_hashes::sha256d(header)
}

/// Readers link headers in any order, so a header may come again or elsewhere. One that follows a
/// header of the chain is a stale branch, or the last header, for which nothing vouches.
pub fn truth(original: &[u8], found: &[u8], must: bool) -> Truth {
    let (chain, rest) = original.as_chunks::<HEADER>();
    assert!(rest.is_empty(), "the original is whole");
    let (records, rest) = found.as_chunks::<HEADER>();
    if records.first() != chain.first() {
        return Truth::Broken("it does not begin with the genesis block".into());
    }
    if !rest.is_empty() {
        return Truth::Broken("it ends in the middle of a header".into());
    }
    let hashes: Vec<[u8; 32]> = records.iter().map(|record| hash(record)).collect();
    let is_linked = |record: &[u8; HEADER]| hashes.iter().any(|hash| record[4..36] == hash[..]);
    if records[1..].iter().any(|record| *record != chain[0] && !is_linked(record)) {
        return Truth::Broken("a header connects to nothing".into());
    }
    let there = chain.iter().take_while(|header| records.contains(header)).count();
    if there == chain.len() {
        return Truth::Same { last: there as u64 - 1, must };
    }
    let tip = hash(&chain[there - 1]);
    match records.iter().any(|record| record[4..36] == tip) {
        true => Truth::LastHeader,
        false if there < 2 => Truth::Broken("only the genesis block is there".into()),
        false => Truth::Part { from: None, last: there as u64 - 1 },
    }
}
