//! Work after the roots, on any thread: receipts, and records of the state log.

use crate::commit::executed_store::LogValues;
use crate::execute::access_list::{name_difference, verify_access_list};
use crate::execute::receipts::Receipts;
use crate::fault::Cause;
use crate::import::batch::Batch;
use blockmill_archive::Part;
use blockmill_hashes::ManyKeccak;
use std::time::Instant;

/// Compares receipts roots, blooms and access lists with the headers.
pub(super) fn check_receipts(hasher: ManyKeccak, batch: &mut Batch) {
    let mut receipts = Receipts::new(hasher);
    let mut failure = None;
    let range = batch.new_blocks();
    let other = batch.content.other_list.as_ref();
    for (i, done) in range.zip(&mut batch.executed.blocks) {
        let block = &batch.content.prepared[i];
        if block.header.number == 0 {
            continue;
        }
        let clock = Instant::now();
        let executed = &done.executed;
        let list = executed.access_list.as_ref();
        let given = batch.blocks.access_list(i);
        let is_headers = other.is_none_or(|(at, _)| i < *at);
        let verdict = receipts
            .verify(block, &executed.outcomes, &done.roots)
            .and_then(|()| verify_access_list(block, list, given.filter(|_| is_headers)));
        if let Err(violation) = verdict {
            failure = Some((i, Part::Header, violation));
            break;
        }
        if let Some((_, other)) = other.filter(|(at, _)| *at == i) {
            let named = list.zip(given).map(|(list, given)| name_difference(other, list, given));
            failure = Some((i, Part::AccessList, named.unwrap_or_else(|| other.clone())));
            break;
        }
        done.busy[2] = clock.elapsed();
    }
    if let Some((i, part, violation)) = failure {
        batch.refuse(i, part, Cause::Rule(violation));
    }
}

/// Encodes the records of the state log. A block that is rejected later is not written.
pub(super) fn encode_records(log: LogValues, batch: &mut Batch) {
    if log == LogValues::None {
        return;
    }
    let numbers: Vec<u64> = batch.new_blocks().map(|i| batch.blocks.number(i)).collect();
    for (number, done) in numbers.into_iter().zip(&mut batch.executed.blocks) {
        // the genesis block has no record
        if number > 0 {
            let clock = Instant::now();
            let changes = done.changes(number);
            changes.encode(log == LogValues::Both, &mut done.record);
            done.busy[3] = clock.elapsed();
        }
    }
}
