//! Blocks of neo-go executed from the genesis block on: the changes of the state, the state roots
//! and the application logs are neo-go's, block by block.

use crate::dumps;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex};

use crate::dumps::{Dump, oracle, shown};
use blockmill_neo::execute::{
    block::{Executor, machine},
    engine::{Chain, Execution, Trigger},
    native::Natives,
    past::{Ended, Past, PastTransaction},
};
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, Change, State, StateTrie};
use blockmill_neo::types::{Block, SingleTransaction, UInt256};
use crypto::ManySha256;
use flate2::read::GzDecoder;
use serde_json::Value;

/// Blocks that were executed.
#[derive(Default)]
struct Known {
    hashes: Vec<UInt256>,
    blocks: HashMap<UInt256, Arc<Block>>,
    transactions: HashMap<UInt256, PastTransaction>,
}

impl Known {
    fn add(&mut self, block: Block, executions: &[Execution]) {
        self.hashes.push(block.hash);
        for (transaction, execution) in block.transactions().zip(&executions[1..]) {
            let single = SingleTransaction::decode(transaction.bytes().to_vec()).unwrap();
            let ended = if execution.fault.is_none() { Ended::Halt } else { Ended::Fault };
            let height = block.header.index;
            let transaction = Arc::new(single);
            let hash = transaction.get().hash();
            self.transactions.insert(hash, PastTransaction { transaction, height, ended });
        }
        self.blocks.insert(block.hash, Arc::new(block));
    }
}

fn past(known: &Arc<Mutex<Known>>) -> Past {
    let [a, b, c, d] = [(); 4].map(|()| Arc::clone(known));
    let height = move |hash| Some(d.lock().unwrap().transactions.get(&hash)?.height);
    Past {
        hash: Box::new(move |height| a.lock().unwrap().hashes.get(height as usize).copied()),
        block: Box::new(move |hash| b.lock().unwrap().blocks.get(&hash).cloned()),
        transaction: Box::new(move |hash| c.lock().unwrap().transactions.get(&hash).cloned()),
        height: Box::new(height),
        conflict: Box::new(|_| None),
    }
}

fn check_changes(expected: &[Change], found: &[Change], what: &str) {
    for (key, value) in expected {
        let same = found.iter().find(|(other, _)| other == key);
        let found = same.map(|(_, value)| value.as_ref().map(testkit::hex::encode));
        let value = value.as_ref().map(testkit::hex::encode);
        assert_eq!(found, Some(value), "{what}: {key:?}");
    }
    for (key, value) in found {
        assert!(expected.iter().any(|(other, _)| other == key), "{what}: {key:?} {value:?}");
    }
}

fn execute(dump: Dump) -> usize {
    let text = testkit::read(dump.config);
    let protocol = Protocol::from_yaml(std::str::from_utf8(&text).unwrap()).unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    let chain = Chain { protocol, natives: Natives::default(), past: past(&known) };
    let (mut executor, mut vm) = (Executor::default(), machine());
    let mut state = State::new(Base::default());
    let mut trie = StateTrie::new(ManySha256::detect()).unwrap();
    let (roots, changes) = (oracle::roots(dump), oracle::changes(dump));
    let file = testkit::read(format!("neo/oracle/{}.applog.jsonl.gz", dump.name));
    let mut logs = BufReader::new(GzDecoder::new(&file[..])).lines();
    let mut executions = 0;
    for (block, (root, changes)) in dumps::blocks(dump).into_iter().zip(roots.iter().zip(changes)) {
        let height = block.header.index;
        let what = format!("{} {height}", dump.name);
        let executed = executor.execute(&mut vm, &chain, &mut state, &block).expect(&what);
        let log: Value = serde_json::from_str(&logs.next().unwrap().unwrap()).unwrap();
        // neo-go's log has what happens before and after a block first, then its transactions
        let expected = log["executions"].as_array().unwrap();
        assert_eq!(expected.len(), executed.executions.len(), "{what}");
        for execution in &executed.executions {
            let same = |each: &&Value| {
                each["container"] == execution.container.to_string()
                    && each["trigger"] == execution.trigger.name()
            };
            let expected = expected.iter().find(same).expect(&what);
            let found = shown::execution(execution);
            assert!(*expected == found, "{what}: expected\n{expected}\nfound\n{found}");
            executions += usize::from(execution.trigger == Trigger::Application);
        }
        check_changes(&changes, &executed.changes, &what);
        assert_eq!(trie.apply(&executed.changes).unwrap(), *root, "{what}");
        known.lock().unwrap().add(block, &executed.executions);
    }
    executions
}

#[testkit::needs(fixtures)]
#[test]
fn the_chain_of_neo_go_s_tests_is_executed_as_there() {
    assert_eq!(execute(Dump::CHAIN50), Dump::CHAIN50.transactions);
}

#[testkit::needs(fixtures)]
#[test]
fn nearly_empty_blocks_are_executed_as_by_neo_go() {
    assert_eq!(execute(Dump::EMPTY), Dump::EMPTY.transactions);
}

#[testkit::needs(fixtures)]
#[test]
fn mixed_blocks_are_executed_as_by_neo_go() {
    assert_eq!(execute(Dump::MIXED), Dump::MIXED.transactions);
}

#[testkit::needs(fixtures)]
#[test]
fn the_first_block_of_the_main_network_has_its_state_root() {
    // fixtures/README.md
    let root = "0x58a5157b7e99eeabf631291f1747ec8eb12ab89461cda888492b17a301de81e8";
    let protocol = Protocol::by_name("mainnet").unwrap();
    let mut block = Block { raw: protocol.genesis_block(), ..Block::default() };
    block.decode(protocol.state_root_in_header, &ManySha256::detect()).unwrap();
    let chain = Chain { protocol, natives: Natives::default(), past: Past::nothing() };
    let mut state = State::new(Base::default());
    let executed = Executor::default().execute(&mut machine(), &chain, &mut state, &block);
    let mut trie = StateTrie::new(ManySha256::detect()).unwrap();
    assert_eq!(trie.apply(&executed.unwrap().changes).unwrap(), root.parse().unwrap());
}
