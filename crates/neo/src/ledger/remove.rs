//! Removes untraceable blocks (neo-go, `RemoveUntraceableBlocks`): bodies, application logs, state
//! roots, conflicts and NEP-17 transfers.
//!
//! What later blocks may depend on is kept, so their verdicts equal those over a complete store:
//! - headers and hashes;
//! - positions of transactions: no transaction may name one of the chain as conflicting, however
//!   old that is (neo-go forgets this);
//! - transactions with oracle requests: the response runs with their signers.
//!
//! A block is kept while it is traceable from any block that an unwind can return to.

use super::unwind::mentioned;
use super::{Ledger, conflict_key};
use crate::error::Error;
use crate::execute::contract::native_hash;
use crate::execute::encode::integer_of;
use crate::execute::engine::Execution;
use crate::execute::native::policy;
use crate::ledger::has_state_roots;
use crate::logs::{self, Standard};
use crate::types::{Attribute, Block, UInt160};
use std::collections::BTreeSet;

blockmill_pipeline::named_option! {
    /// Whether a store keeps untraceable blocks.
    ///
    /// `traceable` removes bodies, application logs, state roots, conflicts and NEP-17 transfers of
    /// blocks that contracts can no longer read ([what is
    /// kept](../formats/neo-logs.md#removed-blocks); neo-go, `RemoveUntraceableBlocks`). With
    /// `log=off` exactly the traceable blocks are left, with `log=undo` also those that an unwind
    /// needs. The remaining data and all later blocks equal those of a store of all blocks. A store
    /// with removed blocks continues to remove them.
    pub enum KeptBlocks: "blocks", level Execution {
        /// Remove blocks that contracts and the undo log no longer need.
        Traceable = "traceable",
        /// Keep all blocks.
        All = "all",
    }
}

/// Approximate number of transfer entries that one commit removes; they are in memory until then.
const REMOVED_PER_COMMIT: usize = 1 << 14;

impl Ledger {
    /// Removes all untraceable blocks, in durable steps.
    ///
    /// # Errors
    /// Returns [`Error::Store`], [`Error::StoredBlock`] or [`Error::StoredLog`] if a removed block
    /// cannot be read, [`Error::Store`] if the commit fails.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        let Some(tip) = self.store.lock().tip() else { return Ok(()) };
        let earliest = self.earliest().unwrap_or(tip.number);
        // heights have four bytes
        let stay = self.first_seen_at(earliest as u32)?;
        let state_root = has_state_roots(&self.store.lock())?;
        loop {
            let first = self.store.lock().first_whole().unwrap_or(0) as u32;
            if first >= stay {
                return Ok(());
            }
            let next = self.remove_from(first, stay, state_root)?;
            let (shared, state) = (self.store.clone(), self.encoded_facts());
            // the lock hides the removal until the tables are committed
            let mut store = shared.lock();
            store.remove_before(next.into())?;
            store.commit_with(&tip, &mut self.parts(), &state)?;
            self.changed = false;
        }
    }

    /// The first block that is traceable from the block after `height`, over the state after it or
    /// a later one.
    fn first_seen_at(&self, height: u32) -> Result<u32, Error> {
        Ok((height + 1).saturating_sub(self.traceable()?))
    }

    /// The largest `MaxTraceableBlocks` from the next block on. Policy starts with the value of
    /// genesis and only lowers it.
    fn traceable(&self) -> Result<u32, Error> {
        let mut value = vec![];
        let key = policy::traceable_key();
        if key.map_or(Ok(false), |key| self.storage.get(key.as_slice(), &mut value))? {
            return Ok(u32::try_from(integer_of(&value)).unwrap_or(u32::MAX).max(1));
        }
        let names = ["MaxTraceableBlocks", "Genesis.MaxTraceableBlocks"];
        let stated = names.into_iter().filter_map(|name| self.configuration.number(name));
        Ok(stated.max().unwrap_or(u32::MAX).max(1))
    }

    /// Checks that all blocks that are traceable after block `to` are stored. The tables have the
    /// state of that block; Policy may have lowered its value later.
    pub(super) fn check_kept(&self, to: u32) -> Result<(), Error> {
        let first = self.store.lock().first_whole().unwrap_or(0);
        let seen = self.first_seen_at(to)?;
        match first <= seen.into() || first == self.store.lock().first().unwrap_or(0) {
            true => Ok(()),
            false => Err(Error::Unwind {
                expected: format!(
                    "a later block, as contracts see block {seen} from there, and \
                     blocks before {first} were removed"
                ),
                found: format!("--to {to}"),
            }),
        }
    }

    /// Removes the table entries of blocks from `first` to before `end`, or of fewer blocks to
    /// bound memory. Returns the first block that was not removed.
    fn remove_from(&mut self, first: u32, end: u32, state_root: bool) -> Result<u32, Error> {
        self.changed = true;
        let (mut accounts, mut sides, mut next) = (BTreeSet::new(), 0, first);
        while next < end && (next == first || sides < REMOVED_PER_COMMIT && !self.wants_flush()) {
            let block = self.block(next, state_root)?;
            let missing =
                Error::StoredBlock { number: next.into(), expected: block.hash, found: None };
            let executions = self.executions_of(&block)?.ok_or(missing)?;
            mentioned(&executions, |account, standard| {
                sides += 1;
                accounts.extend((standard == Standard::Nep17.number()).then_some(account));
            });
            self.remove_conflicts(&block)?;
            self.keep_askers(&block, &executions)?;
            self.roots.delete(&next.to_be_bytes())?;
            next += 1;
        }
        let (reader, transfers) = (self.transfers.reader(), &mut self.transfers);
        for account in &accounts {
            let account: &UInt160 = account;
            logs::superseded(&reader, *account, next - 1, |key| transfers.delete(key))?;
        }
        Ok(next)
    }

    /// Removes the conflicts of a block that no later block repeats.
    fn remove_conflicts(&mut self, block: &Block) -> Result<(), Error> {
        let height = block.header.index.to_le_bytes();
        let mut last = vec![];
        for transaction in block.transactions() {
            for attribute in transaction.attributes() {
                let Attribute::Conflicts(other) = attribute else { continue };
                for signer in transaction.signers() {
                    let key = conflict_key(other, signer.account());
                    last.clear();
                    if self.conflicts.get(&key, &mut last)? && last == height {
                        self.conflicts.delete(&key)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps the transactions of a block that made an oracle request.
    fn keep_askers(&mut self, block: &Block, executions: &[Execution]) -> Result<(), Error> {
        let oracle = UInt160(native_hash("OracleContract"));
        // the first execution is OnPersist
        for (transaction, execution) in block.transactions().zip(executions.iter().skip(1)) {
            let mut events = execution.notifications.iter();
            if events.any(|event| event.contract == oracle && event.name == "OracleRequest") {
                self.askers.put(&transaction.hash().0, transaction.bytes())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::chain_view::VmState;
    use crate::execute::engine::{Notification, Trigger};
    use crate::import::Bytes;
    use crate::ledger::Position;
    use crate::ledger::RecentBlocks;
    use crate::logs::application;
    use crate::params::{GenesisTransaction, Protocol};
    use blockmill_hashes::ManySha256;
    use blockmill_store::{Blocks, Tip};

    /// Offset of the height in a block.
    const HEIGHT: usize = 84;

    /// A genesis block with one transaction, moved to a height.
    fn block(height: u8) -> Block {
        let mut protocol = Protocol::by_name("mainnet").unwrap();
        let transaction = GenesisTransaction { script: vec![0x40, height], system_fee: 0 };
        protocol.genesis.transaction = Some(transaction);
        let mut block = Block { raw: protocol.genesis_block(), ..Block::default() };
        block.raw[HEIGHT] = height;
        block.decode(false, &ManySha256::scalar()).unwrap();
        assert_eq!(block.header.index, u32::from(height));
        block
    }

    /// A store of three blocks. The first two, of which the first made an oracle request, are
    /// removed.
    fn removed(folder: &tempfile::TempDir, blocks: &[Block; 3]) -> Ledger {
        let mut ledger = Ledger::open(folder.path(), &blockmill_store::Options::default()).unwrap();
        let (mut headers, mut bodies, mut logs) =
            (Bytes::default(), Bytes::default(), Bytes::default());
        for (height, block) in (0..).zip(blocks) {
            let execution = |trigger, notifications| {
                let (container, stack) = (block.hash, vec![]);
                Execution { container, trigger, gas: 0, stack, notifications, fault: None }
            };
            let event = Notification {
                contract: UInt160(native_hash("OracleContract")),
                name: if height == 0 { "OracleRequest" } else { "OracleResponse" }.into(),
                state: vec![],
            };
            let executions = [
                execution(Trigger::OnPersist, vec![]),
                execution(Trigger::Application, vec![event]),
                execution(Trigger::PostPersist, vec![]),
            ];
            let (header, body) = block.raw.split_at(block.header_length());
            assert!(headers.push(header) && bodies.push(body));
            assert!(logs.push_with(|log| application::encode(&executions, log)));
            let place = Position { height, index: 0, state: VmState::Halt };
            let hash = block.transaction(0).hash();
            ledger.transactions.put(&hash.0, &place.encode()).unwrap();
        }
        let hashes = blocks.each_ref().map(|block| block.hash.0);
        let blocks = Blocks {
            first: 0,
            hashes: &hashes,
            headers: headers.items(3),
            bodies: Some(bodies.items(3)),
            receipts: Some(logs.items(3)),
        };
        let tip = Tip { number: 2, hash: hashes[2], ..Tip::default() };
        ledger.append(&blocks, tip).unwrap();
        ledger.commit().unwrap();
        assert_eq!(ledger.remove_from(0, 2, false).unwrap(), 2);
        let store = ledger.store.clone();
        store.lock().remove_before(2).unwrap();
        ledger.pending = Some(tip);
        ledger.commit().unwrap();
        ledger
    }

    #[test]
    fn a_transaction_with_an_oracle_request_outlives_its_block() {
        let (folder, blocks) = (tempfile::tempdir().unwrap(), [0, 1, 2].map(block));
        let ledger = removed(&folder, &blocks);
        let view = RecentBlocks::new(&ledger, false).view();
        let is_left = [true, false, true];
        for ((height, block), is_left) in (0..).zip(&blocks).zip(is_left) {
            let transaction = block.transaction(0);
            assert_eq!((view.height)(transaction.hash()), Some(height));
            assert_eq!((view.hash)(height), Some(block.hash));
            let found = (view.transaction)(transaction.hash());
            let found = found.map(|found| (found.height, found.transaction.get().bytes().to_vec()));
            assert_eq!(found, is_left.then(|| (height, transaction.bytes().to_vec())));
            assert_eq!((view.block)(block.hash).is_some(), height == 2);
        }
    }

    #[test]
    fn unwind_refuses_a_block_from_which_a_removed_one_is_traceable() {
        let (folder, blocks) = (tempfile::tempdir().unwrap(), [0, 1, 2].map(block));
        let mut ledger = removed(&folder, &blocks);
        // after block 2, one, two or three blocks are traceable
        for (seen, is_kept) in [(1, true), (2, false), (3, false)] {
            let key = policy::traceable_key().unwrap();
            ledger.storage.put(key.as_slice(), &[seen]).unwrap();
            let kept = ledger.check_kept(2);
            assert_eq!(kept.is_ok(), is_kept, "{seen}");
            let names_removed =
                |error: Error| error.to_string().contains("blocks before 2 were removed");
            assert!(kept.err().is_none_or(names_removed));
        }
    }
}
