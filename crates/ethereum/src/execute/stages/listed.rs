//! Execution by block access lists (EIP-7928). A list has the values after its block, so the stage
//! that executes in order only moves the state on, and any thread executes the block on the part
//! of the state that it accesses.

use super::{ExecutedBlock, SpeculationPolicy, cause};
use crate::execute::access_list::verify_access_list;
use crate::execute::evm::{Evm, MachineOptions};
use crate::execute::history::PrefetchedSlots;
use crate::execute::speculation::speculate;
use crate::execute::{Executed, PreparedBlock, execute};
use crate::import::batch::Batch;
use crate::params::ChainSpec;
use crate::state::{State, StateError};
use blockmill_archive::Part;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::AccountChanges;
use blockmill_rlp::{Decode, List};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

blockmill_pipeline::named_option! {
    /// How block access lists are used (EIP-7928), for blocks of archives that have them.
    ///
    /// Whatever the option says, every list is compared with what the block accessed and changed.
    pub enum AccessLists: "access-lists", level Execution {
        /// Not before execution. Blocks are executed one after the other.
        Off = "off",
        /// All accounts and slots of a block's list are read together before it is executed, if the
        /// state is on disk (and `prefetch` is not `off`). Blocks are executed one after the other.
        Prefetch = "prefetch",
        /// The same, and blocks are executed concurrently, each on the state that the lists before
        /// it give.
        Parallel = "parallel",
    }
}

/// Moves the state past a block that any thread can execute later. Returns false, and changes
/// nothing, if the list does not allow it.
///
/// # Errors
/// [`StateError`] if the state cannot be read.
pub(super) fn defer(
    state: &mut State,
    block: &PreparedBlock,
    list: &[u8],
    done: &mut ExecutedBlock,
) -> Result<bool, StateError> {
    // its encoding was checked with the body
    let Ok(list) = List::<AccountChanges<'_>>::decode(list) else { return Ok(false) };
    let Some(part) = state.advance_by(&list, |each| block.names(each))? else { return Ok(false) };
    (done.part, done.by_access_list) = (Some(Box::new(part)), true);
    done.executed.changes = state.take_changes();
    state.ancestors.push(block.header.number, block.hash);
    Ok(true)
}

/// Executes the blocks that were deferred: first heavy transactions of all of them, which hash
/// together, then each block in order.
pub(super) fn execute_deferred(
    spec: &ChainSpec,
    policy: &SpeculationPolicy,
    (machine, hasher): (MachineOptions, ManyKeccak),
    batch: &mut Batch,
) {
    let deferred = batch.executed.blocks.iter_mut().map(|done| done.part.take());
    let parts: Vec<_> = deferred.map(|part| part.map(|part| RwLock::new(*part))).collect();
    let blocks = &batch.content.prepared[batch.new_blocks()];
    let none = PrefetchedSlots::default();
    let on = (|i: usize| parts.get(i)?.as_ref(), &none);
    let found = speculate((policy.which, &policy.budget), spec, on, (machine, hasher), blocks);
    batch.speculated.hashing += found.hashing;
    let mut speculations = found.blocks.into_iter().zip(found.busy);
    let mut failure = None;
    for ((i, done), part) in batch.new_blocks().zip(&mut batch.executed.blocks).zip(parts) {
        let (speculations, speculating) = speculations.next().unwrap_or_default();
        let Some(part) = part else { continue };
        // a panic ends the run elsewhere
        let mut part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        let clock = Instant::now();
        let mut evm = Evm::new(&mut part, spec.chain_id).with_options(machine);
        evm.set_speculations(speculations);
        let mut executed = Executed::default();
        let block = &batch.content.prepared[i];
        let outcome = execute(spec, &mut evm, block, &mut executed).and_then(|()| {
            let list = executed.access_list.take();
            Ok(verify_access_list(block, list.as_ref(), batch.blocks.access_list(i))?)
        });
        // the list, which the execution confirmed, has the same changes
        executed.changes = std::mem::take(&mut done.executed.changes);
        done.executed = executed;
        done.busy[0] += clock.elapsed() + speculating;
        if let Err(error) = outcome {
            failure = Some((i, cause(error)));
            break;
        }
    }
    if let Some((i, cause)) = failure {
        batch.refuse(i, Part::Body, cause);
    }
}
