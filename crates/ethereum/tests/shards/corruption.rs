//! Corruption at cuts, across them and elsewhere.

use super::*;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_rlp::Encode;
use std::collections::{BTreeMap, HashMap};

/// A body of these ommers and no transactions.
struct Ommers<'a>(&'a [Header]);

impl Encode for Ommers<'_> {
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|body| {
            body.list(|_| {});
            body.list(|list| self.0.iter().for_each(|ommer| ommer.write(list)));
        });
    }
}

fn header(block: &RealBlock) -> Header {
    HeaderView::decode(&block.header).unwrap().to_owned()
}

/// The ommers of a block.
fn ommers(block: &RealBlock) -> Vec<Header> {
    BodyView::decode(&block.body).unwrap().ommers().map(|ommer| ommer.to_owned()).collect()
}

/// Gives block `i` these ommers.
fn set_ommers(block: &mut RealBlock, ommers: &[Header]) {
    block.body = Ommers(ommers).encode();
    let list = BodyView::decode(&block.body).unwrap();
    assert_eq!(list.ommer_count(), ommers.len());
    let mut encoded = OnePass::default();
    encoded.list(|list| ommers.iter().for_each(|ommer| ommer.write(list)));
    let ommers_hash = blockmill_hashes::keccak256(&encoded.into_bytes());
    block.header = Header { ommers_hash, ..header(block) }.encode();
}

/// Makes each block from `from` on name the one before it.
fn relink(blocks: &mut [RealBlock], from: usize) {
    for i in from.max(1)..blocks.len() {
        let parent_hash = blockmill_hashes::keccak256(&blocks[i - 1].header);
        blocks[i].header = Header { parent_hash, ..header(&blocks[i]) }.encode();
    }
}

/// Changes one field of a header.
fn change(random: &mut Random, header: &mut Header) {
    let step = 1 + random.below(3_u64);
    match random.below(14_usize) {
        0 => header.timestamp = header.timestamp.wrapping_sub(1_000),
        1 => header.timestamp = header.timestamp.wrapping_add(100_000),
        2 => header.number = header.number.wrapping_add(step),
        3 => header.number = header.number.saturating_sub(step),
        4 => header.gas_limit = header.gas_limit.wrapping_add(1 << 20),
        5 => header.gas_used = header.gas_limit.wrapping_add(1),
        6 => header.difficulty += blockmill_ethereum::U256::from(step),
        7 => header.extra_data = vec![1; 33],
        8 => header.parent_hash[5] ^= 1,
        9 => header.ommers_hash[5] ^= 1,
        10 => header.base_fee = header.base_fee.map(|fee| fee.saturating_add(fee)),
        11 => header.excess_blob_gas = header.excess_blob_gas.map(|gas| gas + (1 << 17)),
        12 => header.transactions_root[0] ^= 1,
        _ => header.difficulty = blockmill_ethereum::U256::ZERO,
    }
}

/// A block near a cut, after the first one.
fn near_cut(random: &mut Random, cuts: &[usize], blocks: usize) -> usize {
    let at = random.pick(cuts) as i64 + random.below(10_u64) as i64 - 1;
    (at.max(1) as usize).min(blocks - 1)
}

/// Where the parts begin but the first.
fn cuts_of(parts: &[&[RealBlock]]) -> Vec<usize> {
    let ends = parts.iter().scan(0, |at, part| {
        *at += part.len();
        Some(*at)
    });
    let cuts: Vec<_> = ends.take(parts.len() - 1).collect();
    if cuts.is_empty() { vec![1] } else { cuts }
}

/// Cuts `blocks` as `parts` are cut.
fn same_cuts<'b>(parts: &[&[RealBlock]], mut blocks: &'b [RealBlock]) -> Vec<&'b [RealBlock]> {
    let mut same = vec![];
    for part in parts {
        let (first, rest) = blocks.split_at(part.len());
        same.push(first);
        blocks = rest;
    }
    same
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn corrupt_headers_near_cuts_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("corrupt_headers_near_cuts");
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let chains = [mainnet(300), published("execution-apis"), published("geth-ethtest")];
    for (spec, blocks) in chains {
        for _ in 0..blockmill_testkit::rounds(100) {
            let parts = cut(&mut random, &blocks);
            let mut bad = blocks.clone();
            for _ in 0..1 + random.below(2_usize) {
                let i = near_cut(&mut random, &cuts_of(&parts), blocks.len());
                let mut changed = header(&bad[i]);
                change(&mut random, &mut changed);
                bad[i].header = changed.encode();
                if random.coin() {
                    relink(&mut bad, i + 1);
                }
            }
            let folder = tempfile::tempdir().unwrap();
            let files = write_parts(folder.path(), &same_cuts(&parts, &bad));
            let level = if random.coin() { Level::Headers } else { Level::Bodies };
            let mut options = options(&spec, level);
            options.chunk.blocks = random.pick(&[1, 2, 3, 7, 8, 2048]);
            *verdicts.entry(expect_same(&files, &options, "header")).or_default() += 1;
        }
    }
    println!("{verdicts:#?}");
    assert!(verdicts.len() >= blockmill_testkit::rounds(12).min(8), "{verdicts:?}");
}

/// An ommer for block `i` that breaks a rule, or keeps all of them.
fn odd_ommer(random: &mut Random, blocks: &[RealBlock], i: usize) -> Header {
    let back = 1 + random.below(9_usize);
    let ancestor = header(&blocks[i.saturating_sub(back)]);
    // a sibling of the ancestor, of whose parent it keeps every rule
    let mut ommer = Header { extra_data: vec![random.below(9_u64) as u8], ..ancestor.clone() };
    match random.below(8_usize) {
        0 => return ancestor,
        1 => ommer.number = ommer.number.wrapping_add(1),
        2 => ommer.number = ommer.number.wrapping_sub(1 + random.below(8_u64)),
        3 => ommer.timestamp = 0,
        4 => ommer.difficulty += blockmill_ethereum::U256::ONE,
        5 => {
            let near = i.saturating_sub(8)..i;
            let known: Vec<_> = blocks[near].iter().flat_map(ommers).collect();
            if !known.is_empty() {
                return random.pick(&known);
            }
        }
        _ => {}
    }
    ommer
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ommers_across_cuts_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("ommers_across_cuts");
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let (spec, blocks) = mainnet(300);
    for _ in 0..blockmill_testkit::rounds(300) {
        let parts = cut(&mut random, &blocks);
        let mut bad = blocks.clone();
        let i = near_cut(&mut random, &cuts_of(&parts), blocks.len());
        let count = 1 + random.below(3_usize);
        let own: Vec<_> = (0..count).map(|_| odd_ommer(&mut random, &bad, i)).collect();
        set_ommers(&mut bad[i], &own);
        relink(&mut bad, i + 1);
        let folder = tempfile::tempdir().unwrap();
        let files = write_parts(folder.path(), &same_cuts(&parts, &bad));
        let mut options = options(&spec, Level::Bodies);
        options.chunk.blocks = random.pick(&[1, 3, 7, 2048]);
        *verdicts.entry(expect_same(&files, &options, "ommers")).or_default() += 1;
    }
    println!("{verdicts:#?}");
    for rule in ["ommer included once", "ommer is not an ancestor"] {
        assert!(
            blockmill_testkit::rounds(300) < 300 || verdicts.contains_key(rule),
            "{rule}: {verdicts:?}"
        );
    }
}

/// Bytes that are changed, cut off or put in, anywhere in a file.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn corrupt_bytes_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("corrupt_bytes");
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for (spec, blocks) in [mainnet(120), published("execution-apis")] {
        for _ in 0..blockmill_testkit::rounds(150) {
            let folder = tempfile::tempdir().unwrap();
            let files = write_parts(folder.path(), &cut(&mut random, &blocks));
            let file = random.pick(&files);
            let mut bytes = std::fs::read(&file).unwrap();
            let near_start = random.coin();
            let end = if near_start { bytes.len().min(600) } else { bytes.len() };
            let at = random.below(end);
            match random.below(3_usize) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] ^= 1 << random.below(8_u32),
                _ => bytes.insert(at, random.below(256_u64) as u8),
            }
            std::fs::write(&file, &bytes).unwrap();
            // an archive that cannot be opened has neither run nor shards
            if Archive::open(&files).is_err() {
                continue;
            }
            let verdict = expect_same(&files, &options(&spec, Level::Bodies), "bytes");
            *verdicts.entry(verdict.chars().take(30).collect()).or_default() += 1;
        }
    }
    println!("{verdicts:#?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn missing_doubled_and_overlapping_shards_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("missing_doubled_and_overlapping_shards");
    let mut verdicts: HashMap<Status, usize> = HashMap::new();
    let (spec, blocks) = mainnet(200);
    for _ in 0..blockmill_testkit::rounds(100) {
        let mut parts = cut(&mut random, &blocks);
        let i = random.below(parts.len());
        match random.below(3_usize) {
            0 if parts.len() > 1 => drop(parts.remove(i)),
            1 => parts.insert(i, parts[i]),
            _ => {
                let from = random.below(blocks.len());
                let to = from + 1 + random.below(blocks.len() - from);
                parts.push(&blocks[from..to]);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let files = write_parts(folder.path(), &parts);
        let mut options = options(&spec, Level::Bodies);
        options.chunk.blocks = random.pick(&[1, 7, 2048]);
        options.partial = random.coin();
        expect_same(&files, &options, "coverage");
        let (run, outcome) = whole(&files, &options);
        *verdicts.entry(status(&run, &outcome)).or_default() += 1;
    }
    println!("{verdicts:?}");
    assert!(blockmill_testkit::rounds(100) < 100 || verdicts.len() >= 3, "{verdicts:?}");
}
