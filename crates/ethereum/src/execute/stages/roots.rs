//! State roots of a chunk: of each block, of small blocks together, or of every n-th block.

use super::{ExecutedBlock, cause};
use crate::execute::{ExecutionError, PreparedBlock, verify_state_root};
use crate::import::batch::Batch;
use crate::state::{Changes, Tries};
use blockmill_archive::Part;
use std::time::Instant;

/// Limit of the changes of a small block; a larger one fills the hash lanes by itself.
const SMALL: usize = 20;

/// Applies the changes of the blocks to the tries and compares state roots. `together` has the
/// interval of compared roots, and the limit of small blocks whose roots are computed together.
/// Returns false if a root is wrong; the tries must not be used any more then.
pub(super) fn root_chunk(tries: &mut Tries, together: (usize, usize), batch: &mut Batch) -> bool {
    let (every, most) = together;
    let range = batch.new_blocks();
    let mut executed = std::mem::take(&mut batch.executed.blocks);
    // the tries have the genesis block's changes already
    let mut at =
        range.clone().take_while(|i| batch.content.prepared[*i].header.number == 0).count();
    let mut failure = None;
    let end = executed.len().min(range.len());
    while at < end && failure.is_none() {
        let clock = Instant::now();
        let rest = &mut executed[at..end];
        let count = if every > 1 { whole(rest, every) } else { group(rest, most) };
        let blocks = &batch.content.prepared[range.start + at..][..count];
        let done = &mut rest[..count];
        let outcome = match every {
            1 => root(tries, blocks, done),
            _ => root_of_last(tries, blocks, done),
        };
        failure = outcome.err().map(|(i, error)| (range.start + at + i, error));
        let each = clock.elapsed() / count as u32;
        done.iter_mut().for_each(|done| done.busy[1] = each);
        at += count;
    }
    batch.executed.blocks = executed;
    let Some((i, error)) = failure else { return true };
    batch.refuse(i, Part::Header, cause(error));
    false
}

/// Returns how many of these blocks have one compared root. Before Byzantium receipts contain state
/// roots, so each block is compared.
fn whole(executed: &[ExecutedBlock], most: usize) -> usize {
    let whole = executed.iter().take(most).take_while(|done| done.executed.steps.is_empty());
    whole.count().max(1)
}

/// Compares the state root after several blocks.
///
/// # Errors
/// The index of the first block with a wrong root, and the violation.
fn root_of_last(
    tries: &mut Tries,
    blocks: &[PreparedBlock],
    done: &mut [ExecutedBlock],
) -> Result<(), (usize, ExecutionError)> {
    if let [_, .., last] = blocks {
        let changes = Changes::together(done.iter().map(|done| &done.executed.changes));
        let root = tries.apply(&changes).map_err(|error| (0, error.into()))?;
        if verify_state_root(&last.header.state_root, &root).is_ok() {
            return Ok(());
        }
        tries.apply(&changes.reversed()).map_err(|error| (0, error.into()))?;
    }
    for (i, (block, done)) in blocks.iter().zip(done.iter_mut()).enumerate() {
        let alone = (std::slice::from_ref(block), std::slice::from_mut(done));
        root(tries, alone.0, alone.1).map_err(|(_, error)| (i, error))?;
    }
    Ok(())
}

/// Returns how many of these blocks have their roots computed together: one, or several small ones.
fn group(executed: &[ExecutedBlock], most: usize) -> usize {
    let changes = |done: &ExecutedBlock| {
        let all = done.executed.steps.iter().chain([&done.executed.changes]);
        all.map(Changes::len).sum::<usize>()
    };
    let small = executed.iter().take(most).take_while(|done| changes(done) <= SMALL);
    small.count().max(1)
}

/// Computes and compares the roots of blocks.
///
/// # Errors
/// The index of the first block with a wrong root, and the violation.
fn root(
    tries: &mut Tries,
    blocks: &[PreparedBlock],
    executed: &mut [ExecutedBlock],
) -> Result<(), (usize, ExecutionError)> {
    let all = |done: &ExecutedBlock| done.executed.steps.len() + 1;
    for (i, done) in executed.iter_mut().enumerate() {
        let steps = done.executed.steps.iter().chain([&done.executed.changes]);
        done.cleared = tries.cleared_storage(steps).map_err(|error| (i, error.into()))?;
    }
    let versions: Vec<&Changes> = executed
        .iter()
        .flat_map(|done| done.executed.steps.iter().chain([&done.executed.changes]))
        .collect();
    let roots = tries.apply_group(&versions).map_err(|error| (0, error.into()))?;
    let mut roots = roots.into_iter();
    for (i, (block, done)) in blocks.iter().zip(executed).enumerate() {
        let count = all(done);
        done.roots = roots.by_ref().take(count - 1).collect();
        let Some(root) = roots.next() else { break };
        verify_state_root(&block.header.state_root, &root)
            .map_err(|violation| (i, violation.into()))?;
    }
    Ok(())
}
