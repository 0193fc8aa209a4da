//! The state after an earlier block, for queries.

use super::recover::{execute_stored, unready, unusable};
use super::{ExecutedStore, Facts};
use crate::Hash;
use crate::error::Error;
use crate::execute::Replay;
use crate::params::ChainSpec;
use crate::state::{NodeSet, State, Tries};
use blockmill_pipeline::Cancel;

impl ExecutedStore {
    /// The flat state after block `number`, without the hashes of ancestors. `None` when cancelled.
    /// Its root is not verified.
    ///
    /// # Errors
    /// [`Error::Unwind`] where there is no state, it ends before that block, or the log does not
    /// reach so far back or has no old values; corruption.
    pub fn state_after(&self, number: u64, cancel: &Cancel) -> Result<Option<State>, Error> {
        let facts = self.reaches(number)?;
        let Some(mut state) = self.flat_state(cancel)? else { return Ok(None) };
        let back = self.undo_in_memory(facts, number, &mut state, cancel)?;
        Ok(back.map(|_| state))
    }

    /// The flat state after block `number`, with addresses and slots, of a store that keeps its
    /// state on disk by their hashes: the stored blocks are executed again in memory, from the
    /// genesis block on. `None` when cancelled.
    ///
    /// # Errors
    /// [`Error::Unwind`] where the store does not begin with the genesis block or ends before that
    /// block; stored blocks that do not execute.
    pub fn state_by_execution(
        &self,
        spec: &ChainSpec,
        number: u64,
        cancel: &Cancel,
    ) -> Result<Option<State>, Error> {
        let (first, last) = (self.blocks.first(), self.blocks.tip().map(|tip| tip.number));
        if first != Some(0) || last < Some(number) {
            let expected = format!("the blocks 0 to {number} in the store");
            let found = match (first, last) {
                (Some(first), Some(last)) => format!("blocks {first} to {last}"),
                _ => "none".into(),
            };
            return Err(Error::Unwind { expected, found });
        }
        let mut replay =
            Replay::from_genesis(spec, Tries::pointers()).map_err(|error| unready(0, &error))?;
        for block in 1..=number {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            execute_stored(spec, &self.blocks, block, &mut replay)?;
        }
        Ok(Some(replay.state))
    }

    /// Checks that the log reaches back to the state after block `number`.
    pub(super) fn reaches(&self, number: u64) -> Result<&Facts, Error> {
        let (Some(facts), Some(earliest)) = (&self.facts, self.earliest()) else {
            let (expected, found) = ("a store with a state".into(), "blocks only".into());
            return Err(Error::Unwind { expected, found });
        };
        if !(earliest..=facts.block).contains(&number) {
            let expected = format!("one of the blocks {earliest} to {}", facts.block);
            return Err(Error::Unwind { expected, found: number.to_string() });
        }
        Ok(facts)
    }

    /// The trie nodes of the state after block `number`, and its root, which is verified. `None`
    /// when cancelled.
    ///
    /// # Errors
    /// [`Error::Unwind`] if the log does not reach the block; [`Error::StoredState`] if the root
    /// differs; [`Error::Store`] or [`Error::State`] if data is corrupt.
    pub fn nodes_after(
        &self,
        number: u64,
        cancel: &Cancel,
    ) -> Result<Option<(NodeSet, Hash)>, Error> {
        self.reaches(number)?;
        let expected = self.root_of(number)?;
        if self.disk().is_some() {
            let nodes = self.nodes_on_disk(number, cancel)?;
            return Ok(nodes.map(|nodes| (nodes, expected)));
        }
        let Some(state) = self.state_after(number, cancel)? else { return Ok(None) };
        let (nodes, found) =
            NodeSet::from_state(state).map_err(|error| unusable(number, &error))?;
        if found != expected {
            return Err(Error::StoredState { number, expected, found });
        }
        Ok(Some((nodes, found)))
    }
}
