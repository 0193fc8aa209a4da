//! Checks each header against its parent, in order and across batches.

use super::Batch;
use super::TaskResults;
use crate::execute::block::Executed;
use crate::execute::engine::Execution;
use crate::fault::Cause;
use crate::header::{
    machine::HeaderMachine,
    rules::{self, Parent},
};
use crate::params::Protocol;
use crate::rule::{Rule, Violation};
use crate::types::{Block, UInt256};
use crate::witness::{Checked, Verdict};

/// The link stage: the end of the verified chain.
pub(crate) struct Link<'a> {
    protocol: &'a Protocol,
    genesis: UInt256,
    /// The last block; `None` before the genesis block.
    pub tip: Option<Parent>,
    /// Runs witnesses of headers; created when the first header needs it.
    machine: Option<Box<HeaderMachine>>,
}

/// Verified blocks. Only the link stage creates them.
pub struct Verified<'a> {
    batch: &'a Batch,
}

impl<'a> Verified<'a> {
    /// The blocks in order.
    #[must_use]
    pub fn blocks(&self) -> &'a [Block] {
        self.batch.blocks()
    }

    /// The executions of block `at` of the batch: OnPersist, the transactions in order,
    /// PostPersist. `None` if the block was not executed.
    #[must_use]
    pub fn executions(&self, at: usize) -> Option<&'a [Execution]> {
        self.batch.executed.get(at).map(|executed| &executed.executions[..])
    }

    /// The results of their execution; empty below level execution.
    pub(crate) fn executed(&self) -> &'a [Executed] {
        &self.batch.executed
    }

    /// The results of the tasks after the execution. They may include blocks after these.
    pub(crate) fn results(&self) -> &'a TaskResults {
        &self.batch.results
    }

    /// Blocks that break a rule that the network tolerates. They may include blocks after these.
    pub(crate) fn tolerated(&self) -> &'a [(u32, Violation)] {
        &self.batch.tolerated
    }

    /// Whether everything is committed after these blocks.
    pub(crate) fn flushes(&self) -> bool {
        self.batch.flushes
    }
}

/// Proof that the link stage has verified the blocks of a batch.
#[derive(Debug)]
pub(crate) struct Linked(());

impl Batch {
    /// The verified blocks; `None` before the link stage.
    pub fn verified(&self) -> Option<Verified<'_>> {
        self.linked.as_ref().map(|_| Verified { batch: self })
    }
}

impl<'a> Link<'a> {
    pub fn new(protocol: &'a Protocol, genesis: UInt256, tip: Option<Parent>) -> Self {
        Self { protocol, genesis, tip, machine: None }
    }

    /// Verifies the headers of a batch in order. The first fault ends the batch.
    pub fn extend(&mut self, batch: &mut Batch) {
        let mut broken = None;
        for (index, (block, checked)) in batch.blocks().iter().zip(&batch.headers).enumerate() {
            if let Err(violation) = self.verify(block, checked) {
                broken = Some((index, block.hash, violation));
                break;
            }
            self.tip = Some(Parent::from(block));
        }
        // a fault of a header takes precedence over a fault of its body, as in neo-go
        if let (None, Some((block, checked))) = (&broken, batch.suspect())
            && let Err(violation) = self.verify(block, checked)
        {
            broken = Some((batch.blocks().len(), block.hash, violation));
        }
        if let Some((index, hash, violation)) = broken {
            batch.fault = Some(batch.fault_of(index, Some(hash), Cause::Rule(violation)));
            batch.cut(index);
        }
        batch.linked = Some(Linked(()));
    }

    /// Checks a block against the last one.
    fn verify(&mut self, block: &Block, checked: &Checked) -> Result<(), Violation> {
        let Some(parent) = self.tip else { return self.first(block) };
        let mut checked = *checked;
        if checked.verdict == Verdict::Machine && checked.script_hash == parent.next_consensus {
            checked.verdict = self.run(&parent, block);
        }
        rules::verify(self.protocol, &parent, &block.header, &checked)
    }

    /// Runs the witness of a header in the virtual machine.
    fn run(&mut self, parent: &Parent, block: &Block) -> Verdict {
        if self.machine.is_none() {
            self.machine = HeaderMachine::new(self.protocol).ok().map(Box::new);
        }
        let machine = self.machine.as_mut();
        machine.map_or(Verdict::Invalid, |machine| machine.verdict(parent, block))
    }

    /// Checks the first block of the chain.
    fn first(&self, block: &Block) -> Result<(), Violation> {
        match block.hash == self.genesis {
            true => Ok(()),
            false => Err(Violation::new(Rule::Genesis, self.genesis, block.hash)),
        }
    }
}
