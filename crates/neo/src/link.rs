//! What needs the block before: the first block of a batch follows the last of the batch before.

use crate::batch::Batch;
use crate::error::{Rule, Violation};
use crate::execute::block::Executed;
use crate::execute::engine::Execution;
use crate::fault::Cause;
use crate::header::{
    machine::HeaderMachine,
    rules::{self, Parent},
};
use crate::params::Protocol;
use crate::tasks::Left;
use crate::types::{Block, UInt256};
use crate::witness::{Checked, Verdict};

/// The chain so far.
pub(crate) struct Link<'a> {
    protocol: &'a Protocol,
    genesis: UInt256,
    /// The last block; none before the first.
    pub tip: Option<Parent>,
    /// Runs witnesses of headers; none until a header needs it.
    machine: Option<Box<HeaderMachine>>,
}

/// Blocks that were verified: only the link makes them.
pub struct Verified<'a> {
    batch: &'a Batch,
}

impl<'a> Verified<'a> {
    /// The blocks in order.
    #[must_use]
    pub fn blocks(&self) -> &'a [Block] {
        self.batch.blocks()
    }

    /// The executions of block `at` of these: before, the transactions in order, after; none where
    /// it was not executed.
    #[must_use]
    pub fn executions(&self, at: usize) -> Option<&'a [Execution]> {
        self.batch.executed.get(at).map(|executed| &executed.executions[..])
    }

    /// What they leave, where they are executed.
    pub(crate) fn executed(&self) -> &'a [Executed] {
        &self.batch.executed
    }

    /// What followed their execution, likewise; of blocks behind these, too.
    pub(crate) fn left(&self) -> &'a Left {
        &self.batch.left
    }

    /// Those that break a rule, where the network stores such blocks; and of blocks behind these.
    pub(crate) fn tolerated(&self) -> &'a [(u32, Violation)] {
        &self.batch.tolerated
    }

    /// All is to be committed after them.
    pub(crate) fn flushes(&self) -> bool {
        self.batch.flushes
    }
}

/// That the link has verified the good blocks of a batch: nobody else makes one.
#[derive(Debug)]
pub(crate) struct Linked(());

impl Batch {
    /// Its good blocks, if they were linked.
    pub fn verified(&self) -> Option<Verified<'_>> {
        self.linked.as_ref().map(|_| Verified { batch: self })
    }
}

impl<'a> Link<'a> {
    pub fn new(protocol: &'a Protocol, genesis: UInt256, tip: Option<Parent>) -> Self {
        Self { protocol, genesis, tip, machine: None }
    }

    /// Verifies the headers of a batch one after the other. The first fault ends it.
    pub fn extend(&mut self, batch: &mut Batch) {
        let mut broken = None;
        for (index, (block, checked)) in batch.blocks().iter().zip(&batch.headers).enumerate() {
            if let Err(violation) = self.verify(block, checked) {
                broken = Some((index, block.hash, violation));
                break;
            }
            self.tip = Some(Parent::of(block));
        }
        // headers come before bodies, as in neo-go
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

    /// The rules between the last block and this one.
    fn verify(&mut self, block: &Block, checked: &Checked) -> Result<(), Violation> {
        let Some(parent) = self.tip else { return self.first(block) };
        let mut checked = *checked;
        if checked.verdict == Verdict::Machine && checked.script_hash == parent.next_consensus {
            checked.verdict = self.run(&parent, block);
        }
        rules::verify(self.protocol, &parent, &block.header, &checked)
    }

    /// Runs the witness of a header.
    fn run(&mut self, parent: &Parent, block: &Block) -> Verdict {
        if self.machine.is_none() {
            self.machine = HeaderMachine::new(self.protocol).ok().map(Box::new);
        }
        let machine = self.machine.as_mut();
        machine.map_or(Verdict::Invalid, |machine| machine.verdict(parent, block))
    }

    /// The first block of the chain.
    fn first(&self, block: &Block) -> Result<(), Violation> {
        match block.hash == self.genesis {
            true => Ok(()),
            false => Err(Violation::new(Rule::Genesis, self.genesis, block.hash)),
        }
    }
}
