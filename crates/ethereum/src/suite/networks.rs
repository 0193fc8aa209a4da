//! The networks that the public tests name, as chains.

use super::SuiteError;
use super::json::wrong;
use crate::params::ChainSpec;
use serde_json::{Map, Value, json};

/// Forks in order: the name in the tests, and the switches of a genesis.json that it sets.
const FORKS: [(&str, &[&str]); 16] = [
    ("Frontier", &[]),
    ("Homestead", &["homesteadBlock"]),
    ("EIP150", &["eip150Block"]),
    ("EIP158", &["eip155Block", "eip158Block"]),
    ("Byzantium", &["byzantiumBlock"]),
    ("Constantinople", &["constantinopleBlock"]),
    ("ConstantinopleFix", &["petersburgBlock"]),
    ("Istanbul", &["istanbulBlock"]),
    ("Berlin", &["muirGlacierBlock", "berlinBlock"]),
    ("London", &["londonBlock"]),
    ("ArrowGlacier", &["arrowGlacierBlock"]),
    ("Paris", &["mergeNetsplitBlock"]),
    ("Shanghai", &["shanghaiTime"]),
    ("Cancun", &["cancunTime"]),
    ("Prague", &["pragueTime"]),
    ("Osaka", &["osakaTime"]),
];
/// Where Petersburg is set when a test is about Constantinople without it.
const NEVER: u64 = 1 << 40;

fn position(fork: &str) -> Result<usize, SuiteError> {
    let name = if fork == "Merge" { "Paris" } else { fork };
    let found = FORKS.iter().position(|(known, _)| *known == name);
    found.ok_or_else(|| wrong("network", "a network of the tests"))
}

/// Sets every switch up to `fork` to 0, except those of the last one, which begin at `at`.
fn set(config: &mut Map<String, Value>, fork: &str, at: u64) -> Result<(), SuiteError> {
    let last = position(fork)?;
    for (i, (_, switches)) in FORKS.iter().enumerate().take(last + 1) {
        for switch in *switches {
            config.insert((*switch).into(), json!(if i == last { at } else { 0 }));
        }
    }
    if fork == "Constantinople" {
        config.insert("petersburgBlock".into(), json!(NEVER));
    }
    if last >= position("Paris")? {
        config.insert("terminalTotalDifficulty".into(), json!(0));
    }
    Ok(())
}

fn config(network: &str) -> Result<Map<String, Value>, SuiteError> {
    let mut config = Map::from_iter([("chainId".into(), json!(1))]);
    match network.split_once("To") {
        None => set(&mut config, network, 0)?,
        Some((before, "DaoAt5")) => {
            set(&mut config, before, 0)?;
            config.insert("daoForkBlock".into(), json!(5));
            config.insert("daoForkSupport".into(), json!(true));
        }
        Some((before, "ParisAtDiffC0000")) => {
            set(&mut config, before, 0)?;
            config.insert("terminalTotalDifficulty".into(), json!(0xc0000));
        }
        Some((before, after)) => {
            set(&mut config, before, 0)?;
            let (fork, at) = match after.split_once("AtTime15k") {
                Some((fork, _)) => (fork, 15_000),
                None => (after.trim_end_matches("At5"), 5),
            };
            let last = position(fork)?;
            set(&mut config, fork, at)?;
            // of two forks at once, both begin here
            let between = FORKS.get(position(before)? + 1..last).unwrap_or_default();
            for (_, switches) in between {
                for switch in *switches {
                    config.insert((*switch).into(), json!(at));
                }
            }
        }
    }
    Ok(config)
}

/// The chain of a test: its network, the header of its first block, the accounts before it.
pub(super) fn spec(
    network: &str,
    header: &Value,
    accounts: &Value,
) -> Result<ChainSpec, SuiteError> {
    let mut genesis = json!({ "config": config(network)?, "alloc": accounts });
    let fields = [
        "number",
        "timestamp",
        "parentHash",
        "coinbase",
        "difficulty",
        "gasLimit",
        "gasUsed",
        "extraData",
        "mixHash",
        "nonce",
        "excessBlobGas",
        "blobGasUsed",
    ];
    for field in fields {
        genesis[field] = header[field].clone();
    }
    genesis["baseFeePerGas"] = header["baseFeePerGas"].clone();
    ChainSpec::from_genesis_json(&genesis.to_string()).map_err(|error| SuiteError::Field {
        field: format!("genesis of {network}: {error}"),
        expected: "a chain",
    })
}
