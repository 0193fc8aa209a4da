//! Each rule, on a valid header that is changed in one place.

use super::*;
use crate::header::{BLOB_GAS, Header, INITIAL_BASE_FEE, next_excess_blob_gas};
use crate::params::genesis::Alloc;
use crate::params::{Config, Merge};
use crate::rule::Rule;
use blockmill_rlp::Encode;

/// A chain with every fork up to `fork` from the beginning.
fn spec_at(fork: Fork) -> ChainSpec {
    let mut config = Config::frontier(U256::ONE);
    let by_number = [
        ("homesteadBlock", Fork::Homestead),
        ("eip150Block", Fork::TangerineWhistle),
        ("eip155Block", Fork::SpuriousDragon),
        ("eip158Block", Fork::SpuriousDragon),
        ("byzantiumBlock", Fork::Byzantium),
        ("constantinopleBlock", Fork::Constantinople),
        ("petersburgBlock", Fork::Petersburg),
        ("istanbulBlock", Fork::Istanbul),
        ("berlinBlock", Fork::Berlin),
        ("londonBlock", Fork::London),
        ("shanghaiTime", Fork::Shanghai),
        ("cancunTime", Fork::Cancun),
        ("pragueTime", Fork::Prague),
        ("osakaTime", Fork::Osaka),
        ("amsterdamTime", Fork::Amsterdam),
    ];
    for (key, _) in by_number.iter().filter(|(_, since)| *since <= fork) {
        assert!(config.set(key, 0));
    }
    config.terminal_total_difficulty = (fork >= Fork::Paris).then_some(U256::ZERO);
    ChainSpec::new("test", &config, &Header::default(), Alloc::Given(vec![])).unwrap()
}

/// A block at height 1,000,000 that follows the rules of `fork`.
fn parent_at(fork: Fork) -> Header {
    let paris = fork >= Fork::Paris;
    Header {
        number: 1_000_000,
        timestamp: 1_700_000_000,
        difficulty: if paris { U256::ZERO } else { U256::from(1u64 << 40) },
        gas_limit: 30_000_000,
        gas_used: 15_000_000,
        base_fee: (fork >= Fork::London).then_some(U256::from(7_000_000_000u64)),
        withdrawals_root: (fork >= Fork::Shanghai).then_some([1; 32]),
        blob_gas_used: (fork >= Fork::Cancun).then_some(2 * BLOB_GAS),
        excess_blob_gas: (fork >= Fork::Cancun).then_some(30 * BLOB_GAS),
        parent_beacon_root: (fork >= Fork::Cancun).then_some([2; 32]),
        requests_hash: (fork >= Fork::Prague).then_some([3; 32]),
        block_access_list_hash: (fork >= Fork::Amsterdam).then_some([4; 32]),
        slot_number: (fork >= Fork::Amsterdam).then_some(9),
        ..Header::default()
    }
}

/// A valid block on top of `parent`.
fn child_of(spec: &ChainSpec, parent: &Header) -> Header {
    let raw = parent.encode();
    let view = parent.view(&raw);
    let (number, timestamp) = (parent.number + 1, parent.timestamp + 12);
    let rules = spec.rules_at(number, timestamp);
    let difficulty = rules.difficulty.next(timestamp, &Parent::from(&view)).unwrap();
    let excess = |params| next_excess_blob_gas(rules.fork, params, &view) as u64;
    Header {
        parent_hash: parent.hash(),
        number,
        timestamp,
        difficulty: if rules.fork >= Fork::Paris { U256::ZERO } else { difficulty },
        excess_blob_gas: rules.blobs.map(excess),
        ..parent.clone()
    }
}

fn verdict(spec: &ChainSpec, parent: &Header, header: &Header) -> Verdict {
    let (parent_raw, raw) = (parent.encode(), header.encode());
    let parent_view = parent.view(&parent_raw);
    verify_header(spec, &parent_view, &parent.hash(), &header.view(&raw))
}

const FORKS: [Fork; 9] = [
    Fork::Frontier,
    Fork::Homestead,
    Fork::Byzantium,
    Fork::London,
    Fork::Shanghai,
    Fork::Cancun,
    Fork::Prague,
    Fork::Osaka,
    Fork::Amsterdam,
];

/// Changes a valid block of each fork in `forks` and expects `rule` to be broken.
fn rejects(forks: &[Fork], rule: Rule, change: impl Fn(&mut Header)) {
    assert!(!forks.is_empty());
    for &fork in forks {
        let (spec, parent) = (spec_at(fork), parent_at(fork));
        let mut header = child_of(&spec, &parent);
        assert_eq!(verdict(&spec, &parent, &header), Ok(()), "{fork:?}");
        change(&mut header);
        let found = verdict(&spec, &parent, &header).expect_err("must be rejected");
        assert_eq!(found.rule, rule, "{fork:?}: {found}");
    }
}

fn since(fork: Fork) -> Vec<Fork> {
    FORKS.into_iter().filter(|other| *other >= fork).collect()
}

fn before(fork: Fork) -> Vec<Fork> {
    FORKS.into_iter().filter(|other| *other < fork).collect()
}

#[test]
fn rejects_a_header_that_does_not_follow() {
    rejects(&FORKS, Rule::ParentHash, |header| header.parent_hash[31] ^= 1);
    rejects(&FORKS, Rule::Number, |header| header.number += 1);
    rejects(&FORKS, Rule::Number, |header| header.number = 0);
}

#[test]
fn rejects_a_time_that_is_not_later() {
    rejects(&FORKS, Rule::Timestamp, |header| header.timestamp -= 12);
    rejects(&FORKS, Rule::Timestamp, |header| header.timestamp = 0);
}

#[test]
fn rejects_more_than_32_bytes_of_extra_data() {
    rejects(&FORKS, Rule::ExtraData, |header| header.extra_data = vec![0; 33]);
}

#[test]
fn rejects_gas_limits_out_of_bounds() {
    rejects(&FORKS, Rule::GasLimitBound, |header| header.gas_limit += 29_296);
    rejects(&FORKS, Rule::GasLimitBound, |header| header.gas_limit -= 29_296);
    rejects(&FORKS, Rule::GasLimitMaximum, |header| header.gas_limit = 1 << 63);
    rejects(&FORKS, Rule::GasLimitMinimum, |header| header.gas_limit = 4_999);
    assert_eq!(gas_limit_bound(false, 30_000_000, 30_029_295), Ok(()));
    assert_eq!(gas_limit_bound(false, 1_023, 1_023).unwrap_err().rule, Rule::GasLimitBound);
    assert_eq!(gas_limit_range(4_999).unwrap_err().rule, Rule::GasLimitMinimum);
    assert_eq!(gas_limit_range(5_000), Ok(()));
}

#[test]
fn rejects_more_gas_than_the_limit() {
    rejects(&FORKS, Rule::GasUsed, |header| header.gas_used = header.gas_limit + 1);
}

#[test]
fn rejects_header_with_wrong_difficulty() {
    rejects(&before(Fork::Paris), Rule::Difficulty, |header| header.difficulty += U256::ONE);
    rejects(&before(Fork::Paris), Rule::Difficulty, |header| header.difficulty = U256::ZERO);
}

#[test]
fn rejects_proof_of_work_after_the_merge() {
    rejects(&since(Fork::Paris), Rule::Merge, |header| header.difficulty = U256::ONE);
    rejects(&since(Fork::Paris), Rule::Nonce, |header| header.nonce = [1; 8]);
    rejects(&since(Fork::Paris), Rule::OmmersHash, |header| header.ommers_hash = [0; 32]);
}

#[test]
fn rejects_header_with_wrong_base_fee() {
    let change = |header: &mut Header| header.base_fee = header.base_fee.map(|fee| fee + U256::ONE);
    rejects(&since(Fork::London), Rule::BaseFee, change);
    rejects(&before(Fork::London), Rule::BaseFee, |header| header.base_fee = Some(U256::ONE));
}

#[test]
fn rejects_fields_of_later_forks_and_missing_fields() {
    rejects(&since(Fork::Shanghai)[..1], Rule::WithdrawalsRoot, |h| h.withdrawals_root = None);
    rejects(&[Fork::London], Rule::WithdrawalsRoot, |h| h.withdrawals_root = Some([0; 32]));
    rejects(&[Fork::Shanghai], Rule::BlobGasUsed, |h| h.blob_gas_used = Some(0));
    rejects(&since(Fork::Cancun), Rule::ExcessBlobGas, |h| h.excess_blob_gas = None);
    rejects(&since(Fork::Cancun), Rule::ParentBeaconRoot, |h| h.parent_beacon_root = None);
    rejects(&[Fork::Cancun], Rule::RequestsHash, |h| h.requests_hash = Some([0; 32]));
    rejects(&since(Fork::Prague), Rule::RequestsHash, |h| h.requests_hash = None);
    let hash = Some([0; 32]);
    rejects(&[Fork::Osaka], Rule::BlockAccessListHash, |h| h.block_access_list_hash = hash);
    rejects(&[Fork::Amsterdam], Rule::BlockAccessListHash, |h| h.block_access_list_hash = None);
    rejects(&[Fork::Amsterdam], Rule::SlotNumber, |h| h.slot_number = None);
}

#[test]
fn fields_of_a_fork_without_a_date_are_not_judged() {
    let header = Header {
        number: 30_000_000,
        timestamp: 1_900_000_000,
        difficulty: U256::ZERO,
        ..parent_at(Fork::Amsterdam)
    };
    let raw = header.encode();
    let verdict = |network: &str| {
        let spec = ChainSpec::by_name(network).unwrap();
        verify_alone(&spec, &header.view(&raw)).map_err(|violation| violation.rule)
    };
    assert_eq!(verdict("mainnet"), Err(Rule::UnknownFork));
    assert_eq!(verdict("sepolia"), Ok(()));
}

#[test]
fn rejects_wrong_blob_gas() {
    let forks = since(Fork::Cancun);
    rejects(&forks, Rule::BlobGasUsed, |header| header.blob_gas_used = Some(1));
    rejects(&forks, Rule::BlobGasUsed, |header| header.blob_gas_used = Some(10 * BLOB_GAS));
    rejects(&forks, Rule::ExcessBlobGas, |header| {
        header.excess_blob_gas = header.excess_blob_gas.map(|gas| gas + 1);
    });
}

#[test]
fn first_london_block_doubles_the_gas_limit_and_starts_the_base_fee() {
    let spec = ChainSpec::by_name("mainnet").unwrap();
    let parent = Header {
        number: 12_964_999,
        timestamp: 1_628_166_810,
        difficulty: U256::from(7_000_000_000_000_000u64),
        gas_limit: 15_000_000,
        gas_used: 15_000_000,
        ..Header::default()
    };
    let header = Header {
        gas_limit: 30_000_000,
        base_fee: Some(U256::from(INITIAL_BASE_FEE)),
        ..child_of(&spec, &parent)
    };
    assert_eq!(verdict(&spec, &parent, &header), Ok(()));
    let late = Header { gas_limit: 15_000_000, ..header };
    assert_eq!(verdict(&spec, &parent, &late).unwrap_err().rule, Rule::GasLimitBound);
}

#[test]
fn ten_blocks_carry_the_mark_of_the_dao_fork() {
    let spec = ChainSpec::by_name("mainnet").unwrap();
    for (number, marked) in [(1_919_999, false), (1_920_000, true), (1_920_009, true)] {
        let mark = |extra: &[u8]| dao_extra_data(spec.dao, number, extra);
        assert_eq!(mark(b"dao-hard-fork"), Ok(()));
        assert_eq!(mark(b"").is_err(), marked, "{number}");
    }
    assert_eq!(dao_extra_data(spec.dao, 1_920_010, b""), Ok(()));
    let opposed = Some(DaoFork { block: 5, support: false });
    assert_eq!(dao_extra_data(opposed, 5, b"dao-hard-fork").unwrap_err().rule, Rule::DaoExtraData);
    assert_eq!(dao_extra_data(opposed, 15, b"dao-hard-fork"), Ok(()));
}

#[test]
fn the_merge_happens_where_the_total_difficulty_says() {
    let mut spec = spec_at(Fork::London);
    let terminal_total_difficulty = U256::from(1_000);
    spec.merge = Some(Merge { terminal_total_difficulty, earliest: 0, latest: u64::MAX });
    let work = parent_at(Fork::London);
    let stake = Header { difficulty: U256::ZERO, ..work.clone() };
    let merge = |total: u64, header: &Header| {
        verify_merge(&spec, U256::from(total), &header.view(&[])).map_err(|broken| broken.rule)
    };
    assert_eq!(merge(999, &work), Ok(()));
    assert_eq!(merge(999, &stake), Err(Rule::TerminalTotalDifficulty));
    assert_eq!(merge(1_000, &stake), Ok(()));
    assert_eq!(merge(1_000, &work), Err(Rule::TerminalTotalDifficulty));

    let first = child_of(&spec, &work);
    let first = Header { difficulty: U256::ZERO, ..first };
    assert_eq!(verdict(&spec, &work, &first), Ok(()));
    let back = child_of(&spec, &first);
    assert_eq!(verdict(&spec, &first, &back).unwrap_err().rule, Rule::Merge);
}

#[test]
fn recorded_merge_blocks_are_held_to() {
    let spec = ChainSpec::by_name("mainnet").unwrap();
    let stake = |number| {
        let header = Header { number, ..Header::default() };
        spec.rules_of(&header.view(&[])).proof_of_stake
    };
    assert!(!stake(15_537_393));
    assert!(stake(15_537_394));
}

#[test]
fn rejects_proof_of_work_from_the_future() {
    let mut header = parent_at(Fork::London);
    header.timestamp = 1_016;
    assert_eq!(verify_not_in_future(1_001, &header.view(&[])), Ok(()));
    let found = verify_not_in_future(1_000, &header.view(&[])).unwrap_err();
    assert_eq!(found.rule, Rule::FutureTimestamp);
    header.difficulty = U256::ZERO;
    assert_eq!(verify_not_in_future(1_000, &header.view(&[])), Ok(()));
}

#[test]
fn rejects_another_chains_genesis() {
    let spec = ChainSpec::by_name("sepolia").unwrap();
    assert_eq!(verify_genesis(&spec, &spec.genesis.hash), Ok(()));
    assert_eq!(verify_genesis(&spec, &[0; 32]).unwrap_err().rule, Rule::Genesis);
}

#[test]
fn an_anchor_keeps_the_rules_that_need_no_parent() {
    for fork in FORKS {
        let (spec, header) = (spec_at(fork), parent_at(fork));
        assert_eq!(verify_alone(&spec, &header.view(&[])), Ok(()), "{fork:?}");
        let broken = Header { gas_used: header.gas_limit + 1, ..header };
        assert_eq!(verify_alone(&spec, &broken.view(&[])).unwrap_err().rule, Rule::GasUsed);
    }
}

#[test]
fn a_violation_says_rule_source_expected_and_found() {
    let text = verify_genesis(&spec_at(Fork::Frontier), &[7; 32]).unwrap_err().to_string();
    assert!(text.starts_with("genesis hash (Yellow Paper"), "{text}");
    assert!(text.contains("expected 0x") && text.ends_with(&"07".repeat(32)), "{text}");
}
