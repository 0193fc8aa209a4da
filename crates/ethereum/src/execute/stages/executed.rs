//! The result of executing a block.

use crate::Hash;
use crate::block_times::BlockTime;
use crate::commit::executed_store::BlockChanges;
use crate::execute::evm::Tally;
use crate::execute::receipts::Receipts;
use crate::execute::{Executed, PreparedBlock};
use crate::state::{Changes, ClearedStorage, State};
use std::time::Duration;

/// A block that was executed, with what later stages add.
#[derive(Debug, Default)]
pub(crate) struct ExecutedBlock {
    pub(super) executed: Executed,
    /// The part of the state that it accesses, until it is executed on another thread. The changes
    /// are those of its access list then.
    pub(super) part: Option<Box<State>>,
    /// Whether it was executed so.
    pub(crate) by_access_list: bool,
    /// State roots after its transactions, before Byzantium.
    pub(super) roots: Vec<Hash>,
    /// Storage on disk that accounts lost as a whole.
    pub(super) cleared: Vec<ClearedStorage>,
    /// Its record in the state log; empty without a log.
    pub(crate) record: Vec<u8>,
    /// Busy time in each of [`blockmill_verdict::BLOCK_PHASES`].
    pub(crate) busy: [Duration; blockmill_verdict::BLOCK_PHASES.len()],
}

impl ExecutedBlock {
    /// Its work and times, for the run record.
    pub(crate) fn time(&self, block: &PreparedBlock) -> BlockTime {
        let all = self.executed.steps.iter().chain([&self.executed.changes]);
        BlockTime {
            number: block.header.number,
            transactions: block.transactions.len() as u64,
            gas: block.header.gas_used,
            reads: self.executed.reads,
            changed: all.map(Changes::len).sum::<usize>() as u64,
            speculation: self.executed.tally,
            busy: self.busy,
        }
    }

    /// Its receipts, encoded as archives store them.
    pub(crate) fn receipts(&self, receipts: &mut Receipts, block: &PreparedBlock) -> Vec<u8> {
        receipts.list(block, &self.executed.outcomes, &self.roots)
    }

    /// Its changes, as a record of block `number`.
    pub(crate) fn changes(&self, number: u64) -> BlockChanges {
        let Executed { steps, changes, .. } = &self.executed;
        BlockChanges::with_cleared(number, steps.iter().chain([changes]), &self.cleared)
    }

    /// Its committed and aborted speculations.
    pub fn tally(&self) -> &Tally {
        &self.executed.tally
    }
}
