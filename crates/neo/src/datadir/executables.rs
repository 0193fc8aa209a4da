//! Blocks and transactions with their application logs, and what transactions conflict with
//! (`dao.StoreAsBlock`, `dao.StoreAsTransaction`).

use super::source::SourceStore;
use super::{EXECUTABLE, key_of};
use crate::execute::engine::Execution;
use crate::fault::Error;
use crate::types::{Block, UInt256, write};
use blockmill_leveldb::Sorter;
use std::ops::Bound;

/// What the value of a block begins with (`ExecBlock`).
const BLOCK: u8 = 1;
/// What that of a transaction does, and of one that is only named as conflicting
/// (`ExecTransaction`).
const TRANSACTION: u8 = 2;
/// Bytes of the latter (`conflictRecordValueLen`).
const CONFLICT: usize = 5;
/// How a script ended (`vmstate`).
const HALT: u8 = 1;
const FAULT: u8 = 2;

/// What is under a key that was written twice: a block or a transaction rather than the note that
/// another conflicts with it, else what came last.
pub(crate) fn combine(value: &mut Vec<u8>, later: &[u8]) {
    if later.len() != CONFLICT {
        value.clear();
        value.extend_from_slice(later);
    }
}

/// Puts a block and its transactions.
pub(crate) fn put_block(
    block: &Block,
    executions: &[Execution],
    into: &mut Sorter,
) -> Result<(), Error> {
    let [before, own @ .., after] = executions else { return Ok(()) };
    let mut value = Vec::new();
    for (transaction, execution) in block.transactions().zip(own) {
        value.clear();
        value.push(TRANSACTION);
        value.extend_from_slice(&block.header.index.to_le_bytes());
        value.extend_from_slice(transaction.bytes());
        log(execution, &mut value);
        into.push(&key_of(EXECUTABLE, &[&transaction.hash().0]), &value)?;
    }
    value.clear();
    value.push(BLOCK);
    value.extend_from_slice(&block.raw[..block.header_length()]);
    let hashes = block.transactions.hashes();
    write::number(&mut value, hashes.len() as u64);
    hashes.iter().for_each(|hash| value.extend_from_slice(&hash.0));
    log(before, &mut value);
    log(after, &mut value);
    into.push(&key_of(EXECUTABLE, &[&block.hash.0]), &value)?;
    Ok(())
}

/// An execution (`state.AppExecResult`).
fn log(execution: &Execution, value: &mut Vec<u8>) {
    value.extend_from_slice(&execution.container.0);
    value.push(execution.trigger as u8);
    value.push(if execution.fault.is_none() { HALT } else { FAULT });
    value.extend_from_slice(&execution.gas.to_le_bytes());
    write::number(value, execution.stack.len() as u64);
    // items end by themselves
    execution.stack.iter().for_each(|item| value.extend_from_slice(item));
    write::number(value, execution.notifications.len() as u64);
    for event in &execution.notifications {
        value.extend_from_slice(&event.contract.0);
        write::string(value, event.name.as_bytes());
        value.extend_from_slice(&event.state);
    }
    write::string(value, execution.fault.as_deref().unwrap_or_default().as_bytes());
}

/// Puts what transactions conflict with: of each hash that they name the last height, and the same
/// for each signer of theirs.
pub(crate) fn put_conflicts(source: &SourceStore, into: &mut Sorter) -> Result<(), Error> {
    let runs = source.conflicts.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    // the hash at hand, the height of the block that has it, and the last height that names it
    let mut at: Option<(UInt256, Option<u64>, u32)> = None;
    while let Some((key, value)) = scan.next()? {
        let (Some((hash, signer)), Ok(height)) = (key.split_first_chunk(), value.try_into()) else {
            return Err(Error::StoredFacts(format!("a conflict of {} bytes", key.len())));
        };
        let (hash, height) = (UInt256(*hash), u32::from_le_bytes(height));
        if at.is_none_or(|(last, ..)| last != hash) {
            put_stub(at, into)?;
            at = Some((hash, source.store.number_of(&hash.0)?, 0));
        }
        let Some((_, block, last)) = &mut at else { continue };
        // neo-go makes no note about a block that is there already
        if block.is_some_and(|block| block < height.into()) {
            continue;
        }
        *last = height.max(*last);
        into.push(&key_of(EXECUTABLE, &[&hash.0, signer]), &conflict(height))?;
    }
    put_stub(at, into)
}

fn put_stub(at: Option<(UInt256, Option<u64>, u32)>, into: &mut Sorter) -> Result<(), Error> {
    if let Some((hash, None, height)) = at {
        into.push(&key_of(EXECUTABLE, &[&hash.0]), &conflict(height))?;
    }
    Ok(())
}

fn conflict(height: u32) -> [u8; CONFLICT] {
    let mut value = [TRANSACTION; CONFLICT];
    value[1..].copy_from_slice(&height.to_le_bytes());
    value
}
