//! Reading parts of the state of a store.

use super::network;
use crate::data_folder::expect_store_of;
use anyhow::{Context, Result, ensure};
use blockmill_archive::Family;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::state::{NodeSet, State, StateError, StateKind};
use blockmill_ethereum::state_dump::{WriteError, Written, write_disk_state, write_state};
use blockmill_ethereum::stored::split_body;
use blockmill_pipeline::Cancel;
use blockmill_verdict::Hex;
use std::io::Write;
use std::path::Path;

/// A store that is only read.
pub struct StateReader {
    store: ExecutedStore,
}

impl StateReader {
    pub fn open(data: &Path) -> Result<Self> {
        expect_store_of(Family::Ethereum, data)?;
        let store = ExecutedStore::open_read_only(data)
            .with_context(|| format!("cannot read the store {}", data.display()))?;
        Ok(Self { store })
    }

    /// The block of the state.
    pub fn last(&self) -> Result<u64> {
        let facts =
            self.store.facts().context("expected a store with a state, found blocks only")?;
        Ok(facts.block)
    }

    /// The nodes of the state after a block, and its root; `None` on a request to stop.
    pub fn nodes_after(&self, number: u64, cancel: &Cancel) -> Result<Option<(NodeSet, [u8; 32])>> {
        Ok(self.store.nodes_after(number, cancel)?)
    }

    /// The state after a block with its addresses and slots; `None` on request to stop. A state on
    /// disk has only their hashes: there the stored blocks are executed again.
    pub fn state_after(
        &self,
        number: u64,
        spec: &ChainSpec,
        cancel: &Cancel,
    ) -> Result<Option<State>> {
        let kind = self.store.kind();
        if kind == StateKind::Memory {
            return Ok(self.store.state_after(number, cancel)?);
        }
        let (name, first) = (kind.name(), self.store.blocks().first().unwrap_or(0));
        ensure!(
            first == 0,
            "--to snapshot: state={name} keeps hashes of addresses, and addresses follow from \
             executing all blocks again: expected a store that begins with block 0, found block \
             {first} first; import its blocks and the snapshot that it began with into a new \
             folder with state=memory"
        );
        Ok(self.store.state_by_execution(spec, number, cancel)?)
    }

    /// Writes the state after a block in lines, and verifies its root; also returns whether with
    /// addresses and slots. `None` on request to stop.
    pub fn dump_after(
        &self,
        number: u64,
        out: &mut dyn Write,
        cancel: &Cancel,
    ) -> Result<Option<(Written, bool)>> {
        if self.store.kind() != StateKind::Memory {
            let Some(disk) = self.store.disk_after(number, cancel)? else { return Ok(None) };
            let written = write_disk_state(&disk.read(), out, cancel);
            let written = written.map_err(|error| match error {
                WriteError::Io(error) => error.into(),
                WriteError::State(StateError::Disk(error)) => Error::State(error).into(),
                WriteError::State(error) => anyhow::Error::from(error),
            })?;
            return Ok(written.map(|written| (written, false)));
        }
        let encoded = self.header(number)?;
        let header =
            HeaderView::decode(&encoded).with_context(|| format!("header of block {number}"))?;
        let expected = *header.state_root;
        let Some(state) = self.store.state_after(number, cancel)? else { return Ok(None) };
        let Some(written) = write_state(&state, &expected, out, cancel)? else { return Ok(None) };
        let found = written.state_root;
        match found == expected {
            true => Ok(Some((written, true))),
            false => Err(Error::StoredState { number, expected, found }.into()),
        }
    }

    /// A stored header, in RLP.
    pub fn header(&self, number: u64) -> Result<Vec<u8>> {
        let header = self.store.blocks().header(number)?;
        header.with_context(|| format!("expected block {number} in the store, found none"))
    }

    /// A stored body, in RLP.
    pub fn body(&self, number: u64) -> Result<Vec<u8>> {
        let stored = self.store.blocks().body(number)?.with_context(|| {
            format!("expected the body of block {number} in the store, found none")
        })?;
        Ok(split_body(&stored).0.to_vec())
    }

    /// The chain that was named, or the one of the store.
    pub fn spec(&self, chain: Option<&str>) -> Result<ChainSpec> {
        let blocks = self.store.blocks();
        let tip = blocks.tip().context("expected a block in the store, found none")?;
        let Some(chain) = chain else {
            let found = network::of_store(blocks)?.with_context(|| {
                let genesis = Hex(&tip.chain);
                format!("the chain with genesis block {genesis}: name it with --chain genesis.json")
            })?;
            return Ok(found.spec);
        };
        let found = network::named(chain, Some(blocks))?;
        let (expected, hash) = (&tip.chain, &found.spec.genesis.hash);
        ensure!(
            expected == hash,
            "--chain {chain}: expected genesis block {}, as the store has it, found {}",
            Hex(expected),
            Hex(hash)
        );
        network::expect_rules_of(blocks, Some(chain), &found)?;
        Ok(found.spec)
    }
}
