//! Recovery of the state of a store: from checkpoint, log, and the stored blocks after it.

use super::parts::StatePart;
use super::{BlockChanges, ExecutedStore, Facts, LogValues, flat, log};
use crate::body::BodyView;
use crate::error::Error;
use crate::execute::{ExecutionError, PreparedBlock, Replay, Replayed};
use crate::header::HeaderView;
use crate::params::ChainSpec;
use crate::state::{AccountChange, Changes, SlotChange, State, StateError, Tries};
use crate::stored::split_body;
use crate::{Hash, Level, U256};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, Tip};
use std::fmt::Display;

/// Accounts and slots that are added to the tries at a time.
const GROUP: usize = 1 << 16;
/// Blocks that are executed again between two commits of the log.
const COMMIT_EVERY: u64 = 1024;
/// How far back BLOCKHASH goes.
const ANCESTORS: u64 = 256;

impl ExecutedStore {
    /// Recovers the state after the last stored block, or the genesis state, with its tries;
    /// `tries` are empty. `None` when cancelled. Blocks that were stored without a log are executed
    /// again, and their changes are logged as `values` says. In a store with blocks, the genesis
    /// state is committed before they are executed: every later commit and recovery starts from it.
    ///
    /// # Errors
    /// Corruption; a state root that is not that of the stored block; stored blocks that do not
    /// execute.
    pub(crate) fn recover<'c>(
        &mut self,
        spec: &'c ChainSpec,
        tries: Tries,
        values: LogValues,
        cancel: &Cancel,
    ) -> Result<Option<Replay<'c>>, Error> {
        let mut replay = match &self.facts {
            None => {
                let replay = Replay::from_genesis(spec, tries).map_err(|e| unready(0, &e))?;
                if values != LogValues::None {
                    if let StatePart::Table(table) = &mut self.parts.state {
                        flat::put_all_in_table(table, &replay.state)?;
                    }
                    self.facts = Some(Facts::at_genesis(self.parts.kind, spec.genesis.hash));
                    if let Some(tip) = self.blocks.tip() {
                        self.commit(&tip, true)?;
                    }
                }
                replay
            }
            Some(_) => {
                let Some((state, tries)) = self.recover_logged(tries, cancel)? else {
                    return Ok(None);
                };
                Replay::new(spec, state, tries)
            }
        };
        let Some(tip) = self.blocks.tip() else { return Ok(Some(replay)) };
        // without a log, the next run executes the same blocks again
        let behind = self.facts.map_or(0, |facts| facts.block);
        for number in behind + 1..=tip.number {
            if cancel.is_cancelled() {
                break;
            }
            let (hash, done) = execute_stored(spec, &self.blocks, number, &mut replay)?;
            self.log_steps(number, hash, &done, values)?;
            let is_full = self.wants_checkpoint();
            if (number.is_multiple_of(COMMIT_EVERY) || is_full) && values != LogValues::None {
                self.commit(&tip, is_full)?;
            }
        }
        if cancel.is_cancelled() {
            return Ok(None);
        }
        // it may have been a store of blocks alone until here
        let executed = Tip { level: Level::Execution as u8, ..tip };
        if values != LogValues::None && (behind < tip.number || executed != tip) {
            self.commit(&executed, self.wants_checkpoint())?;
        }
        Ok(Some(replay))
    }

    /// Logs the changes of a block.
    fn log_steps(
        &mut self,
        number: u64,
        hash: Hash,
        done: &Replayed,
        values: LogValues,
    ) -> Result<(), Error> {
        if values == LogValues::None {
            return Ok(());
        }
        let mut record = vec![];
        BlockChanges::with_cleared(number, &done.steps, &done.cleared)
            .encode(values == LogValues::Both, &mut record);
        self.log(number, hash, &record)
    }

    /// The state after the last block of the log, whose root is verified.
    fn recover_logged(
        &mut self,
        tries: Tries,
        cancel: &Cancel,
    ) -> Result<Option<(State, Tries)>, Error> {
        let Some(facts) = self.facts else { return Ok(None) };
        // blocks may have been given up in a repair
        if let Some(blocks) = self.last_block_before_state() {
            let unwound = self.unwind(blocks, cancel).map_err(|error| match error {
                Error::Unwind { .. } => Error::StateAhead { state: facts.block, blocks },
                error => error,
            })?;
            if unwound.is_none_or(|unwound| unwound.to > blocks) {
                return Ok(None);
            }
        }
        self.logged_state(tries, cancel)
    }

    /// The last block of the store, if the state is that of a later block.
    pub(super) fn last_block_before_state(&self) -> Option<u64> {
        let (facts, tip) = (self.facts?, self.blocks.tip()?);
        (tip.number < facts.block).then_some(tip.number)
    }

    /// Verifies that the state of the last commit has the root in its block's header, or that the
    /// log leads back to the last block. Returns false when cancelled. Writes nothing. A store
    /// without a state passes.
    ///
    /// # Errors
    /// [`Error::StoredState`], [`Error::StoredBlock`] and [`Error::StateAhead`] where it is another
    /// one; corruption.
    pub fn check_state(&self, cancel: &Cancel) -> Result<bool, Error> {
        let Some(facts) = self.facts else { return Ok(true) };
        let Some(blocks) = self.last_block_before_state() else {
            return Ok(self.logged_state(Tries::pointers(), cancel)?.is_some());
        };
        match self.nodes_after(blocks, cancel) {
            Err(Error::Unwind { .. }) => Err(Error::StateAhead { state: facts.block, blocks }),
            nodes => Ok(nodes?.is_some()),
        }
    }

    /// Loads and verifies the state after the last block of the log, which the store has. Writes
    /// nothing.
    fn logged_state(&self, tries: Tries, cancel: &Cancel) -> Result<Option<(State, Tries)>, Error> {
        let Some(facts) = self.facts else { return Ok(None) };
        let found = self.blocks.hash_of(facts.block)?;
        if found != Some(facts.hash) {
            let (number, expected) = (facts.block, facts.hash);
            return Err(Error::StoredBlock { number, expected, found });
        }
        let (mut state, tries) = match self.disk().cloned() {
            Some(disk) => {
                if !self.redo_on_disk(&disk, cancel)? {
                    return Ok(None);
                }
                (State::on_disk(disk), tries)
            }
            None => {
                let Some(state) = self.flat_state(cancel)? else { return Ok(None) };
                let Some(tries) = self.tries_at(facts.block, &state, tries, cancel)? else {
                    return Ok(None);
                };
                (state, tries)
            }
        };
        for number in facts.block.saturating_sub(ANCESTORS)..=facts.block {
            if let Some(hash) = self.blocks.hash_of(number)? {
                state.ancestors.push(number, hash);
            }
        }
        Ok(Some((state, tries)))
    }

    /// The flat state after the last block of the log. `None` when cancelled.
    pub(super) fn flat_state(&self, cancel: &Cancel) -> Result<Option<State>, Error> {
        let Some(facts) = &self.facts else { return Ok(None) };
        let StatePart::Table(table) = &self.parts.state else { return Err(on_disk()) };
        let mut state = State::default();
        if !flat::load(table, self.blocks.dir(), &mut state, cancel)? {
            return Ok(None);
        }
        let log = &self.parts.logs[facts.active];
        let (mut at, mut next) = (facts.start, facts.checkpoint.map_or(0, |number| number + 1));
        while at < log.len() {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            let (block, end) = log::read_from(log, at)?;
            if block.number != next {
                let expected = format!("the record of block {next}");
                return Err(log::damaged(log, at, &expected, format!("{}", block.number)));
            }
            flat::redo(&mut state, &block)
                .map_err(|error| log::damaged(log, at, "a state that can be kept", error))?;
            (at, next) = (end, next + 1);
        }
        if next != facts.block + 1 {
            let expected = format!("records up to block {}", facts.block);
            return Err(log::damaged(log, at, &expected, format!("{} as the next", next)));
        }
        Ok(Some(state))
    }

    /// Builds the tries of a state, and verifies the root in the header of a stored block. `None`
    /// when cancelled.
    pub(super) fn tries_at(
        &self,
        number: u64,
        state: &State,
        tries: Tries,
        cancel: &Cancel,
    ) -> Result<Option<Tries>, Error> {
        let expected = self.root_of(number)?;
        let Some((tries, found)) =
            tries_of(state, tries, cancel).map_err(|error| unusable(number, &error))?
        else {
            return Ok(None);
        };
        if found != expected {
            return Err(Error::StoredState { number, expected, found });
        }
        Ok(Some(tries))
    }
}

/// Builds the tries of a state in memory. `None` when cancelled.
fn tries_of(
    state: &State,
    mut tries: Tries,
    cancel: &Cancel,
) -> Result<Option<(Tries, Hash)>, StateError> {
    let mut group = Changes::default();
    let mut root = tries.root()?;
    for (id, address, account) in state.accounts() {
        let (address, after) = (*address, Some(*account));
        let listed = AccountChange { id, address, before: None, after };
        group.accounts.push(listed.clone());
        for (slot, value) in state.slots(id) {
            let (slot, before, after) = (*slot, U256::ZERO, *value);
            group.slots.push(SlotChange { id, slot, before, after });
            if group.slots.len() >= GROUP {
                // the account comes again with the rest of its slots
                tries.apply(&std::mem::take(&mut group))?;
                group.accounts.push(listed.clone());
                if cancel.is_cancelled() {
                    return Ok(None);
                }
            }
        }
        if group.accounts.len() >= GROUP {
            root = tries.apply(&std::mem::take(&mut group))?;
            if cancel.is_cancelled() {
                return Ok(None);
            }
        }
    }
    if !group.is_empty() {
        root = tries.apply(&group)?;
    }
    Ok(Some((tries, root)))
}

/// Executes a block that an earlier run verified. Returns its hash and its changes.
pub(crate) fn execute_stored(
    spec: &ChainSpec,
    store: &ChainStore,
    number: u64,
    replay: &mut Replay<'_>,
) -> Result<(Hash, Replayed), Error> {
    let (header, body) = (store.header(number)?, store.body(number)?);
    let (Some(header), Some(body), Some(hash)) = (header, body, store.hash_of(number)?) else {
        return Err(Error::Execution { lacks: format!("block {number} in the store") });
    };
    let unusable = |error: &dyn Display| unusable(number, error);
    let header = HeaderView::decode(&header).map_err(|error| unusable(&error))?;
    let body = BodyView::decode(split_body(&body).0).map_err(|error| unusable(&error))?;
    let block = PreparedBlock::verified(spec, &header, &body).map_err(|error| unusable(&error))?;
    let done = replay.execute(&block).map_err(|error| unready(number, &error))?;
    Ok((hash, done))
}

/// The error for a block that was valid before, or for the state on disk that it needs.
pub(crate) fn unready(number: u64, error: &ExecutionError) -> Error {
    match error {
        ExecutionError::State(StateError::Disk(error)) => Error::State(error.clone()),
        error => unusable(number, error),
    }
}

/// The error for a query by address or slot of a state on disk, which has hashed keys only.
fn on_disk() -> Error {
    let expected = "a store with its state in memory (state=memory)".into();
    Error::Unwind { expected, found: "one with its state on disk, by hashed key".into() }
}

/// The error for a block that was valid before.
pub(crate) fn unusable(number: u64, error: &dyn Display) -> Error {
    Error::Execution { lacks: format!("a store whose block {number} executes, found {error}") }
}
