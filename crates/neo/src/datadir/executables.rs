//! Blocks and transactions with their application logs, and conflict records (`dao.StoreAsBlock`,
//! `dao.StoreAsTransaction`).

use super::source::SourceStore;
use super::{EXECUTABLE, key_of};
use crate::error::Error;
use crate::execute::engine::Execution;
use crate::types::{Block, UInt256, write};
use blockmill_leveldb::Sorter;
use std::ops::Bound;

/// First byte of the value of a block (`ExecBlock`).
const BLOCK: u8 = 1;
/// First byte of the value of a transaction or conflict record (`ExecTransaction`).
const TRANSACTION: u8 = 2;
/// Bytes of a conflict record (`conflictRecordValueLen`).
const CONFLICT: usize = 5;
/// Final states of a script (`vmstate`).
const HALT: u8 = 1;
const FAULT: u8 = 2;

/// Combines two values of a key: a block or transaction replaces a conflict record, otherwise the
/// later value replaces the earlier one.
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

/// Writes an execution (`state.AppExecResult`).
fn log(execution: &Execution, value: &mut Vec<u8>) {
    value.extend_from_slice(&execution.container.0);
    value.push(execution.trigger as u8);
    value.push(if execution.fault.is_none() { HALT } else { FAULT });
    value.extend_from_slice(&execution.gas.to_le_bytes());
    write::number(value, execution.stack.len() as u64);
    // serialized items are self-delimiting
    execution.stack.iter().for_each(|item| value.extend_from_slice(item));
    write::number(value, execution.notifications.len() as u64);
    for event in &execution.notifications {
        value.extend_from_slice(&event.contract.0);
        write::string(value, event.name.as_bytes());
        value.extend_from_slice(&event.state);
    }
    write::string(value, execution.fault.as_deref().unwrap_or_default().as_bytes());
}

/// Puts the conflict records: for each named hash its last height, and the same for each signer.
pub(crate) fn put_conflicts(source: &SourceStore, into: &mut Sorter) -> Result<(), Error> {
    let runs = source.conflicts.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    // the current hash, the height of the block with that hash, and the last height that names it
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
        // neo-go writes no record for the hash of an earlier block
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
