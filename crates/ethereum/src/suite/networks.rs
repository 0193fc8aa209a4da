//! Chain specifications of the networks in the public tests.

use super::SuiteError;
use crate::params::ChainSpec;
use serde_json::{Map, Value, json};

/// Forks in order: the name in the tests, its other names, and the switches of a genesis.json that
/// it sets.
const FORKS: [(&str, &[&str], &[&str]); 23] = [
    ("Frontier", &[], &[]),
    ("Homestead", &[], &["homesteadBlock"]),
    ("EIP150", &["TangerineWhistle"], &["eip150Block"]),
    ("EIP158", &["SpuriousDragon"], &["eip155Block", "eip158Block"]),
    ("Byzantium", &[], &["byzantiumBlock"]),
    ("Constantinople", &[], &["constantinopleBlock"]),
    ("ConstantinopleFix", &["Petersburg"], &["petersburgBlock"]),
    ("Istanbul", &[], &["istanbulBlock"]),
    ("MuirGlacier", &[], &["muirGlacierBlock"]),
    ("Berlin", &[], &["berlinBlock"]),
    ("London", &[], &["londonBlock"]),
    ("ArrowGlacier", &[], &["arrowGlacierBlock"]),
    ("GrayGlacier", &[], &["grayGlacierBlock"]),
    ("Paris", &["Merge"], &["mergeNetsplitBlock"]),
    ("Shanghai", &[], &["shanghaiTime"]),
    ("Cancun", &[], &["cancunTime"]),
    ("Prague", &[], &["pragueTime"]),
    ("Osaka", &[], &["osakaTime"]),
    ("BPO1", &[], &["bpo1Time"]),
    ("BPO2", &[], &["bpo2Time"]),
    ("Amsterdam", &[], &["amsterdamTime"]),
    ("BPO3", &[], &["bpo3Time"]),
    ("BPO4", &[], &["bpo4Time"]),
];
/// Target, maximum and update fraction of the blob-parameter forks (EIP-7892), as go-ethereum's
/// runner has them (`params/config.go`): the first two are mainnet's.
const BLOBS: [(&str, [u64; 3]); 4] = [
    ("bpo1", [10, 15, 8_346_193]),
    ("bpo2", [14, 21, 11_684_671]),
    ("bpo3", [21, 32, 20_609_697]),
    ("bpo4", [14, 21, 13_739_630]),
];
/// The deposit contract of mainnet, which the runners of all clients use (EIP-6110).
const DEPOSIT_CONTRACT: &str = "0x00000000219ab540356cbb839cbe05303d7705fa";
/// Block of Petersburg in a test of Constantinople without it.
const NEVER: u64 = 1 << 40;

fn position(fork: &str) -> Result<usize, SuiteError> {
    let is_one =
        |(name, others, _): &(&str, &[&str], &[&str])| *name == fork || others.contains(&fork);
    FORKS.iter().position(is_one).ok_or_else(|| SuiteError::Network { name: fork.into() })
}

/// Activates all forks before `fork` at 0, and `fork` at `at`.
fn set(config: &mut Map<String, Value>, fork: &str, at: u64) -> Result<(), SuiteError> {
    let last = position(fork)?;
    activate(config, &FORKS[..last], 0);
    for switch in FORKS[last].2 {
        config.insert((*switch).into(), json!(at));
    }
    if fork == "Constantinople" {
        config.insert("petersburgBlock".into(), json!(NEVER));
    }
    if last >= position("Paris")? {
        config.insert("terminalTotalDifficulty".into(), json!(0));
    }
    Ok(())
}

/// Activates forks before another one. Blob-parameter forks that are scheduled after Amsterdam do
/// not need it.
fn activate(config: &mut Map<String, Value>, forks: &[(&str, &[&str], &[&str])], at: u64) {
    for (_, _, switches) in forks.iter().filter(|(name, ..)| *name != "Amsterdam") {
        for switch in *switches {
            config.insert((*switch).into(), json!(at));
        }
    }
}

fn config(network: &str) -> Result<Map<String, Value>, SuiteError> {
    let blobs = BLOBS.map(|(fork, [target, max, fraction])| {
        let numbers = json!({ "target": target, "max": max, "baseFeeUpdateFraction": fraction });
        (fork.to_owned(), numbers)
    });
    let mut config = Map::from_iter([
        ("chainId".into(), json!(1)),
        ("depositContractAddress".into(), json!(DEPOSIT_CONTRACT)),
        ("blobSchedule".into(), Value::Object(blobs.into_iter().collect())),
    ]);
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
            let (fork, at) = match (after.split_once("AtTime15k"), after.strip_suffix("At5")) {
                (Some((fork, "")), _) => (fork, 15_000),
                (_, Some(fork)) => (fork, 5),
                _ => return Err(SuiteError::Network { name: network.into() }),
            };
            set(&mut config, before, 0)?;
            let last = position(fork)?;
            set(&mut config, fork, at)?;
            // forks in between are activated at the same block
            let between = FORKS.get(position(before)? + 1..last).unwrap_or_default();
            activate(&mut config, between, at);
        }
    }
    Ok(config)
}

/// The chain of a test: its network, its genesis header, and its accounts.
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
        "slotNumber",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Fork;

    fn chain(network: &str) -> Result<ChainSpec, SuiteError> {
        let header = json!({ "difficulty": "0x20000", "gasLimit": "0x5000" });
        spec(network, &header, &json!({}))
    }

    #[test]
    fn every_name_of_a_fork_has_its_rules() {
        for (names, fork) in [
            (["EIP150", "TangerineWhistle"], Fork::TangerineWhistle),
            (["EIP158", "SpuriousDragon"], Fork::SpuriousDragon),
            (["ConstantinopleFix", "Petersburg"], Fork::Petersburg),
            (["Paris", "Merge"], Fork::Paris),
            (["Constantinople"; 2], Fork::Constantinople),
            (["MuirGlacier"; 2], Fork::MuirGlacier),
            (["GrayGlacier"; 2], Fork::GrayGlacier),
            (["Osaka", "BPO1"], Fork::Osaka),
            (["BPO2", "BPO2ToAmsterdamAtTime15k"], Fork::Osaka),
            // blob parameters without Amsterdam
            (["BPO3", "BPO4"], Fork::Osaka),
            (["Amsterdam"; 2], Fork::Amsterdam),
        ] {
            for name in names {
                assert_eq!(chain(name).unwrap().rules_at(0, 0).fork, fork, "{name}");
            }
        }
        let blobs = |network, time| chain(network).unwrap().rules_at(0, time).blobs.unwrap().max;
        let of_forks = ["Cancun", "Osaka", "BPO1", "BPO2", "BPO3", "BPO4"].map(|n| blobs(n, 0));
        assert_eq!(of_forks, [6, 9, 15, 21, 32, 21]);
        let transition = "OsakaToBPO1AtTime15k";
        assert_eq!((blobs(transition, 14_999), blobs(transition, 15_000)), (9, 15));
        let glacier = chain("ArrowGlacierToParisAtDiffC0000").unwrap();
        assert_eq!(glacier.rules_at(0, 0).fork, Fork::ArrowGlacier);
    }

    #[test]
    fn deposits_go_to_the_contract_of_mainnet() {
        let mainnet = ChainSpec::by_name("mainnet").unwrap().deposit_contract;
        assert_eq!(chain("Prague").unwrap().deposit_contract, mainnet);
    }

    #[test]
    fn networks_that_are_not_run_say_why() {
        for (name, words) in [
            ("Atlantis", "unknown network Atlantis"),
            ("BerlinToLondonAtTime15kAt5", "unknown network"),
            ("BerlinToLondon", "unknown network BerlinToLondon"),
        ] {
            let error = chain(name).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
