//! A valid block with one field changed that only execution can see is refused by its own rule, and
//! the state is as before.

use super::executed_store::{SMALL, small};
use super::imports::{options, published, run};
use crate::source::{self, RealBlock};
use blockmill_ethereum::U256;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::execute::{ExecutionError, PreparedBlock, Replay};
use blockmill_ethereum::header::{EMPTY_ROOT, Header, HeaderView};
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::state::Tries;
use blockmill_rlp::{Encode, OnePass, Write};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A header with one field changed.
type Change = fn(&mut Header);

/// What becomes of a changed field.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// Every block is refused.
    Always,
    /// Blocks are refused that pay somebody.
    WherePaid,
    /// Blocks are refused of which a contract asks for it.
    WhereAsked,
}

/// What a contract can change after a read: the state, logs, or its use of gas.
const ANYTHING: &[Rule] =
    &[Rule::StateRoot, Rule::ReceiptsRoot, Rule::LogsBloom, Rule::ReceiptsGas];

/// Fields that only execution can see, from which fork on, and the rules that refuse another value.
const CHANGES: [(&str, Fork, Seen, Change, &[Rule]); 8] = {
    use Seen::{Always, WhereAsked, WherePaid};
    const FIRST: Fork = Fork::Frontier;
    [
        ("state root", FIRST, Always, |h| h.state_root[3] ^= 1, &[Rule::StateRoot]),
        ("receipts root", FIRST, Always, |h| h.receipts_root[0] ^= 1, &[Rule::ReceiptsRoot]),
        ("logs bloom", FIRST, Always, |h| h.logs_bloom[9] ^= 4, &[Rule::LogsBloom]),
        ("gas used", FIRST, Always, |h| h.gas_used += 1, &[Rule::ReceiptsGas]),
        // the reward or the fees go to another account
        ("coinbase", FIRST, WherePaid, |h| h.beneficiary[7] ^= 1, ANYTHING),
        ("requests", Fork::Prague, Always, |h| h.requests_hash = Some([1; 32]), &[Rule::Requests]),
        (
            "beacon root",
            Fork::Cancun,
            Always,
            |h| h.parent_beacon_root = Some([1; 32]),
            &[Rule::StateRoot],
        ),
        ("time", FIRST, WhereAsked, |h| h.timestamp ^= 1, ANYTHING),
    ]
};

/// The block with one field changed, as what contracts see of it.
fn changed(good: &PreparedBlock, change: Change) -> PreparedBlock {
    let mut wrong = good.clone();
    change(&mut wrong.header);
    wrong.terms.beneficiary = wrong.header.beneficiary;
    wrong.terms.timestamp = wrong.header.timestamp;
    wrong
}

/// Changes every field of every block; how many changes of a field were refused, by fork.
fn refuse_all(chain: &str) -> BTreeMap<(&'static str, Fork), usize> {
    let genesis = blockmill_testkit::read(format!("ethereum/chains/{chain}/genesis.json"));
    let spec = ChainSpec::from_genesis_json(str::from_utf8(&genesis).unwrap()).unwrap();
    let mut replay = Replay::from_genesis(&spec, Tries::arena().unwrap()).unwrap();
    let mut refused = BTreeMap::new();
    for block in source::chain(chain) {
        let header = HeaderView::decode(&block.header).unwrap();
        let body = BodyView::decode(&block.body).unwrap();
        let good = PreparedBlock::verified(&spec, &header, &body).unwrap();
        let (number, fork) = (good.header.number, good.terms.fork);
        let before = replay.root().unwrap();
        for (field, from, seen, change, rules) in CHANGES {
            if fork < from {
                continue;
            }
            let name = format!("{field} of block {number}");
            let ancestors = replay.state.ancestors.clone();
            match replay.execute(&changed(&good, change)) {
                Err(ExecutionError::Rule(violation)) => {
                    assert!(rules.contains(&violation.rule), "{name}: {violation}");
                    assert_ne!(violation.expected, violation.found, "{name}");
                    *refused.entry((field, fork)).or_default() += 1;
                }
                Ok(changes) => {
                    // nobody earns anything, or nobody asked
                    let is_free = fork >= Fork::Paris && good.header.gas_used == 0;
                    let may_pass = match seen {
                        Seen::Always => false,
                        Seen::WherePaid => is_free,
                        Seen::WhereAsked => true,
                    };
                    assert!(may_pass, "{name} was accepted");
                    replay.undo(&changes.steps).unwrap();
                    replay.state.ancestors = ancestors;
                }
                Err(error) => panic!("{name}: {error}"),
            }
            assert_eq!(replay.root().unwrap(), before, "{name}");
        }
        replay.execute(&good).unwrap();
    }
    refused
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_every_fork_with_one_wrong_field() {
    let mut refused = refuse_all("execution-apis");
    for (key, count) in refuse_all("geth-ethtest") {
        *refused.entry(key).or_default() += count;
    }
    println!("{refused:?}");
    let forks = |field: &str| refused.keys().filter(|(known, _)| *known == field).count();
    for (field, from, seen, ..) in CHANGES {
        let least = match (seen, from) {
            (Seen::Always | Seen::WherePaid, Fork::Frontier) => 11,
            (_, Fork::Cancun) => 2,
            _ => 1,
        };
        assert!(forks(field) >= least, "{field}: of {} forks", forks(field));
    }
}

/// A chain whose every block stores the random number of the beacon chain, which headers call mix:
/// in place of the contract that stores the beacon roots.
const KEEPS_MIX: &str = r#"{
  "config": {"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0,
    "eip158Block": 0, "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0,
    "istanbulBlock": 0, "berlinBlock": 0, "londonBlock": 0, "terminalTotalDifficulty": 0,
    "terminalTotalDifficultyPassed": true, "shanghaiTime": 0, "cancunTime": 0},
  "difficulty": "0x0", "gasLimit": "0x1c9c380",
  "alloc": {"000f3df6d732807ef1319fb7b8bb8522d0beac02":
    {"balance": "0x0", "nonce": "0x1", "code": "0x4460005500"}}
}"#;

#[test]
fn another_mix_is_refused_where_a_contract_asks_for_it() {
    let spec = ChainSpec::from_genesis_json(KEEPS_MIX).unwrap();
    let mut header = Header {
        parent_hash: spec.genesis.hash,
        number: 1,
        timestamp: spec.genesis.header.timestamp + 12,
        gas_limit: spec.genesis.header.gas_limit,
        base_fee: Some(U256::from(875_000_000)),
        mix_hash: [5; 32],
        withdrawals_root: Some(EMPTY_ROOT),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_root: Some([7; 32]),
        ..Header::default()
    };
    let execute = |header: &Header| {
        let encoded = header.encode();
        let body = BodyView::decode(&[0xc3, 0xc0, 0xc0, 0xc0]).unwrap();
        let block = PreparedBlock::verified(&spec, &header.view(&encoded), &body).unwrap();
        Replay::from_genesis(&spec, Tries::pointers()).unwrap().execute(&block)
    };
    let state_root = |header: &Header| match execute(header) {
        Err(ExecutionError::Rule(violation)) if violation.rule == Rule::StateRoot => {
            blockmill_testkit::hex::array(&violation.found)
        }
        other => panic!("{other:?}"),
    };
    header.state_root = state_root(&header);
    execute(&header).unwrap();
    header.mix_hash[31] ^= 1;
    assert_ne!(state_root(&header), header.state_root);
}

/// Writes blocks as an export.
pub fn export(path: &Path, blocks: &[RealBlock]) {
    let mut file = vec![];
    for RealBlock { header, body, .. } in blocks {
        let mut block = OnePass::default();
        let parts = blockmill_rlp::Reader::new(body).list().unwrap().rest();
        block.list(|block| {
            block.raw(header);
            block.raw(parts);
        });
        file.extend(block.into_bytes());
    }
    fs::write(path, file).unwrap();
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_import_keeps_the_state_of_the_block_before_the_wrong_one() {
    let (spec, path) = published("execution-apis");
    let blocks = source::chain("execution-apis");
    let options = options(spec.clone(), Settings::default());
    let scratch = tempfile::tempdir().unwrap();
    let wrong_path = scratch.path().join("wrong.rlp");
    let mut refused = 0;
    for at in (0..blocks.len()).step_by(5) {
        let header = HeaderView::decode(&blocks[at].header).unwrap();
        let fork = spec.rules_of(&header).fork;
        for (field, from, seen, change, rules) in CHANGES {
            // receipts of blocks without transactions are known to level bodies
            if fork < from || seen != Seen::Always {
                continue;
            }
            let number = header.number;
            let name = format!("{field} of block {number}");
            let mut wrong = blocks[..=at].to_vec();
            let mut header = header.to_owned();
            change(&mut header);
            wrong[at].header = header.encode();
            export(&wrong_path, &wrong);
            let data = scratch.path().join(format!("{at}-{field}"));
            let open = || {
                let store = ExecutedStore::open(&data, &small(), SMALL).unwrap().0;
                Sink::Executed(Box::new(store))
            };
            let (done, error) = run(wrong_path.clone(), &options, &mut open());
            let error = error.unwrap_or_else(|| panic!("{name} was accepted"));
            assert!(error.starts_with(&format!("block {number} ")), "{name}: {error}");
            let named = rules.iter().any(|rule| error.contains(&rule.to_string()));
            assert!(named, "{name}: {error}");
            assert_eq!(done.committed, Some(number - 1), "{name}");
            // the state after the block before is there, and the right blocks follow
            let (done, error) = run(path.clone(), &options, &mut open());
            assert_eq!((done.committed, error), (Some(54), None), "{name}");
            assert_eq!(done.blocks, 54 - (number - 1), "{name}");
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused}");
}
