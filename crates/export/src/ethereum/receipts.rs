//! Receipts and logs as rows.

use super::rows::{Block, gas_price};
use crate::rows::Rows;
use blockmill_archive::ReceiptEncoding;
use blockmill_ethereum::Address;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::transactions::Transaction;
use blockmill_rlp::ethereum::{Log, Outcome, Receipt, SlimReceipt, StoredReceipt};
use blockmill_rlp::{Decode, Reader, Write};

/// What a receipt says, in whichever form it is kept.
pub(super) struct ReceiptView<'a> {
    outcome: Outcome<'a>,
    cumulative_gas: u64,
    logs: Vec<Log<'a>>,
}

impl<'a> ReceiptView<'a> {
    /// The receipts of a list; none of one that is not well-formed.
    pub fn list(list: &'a [u8], encoding: ReceiptEncoding) -> Option<Vec<Self>> {
        let mut items = Reader::new(list).list().ok()?;
        let mut receipts = vec![];
        while !items.is_empty() {
            receipts.push(Self::read(&mut items, encoding)?);
        }
        Some(receipts)
    }

    /// How many logs it has.
    pub fn logs(&self) -> usize {
        self.logs.len()
    }

    fn read(items: &mut Reader<'a>, encoding: ReceiptEncoding) -> Option<Self> {
        Some(match encoding {
            ReceiptEncoding::Consensus => {
                let Receipt { outcome, cumulative_gas, logs, .. } = Receipt::read(items).ok()?;
                Self { outcome, cumulative_gas, logs: logs.iter().collect() }
            }
            ReceiptEncoding::Storage => {
                let receipt = StoredReceipt::read(items).ok()?;
                let StoredReceipt { outcome, cumulative_gas, logs } = receipt;
                Self { outcome, cumulative_gas, logs: logs.iter().collect() }
            }
            ReceiptEncoding::Slim => {
                let receipt = SlimReceipt::read(items).ok()?;
                let SlimReceipt { outcome, cumulative_gas, logs, .. } = receipt;
                Self { outcome, cumulative_gas, logs: logs.iter().collect() }
            }
        })
    }
}

/// Adds the receipts of a block.
pub(super) fn add_receipts(
    rows: &mut Rows,
    block: &Block<'_>,
    body: &BodyView<'_>,
    receipts: &[ReceiptView<'_>],
) {
    let mut before = 0;
    for (index, (tx, receipt)) in body.transactions().zip(receipts).enumerate() {
        let sender = block.signers.get(index);
        add_receipt(rows, block, index, (&tx, sender, receipt), before);
        rows.end();
        before = receipt.cumulative_gas;
    }
}

fn add_receipt(
    rows: &mut Rows,
    block: &Block<'_>,
    index: usize,
    (tx, sender, receipt): (&Transaction<'_>, Option<&Address>, &ReceiptView<'_>),
    gas_before: u64,
) {
    rows.bytes(&block.hashes[index]);
    rows.int(index as u64);
    rows.bytes(block.hash);
    rows.int(block.number);
    rows.seconds(block.header.timestamp);
    rows.int(receipt.cumulative_gas);
    rows.int(receipt.cumulative_gas.saturating_sub(gas_before));
    match (tx.to, sender) {
        (None, Some(sender)) => rows.bytes(&created_by(sender, tx.nonce)),
        _ => rows.none(),
    }
    match receipt.outcome {
        Outcome::Root(root) => rows.bytes(root),
        _ => rows.none(),
    }
    rows.maybe_int(match receipt.outcome {
        Outcome::Success => Some(1),
        Outcome::Failure => Some(0),
        Outcome::Root(_) => None,
    });
    rows.wei(gas_price(&block.header, tx));
    rows.int(receipt.logs.len() as u64);
}

/// The address of the contract that a transaction creates (Yellow Paper, section 7).
fn created_by(sender: &Address, nonce: u64) -> Address {
    let mut list = blockmill_rlp::OnePass::default();
    list.list(|list| {
        list.fixed(sender);
        list.u64(nonce);
    });
    let hash = blockmill_hashes::keccak256(&list.into_bytes());
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

/// Adds the logs of a block.
pub(super) fn add_logs(rows: &mut Rows, block: &Block<'_>, receipts: &[ReceiptView<'_>]) {
    let logs = receipts.iter().enumerate();
    let logs = logs.flat_map(|(index, receipt)| receipt.logs.iter().map(move |log| (index, log)));
    for (log_index, (index, log)) in logs.enumerate() {
        add_log(rows, block, (index, log_index), log);
        rows.end();
    }
}

fn add_log(rows: &mut Rows, block: &Block<'_>, (index, log_index): (usize, usize), log: &Log<'_>) {
    rows.int(log_index as u64);
    rows.bytes(&block.hashes[index]);
    rows.int(index as u64);
    rows.bytes(block.hash);
    rows.int(block.number);
    rows.seconds(block.header.timestamp);
    rows.bytes(log.address);
    let mut topics = log.topics.iter();
    (0..4).for_each(|_| rows.maybe_bytes(topics.next().map(|topic| &topic[..])));
    rows.bytes(log.data);
}
