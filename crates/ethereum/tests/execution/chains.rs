//! Every block of every chain of the fixtures is executed, and its header is right.

use crate::source::{self, RealBlock};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::execute::{PreparedBlock, Replay};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::state::Tries;
use std::collections::BTreeMap;

/// Executes blocks from genesis on; how many transactions they have, by fork.
pub fn execute(spec: &ChainSpec, blocks: &[RealBlock]) -> BTreeMap<String, usize> {
    // the plain tries are the oracle of those in arenas
    let plain = Replay::from_genesis(spec, Tries::pointers()).unwrap();
    let fast = Replay::from_genesis(spec, Tries::arena().unwrap()).unwrap();
    let mut both = [plain, fast];
    let mut counts = BTreeMap::new();
    for block in blocks {
        let header = HeaderView::decode(&block.header).unwrap();
        if header.number == 0 {
            continue;
        }
        let body = BodyView::decode(&block.body).unwrap();
        let prepared = PreparedBlock::verified(spec, &header, &body)
            .unwrap_or_else(|e| panic!("{} ({}): {e}", block.name, header.number));
        for replay in &mut both {
            replay
                .execute(&prepared)
                .unwrap_or_else(|error| panic!("{} ({}): {error}", block.name, header.number));
        }
        *counts.entry(format!("{:?}", prepared.terms.fork)).or_default() += 1;
    }
    counts
}

fn published(name: &str) -> (ChainSpec, Vec<RealBlock>) {
    let genesis = blockmill_testkit::read(format!("ethereum/chains/{name}/genesis.json"));
    let spec = ChainSpec::from_genesis_json(str::from_utf8(&genesis).unwrap()).unwrap();
    (spec, source::chain(name))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_chain_through_every_fork() {
    let (spec, blocks) = published("execution-apis");
    let counts = execute(&spec, &blocks);
    println!("{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), 54);
    assert!(counts.len() > 10);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn chains_that_clients_test_with() {
    for (name, count) in [("geth-ethtest", 600), ("hive-engine", 1_024), ("hive-sync", 3_000)] {
        let (spec, blocks) = published(name);
        let counts = execute(&spec, &blocks);
        println!("{name}: {counts:?}");
        assert_eq!(counts.values().sum::<usize>(), count, "{name}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_first_blocks_of_mainnet_and_of_sepolia() {
    for (network, files, count) in [
        ("mainnet", &["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"][..], 16_383),
        ("sepolia", &["sepolia-00000-643a00f7.era1"], 8_191),
    ] {
        let spec = ChainSpec::by_name(network).unwrap();
        let blocks: Vec<_> = files.iter().flat_map(|file| source::era1(file)).collect();
        let counts = execute(&spec, &blocks);
        assert_eq!(counts.values().sum::<usize>(), count, "{network}");
    }
}
