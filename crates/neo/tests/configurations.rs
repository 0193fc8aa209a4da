//! Configurations of neo-go, and their genesis blocks.

use crate::dumps::{Dump, records};
use blockmill_neo::params::{Hardfork, Protocol};
use blockmill_neo::types::UInt256;

fn read(name: &str) -> Protocol {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(name)).unwrap();
    Protocol::from_yaml(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn built_in_networks_are_those_of_neo_go() {
    for name in Protocol::NETWORKS {
        let built_in = Protocol::by_name(name).unwrap();
        let file = read(&format!("neo/protocol.{name}.yml"));
        assert_eq!(built_in, Protocol { name: built_in.name, ..file });
        assert_eq!(built_in.name, name);
    }
}

/// Hashes from neo-go v0.122.0 (`/neo`, driver `genesis`).
#[test]
fn genesis_blocks_of_built_in_networks_have_their_hashes() {
    for (name, hash) in [
        ("mainnet", "0x1f4d1defa46faa5e7b9b8d3f79a06bec777d7c26c4aa5f6f5899a291daa87c15"),
        ("testnet", "0x9d3276785e7306daf59a3f3b9e31912c095598bbfb8a4476b821b0e59be4c57a"),
    ] {
        let protocol = Protocol::by_name(name).unwrap();
        assert_eq!(protocol.genesis_hash().unwrap(), hash.parse::<UInt256>().unwrap());
    }
    let mainnet = Protocol::by_name("mainnet").unwrap();
    assert_eq!(mainnet.hardforks.height(Hardfork::Echidna), Some(7_300_000));
    assert_eq!(mainnet.hardforks.height(Hardfork::Huyao), None);
    assert_eq!((mainnet.committee_size(0), mainnet.validator_count(0)), (21, 7));
    assert_eq!(mainnet.initial_gas, 5_200_000_000_000_000);
    assert_eq!(mainnet.max_valid_until_block_increment, 5760);
    assert!(Protocol::by_name("moonnet").is_none());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_genesis_block_of_each_dump_follows_from_its_configuration() {
    for dump in Dump::ALL {
        let protocol = read(dump.config);
        assert_eq!(protocol.state_root_in_header, dump.state_root);
        assert_eq!(protocol.genesis_block(), records(dump)[0], "{}", dump.name);
    }
}

/// A configuration with one key and these further lines.
fn with(lines: &str) -> String {
    let key = "0218b51a4d9442cecf5e4c1d98448eb8f911210482c66c47616b30b88084cfd0ab";
    format!("ProtocolConfiguration:\n  StandbyCommittee: [{key}]\n{lines}")
}

#[test]
fn a_configuration_that_neo_go_rejects_is_rejected_with_the_field() {
    assert!(Protocol::from_yaml(&with("  ValidatorsCount: 1\n")).is_ok());
    for (lines, field) in [
        ("", "ValidatorsHistory"),
        ("  ValidatorsCount: 2\n", "ValidatorsCount"),
        ("  ValidatorsCount: 1\n  ValidatorsHistory: {0: 1}\n", "ValidatorsHistory"),
        ("  ValidatorsHistory: {1: 1}\n", "ValidatorsHistory"),
        ("  ValidatorsCount: 1\n  CommitteeHistory: {0: 2}\n", "CommitteeHistory"),
        ("  ValidatorsCount: 1\n  Hardforks: {Moon: 0}\n", "Hardforks"),
        ("  ValidatorsCount: 1\n  Hardforks: {Basilisk: 5, Domovoi: 6}\n", "Hardforks"),
        ("  ValidatorsCount: 1\n  Hardforks: {Aspidochelone: 5, Basilisk: 4}\n", "Hardforks"),
        ("  ValidatorsCount: 1\n  TimePerBlock: 1y\n", "TimePerBlock"),
        ("  ValidatorsCount: 1\n  Moon: 1\n", "Moon"),
        ("  ValidatorsCount: 1\n  Genesis: {Roles: {Moon: []}}\n", "Genesis.Roles"),
        ("  ValidatorsCount: 1\n  Genesis: {Transaction: {Script: '?'}}\n", "Genesis.Transaction"),
        ("  ValidatorsCount: 1\n  ValidatorsCount: 1\n", "ValidatorsCount"),
        ("  ValidatorsHistory: {0: 1, 0: 1}\n", "duplicate key `0`"),
        ("  ValidatorsCount: 1\n  Hardforks: {Basilisk: 5, Basilisk: 5}\n", "Basilisk"),
        ("  ValidatorsCount: [\n", ""),
    ] {
        let error = Protocol::from_yaml(&with(lines)).unwrap_err().to_string();
        assert!(error.contains(field), "{lines}: {error}");
    }
    assert!(Protocol::from_yaml("").is_err());
    assert!(Protocol::from_yaml("ProtocolConfiguration:\n  ValidatorsCount: 1\n").is_err());
}

#[test]
fn missing_hardforks_are_active_as_in_neo_go() {
    let read = |lines: &str| {
        let text = with(&format!("  ValidatorsCount: 1\n{lines}"));
        Protocol::from_yaml(&text).unwrap().hardforks
    };
    // no section: all stable ones
    assert_eq!(read("").latest(0), Some(Hardfork::Gorgon));
    // an empty one: none
    assert_eq!(read("  Hardforks: {}\n").latest(u32::MAX), None);
    // hardforks before the first named one: from genesis
    let some = read("  Hardforks: {Cockatrice: 9}\n");
    assert_eq!(some.latest(0), Some(Hardfork::Basilisk));
    assert_eq!(some.latest(9), Some(Hardfork::Cockatrice));
    assert_eq!(some.height(Hardfork::Domovoi), None);
}

#[test]
fn a_configuration_of_the_csharp_node_is_that_of_neo_go_with_the_same_settings() {
    let key = "0218b51a4d9442cecf5e4c1d98448eb8f911210482c66c47616b30b88084cfd0ab";
    let csharp = |more: &str| {
        format!(
            r#"{{"ApplicationConfiguration": {{"Logger": {{"Path": "Logs"}}}},
            "ProtocolConfiguration": {{"Network": 42, "AddressVersion": 53,
            "StandbyCommittee": ["{key}"], "ValidatorsCount": 1, "SeedList": []{more}}}}}"#
        )
    };
    let more = r#", "MillisecondsPerBlock": 3000, "MaxTransactionsPerBlock": 10,
        "MaxTraceableBlocks": 17280, "MemoryPoolMaxTransactions": 50000,
        "InitialGasDistribution": 5200000000000001, "Hardforks": {"HF_Basilisk": 30}"#;
    let yaml = "  ValidatorsCount: 1\n  Magic: 42\n  TimePerBlock: 3s\n  \
                MaxTransactionsPerBlock: 10\n  MaxTraceableBlocks: 17280\n  \
                InitialGASSupply: \"52000000.00000001\"\n  Hardforks: {Basilisk: 30}\n";
    let found = Protocol::from_csharp(&csharp(more)).unwrap();
    assert_eq!(found, Protocol::from_yaml(&with(yaml)).unwrap());
    // without heights every hardfork is active from the start, as that node has it
    let few = with("  ValidatorsCount: 1\n  Magic: 42\n");
    for none in ["", r#", "Hardforks": {}"#] {
        let found = Protocol::from_csharp(&csharp(none)).unwrap();
        assert_eq!(found, Protocol::from_yaml(&few).unwrap());
    }
    for (more, words) in [
        (r#", "Hardforks": {"HF_Unheard": 1}"#, "Unheard"),
        (r#", "MaxBlockTime": 1"#, "MaxBlockTime"),
        (r#", "MillisecondsPerBlock": "soon""#, "soon"),
    ] {
        let error = Protocol::from_csharp(&csharp(more)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
