//! Chain specifications of the networks in the public tests.

use super::{SuiteError, accounts, json as field};
use crate::Hash;
use crate::params::{ChainSpec, Fork};
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

/// The switches of a network. `stated` is the test's `config` (tests of the Python specification):
/// chain id, blob parameters by fork, and the deposit contract, as far as they are there.
fn config(network: &str, stated: &Value) -> Result<Map<String, Value>, SuiteError> {
    let mut config = Map::from_iter([
        ("chainId".into(), json!(1)),
        ("depositContractAddress".into(), json!(DEPOSIT_CONTRACT)),
        ("blobSchedule".into(), blobs(&stated["blobSchedule"])?),
    ]);
    if let Some(chain_id) = field::maybe_number(stated, "chainid")? {
        config.insert("chainId".into(), json!(format!("{chain_id:#x}")));
    }
    if stated["depositContractAddress"].is_string() {
        let address = stated["depositContractAddress"].clone();
        config.insert("depositContractAddress".into(), address);
    }
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

/// The blob parameters of forks: [`BLOBS`], replaced by what the test states.
fn blobs(stated: &Value) -> Result<Value, SuiteError> {
    let entry = |[target, max, fraction]: [u64; 3]| {
        let fraction = json!(fraction);
        json!({ "target": target, "max": max, "baseFeeUpdateFraction": fraction })
    };
    let mut blobs: Map<_, _> =
        BLOBS.iter().map(|(fork, numbers)| ((*fork).to_owned(), entry(*numbers))).collect();
    for (fork, stated) in stated.as_object().into_iter().flatten() {
        let number = |field| field::small(stated, field);
        let numbers = [number("target")?, number("max")?, number("baseFeeUpdateFraction")?];
        blobs.insert(fork.to_lowercase(), entry(numbers));
    }
    Ok(Value::Object(blobs))
}

/// The chain of a test: its network, its `config` (null if there is none), its genesis header, and
/// its accounts.
pub(super) fn spec(
    network: &str,
    config: &Value,
    header: &Value,
    accounts: &Value,
) -> Result<ChainSpec, SuiteError> {
    let mut genesis = json!({ "config": self::config(network, config)?, "alloc": {} });
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
    let accounts = accounts::read(accounts)?;
    // a state test has no genesis block
    let root = match header["stateRoot"].is_null() {
        true => Hash::default(),
        false => field::hash(header, "stateRoot")?,
    };
    ChainSpec::with_accounts(&genesis.to_string(), accounts, root).map_err(|error| {
        SuiteError::Field { field: format!("genesis of {network}: {error}"), expected: "a chain" }
    })
}

/// The fork of a network without a transition.
pub(super) fn fork(network: &str) -> Result<Fork, SuiteError> {
    let header = json!({ "difficulty": "0x20000", "gasLimit": "0x5000" });
    let spec = spec(network, &Value::Null, &header, &json!({}))?;
    Ok(spec.rules_at(0, 0).fork)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(network: &str) -> Result<ChainSpec, SuiteError> {
        stated(network, &Value::Null)
    }

    fn stated(network: &str, config: &Value) -> Result<ChainSpec, SuiteError> {
        let header = json!({ "difficulty": "0x20000", "gasLimit": "0x5000" });
        spec(network, config, &header, &json!({}))
    }

    #[test]
    fn numbers_that_a_test_states_are_those_of_its_chain() {
        let schedule = |target, max| {
            let fraction = "0x4c6964";
            json!({ "target": target, "max": max, "baseFeeUpdateFraction": fraction })
        };
        let config = json!({
            "chainid": "0x539",
            "blobSchedule": { "Osaka": schedule("0x02", "0x04"), "BPO1": schedule("0x05", "0x07") },
        });
        let blobs = |network| {
            let spec = stated(network, &config).unwrap();
            assert_eq!(spec.chain_id, crate::U256::from(1337));
            spec.rules_at(0, 0).blobs.unwrap().max
        };
        assert_eq!(["Cancun", "Osaka", "BPO1", "BPO2"].map(blobs), [6, 4, 7, 21]);
        assert!(stated("Osaka", &json!({ "chainid": "one" })).is_err());
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
