//! Adopts a snapshot or a dump as the state of a store of blocks.

use super::on_disk::state_error;
use super::parts::StatePart;
use super::{ExecutedStore, Facts, flat};
use crate::error::Error;
use crate::snapshot::{Entry, Head, SnapshotError, Verified, head_of, read};
use crate::state::{DiskState, DumpBatch, StateLoader};
use crate::state_dump::{DumpEntry, Dumped, StateDump, TakeDump};
use crate::{Address, Hash, Level};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_store::{Table, Tip};
use blockmill_trie::RootBuilder;
use blockmill_verdict::Hex;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Batches of a dump that wait to be loaded, of 16 MiB at most, but for large codes.
const BATCHES: usize = 2;

impl ExecutedStore {
    /// Adds the state of the snapshot at `path` to a store of blocks without a state, so that
    /// imports resume after its last block, which must be the snapshot's. The whole snapshot is
    /// verified; then one durable commit adds the state, as a checkpoint or on disk. On an error
    /// the store is unchanged.
    ///
    /// # Errors
    /// [`SnapshotError::Unfit`] where the store's last block is another one, or it has a state;
    /// corruption of the snapshot; those of the store.
    pub fn adopt(
        mut self,
        path: &Path,
        threads: usize,
        cancel: &Cancel,
        watch: impl FnMut(u64) + Send,
    ) -> Result<Verified, SnapshotError> {
        let head = head_of(path)?;
        let tip = self.expects(&head)?;
        let file = File::open(path).map_err(SnapshotError::io(path))?;
        let found = match &mut self.parts.state {
            StatePart::Table(table) => {
                let mut take = |entry: Entry<'_>| match entry {
                    Entry::Code(hash, code) => flat::put_code_in_table(table, hash, code),
                    Entry::Account(address, account) => {
                        flat::put_in_table(table, address, Some(account))
                    }
                    Entry::Slot(address, slot, value) => {
                        flat::put_slot_in_table(table, address, &slot, value)
                    }
                };
                let found = read(path, file, threads, cancel, watch, &mut take)?;
                table.spill().map_err(Error::from)?;
                found
            }
            StatePart::Disk(disk) => {
                let (state, mut loader) =
                    (&mut *disk.write(), StateLoader::new(ManyKeccak::detect()));
                let mut take = |entry: Entry<'_>| loader.take(entry, state).map_err(state_error);
                let found = read(path, file, threads, cancel, watch, &mut take)?;
                let root = loader.finish(state).map_err(state_error)?;
                if root != found.head.state_root {
                    let (number, expected) = (head.number, head.state_root);
                    return Err(Error::StoredState { number, expected, found: root }.into());
                }
                found
            }
        };
        if found.head != head {
            return Err(other("a snapshot that stays the same", "another one in its place"));
        }
        self.commit_adopted(tip)?;
        Ok(found)
    }

    /// Adds the state of a dump to a store of blocks without a state, as [`ExecutedStore::adopt`]
    /// does: the dump must be of the state after the store's last block. `watch` gets the bytes of
    /// the file that were read. On an error the store is unchanged.
    ///
    /// # Errors
    /// [`SnapshotError::Unfit`] if the root of the dump is not that of the store's last block, if
    /// the store has a state, or if a state in memory is to be made of accounts without addresses;
    /// corruption of the dump; those of the store.
    pub fn adopt_dump(
        mut self,
        mut dump: StateDump,
        cancel: &Cancel,
        mut watch: impl FnMut(u64) + Send,
    ) -> Result<(u64, Dumped), SnapshotError> {
        let (tip, expected) = self.expects_state()?;
        let number = tip.number;
        if *dump.root() != expected {
            let expected =
                format!("a dump with the state root {} of block {number}", Hex(&expected));
            return Err(other(&expected, &Hex(dump.root()).to_string()));
        }
        let mut seen = 0;
        let mut read = |dump: &mut StateDump, take: &mut TakeDump<'_>| {
            let more = dump.account(cancel, take)?;
            let bytes = dump.disk_bytes();
            watch(bytes - seen);
            seen = bytes;
            match cancel.is_cancelled() {
                true => Err(SnapshotError::Stopped),
                false => Ok(more),
            }
        };
        let found = match &mut self.parts.state {
            StatePart::Table(table) => {
                let mut tables = TableLoader { table, owner: None, leaves: vec![] };
                while read(&mut dump, &mut |entry| tables.take(&entry))? {}
                tables.finish(&dump)?
            }
            StatePart::Disk(disk) => {
                let state = &mut *disk.write();
                load_on_disk(state, |take| read(&mut dump, take))?;
                state.root()
            }
        };
        if found != expected {
            let what = format!("accounts with the state root {}", Hex(&expected));
            return Err(dump.wrong(what, Hex(&found)));
        }
        self.commit_adopted(tip)?;
        Ok((number, dump.dumped()))
    }

    /// Commits the state that was loaded, as that after the last block.
    fn commit_adopted(&mut self, tip: Tip) -> Result<(), Error> {
        let kind = self.parts.kind;
        let facts = Facts { kind, ..Facts::at_checkpoint(tip.number, tip.hash) };
        let tip = Tip { level: Level::Execution as u8, ..tip };
        let state = facts.encode();
        self.parts.stage()?;
        self.parts.commit_all(&mut self.blocks, &tip, &state)
    }

    /// Returns the store's last block, if the snapshot is of the state after it and the store has
    /// no state yet.
    fn expects(&self, head: &Head) -> Result<Tip, SnapshotError> {
        let block = |number: u64, hash: &Hash| format!("block {number} {}", Hex(hash));
        let expected = block(head.number, &head.hash);
        if self.blocks.tip().is_none() {
            return Err(other(&format!("a store that ends with {expected}"), "one without blocks"));
        }
        let (tip, state_root) = self.expects_state()?;
        if tip.chain != head.genesis {
            let expected =
                format!("a snapshot of the chain with genesis block {}", Hex(&tip.chain));
            return Err(other(&expected, &format!("one of {}", Hex(&head.genesis))));
        }
        if (tip.number, tip.hash) != (head.number, head.hash) {
            let expected = format!("a store that ends with {expected}, as the snapshot has it");
            return Err(other(&expected, &block(tip.number, &tip.hash)));
        }
        if state_root != head.state_root {
            let (expected, found) = (Hex(&state_root), Hex(&head.state_root));
            let expected = format!("the state root {expected} of block {}", tip.number);
            return Err(other(&expected, &found.to_string()));
        }
        Ok(tip)
    }

    /// Returns the store's last block and the state root in its header, if the store has no state
    /// yet.
    fn expects_state(&self) -> Result<(Tip, Hash), SnapshotError> {
        let Some(tip) = self.blocks.tip() else {
            return Err(other("a store that ends with the block of the state", "no blocks"));
        };
        if self.facts.is_some() {
            return Err(other("a store of blocks without a state", "one with a state"));
        }
        if tip.level != Level::Bodies as u8 {
            let level = Level::stored(tip.level).map_or("unknown", Level::name);
            return Err(other("a store of level bodies", level));
        }
        Ok((tip, self.root_of(tip.number)?))
    }
}

/// Loads the entries of a dump into the table of a state in memory, and keeps the leaves of the
/// trie of accounts.
struct TableLoader<'t> {
    table: &'t mut Table,
    /// The address of the last account.
    owner: Option<Address>,
    leaves: Vec<(Hash, Vec<u8>)>,
}

impl TableLoader<'_> {
    fn take(&mut self, entry: &DumpEntry<'_>) -> Result<(), SnapshotError> {
        let unnamed = |key: &Hash| {
            let expected = "addresses and slots for state=memory (state=pages and state=flat+trie \
                            need their hashes only)";
            other(expected, &format!("the hash {} only", Hex(key)))
        };
        match *entry {
            DumpEntry::Code(hash, code) => flat::put_code_in_table(self.table, hash, code)?,
            DumpEntry::Account { key, address, account, storage_root } => {
                let address = address.ok_or_else(|| unnamed(key))?;
                let (nonce, balance, code_hash) =
                    (account.nonce, account.balance, &account.code_hash);
                let leaf = Leaf { nonce, balance, storage_root, code_hash }.encode();
                self.leaves.push((*key, leaf));
                self.owner = Some(*address);
                flat::put_in_table(self.table, address, Some(account))?;
            }
            DumpEntry::Slot { key, slot, value, .. } => {
                let (Some(owner), Some(slot)) = (&self.owner, slot) else {
                    return Err(unnamed(key));
                };
                flat::put_slot_in_table(self.table, owner, &slot, value)?;
            }
        }
        Ok(())
    }

    /// Writes the table, and returns the state root.
    fn finish(mut self, dump: &StateDump) -> Result<Hash, SnapshotError> {
        self.leaves.sort_unstable();
        if let Some(pair) = self.leaves.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let found = format!("the one with the key {} twice", Hex(&pair[0].0));
            return Err(dump.wrong("each account once", found));
        }
        self.table.spill().map_err(Error::from)?;
        Ok(RootBuilder::new().sorted(self.leaves))
    }
}

/// Loads the accounts that `read` reads one by one into a state on disk: another thread reads.
fn load_on_disk(
    state: &mut DiskState,
    mut read: impl FnMut(&mut TakeDump<'_>) -> Result<bool, SnapshotError> + Send,
) -> Result<(), SnapshotError> {
    let (sender, batches) = sync_channel::<DumpBatch>(BATCHES);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut batch = DumpBatch::default();
            // whoever loads has failed, and says why
            let send = |batch| sender.send(batch).map_err(|_| SnapshotError::Stopped);
            while read(&mut |entry| {
                batch.take(&entry);
                if batch.is_full() { send(std::mem::take(&mut batch)) } else { Ok(()) }
            })? {}
            send(batch)
        });
        let loaded = batches.into_iter().try_for_each(|batch| state.load(batch));
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        loaded.map_err(state_error)?;
        read
    })
}

fn other(expected: &str, found: &str) -> SnapshotError {
    SnapshotError::Unfit { expected: expected.to_owned(), found: found.to_owned() }
}
