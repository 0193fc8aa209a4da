//! The genesis files of other clients give the same chain as ours: mainnet and Sepolia, written as
//! geth, Besu and Nethermind write them.

use blockmill_ethereum::U256;
use blockmill_ethereum::params::{ChainSpec, Clique, Consensus, Fork};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The forks of a network by number, then by time, as geth names them.
struct Network {
    name: &'static str,
    total_difficulty: &'static str,
    numbers: &'static [(&'static str, u64)],
    times: &'static [(&'static str, u64)],
    /// Delays of the bomb as a chainspec adds them up.
    delays: &'static [(u64, u64)],
    dao: Option<u64>,
    /// Blocks before this one are certainly under proof of work.
    merge: u64,
}

const MAINNET: Network = Network {
    name: "mainnet",
    total_difficulty: "58750000000000000000000",
    numbers: &[
        ("homesteadBlock", 1_150_000),
        ("eip150Block", 2_463_000),
        ("eip155Block", 2_675_000),
        ("eip158Block", 2_675_000),
        ("byzantiumBlock", 4_370_000),
        ("constantinopleBlock", 7_280_000),
        ("petersburgBlock", 7_280_000),
        ("istanbulBlock", 9_069_000),
        ("muirGlacierBlock", 9_200_000),
        ("berlinBlock", 12_244_000),
        ("londonBlock", 12_965_000),
        ("arrowGlacierBlock", 13_773_000),
        ("grayGlacierBlock", 15_050_000),
    ],
    times: &[
        ("shanghaiTime", 1_681_338_455),
        ("cancunTime", 1_710_338_135),
        ("pragueTime", 1_746_612_311),
        ("osakaTime", 1_764_798_551),
        ("bpo1Time", 1_765_290_071),
        ("bpo2Time", 1_767_747_671),
    ],
    delays: &[
        (4_370_000, 3_000_000),
        (7_280_000, 2_000_000),
        (9_200_000, 4_000_000),
        (12_965_000, 700_000),
        (13_773_000, 1_000_000),
        (15_050_000, 700_000),
    ],
    dao: Some(1_920_000),
    merge: 15_537_394,
};

const SEPOLIA: Network = Network {
    name: "sepolia",
    total_difficulty: "17000000000000000",
    numbers: &[
        ("homesteadBlock", 0),
        ("eip150Block", 0),
        ("eip155Block", 0),
        ("eip158Block", 0),
        ("byzantiumBlock", 0),
        ("constantinopleBlock", 0),
        ("petersburgBlock", 0),
        ("istanbulBlock", 0),
        ("muirGlacierBlock", 0),
        ("berlinBlock", 0),
        ("londonBlock", 0),
        ("mergeNetsplitBlock", 1_735_371),
    ],
    times: &[
        ("shanghaiTime", 1_677_557_088),
        ("cancunTime", 1_706_655_072),
        ("pragueTime", 1_741_159_776),
        ("osakaTime", 1_760_427_360),
        ("bpo1Time", 1_761_017_184),
        ("bpo2Time", 1_761_607_008),
        ("amsterdamTime", 1_791_294_816),
    ],
    delays: &[(0, 9_700_000)],
    dao: None,
    merge: 1_450_409,
};

const BLOBS: [(&str, u64, u64, u64); 4] = [
    ("cancun", 3, 6, 3_338_477),
    ("prague", 6, 9, 5_007_716),
    ("bpo1", 10, 15, 8_346_193),
    ("bpo2", 14, 21, 11_684_671),
];

fn hex(bytes: &[u8]) -> String {
    blockmill_testkit::hex::encode_0x(bytes)
}

/// The accounts of a built-in network, each as `write` has it.
fn accounts(spec: &ChainSpec, write: impl Fn(&str, String) -> String) -> String {
    let accounts = spec.genesis.accounts().unwrap();
    let text = accounts.iter().map(|account| {
        let mut fields = format!("\"balance\": \"0x{:x}\"", account.balance);
        if account.nonce > 0 {
            write!(fields, ", \"nonce\": \"0x{:x}\"", account.nonce).unwrap();
        }
        if !account.code.is_empty() {
            write!(fields, ", \"code\": \"{}\"", hex(&account.code)).unwrap();
        }
        if !account.storage.is_empty() {
            let slot = |(key, value): &([u8; 32], [u8; 32])| {
                format!("\"{}\": \"{}\"", hex(key), hex(value))
            };
            let slots: Vec<_> = account.storage.iter().map(slot).collect();
            write!(fields, ", \"storage\": {{{}}}", slots.join(", ")).unwrap();
        }
        write(&hex(&account.address), fields)
    });
    text.collect::<Vec<_>>().join(",\n")
}

fn number_fields(list: &[(&str, u64)]) -> String {
    list.iter().map(|(key, at)| format!("\"{key}\": {at}, ")).collect()
}

/// geth's file, and Besu's, which differ in `config` only.
fn of_config(network: &Network, config: &str) -> String {
    let spec = ChainSpec::by_name(network.name).unwrap();
    let header = &spec.genesis.header;
    let schedule = BLOBS.map(|(fork, target, max, fraction)| {
        format!(
            "\"{fork}\": {{\"target\": {target}, \"max\": {max}, \
             \"baseFeeUpdateFraction\": {fraction}}}"
        )
    });
    format!(
        "{{\"config\": {{\"chainId\": {}, {config} {} \"terminalTotalDifficulty\": {}, \
         \"blobSchedule\": {{{}}}}}, \"nonce\": \"{}\", \"timestamp\": \"0x{:x}\", \
         \"extraData\": \"{}\", \"gasLimit\": \"0x{:x}\", \"difficulty\": \"0x{:x}\", \
         \"alloc\": {{{}}}}}",
        spec.chain_id,
        number_fields(network.times),
        network.total_difficulty,
        schedule.join(", "),
        hex(&header.nonce),
        header.timestamp,
        hex(&header.extra_data),
        header.gas_limit,
        header.difficulty,
        accounts(&spec, |address, fields| format!("\"{}\": {{{fields}}}", &address[2..])),
    )
}

fn geth(network: &Network) -> String {
    let dao = network
        .dao
        .map_or(String::new(), |at| format!("\"daoForkBlock\": {at}, \"daoForkSupport\": true, "));
    of_config(network, &format!("{dao}{} \"ethash\": {{}},", number_fields(network.numbers)))
}

/// Besu writes neither EIP-155 nor Petersburg, and the fork of the DAO without a side.
fn besu(network: &Network) -> String {
    let unknown = ["eip155Block", "constantinopleBlock"];
    let mut config = String::new();
    for (key, at) in network.numbers.iter().filter(|(key, _)| !unknown.contains(key)) {
        let key = key.replace("petersburg", "constantinopleFix").replace("Netsplit", "NetSplit");
        write!(config, "\"{key}\": {at}, ").unwrap();
    }
    if let Some(at) = network.dao {
        write!(config, "\"daoForkBlock\": {at}, ").unwrap();
    }
    of_config(network, &(config + "\"ethash\": {}, \"discovery\": {\"dns\": \"\"},"))
}

/// The EIPs of each fork, as a chainspec names them.
const EIPS: [(&str, &str); 15] = [
    ("eip150Block", "eip150Transition"),
    ("eip155Block", "eip155Transition"),
    ("eip158Block", "eip160Transition eip161abcTransition eip161dTransition"),
    ("byzantiumBlock", "eip140Transition eip211Transition eip214Transition eip658Transition"),
    ("constantinopleBlock", "eip145Transition eip1014Transition eip1052Transition"),
    ("petersburgBlock", "eip1283DisableTransition"),
    ("istanbulBlock", "eip1344Transition eip1884Transition eip2028Transition eip2200Transition"),
    ("berlinBlock", "eip2565Transition eip2929Transition eip2930Transition"),
    ("londonBlock", "eip1559Transition eip3198Transition eip3529Transition eip3541Transition"),
    ("mergeNetsplitBlock", "mergeForkIdTransition"),
    ("shanghaiTime", "eip3651TransitionTimestamp eip4895TransitionTimestamp"),
    ("cancunTime", "eip4844TransitionTimestamp eip4788TransitionTimestamp"),
    ("pragueTime", "eip6110TransitionTimestamp eip7702TransitionTimestamp"),
    ("osakaTime", "eip7594TransitionTimestamp"),
    (
        "amsterdamTime",
        "eip2780TransitionTimestamp eip7708TransitionTimestamp eip7778TransitionTimestamp \
         eip7843TransitionTimestamp eip7928TransitionTimestamp eip7954TransitionTimestamp \
         eip7976TransitionTimestamp eip7981TransitionTimestamp eip8024TransitionTimestamp \
         eip8037TransitionTimestamp eip8038TransitionTimestamp eip8246TransitionTimestamp \
         eip8282TransitionTimestamp",
    ),
];

fn nethermind(network: &Network) -> String {
    let spec = ChainSpec::by_name(network.name).unwrap();
    let header = &spec.genesis.header;
    let all = || network.numbers.iter().chain(network.times);
    let at = |fork: &str| all().find(|(key, _)| *key == fork).map(|(_, at)| *at);
    let mut params = String::new();
    for (fork, eips) in EIPS {
        for eip in eips.split(' ').filter(|_| at(fork).is_some()) {
            write!(params, "\"{eip}\": \"0x{:x}\", ", at(fork).unwrap()).unwrap();
        }
    }
    let entry = |(fork, target, max, fraction): (&str, u64, u64, u64)| {
        let time = at(&format!("{fork}Time")).unwrap();
        format!(
            "{{\"timestamp\": \"0x{time:x}\", \"target\": {target}, \"max\": {max}, \
             \"baseFeeUpdateFraction\": \"0x{fraction:x}\"}}"
        )
    };
    let schedule: Vec<_> = BLOBS.into_iter().map(entry).collect();
    let delays: Vec<_> =
        network.delays.iter().map(|(at, by)| format!("\"0x{at:x}\": \"0x{by:x}\"")).collect();
    let dao = network
        .dao
        .map_or(String::new(), |at| format!("\"daoHardforkTransition\": \"0x{at:x}\", "));
    let ether = [("", 5), ("byzantiumBlock", 3), ("constantinopleBlock", 2)];
    let rewards: BTreeMap<u64, u64> =
        ether.map(|(fork, ether)| (at(fork).unwrap_or(0), ether)).into_iter().collect();
    let wei = |(at, ether): (&u64, &u64)| format!("\"{at}\": \"{ether}000000000000000000\"");
    let rewards: Vec<_> = rewards.iter().map(wei).collect();
    let total: U256 = network.total_difficulty.parse().unwrap();
    let builtin = "\"0x0000000000000000000000000000000000000009\": {\"builtin\": {\"name\": \
                   \"blake2_f\", \"activate_at\": \"0x0\"}}";
    let own = accounts(&spec, |address, fields| format!("\"{address}\": {{{fields}}}"));
    let has_nine = own.contains("000000000000000000000009\"");
    format!(
        "{{\"name\": \"a chain\", \"engine\": {{\"Ethash\": {{\"params\": {{\
         \"minimumDifficulty\": \"0x20000\", \"difficultyBoundDivisor\": \"0x0800\", \
         \"durationLimit\": \"0x0d\", \"blockReward\": {{{}}}, \
         \"homesteadTransition\": \"0x{:x}\", {dao}\"eip100bTransition\": \"0x{:x}\", \
         \"difficultyBombDelays\": {{{}}}}}}}}}, \"params\": {{{params}\
         \"terminalTotalDifficulty\": \"0x{total:x}\", \"networkID\": \"0x{:x}\", \
         \"minGasLimit\": \"0x1388\", \"gasLimitBoundDivisor\": \"0x400\", \
         \"maxCodeSize\": \"0x6000\", \"maxCodeSizeTransition\": \"0x{:x}\", \
         \"blobSchedule\": [{}]}}, \"genesis\": {{\"seal\": {{\"ethereum\": \
         {{\"nonce\": \"{}\", \"mixHash\": \"0x{}\"}}}}, \"difficulty\": \"0x{:x}\", \
         \"author\": \"0x{}\", \"timestamp\": \"0x{:x}\", \"extraData\": \"{}\", \
         \"gasLimit\": \"0x{:x}\"}}, \"nodes\": [], \"accounts\": {{{}{own}}}}}",
        rewards.join(", "),
        at("homesteadBlock").unwrap(),
        at("byzantiumBlock").unwrap(),
        delays.join(", "),
        spec.chain_id,
        at("eip158Block").unwrap(),
        schedule.join(", "),
        hex(&header.nonce),
        "0".repeat(64),
        header.difficulty,
        "0".repeat(40),
        header.timestamp,
        hex(&header.extra_data),
        header.gas_limit,
        if has_nine { String::new() } else { format!("{builtin}, ") },
    )
}

/// Every rule at, before and after every fork, and block 0.
fn assert_same(network: &Network, text: &str, dialect: &str) {
    let what = format!("{} of {dialect}", network.name);
    let ours = ChainSpec::by_name(network.name).unwrap();
    let found =
        ChainSpec::from_genesis_json(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(found.genesis.hash, ours.genesis.hash, "{what}");
    assert_eq!((found.chain_id, found.dao), (ours.chain_id, ours.dao), "{what}");
    let total = |spec: &ChainSpec| spec.merge.map(|merge| merge.terminal_total_difficulty);
    assert_eq!(total(&found), total(&ours), "{what}");
    let numbers = network.numbers.iter().map(|(_, at)| *at).filter(|at| *at < network.merge);
    for at in numbers.chain(network.dao) {
        for number in [at.saturating_sub(1), at, at + 1] {
            assert_eq!(found.rules_at(number, 0), ours.rules_at(number, 0), "{what}: {number}");
        }
    }
    for (_, at) in network.times {
        for time in [at - 1, *at, at + 1].into_iter().filter(|time| *time >= network.times[0].1) {
            let number = 40_000_000;
            let (own, rules) = (ours.rules_at(number, time), found.rules_at(number, time));
            assert_eq!(rules, own, "{what}: time {time}");
            let sizes = found.code_size.at(own.fork, number, time);
            assert_eq!(sizes, ours.code_size.at(own.fork, number, time), "{what}: time {time}");
        }
    }
}

#[test]
fn the_main_network_and_sepolia_are_the_same_in_every_dialect() {
    for network in [&MAINNET, &SEPOLIA] {
        assert_same(network, &geth(network), "geth");
        assert_same(network, &besu(network), "Besu");
        assert_same(network, &nethermind(network), "Nethermind");
    }
}

fn refusal(text: &str) -> String {
    ChainSpec::from_genesis_json(text).map(|spec| spec.name).unwrap_err().to_string()
}

#[test]
fn chains_of_other_seals_and_rules_are_refused_by_name() {
    let text = geth(&SEPOLIA);
    for (setting, expected) in [
        ("\"qbft\": {\"blockperiodseconds\": 2}", "qbft"),
        ("\"ibft2\": {}", "ibft2"),
        ("\"clique\": {\"periods\": 15}", "periods in clique"),
        ("\"zeroBaseFee\": true", "zeroBaseFee"),
        ("\"classicForkBlock\": 0", "Ethereum Classic"),
        ("\"constantinopleFixBlock\": 0", "petersburgBlock too"),
        ("\"ETHASH\": {\"FixedDifficulty\": 0}", "fixedDifficulty"),
        ("\"builderExitRequestContractAddress\": \"0x01\"", "builderExitRequestContractAddress"),
        ("\"bogotaTime\": 1800000000", "bogotaTime"),
    ] {
        let text = text.replace("\"ethash\": {}", setting);
        assert!(refusal(&text).contains(expected), "{setting}: {}", refusal(&text));
    }
    let text = nethermind(&MAINNET);
    for (before, after, expected) in [
        ("\"Ethash\"", "\"clique\"", "in clique: an unknown setting"),
        ("\"Ethash\"", "\"authorityRound\"", "headers of another form"),
        ("\"durationLimit\": \"0x0d\"", "\"durationLimit\": \"0x0e\"", "formula of the difficulty"),
        ("\"eip211Transition\": \"0x42ae50\"", "\"eip211Transition\": \"0x1\"", "at once"),
        ("\"minGasLimit\": \"0x1388\"", "\"minGasLimit\": \"0x1\"", "bounds of the gas limit"),
        ("\"networkID\"", "\"comment\"", "chainID is missing"),
        ("\"networkID\"", "\"networkOf\"", "networkOf in params"),
        ("\"3000000000000000000\"", "\"3000000000000000001\"", "another reward of mining"),
    ] {
        assert!(text.contains(before), "{before}");
        let found = refusal(&text.replace(before, after));
        assert!(found.contains(expected), "{after}: {found}");
    }
}

#[test]
fn clique_and_a_fixed_difficulty_are_read_from_a_chainspec() {
    let text = |engine: &str| {
        format!(
            r#"{{"engine": {engine}, "params": {{"chainID": 7}}, "accounts": {{}}, "genesis": {{
                "difficulty": "0x1", "gasLimit": "0x1388"}}}}"#
        )
    };
    let consensus = |engine| ChainSpec::from_genesis_json(&text(engine)).unwrap().consensus;
    let clique = consensus(r#"{"clique": {"params": {"period": 3, "epoch": "0x10"}}}"#);
    assert_eq!(clique, Consensus::Clique(Clique { period: 3, epoch: 16 }));
    let fixed = consensus(r#"{"Ethash": {"params": {"fixedDifficulty": "0x64"}}}"#);
    assert_eq!(fixed, Consensus::FixedDifficulty(U256::from(100)));
    assert_eq!(consensus(r#"{"Ethash": {"params": {}}}"#), Consensus::Work);
}

const ALLOC: &str = "\"gasLimit\": 5000, \"difficulty\": 1, \"alloc\": {}";

#[test]
fn forks_that_a_later_one_implies_are_filled_in_and_an_order_that_cannot_be_is_named() {
    let spec = |config: &str| {
        ChainSpec::from_genesis_json(&format!(
            "{{\"config\": {{\"chainId\": 5, {config}}}, {ALLOC}}}"
        ))
    };
    let found =
        spec("\"byzantiumBlock\": 3, \"constantinopleBlock\": 7, \"londonBlock\": 20").unwrap();
    let forks = [2, 3, 6, 7, 19, 20].map(|number| found.rules_at(number, 0).fork);
    let (frontier, byzantium, petersburg) = (Fork::Frontier, Fork::Byzantium, Fork::Petersburg);
    // Petersburg comes with Constantinople, not with the next fork that is set
    let expected = [frontier, byzantium, byzantium, petersburg, petersburg, Fork::London];
    assert_eq!(forks, expected);
    let stake = spec("\"terminalTotalDifficulty\": 0, \"cancunTime\": 9").unwrap();
    assert_eq!((stake.rules_at(0, 0).fork, stake.rules_at(1, 9).fork), (Fork::Paris, Fork::Cancun));
    let error = spec("\"berlinBlock\": 12, \"londonBlock\": 11").unwrap_err().to_string();
    assert_eq!(error, "berlinBlock (12) must not come after londonBlock (11)");
    let error = spec("\"shanghaiTime\": 12, \"terminalTotalDifficulty\": 5").unwrap_err();
    assert!(error.to_string().contains("londonBlock is not"), "{error}");
}

#[test]
fn blob_numbers_of_a_chainspec_may_change_before_with_and_after_amsterdam() {
    let text = nethermind(&SEPOLIA);
    let entry = |time: u64, max: u64| {
        format!(
            "{{\"timestamp\": {time}, \"target\": 1, \"max\": {max}, \
             \"baseFeeUpdateFraction\": 5007716}}, "
        )
    };
    let (place, amsterdam) = ("\"blobSchedule\": [", 1_791_294_816);
    let more = [entry(amsterdam, 7), entry(amsterdam + 9, 8)].concat();
    let text = text.replace(place, &format!("{place}{more}"));
    let spec = ChainSpec::from_genesis_json(&text).unwrap();
    let most = |time| spec.rules_at(40_000_000, time).blobs.unwrap().max;
    let times = [amsterdam - 1, amsterdam, amsterdam + 8, amsterdam + 9];
    assert_eq!(times.map(most), [21, 7, 7, 8]);
}

#[test]
fn a_chainspec_may_delay_the_bomb_as_it_likes() {
    let usual = nethermind(&MAINNET);
    let other = usual.replace("\"0x42ae50\": \"0x2dc6c0\"", "\"0x42ae50\": \"0x2dc6c1\"");
    assert_ne!(usual, other);
    let rules =
        |text: &str, at| ChainSpec::from_genesis_json(text).unwrap().rules_at(at, 0).difficulty;
    assert_eq!(rules(&usual, 4_369_999), rules(&other, 4_369_999));
    assert_ne!(rules(&usual, 4_370_000), rules(&other, 4_370_000));
    assert_ne!(rules(&usual, 13_000_000), rules(&other, 13_000_000));
}
