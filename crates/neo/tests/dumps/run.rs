//! A chain executed block by block in memory, from the genesis block on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use blockmill_hashes::ManySha256;
use blockmill_neo::execute::{
    block::{Executed, Executor, machine},
    chain_view::{ChainView, StoredTransaction, VmState},
    engine::{Chain, Execution},
    native::Natives,
    vm::Vm,
};
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, State, StateTrie};
use blockmill_neo::types::{Block, SingleTransaction, UInt256};

/// A chain, its state and its state trie after the last executed block.
pub struct Run {
    chain: Chain,
    known: Arc<Mutex<Known>>,
    executor: Executor,
    vm: Vm,
    state: State,
    trie: StateTrie,
}

impl Run {
    pub fn new(protocol: Protocol) -> Self {
        let known = Arc::new(Mutex::new(Known::default()));
        Self {
            chain: Chain { protocol, natives: Natives::default(), view: view(&known) },
            known,
            executor: Executor::default(),
            vm: machine(),
            state: State::new(Base::default()),
            trie: StateTrie::new(ManySha256::detect()).unwrap(),
        }
    }

    /// Executes the next block. Returns its executions and changes, and the state root after it.
    pub fn execute(&mut self, block: Block) -> (Executed, UInt256) {
        let (chain, state) = (&self.chain, &mut self.state);
        let executed = self.executor.execute(&mut self.vm, chain, state, &block);
        let executed = executed.unwrap_or_else(|error| panic!("{}: {error}", block.header.index));
        let root = self.trie.apply(&executed.changes).unwrap();
        self.known.lock().unwrap().add(block, &executed.executions);
        (executed, root)
    }
}

/// The executed blocks.
#[derive(Default)]
struct Known {
    hashes: Vec<UInt256>,
    blocks: HashMap<UInt256, Arc<Block>>,
    transactions: HashMap<UInt256, StoredTransaction>,
}

impl Known {
    fn add(&mut self, block: Block, executions: &[Execution]) {
        self.hashes.push(block.hash);
        for (transaction, execution) in block.transactions().zip(&executions[1..]) {
            let single = SingleTransaction::decode(transaction.bytes().to_vec()).unwrap();
            let state = if execution.fault.is_none() { VmState::Halt } else { VmState::Fault };
            let height = block.header.index;
            let transaction = Arc::new(single);
            let hash = transaction.get().hash();
            self.transactions.insert(hash, StoredTransaction { transaction, height, state });
        }
        self.blocks.insert(block.hash, Arc::new(block));
    }
}

fn view(known: &Arc<Mutex<Known>>) -> ChainView {
    let [a, b, c, d] = [(); 4].map(|()| Arc::clone(known));
    let height = move |hash| Some(d.lock().unwrap().transactions.get(&hash)?.height);
    ChainView {
        hash: Box::new(move |height| a.lock().unwrap().hashes.get(height as usize).copied()),
        block: Box::new(move |hash| b.lock().unwrap().blocks.get(&hash).cloned()),
        transaction: Box::new(move |hash| c.lock().unwrap().transactions.get(&hash).cloned()),
        height: Box::new(height),
        conflict: Box::new(|_| None),
    }
}
