//! Builds consecutive blocks. They are executed, so headers can have state roots and the load gets
//! the results of its transactions.

use super::accounts::Account;
use super::draft::{Desk, Draft};
use anyhow::{Context, Result};
use blockmill_archive::acc::DumpWriter;
use blockmill_hashes::ManySha256;
use blockmill_neo::body::merkle;
use blockmill_neo::execute::block::{Executed, Executor, machine};
use blockmill_neo::execute::chain_view::{ChainView, StoredTransaction, VmState};
use blockmill_neo::execute::engine::Chain;
use blockmill_neo::execute::native::Natives;
use blockmill_neo::execute::vm::Vm;
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, State, StateTrie};
use blockmill_neo::types::{Block, Header, SingleTransaction, UInt256, write};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Time of block 1: 1 January 2022, in milliseconds.
const BEGINNING: u64 = 1_640_995_200_000;
/// Milliseconds between blocks.
const STEP: u64 = 1_000;

type Transactions = Arc<Mutex<HashMap<UInt256, StoredTransaction>>>;

/// A growing chain.
pub struct ChainBuilder {
    writer: DumpWriter,
    hasher: ManySha256,
    vm: Vm,
    executor: Executor,
    chain: Chain,
    pub state: State,
    trie: StateTrie,
    /// The last block.
    tip: Block,
    /// Transactions for lookups by contracts, if the load needs them.
    transactions: Option<Transactions>,
    /// Numbers of transactions, and of failed ones.
    pub counts: [u64; 2],
}

impl ChainBuilder {
    /// Begins a chain with its genesis block. `keeps_transactions`: whether contracts look up
    /// transactions.
    pub fn begin(protocol: Protocol, writer: DumpWriter, keeps_transactions: bool) -> Result<Self> {
        let transactions = keeps_transactions.then(Transactions::default);
        let mut view = ChainView::empty();
        if let Some(known) = transactions.clone() {
            view.transaction = Box::new(move |hash| {
                known.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
            });
        }
        let hasher = ManySha256::detect();
        let genesis = protocol.genesis_block();
        let mut chain = Self {
            writer,
            hasher,
            vm: machine(),
            executor: Executor::default(),
            chain: Chain { protocol, natives: Natives::default(), view },
            state: State::new(Base::default()),
            trie: StateTrie::new(hasher)?,
            tip: Block::default(),
            transactions,
            counts: [0; 2],
        };
        chain.append(genesis)?;
        Ok(chain)
    }

    /// Height of the last block.
    pub fn height(&self) -> u32 {
        self.tip.header.index
    }

    /// Hash of the last block.
    pub fn tip(&self) -> UInt256 {
        self.tip.hash
    }

    /// The state root after the last block.
    pub fn root(&self) -> UInt256 {
        self.trie.root()
    }

    /// Signs the transactions and a block with them, and executes it. Returns the results.
    pub fn add(
        &mut self,
        accounts: &[Account],
        validators: &Account,
        drafts: &[Draft],
    ) -> Result<Executed> {
        let (height, magic) = (self.height() + 1, self.chain.protocol.magic);
        let nonce = self.counts[0] as u32;
        let transactions = Desk { magic, accounts, height, nonce }.sign(drafts)?;
        let hashes = hashes(&transactions)?;
        let header = Header {
            previous: self.tip.hash,
            merkle_root: merkle::root_with(&hashes, &self.hasher),
            timestamp: BEGINNING + u64::from(height) * STEP,
            nonce: u64::from(height).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            index: height,
            next_consensus: validators.hash,
            previous_state_root: self.chain.protocol.state_root_in_header.then(|| self.trie.root()),
            ..Header::default()
        };
        let mut block = vec![];
        header.write_signed(&mut block);
        let hash = blockmill_hashes::sha256(&block);
        block.push(1);
        validators.sign(magic, &hash, &mut block)?;
        write::number(&mut block, transactions.len() as u64);
        transactions.iter().for_each(|each| block.extend_from_slice(each));
        self.append(block)
    }

    fn append(&mut self, raw: Vec<u8>) -> Result<Executed> {
        self.writer.append(&raw)?;
        let mut block = Block { raw, ..Block::default() };
        block.decode(self.chain.protocol.state_root_in_header, &self.hasher)?;
        let executed = self.executor.execute(&mut self.vm, &self.chain, &mut self.state, &block)?;
        self.trie.apply(&executed.changes)?;
        let failed = executed.executions.iter().filter(|each| each.fault.is_some());
        self.counts[0] += block.transactions.len() as u64;
        self.counts[1] += failed.count() as u64;
        self.remember(&block, &executed)?;
        self.tip = block;
        Ok(executed)
    }

    fn remember(&self, block: &Block, executed: &Executed) -> Result<()> {
        let Some(known) = &self.transactions else { return Ok(()) };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        for (each, execution) in block.transactions().zip(executed.executions.iter().skip(1)) {
            let transaction = Arc::new(SingleTransaction::decode(each.bytes().to_vec())?);
            let state = if execution.fault.is_none() { VmState::Halt } else { VmState::Fault };
            let height = block.header.index;
            known.insert(each.hash(), StoredTransaction { transaction, height, state });
        }
        Ok(())
    }

    /// Completes the dump.
    pub fn finish(self) -> Result<()> {
        self.writer.finish().context("the dump is not complete")
    }
}

/// The hash of each transaction.
fn hashes(transactions: &[Vec<u8>]) -> Result<Vec<UInt256>> {
    let hash = |raw: &Vec<u8>| Ok(SingleTransaction::decode(raw.clone())?.get().hash());
    transactions.iter().map(hash).collect()
}
