//! Shards that are not streams: era1 files, ranges of an ancient folder.

use super::*;

const ERAS: [&str; 2] = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];

fn eras() -> Vec<PathBuf> {
    ERAS.map(|name| blockmill_testkit::fixture(format!("ethereum/era1/{name}"))).to_vec()
}

/// Offsets of the total difficulties in an era1 file: the words in records of type 6.
fn totals(file: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, vec![]);
    while at + 8 <= file.len() {
        let len = u32::from_le_bytes(file[at + 2..at + 6].try_into().unwrap()) as usize;
        if file[at] == 6 {
            found.push(at + 8);
        }
        at += 8 + len;
    }
    found
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era1_files_are_shards() {
    let mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Bodies);
    assert_eq!(expect_same(&eras(), &mainnet, "both"), "verified");
    // from the middle of the chain on, as far as that goes
    let second = &eras()[1..];
    assert_eq!(expect_same(second, &mainnet, "the second"), "verified");
    let summary = shard(second, &mainnet, None);
    assert_eq!(summary.anchor.map(|anchor| anchor.number), Some(8_192));
    assert!(summary.total_before.is_some(), "era1 files state it");
    assert_eq!(summary.sources[0].sha256.as_ref().map(String::len), Some(64));
    let sepolia = options(&ChainSpec::by_name("sepolia").unwrap(), Level::Bodies);
    let file = blockmill_testkit::fixture("ethereum/era1/sepolia-00000-643a00f7.era1");
    assert_eq!(expect_same(&[file], &sepolia, "sepolia"), "verified");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn wrong_total_difficulties_of_era1_files_get_the_verdict_of_a_single_run() {
    let mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Headers);
    let folder = tempfile::tempdir().unwrap();
    let copies = ERAS.map(|name| folder.path().join(name));
    let originals = eras().iter().map(|era| std::fs::read(era).unwrap()).collect::<Vec<_>>();
    // (file, block of it, or all blocks)
    let cases = [(0, Some(8_191)), (1, Some(0)), (1, Some(3)), (1, Some(8_191)), (1, None)];
    for (file, block) in cases {
        for (copy, original) in copies.iter().zip(&originals) {
            std::fs::write(copy, original).unwrap();
        }
        let mut bytes = originals[file].clone();
        let all = totals(&bytes);
        assert_eq!(all.len(), 8_192);
        let chosen = block.map_or(&all[..], |block| &all[block..=block]);
        chosen.iter().for_each(|at| bytes[*at] ^= 1);
        std::fs::write(&copies[file], bytes).unwrap();
        let what = format!("file {file}, block {block:?}");
        let verdict = expect_same(&copies, &mainnet, &what);
        assert_eq!(verdict, "total difficulty stated by the archive", "{what}");
    }
    // and an accumulator, the last record but one
    std::fs::write(&copies[0], &originals[0]).unwrap();
    let mut bytes = originals[1].clone();
    let at = totals(&bytes)[8_191] + 32 + 8;
    bytes[at] ^= 1;
    std::fs::write(&copies[1], bytes).unwrap();
    assert_eq!(expect_same(&copies, &mainnet, "accumulator"), "accumulator");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn missing_and_doubled_era1_files_get_the_verdict_of_a_single_run() {
    let mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Headers);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(ERAS[0]);
    std::fs::copy(&eras()[0], &copy).unwrap();
    let [first, second] = [eras()[0].clone(), eras()[1].clone()];
    let verdict = expect_same(&[first.clone(), copy, second.clone()], &mainnet, "doubled");
    assert_eq!(verdict, "blocks that come again");
    // shards are put in order, as files are
    let archives = [vec![second], vec![first]];
    let (run, outcome) = whole(&eras(), &mainnet);
    assert_eq!(compare(&run, &outcome, &merged(&archives, &mainnet), "order"), "verified");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ranges_of_an_ancient_folder_are_shards() {
    let mut random = Random::new_each_run("ranges_of_an_ancient_folder");
    let mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Bodies);
    for name in ["geth-1.9", "geth-1.17"] {
        let folder = vec![blockmill_testkit::fixture(format!("ethereum/freezer/{name}"))];
        let until = 1_500 + random.below(500_u64);
        let all = Options { until: Some(until), ..mainnet.clone() };
        let (run, outcome) = whole(&folder, &all);
        for _ in 0..blockmill_testkit::rounds(10) {
            let cuts = [1 + random.below(until - 1), 1 + random.below(until - 1)];
            let [a, b] = [cuts[0].min(cuts[1]), cuts[0].max(cuts[1])];
            let ranges = [(0, a - 1), (a, b.max(a + 1) - 1), (b.max(a + 1), until)];
            let range = |(from, until)| {
                let range = Options { from: Some(from), until: Some(until), ..mainnet.clone() };
                shard(&folder, &range, None)
            };
            let merged = merge(&ranges.map(range), &all).unwrap();
            assert_eq!(compare(&run, &outcome, &merged, name), "verified");
        }
        // a hole
        let ranges = [(0, 99), (101, until)];
        let range = |(from, until)| {
            shard(&folder, &Options { from: Some(from), until: Some(until), ..all.clone() }, None)
        };
        let merged = merge(&ranges.map(range), &all).unwrap();
        assert_eq!(merged.status(), Status::Incomplete);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn trusted_hashes_are_met_in_some_shard_or_missing_in_all() {
    let mut mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Headers);
    let (_, blocks) = super::mainnet(6_000);
    mainnet.trust = vec![
        blockmill_hashes::keccak256(&blocks[3].header),
        blockmill_hashes::keccak256(&blocks[5_000].header),
    ];
    assert_eq!(expect_same(&eras(), &mainnet, "met"), "verified");
    mainnet.trust.push([1; 32]);
    let verdict = expect_same(&eras(), &mainnet, "missing");
    assert!(verdict.starts_with("--trust"), "{verdict}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn shards_that_were_verified_otherwise_are_not_merged() {
    let mainnet = options(&ChainSpec::by_name("mainnet").unwrap(), Level::Headers);
    let summary = shard(&eras()[..1], &mainnet, None);
    let bodies = Options { level: Level::Bodies, ..mainnet.clone() };
    let error = merge(std::slice::from_ref(&summary), &bodies).unwrap_err().to_string();
    assert!(error.ends_with("level: expected bodies, found headers"), "{error}");
    assert!(merge(&[], &mainnet).is_err());
    let execution = Options { level: Level::Execution, ..mainnet };
    assert!(verify_shard(&Archive::open(&eras()).unwrap(), &execution, None, |_| {}).is_err());
}
