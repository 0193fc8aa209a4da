//! Verified blocks of Neo as rows.

use crate::error::Error;
use crate::rows::{Batches, Rows};
use crate::schema::{Form, Table};
use blockmill_neo::execute::engine::{Execution, Notification};
use blockmill_neo::execute::vm::{Heap, json, serialize};
use blockmill_neo::import::Verified;
use blockmill_neo::logs::{Event, Movement, Standard, transfer_of};
use blockmill_neo::types::{Block, Transaction, UInt160};
use std::ops::Range;

/// The rows of all tables that are written.
pub(super) struct Tables {
    rows: Vec<(&'static Table, Rows)>,
}

/// The bytes in the order in which users know them.
pub(super) fn shown<const N: usize>(mut hash: [u8; N]) -> [u8; N] {
    hash.reverse();
    hash
}

/// How an execution ended, as neo-go calls it.
fn vm_state(execution: &Execution) -> &'static str {
    if execution.fault.is_none() { "HALT" } else { "FAULT" }
}

impl Tables {
    /// None so far.
    pub fn new(tables: &[&'static Table], form: Form) -> Self {
        Self { rows: tables.iter().map(|table| (*table, Rows::new(table, form))).collect() }
    }

    /// Adds these of the blocks.
    pub fn add(&mut self, blocks: &Verified<'_>, range: Range<usize>) -> Result<(), Error> {
        for at in range {
            let block = &blocks.blocks()[at];
            let executions = blocks.executions(at);
            for (table, rows) in &mut self.rows {
                let number = u64::from(block.header.index);
                match (table.name, executions) {
                    ("blocks", _) => add_block(rows, block),
                    ("transactions", executions) => add_transactions(rows, block, executions),
                    ("notifications", Some(executions)) => {
                        add_events(rows, block, executions, add_notification)
                    }
                    (_, Some(executions)) => add_events(rows, block, executions, add_transfer),
                    (_, None) => {
                        let (table, expected) = (table.name, "executions");
                        return Err(Error::Lacks { table, expected, block: number });
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows of each table.
    pub fn finish(self) -> Result<Vec<Batches>, Error> {
        self.rows.into_iter().map(|(_, rows)| rows.finish()).collect()
    }
}

fn add_block(rows: &mut Rows, block: &Block) {
    let (header, witness) = (&block.header, block.witness());
    rows.int(header.index);
    rows.bytes(&shown(block.hash.0));
    rows.bytes(&shown(header.previous.0));
    rows.int(header.version);
    rows.bytes(&shown(header.merkle_root.0));
    rows.micros(u128::from(header.timestamp) * 1000);
    rows.bytes(&header.nonce.to_be_bytes());
    rows.int(header.primary);
    rows.bytes(&shown(header.next_consensus.0));
    let root = header.previous_state_root.map(|root| shown(root.0));
    rows.maybe_bytes(root.as_ref().map(|root| &root[..]));
    rows.bytes(witness.invocation);
    rows.bytes(witness.verification);
    rows.int(block.raw.len() as u64);
    rows.int(block.transactions.len() as u64);
    rows.end();
}

/// The columns of the block that all other tables have.
fn begin(rows: &mut Rows, block: &Block) {
    rows.int(block.header.index);
    rows.bytes(&shown(block.hash.0));
    rows.micros(u128::from(block.header.timestamp) * 1000);
}

fn add_transactions(rows: &mut Rows, block: &Block, executions: Option<&[Execution]>) {
    for (index, transaction) in block.transactions().enumerate() {
        let execution = executions.and_then(|all| all.get(index + 1));
        add_transaction(rows, block, (index as u64, transaction), execution);
    }
}

fn add_transaction(
    rows: &mut Rows,
    block: &Block,
    (index, transaction): (u64, Transaction<'_>),
    execution: Option<&Execution>,
) {
    let (fields, sender) = (transaction.fields(), transaction.sender());
    rows.bytes(&shown(transaction.hash().0));
    begin(rows, block);
    rows.int(index);
    rows.int(fields.nonce);
    rows.bytes(&shown(sender.0));
    rows.text(&sender.address().to_string());
    rows.int(fields.system_fee);
    rows.int(fields.network_fee);
    rows.int(fields.valid_until_block);
    rows.bytes(transaction.script());
    rows.bytes(transaction.bytes());
    match execution {
        Some(execution) => {
            rows.text(vm_state(execution));
            rows.int(execution.gas);
        }
        None => (0..2).for_each(|_| rows.none()),
    }
    match execution.and_then(|execution| execution.fault.as_ref()) {
        Some(fault) => rows.text(fault),
        None => rows.none(),
    }
    rows.end();
}

/// A notification, and where it stands.
struct EventRow<'a> {
    execution: &'a Execution,
    /// Which of the executions; where it is a transaction's, which of those.
    index: u64,
    transaction: Option<[u8; 32]>,
    /// Its place among the notifications of the block.
    number: u64,
    event: &'a Notification,
}

fn add_events(
    rows: &mut Rows,
    block: &Block,
    executions: &[Execution],
    add: fn(&mut Rows, &Block, &EventRow<'_>),
) {
    let mut number = 0;
    for (index, execution) in executions.iter().enumerate() {
        let of = index.checked_sub(1).filter(|of| *of < block.transactions.len());
        let transaction = of.map(|of| shown(block.transaction(of).hash().0));
        for event in &execution.notifications {
            let reported = EventRow { execution, index: index as u64, transaction, number, event };
            add(rows, block, &reported);
            number += 1;
        }
    }
}

/// The columns of the execution that notifications and transfers have.
fn begin_event(rows: &mut Rows, block: &Block, reported: &EventRow<'_>) {
    begin(rows, block);
    rows.int(reported.index);
    rows.maybe_bytes(reported.transaction.as_ref().map(|hash| &hash[..]));
    rows.int(reported.number);
}

fn add_notification(rows: &mut Rows, block: &Block, reported: &EventRow<'_>) {
    let EventRow { execution, event, .. } = reported;
    begin_event(rows, block, reported);
    rows.text(execution.trigger.name());
    rows.text(vm_state(execution));
    rows.bytes(&shown(event.contract.0));
    rows.text(&event.name);
    let mut heap = Heap::default();
    let item = serialize::deserialize(&mut heap, &event.state);
    match item.and_then(|item| json::with_types(&heap, &item)) {
        Ok(json) => rows.text(&json),
        Err(_) => rows.none(),
    }
    rows.bytes(&event.state);
    rows.end();
}

fn add_transfer(rows: &mut Rows, block: &Block, reported: &EventRow<'_>) {
    let EventRow { execution, event, .. } = reported;
    let Notification { contract, name, state } = event;
    let movement = transfer_of(&Event { contract: *contract, name, state });
    let Some(movement) = movement.filter(|_| execution.fault.is_none()) else { return };
    let Movement { from, to, amount, standard } = movement;
    let account = |account: UInt160| (account != UInt160::ZERO).then(|| shown(account.0));
    begin_event(rows, block, reported);
    rows.bytes(&shown(contract.0));
    rows.int(match standard {
        Standard::Nep17 => 17,
        Standard::Nep11(_) => 11,
    });
    rows.maybe_bytes(account(from).as_ref().map(|account| &account[..]));
    rows.maybe_bytes(account(to).as_ref().map(|account| &account[..]));
    match number(&amount) {
        Some(amount) => rows.decimal(amount),
        None => rows.none(),
    }
    rows.bytes(&amount);
    match &standard {
        Standard::Nep17 => rows.none(),
        Standard::Nep11(token) => rows.bytes(token),
    }
    rows.end();
}

/// The number that these bytes are, where the column has room for it.
fn number(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut all = [sign; 16];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let number = i128::from_le_bytes(all);
    crate::rows::fits(number).then_some(number)
}
