//! The networks that the public tests name, as chains.

use blockmill_ethereum::params::ChainSpec;
use serde_json::{Map, Value, json};

/// Forks in order: the name in the tests, and the switches of a genesis.json that it sets.
const FORKS: [(&str, &[&str]); 18] = [
    ("Frontier", &[]),
    ("Homestead", &["homesteadBlock"]),
    ("EIP150", &["eip150Block"]),
    ("EIP158", &["eip155Block", "eip158Block"]),
    ("Byzantium", &["byzantiumBlock"]),
    ("ConstantinopleFix", &["constantinopleBlock", "petersburgBlock"]),
    ("Istanbul", &["istanbulBlock"]),
    ("Berlin", &["muirGlacierBlock", "berlinBlock"]),
    ("London", &["londonBlock"]),
    ("ArrowGlacier", &["arrowGlacierBlock"]),
    ("Paris", &[]),
    ("Shanghai", &["shanghaiTime"]),
    ("Cancun", &["cancunTime"]),
    ("Prague", &["pragueTime"]),
    ("Osaka", &["osakaTime"]),
    ("BPO1", &["bpo1Time"]),
    ("BPO2", &["bpo2Time"]),
    ("Amsterdam", &["amsterdamTime"]),
];
/// The deposit contract of mainnet (EIP-6110).
const DEPOSIT_CONTRACT: &str = "0x00000000219ab540356cbb839cbe05303d7705fa";

fn position(fork: &str) -> usize {
    let name = if fork == "Constantinople" { "ConstantinopleFix" } else { fork };
    let found = FORKS.iter().position(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("unknown network {fork}"))
}

/// Sets every switch up to `fork` to 0, except those of the last one, which begin at `at`.
fn set(config: &mut Map<String, Value>, fork: &str, at: u64) {
    let last = position(fork);
    for (i, (_, switches)) in FORKS.iter().enumerate().take(last + 1) {
        for switch in *switches {
            config.insert((*switch).into(), json!(if i == last { at } else { 0 }));
        }
    }
    if last >= position("Paris") {
        config.insert("terminalTotalDifficulty".into(), json!(0));
    }
}

fn config(network: &str) -> Map<String, Value> {
    let mut config = Map::from_iter([
        ("chainId".into(), json!(1)),
        ("depositContractAddress".into(), json!(DEPOSIT_CONTRACT)),
        (
            "blobSchedule".into(),
            json!({
                "bpo1": { "target": 10, "max": 15, "baseFeeUpdateFraction": 8_346_193 },
                "bpo2": { "target": 14, "max": 21, "baseFeeUpdateFraction": 11_684_671 },
            }),
        ),
    ]);
    match network.split_once("To") {
        None => set(&mut config, network, 0),
        Some((before, "DaoAt5")) => {
            set(&mut config, before, 0);
            config.insert("daoForkBlock".into(), json!(5));
            config.insert("daoForkSupport".into(), json!(true));
        }
        Some((before, "ParisAtDiffC0000")) => {
            set(&mut config, before, 0);
            config.insert("terminalTotalDifficulty".into(), json!(0xc0000));
        }
        Some((before, after)) => {
            set(&mut config, before, 0);
            let (fork, at) = match after.split_once("AtTime15k") {
                Some((fork, _)) => (fork, 15_000),
                None => (after.trim_end_matches("At5"), 5),
            };
            set(&mut config, fork, at);
            // between the two, Paris sets the total difficulty and nothing else
            for switch in FORKS[position(before)].1 {
                config.insert((*switch).into(), json!(0));
            }
        }
    }
    config
}

/// The network whose header rules a test's blocks obey. The archive's Prague is a draft that had
/// no requests hash yet: its headers are Cancun's.
fn rules_of<'a>(network: &'a str, header: &Value) -> &'a str {
    if network == "Prague" && header["requestsHash"].is_null() { "Cancun" } else { network }
}

/// The chain of a test: its network, the header of its first block, the accounts before it.
pub fn spec(network: &str, header: &Value, accounts: &Value) -> ChainSpec {
    let mut genesis = json!({ "config": config(rules_of(network, header)), "alloc": accounts });
    for (ours, theirs) in [
        ("number", "number"),
        ("timestamp", "timestamp"),
        ("parentHash", "parentHash"),
        ("coinbase", "coinbase"),
        ("difficulty", "difficulty"),
        ("gasLimit", "gasLimit"),
        ("gasUsed", "gasUsed"),
        ("extraData", "extraData"),
        ("mixHash", "mixHash"),
        ("nonce", "nonce"),
        ("baseFeePerGas", "baseFeePerGas"),
        ("excessBlobGas", "excessBlobGas"),
        ("blobGasUsed", "blobGasUsed"),
    ] {
        genesis[ours] = header[theirs].clone();
    }
    ChainSpec::from_genesis_json(&genesis.to_string()).unwrap()
}
