//! Blocks of neo-go executed from genesis: state changes, state roots and application logs equal
//! neo-go's, block by block.

use crate::dumps;
use std::io::{BufRead, BufReader};

use crate::dumps::{Dump, Run, oracle, shown};
use blockmill_hashes::ManySha256;
use blockmill_neo::execute::{
    block::{Executor, machine},
    chain_view::ChainView,
    engine::{Chain, Execution, Trigger},
    native::Natives,
};
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, Change, State, StateTrie};
use blockmill_neo::types::{Block, UInt256};
use flate2::read::GzDecoder;
use serde_json::Value;

fn check_changes(expected: &[Change], found: &[Change], what: &str) {
    for (key, value) in expected {
        let same = found.iter().find(|(other, _)| other == key);
        let found = same.map(|(_, value)| value.as_ref().map(blockmill_testkit::hex::encode));
        let value = value.as_ref().map(blockmill_testkit::hex::encode);
        assert_eq!(found, Some(value), "{what}: {key:?}");
    }
    for (key, value) in found {
        assert!(expected.iter().any(|(other, _)| other == key), "{what}: {key:?} {value:?}");
    }
}

fn execute(dump: Dump) -> usize {
    let text = blockmill_testkit::read(dump.config);
    let protocol = Protocol::from_yaml(std::str::from_utf8(&text).unwrap()).unwrap();
    let mut run = Run::new(protocol);
    let (roots, changes) = (oracle::roots(dump), oracle::changes(dump));
    let file = blockmill_testkit::read(format!("neo/oracle/{}.applog.jsonl.gz", dump.name));
    let mut logs = BufReader::new(GzDecoder::new(&file[..])).lines();
    let mut executions = 0;
    for (block, (root, changes)) in dumps::blocks(dump).into_iter().zip(roots.iter().zip(changes)) {
        let height = block.header.index;
        let what = format!("{} {height}", dump.name);
        let (executed, found) = run.execute(block);
        let log: Value = serde_json::from_str(&logs.next().unwrap().unwrap()).unwrap();
        // neo-go's log has OnPersist and PostPersist first, then the transactions
        let expected = log["executions"].as_array().unwrap();
        assert_eq!(expected.len(), executed.executions.len(), "{what}");
        for execution in &executed.executions {
            let same = |each: &&Value| {
                each["container"] == execution.container.to_string()
                    && each["trigger"] == execution.trigger.name()
            };
            let expected = expected.iter().find(same).expect(&what);
            let shown = shown::execution(execution);
            assert!(*expected == shown, "{what}: expected\n{expected}\nfound\n{shown}");
            executions += usize::from(execution.trigger == Trigger::Application);
        }
        check_changes(&changes, &executed.changes, &what);
        assert_eq!(found, *root, "{what}");
    }
    executions
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_chain_of_neo_go_s_tests_is_executed_as_by_neo_go() {
    assert_eq!(execute(Dump::CHAIN50), Dump::CHAIN50.transactions);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn nearly_empty_blocks_are_executed_as_by_neo_go() {
    assert_eq!(execute(Dump::EMPTY), Dump::EMPTY.transactions);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mixed_blocks_are_executed_as_by_neo_go() {
    assert_eq!(execute(Dump::MIXED), Dump::MIXED.transactions);
}

/// neo-go's record of an execution: VM state, gas and stack. `record` is the raw value of its
/// database, where they follow the hash of the transaction.
fn ended(record: &[u8], execution: &Execution) -> (u8, u64, Vec<u8>) {
    let hash = execution.container.0;
    let at = record.windows(32).rposition(|window| window == hash).unwrap() + 33;
    let gas = u64::from_le_bytes(record[at + 1..at + 9].try_into().unwrap());
    (record[at], gas, record[at + 9..].to_vec())
}

/// The divergent cases: scripts that neo-go's `base58CheckEncode` overwrites while they run
/// (`docs/neo.md`).
const DIFFERENT: [&str; 1] = ["base58CheckEncode_of_a_literal,_twice"];

#[blockmill_testkit::needs(cases)]
#[test]
fn the_divergences_have_the_state_roots_and_results_of_neo_go() {
    let read = |name: &str| blockmill_testkit::read_case(format!("13-neo-divergences/{name}"));
    let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
    let (roots, logs) = (text("cases.roots"), text("cases.logs.zst"));
    let mut records = logs.lines().filter(|line| line.split(' ').nth(2) != Some("block"));
    let mut run = Run::new(Protocol::from_yaml(&text("cases.yml")).unwrap());
    let blocks = dumps::decoded(dumps::split(&read("cases.acc")), false);
    assert_eq!(blocks.len(), 72);
    let mut different = vec![];
    for (block, line) in blocks.into_iter().zip(roots.lines()) {
        let height = block.header.index;
        let (executed, root) = run.execute(block);
        let expected = line.strip_prefix(&format!("{height} ")).unwrap();
        assert_eq!(root, expected.parse::<UInt256>().unwrap(), "{height}");
        let transactions = executed.executions.iter();
        for execution in transactions.filter(|each| each.trigger == Trigger::Application) {
            let record: Vec<&str> = records.next().unwrap().split(' ').collect();
            let [_, _, name, digits] = record[..] else { panic!("{record:?}") };
            let (state, gas, stack) = ended(&blockmill_testkit::hex::decode(digits), execution);
            let halted = execution.fault.is_none();
            let mut items = vec![execution.stack.len() as u8];
            execution.stack.iter().for_each(|item| items.extend_from_slice(item));
            let same_stack = !halted || stack.starts_with(&items);
            if (state, gas) != (if halted { 1 } else { 2 }, execution.gas) || !same_stack {
                different.push(name.to_string());
            }
        }
    }
    assert_eq!(records.next(), None);
    assert_eq!(different, DIFFERENT);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_genesis_block_of_the_main_network_has_its_state_root() {
    // fixtures/README.md
    let root = "0x58a5157b7e99eeabf631291f1747ec8eb12ab89461cda888492b17a301de81e8";
    let protocol = Protocol::by_name("mainnet").unwrap();
    let mut block = Block { raw: protocol.genesis_block(), ..Block::default() };
    block.decode(protocol.state_root_in_header, &ManySha256::detect()).unwrap();
    let chain = Chain { protocol, natives: Natives::default(), view: ChainView::empty() };
    let mut state = State::new(Base::default());
    let executed = Executor::default().execute(&mut machine(), &chain, &mut state, &block);
    let mut trie = StateTrie::new(ManySha256::detect()).unwrap();
    assert_eq!(trie.apply(&executed.unwrap().changes).unwrap(), root.parse().unwrap());
}
