//! Lookups of earlier blocks for contracts and transaction rules: blocks since the last commit are
//! in memory, the others in the store.

use crate::execute::chain_view::{ChainView, StoredTransaction, VmState};
use crate::execute::engine::Execution;
use crate::ledger::{self, Ledger, Position, SharedStore, conflict_key};
use crate::types::{Attribute, Block, SingleTransaction, UInt160, UInt256};
use blockmill_hashes::ManySha256;
use blockmill_store::{Error, TableReader};
use hashbrown::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// Blocks between two flushes.
#[derive(Default)]
struct Generation {
    first: u32,
    /// Hashes and bytes of the blocks, from height `first` on.
    list: Vec<(UInt256, Box<[u8]>)>,
    heights: HashMap<UInt256, u32>,
    transactions: HashMap<UInt256, Position>,
    conflicts: HashMap<(UInt256, UInt160), u32>,
    bytes: usize,
}

impl Generation {
    fn at(&self, height: u32) -> Option<&(UInt256, Box<[u8]>)> {
        self.list.get(height.checked_sub(self.first)? as usize)
    }
}

/// Blocks that are not committed.
#[derive(Default)]
struct Generations {
    /// Blocks since the last flush began.
    newest: Generation,
    /// Blocks of the current flush, until the store has committed them.
    flushing: Generation,
}

impl Generations {
    fn generations(&self) -> [&Generation; 2] {
        [&self.newest, &self.flushing]
    }

    fn at(&self, height: u32) -> Option<&(UInt256, Box<[u8]>)> {
        self.generations().into_iter().find_map(|blocks| blocks.at(height))
    }
}

/// Blocks since the last commit, and the store.
#[derive(Clone)]
pub(crate) struct RecentBlocks {
    blocks: Arc<RwLock<Generations>>,
    store: SharedStore,
    transactions: TableReader,
    conflicts: TableReader,
    askers: TableReader,
    /// Whether headers have state roots.
    state_root: bool,
}

impl RecentBlocks {
    pub fn new(ledger: &Ledger, state_root: bool) -> Self {
        Self {
            blocks: Arc::default(),
            store: ledger.store.clone(),
            transactions: ledger.transactions(),
            conflicts: ledger.conflicts(),
            askers: ledger.askers(),
            state_root,
        }
    }

    fn read<T>(&self, of: impl FnOnce(&Generations) -> T) -> T {
        of(&self.blocks.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self) -> RwLockWriteGuard<'_, Generations> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks something up in the blocks in memory.
    fn find<T>(&self, of: impl Fn(&Generation) -> Option<T>) -> Option<T> {
        self.read(|kept| kept.generations().into_iter().find_map(of))
    }

    /// Adds an executed block.
    pub fn add(&self, block: &Block, executions: &[Execution]) {
        let mut kept = self.write();
        let blocks = &mut kept.newest;
        let height = block.header.index;
        if blocks.list.is_empty() {
            blocks.first = height;
        }
        for (index, transaction) in block.transactions().enumerate() {
            let failed = executions.get(index + 1).is_some_and(|each| each.fault.is_some());
            let state = if failed { VmState::Fault } else { VmState::Halt };
            let position = Position { height, index: index as u32, state };
            blocks.transactions.insert(transaction.hash(), position);
            for attribute in transaction.attributes() {
                let Attribute::Conflicts(other) = attribute else { continue };
                for signer in transaction.signers() {
                    blocks.conflicts.insert((other, signer.account()), height);
                }
            }
        }
        blocks.heights.insert(block.hash, height);
        blocks.bytes += block.raw.len();
        blocks.list.push((block.hash, block.raw.as_slice().into()));
    }

    /// Bytes of the blocks since the last flush began.
    pub fn bytes(&self) -> usize {
        self.read(|kept| kept.newest.bytes)
    }

    /// Begins a flush of all blocks so far. The previous flush must have ended.
    pub fn begin_flush(&self) {
        let mut kept = self.write();
        kept.flushing = std::mem::take(&mut kept.newest);
    }

    /// Ends the flush: the store has committed its blocks.
    pub fn end_flush(&self) {
        self.write().flushing = Generation::default();
    }

    /// The view of earlier blocks for contracts and transaction rules. An entry that cannot be read
    /// counts as absent.
    pub fn view(&self) -> ChainView {
        let [a, b, c, d, e] = [(); 5].map(|()| self.clone());
        ChainView {
            hash: Box::new(move |height| a.hash(height)),
            block: Box::new(move |hash| b.block(hash)),
            transaction: Box::new(move |hash| c.transaction(hash)),
            height: Box::new(move |hash| d.position(hash).map(|position| position.height)),
            conflict: Box::new(move |(other, signer)| e.conflict(other, signer)),
        }
    }

    fn hash(&self, height: u32) -> Option<UInt256> {
        let recent = self.read(|kept| kept.at(height).map(|(hash, _)| *hash));
        recent.or_else(|| self.store.lock().hash_of(height.into()).ok().flatten().map(UInt256))
    }

    fn block(&self, hash: UInt256) -> Option<Arc<Block>> {
        let recent = self.find(|blocks| blocks.heights.get(&hash).copied());
        let block = match recent {
            Some(height) => self.recent_block(height),
            None => {
                let store = self.store.lock();
                let height = store.number_of(&hash.0).ok().flatten()?;
                ledger::stored_block(&store, height, self.state_root).ok().flatten()
            }
        };
        block.map(Arc::new)
    }

    fn recent_block(&self, height: u32) -> Option<Block> {
        let raw = self.read(|kept| kept.at(height).map(|(_, raw)| raw.to_vec()))?;
        let mut block = Block { raw, ..Block::default() };
        block.decode(self.state_root, &ManySha256::scalar()).ok().map(|()| block)
    }

    fn recent_position(&self, hash: UInt256) -> Option<Position> {
        self.find(|blocks| blocks.transactions.get(&hash).copied())
    }

    fn stored_position(&self, hash: UInt256) -> Option<Position> {
        let mut value = Vec::new();
        let live = self.transactions.snapshot().get(&hash.0, &mut value).unwrap_or(false);
        live.then(|| Position::decode(&value)).flatten()
    }

    fn position(&self, hash: UInt256) -> Option<Position> {
        self.recent_position(hash).or_else(|| self.stored_position(hash))
    }

    fn transaction(&self, hash: UInt256) -> Option<StoredTransaction> {
        let (position, raw) = match self.recent_position(hash) {
            Some(position) => (position, bytes_of(&self.recent_block(position.height)?, position)?),
            None => {
                let position = self.stored_position(hash)?;
                (position, self.stored_bytes(hash, position)?)
            }
        };
        let transaction = Arc::new(SingleTransaction::decode(raw).ok()?);
        let Position { height, state, .. } = position;
        Some(StoredTransaction { transaction, height, state })
    }

    /// The bytes of a stored transaction. After the removal of its block they are kept if it made
    /// an oracle request.
    fn stored_bytes(&self, hash: UInt256, position: Position) -> Option<Vec<u8>> {
        let height = position.height.into();
        let block = ledger::stored_block(&self.store.lock(), height, self.state_root);
        match block {
            Ok(block) => bytes_of(&block?, position),
            Err(Error::Removed { .. }) => {
                let mut bytes = Vec::new();
                let live = self.askers.snapshot().get(&hash.0, &mut bytes).unwrap_or(false);
                live.then_some(bytes)
            }
            Err(_) => None,
        }
    }

    fn conflict(&self, other: UInt256, signer: UInt160) -> Option<u32> {
        let recent = self.find(|blocks| blocks.conflicts.get(&(other, signer)).copied());
        recent.or_else(|| {
            let mut value = Vec::new();
            let table = self.conflicts.snapshot();
            let live = table.get(&conflict_key(other, signer), &mut value).unwrap_or(false);
            let height: Option<[u8; 4]> = value.as_slice().try_into().ok();
            height.filter(|_| live).map(u32::from_le_bytes)
        })
    }
}

/// The bytes of the transaction at a position.
fn bytes_of(block: &Block, position: Position) -> Option<Vec<u8>> {
    let index = position.index as usize;
    (index < block.transactions.len()).then(|| block.transaction(index).bytes().to_vec())
}
