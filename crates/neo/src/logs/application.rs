//! Application logs: the results of a block's executions.

use crate::execute::engine::{Execution, Notification, Trigger};
use crate::execute::vm::serialize::NO_FORM;
use crate::types::{Block, Error, Reader, UInt160, UInt256, write};

/// Limit of the decoder for names, fault messages and items, in bytes.
const MAX_PART: u64 = 1 << 24;
/// Limit of the decoder for items and notifications of an execution.
const MAX_LIST: u64 = 0xffff;

/// Appends the log of a block, from its executions in order.
pub fn encode(executions: &[Execution], log: &mut Vec<u8>) {
    write::number(log, executions.len() as u64);
    for execution in executions {
        log.push(u8::from(execution.fault.is_some()));
        write::number(log, execution.gas);
        write::number(log, execution.stack.len() as u64);
        execution.stack.iter().for_each(|item| write::string(log, item));
        write::number(log, execution.notifications.len() as u64);
        for event in &execution.notifications {
            log.extend_from_slice(&event.contract.0);
            write::string(log, event.name.as_bytes());
            write::string(log, &event.state);
        }
        if let Some(fault) = &execution.fault {
            write::string(log, fault.as_bytes());
        }
    }
}

/// Decodes the executions in the log of `block`.
///
/// # Errors
/// Returns the decode error of the first invalid field, and [`Error::Field`] if the number of
/// executions does not match the block.
pub fn decode(block: &Block, log: &[u8]) -> Result<Vec<Execution>, Error> {
    let mut reader = Reader::new(log);
    let count = reader.count("executions", MAX_LIST + 2)?;
    let last = block.transactions.len() + 1;
    if count != last + 1 {
        let (at, expected) = (0, "two more than transactions");
        return Err(Error::Field { at, what: "executions", expected, found: count as u64 });
    }
    let mut executions = Vec::with_capacity(count);
    for index in 0..count {
        let (container, trigger) = match index {
            0 => (block.hash, Trigger::OnPersist),
            index if index == last => (block.hash, Trigger::PostPersist),
            index => (block.transaction(index - 1).hash(), Trigger::Application),
        };
        executions.push(execution(&mut reader, log, container, trigger)?);
    }
    match reader.is_empty() {
        true => Ok(executions),
        false => Err(Error::Trailing { expected: reader.position(), found: log.len() as u32 }),
    }
}

fn execution(
    reader: &mut Reader<'_>,
    log: &[u8],
    container: UInt256,
    trigger: Trigger,
) -> Result<Execution, Error> {
    let failed = reader.byte()? != 0;
    let gas = reader.number()?;
    let items = reader.count("items", MAX_LIST)?;
    let mut stack = Vec::new();
    for _ in 0..items {
        let item = reader.string("item", MAX_PART)?.slice(log);
        // earlier versions wrote an empty string for an item without a binary form
        stack.push(if item.is_empty() { vec![NO_FORM] } else { item.to_vec() });
    }
    let events = reader.count("notifications", MAX_LIST)?;
    let mut notifications = Vec::new();
    for _ in 0..events {
        let contract = UInt160(*reader.array()?);
        let name = text(reader, log)?.into();
        let state = reader.string("state", MAX_PART)?.slice(log).to_vec();
        notifications.push(Notification { contract, name, state });
    }
    let fault = if failed { Some(text(reader, log)?) } else { None };
    Ok(Execution { container, trigger, gas, stack, notifications, fault })
}

fn text(reader: &mut Reader<'_>, log: &[u8]) -> Result<String, Error> {
    let bytes = reader.string("text", MAX_PART)?.slice(log);
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
