//! Adopts a snapshot as the state of a store of blocks.

use super::on_disk::state_error;
use super::parts::StatePart;
use super::{ExecutedStore, Facts, flat};
use crate::error::Error;
use crate::header::HeaderView;
use crate::snapshot::{Entry, Head, SnapshotError, Verified, head_of, read};
use crate::state::StateLoader;
use crate::{Hash, Level};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Cancel;
use blockmill_store::Tip;
use blockmill_verdict::Hex;
use std::fs::File;
use std::path::Path;

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
        let kind = self.parts.kind;
        let facts = Facts { kind, ..Facts::at_checkpoint(tip.number, tip.hash) };
        let tip = Tip { level: Level::Execution as u8, ..tip };
        let state = facts.encode();
        self.parts.stage()?;
        self.parts.commit_all(&mut self.blocks, &tip, &state)?;
        Ok(found)
    }

    /// Returns the store's last block, if the snapshot is of the state after it and the store has
    /// no state yet.
    fn expects(&self, head: &Head) -> Result<Tip, SnapshotError> {
        let block = |number: u64, hash: &Hash| format!("block {number} {}", Hex(hash));
        let expected = block(head.number, &head.hash);
        let Some(tip) = self.blocks.tip() else {
            return Err(other(&format!("a store that ends with {expected}"), "one without blocks"));
        };
        if self.facts.is_some() {
            return Err(other("a store of blocks without a state", "one with a state"));
        }
        if tip.level != Level::Bodies as u8 {
            let level = Level::stored(tip.level).map_or("unknown", Level::name);
            return Err(other("a store of level bodies", level));
        }
        if tip.chain != head.genesis {
            let expected =
                format!("a snapshot of the chain with genesis block {}", Hex(&tip.chain));
            return Err(other(&expected, &format!("one of {}", Hex(&head.genesis))));
        }
        if (tip.number, tip.hash) != (head.number, head.hash) {
            let expected = format!("a store that ends with {expected}, as the snapshot has it");
            return Err(other(&expected, &block(tip.number, &tip.hash)));
        }
        let header = self.blocks.header(tip.number).map_err(Error::from)?.unwrap_or_default();
        let header = HeaderView::decode(&header);
        let header = header.map_err(|error| super::unusable(tip.number, &error))?;
        if *header.state_root != head.state_root {
            let (expected, found) = (Hex(header.state_root), Hex(&head.state_root));
            let expected = format!("the state root {expected} of block {}", tip.number);
            return Err(other(&expected, &found.to_string()));
        }
        Ok(tip)
    }
}

fn other(expected: &str, found: &str) -> SnapshotError {
    SnapshotError::Unfit { expected: expected.to_owned(), found: found.to_owned() }
}
