//! Headers of real chains, and of chains that other clients made, keep every rule; their first
//! blocks are those that we compute.

use crate::big_integers;
use crate::source::{self, RealBlock};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::header::rules;
use blockmill_ethereum::ommers::{Ancestor, AncestorWindow};
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::{Hash, U256};
use serde_json::Value;
use std::collections::BTreeMap;

/// Verifies `blocks` from `parent` on, with total difficulties and ommers; gives the last hash.
fn verify_chain(spec: &ChainSpec, blocks: &[RealBlock]) -> Hash {
    let genesis = &spec.genesis;
    let mut parent = HeaderView::decode(&genesis.raw).unwrap();
    let (mut hash, mut total) = (genesis.hash, parent.difficulty);
    let mut window = AncestorWindow::default();
    window.push(Ancestor::new(hash, &parent, &[]));
    for block in blocks {
        let header = HeaderView::decode(&block.header).unwrap();
        if header.number == 0 {
            assert_eq!(rules::verify_genesis(spec, &header.hash()), Ok(()));
            continue;
        }
        let verdict = rules::verify_header(spec, &parent, &hash, &header);
        assert_eq!(verdict, Ok(()), "{}", block.name);
        let fork_rules = spec.rules_of(&header);
        if !fork_rules.proof_of_stake {
            let (formula, time) = (fork_rules.difficulty, header.timestamp);
            let big = big_integers::next(formula, time, &Parent::from(&parent));
            assert_eq!(big, Some(header.difficulty), "{}", block.name);
        }
        assert_eq!(rules::verify_merge(spec, total, &header), Ok(()), "{}", block.name);
        assert_eq!(rules::verify_alone(spec, &header), Ok(()), "{}", block.name);
        let ommers: Vec<_> = BodyView::decode(&block.body).unwrap().ommers().collect();
        assert_eq!(window.verify_ommers(spec, &header, &ommers), Ok(0), "{}", block.name);
        hash = header.hash();
        window.push(Ancestor::new(hash, &header, &ommers));
        total += header.difficulty;
        parent = header;
    }
    hash
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mainnet_and_sepolia_files_verify_from_their_genesis() {
    let files = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];
    let mut mainnet = vec![];
    for file in files {
        let blocks = source::era1(file);
        mainnet.extend(blocks);
    }
    let head = verify_chain(&ChainSpec::by_name("mainnet").unwrap(), &mainnet);
    let expected = "05c64fc4842734317f8f1dfe29a7e16f676575ad82a7dae37cef1379cf8500b5";
    assert_eq!(head.to_vec(), blockmill_testkit::hex::decode(expected));
    let sepolia = source::era1("sepolia-00000-643a00f7.era1");
    verify_chain(&ChainSpec::by_name("sepolia").unwrap(), &sepolia);
    println!("{} mainnet headers, {} sepolia headers", mainnet.len(), sepolia.len());
    assert_eq!((mainnet.len(), sepolia.len()), (16_384, 8_192));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn exported_chains_verify_with_their_genesis_json() {
    for name in ["hive-sync", "hive-engine", "geth-ethtest", "execution-apis"] {
        let folder = blockmill_testkit::fixture("ethereum");
        let file = folder.join("chains").join(name).join("genesis.json");
        let spec = ChainSpec::from_genesis_json(&std::fs::read_to_string(file).unwrap()).unwrap();
        let blocks = source::chain(name);
        verify_chain(&spec, &blocks);
        println!("{name}: {} headers", blocks.len());
    }
}

/// The block of a witness file and the headers of its ancestors, newest first.
fn witness(file: &std::path::Path) -> (u64, Vec<Vec<u8>>) {
    let json: Value = serde_json::from_slice(&blockmill_testkit::read(file)).unwrap();
    let block = blockmill_testkit::hex::decode(json["block"].as_str().unwrap());
    let header = blockmill_rlp::Reader::new(&block).list().unwrap().item().unwrap().raw.to_vec();
    let ancestors = json["witness"]["headers"].as_array().unwrap().iter();
    let mut headers: Vec<_> =
        ancestors.map(|text| blockmill_testkit::hex::decode(text.as_str().unwrap())).collect();
    headers.push(header);
    headers.sort_by_key(|raw| HeaderView::decode(raw).unwrap().number);
    headers.dedup();
    (json["chainId"].as_u64().unwrap(), headers)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_blocks_of_every_later_fork_follow_their_parents() {
    let folder = blockmill_testkit::fixture("ethereum");
    let specs = ChainSpec::NETWORKS.map(|name| ChainSpec::by_name(name).unwrap());
    let mut seen: BTreeMap<Fork, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder.join("witness")).unwrap() {
        let path = entry.unwrap().path();
        let (chain, headers) = witness(&path);
        let spec = specs.iter().find(|spec| spec.chain_id == chain).unwrap();
        for pair in headers.windows(2) {
            let [parent, header] = [0, 1].map(|i| HeaderView::decode(&pair[i]).unwrap());
            let hash = parent.hash();
            let verdict = rules::verify_header(spec, &parent, &hash, &header);
            assert_eq!(verdict, Ok(()), "{} {}", path.display(), header.number);
            *seen.entry(spec.rules_of(&header).fork).or_default() += 1;
        }
    }
    println!("{seen:?}");
    for fork in [Fork::Shanghai, Fork::Cancun, Fork::Prague, Fork::Osaka] {
        assert!(seen.contains_key(&fork), "no block of {fork:?}: {seen:?}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_changed_header_of_a_real_chain_is_refused() {
    let blocks = source::era1("mainnet-00000-5ec1ffb8.era1");
    let spec = ChainSpec::by_name("mainnet").unwrap();
    let parent = HeaderView::decode(&blocks[1000].header).unwrap();
    let real = HeaderView::decode(&blocks[1001].header).unwrap();
    let mut changed = real;
    changed.fields.difficulty += U256::ONE;
    let verdict = |header| rules::verify_header(&spec, &parent, &parent.hash(), header);
    assert_eq!(verdict(&real), Ok(()));
    let found = verdict(&changed).unwrap_err();
    assert_eq!(found.rule.name(), "difficulty");
    assert_eq!(found.expected, real.difficulty.to_string());
}
