//! All receipts of a block: conversion between their two encodings, their root, and what the header
//! says about them.

use super::{ReceiptError, ReceiptView};
use crate::Hash;
use crate::bloom::Bloom;
use crate::bodies::BodyView;
use crate::error::{Hex, Rule, Violation};
use crate::header::{EMPTY_ROOT, HeaderView};
use crate::list::List;
use crate::transactions::TransactionType;
use archive::ReceiptEncoding;
use crypto::ManyKeccak;
use rlp::{Error, Reader};
use trie::RootBuilder;

/// A reader over the receipts of one block, an RLP list that must fill `list` exactly.
fn items(list: &[u8]) -> Result<Reader<'_>, Error> {
    let mut outer = Reader::new(list);
    let items = outer.list()?;
    outer.finish()?;
    Ok(items)
}

/// Puts the prefix of a list before what was appended to `out` from `start` on.
fn close_list(out: &mut Vec<u8>, start: usize) {
    let mut prefix = vec![];
    rlp::put_list_prefix(&mut prefix, out.len() - start);
    out.splice(start..start, prefix);
}

/// Appends to `out` the storage form of a block's receipts, given in consensus form. The blooms
/// are dropped unseen; [`verify_receipts`] checks them.
pub fn consensus_to_storage(list: &[u8], out: &mut Vec<u8>) -> Result<(), ReceiptError> {
    let mut receipts = items(list)?;
    let start = out.len();
    while !receipts.is_empty() {
        let receipt = ReceiptView::decode(&receipts.item()?, ReceiptEncoding::Consensus)?;
        receipt.put(None, out);
    }
    close_list(out, start);
    Ok(())
}

/// Appends to `out` the consensus form of a block's receipts, given in storage form, with the
/// types of the body's transactions.
pub fn storage_to_consensus(
    list: &[u8],
    types: impl IntoIterator<Item = TransactionType>,
    out: &mut Vec<u8>,
) -> Result<(), ReceiptError> {
    let hasher = ManyKeccak::detect();
    let mut receipts = items(list)?;
    let mut types = types.into_iter();
    let start = out.len();
    let mut typed = vec![];
    let mut count = 0;
    while !receipts.is_empty() {
        let receipt = ReceiptView::decode(&receipts.item()?, ReceiptEncoding::Storage)?;
        count += 1;
        let Some(kind) = types.next() else {
            return Err(ReceiptError::Count { transactions: count - 1, receipts: count });
        };
        let bloom = receipt.compute_bloom(&hasher);
        if kind == TransactionType::Legacy {
            receipt.put(Some(&bloom.0), out);
        } else {
            typed.clear();
            typed.push(kind as u8);
            receipt.put(Some(&bloom.0), &mut typed);
            rlp::put_bytes(out, &typed);
        }
    }
    let missing = types.count();
    if missing > 0 {
        return Err(ReceiptError::Count { transactions: count + missing, receipts: count });
    }
    close_list(out, start);
    Ok(())
}

/// Compares a block's receipts with its header and its body: their number, the receipts root, the
/// filter over all logs, and the gas that the block used.
pub fn verify_receipts(
    header: &HeaderView<'_>,
    body: &BodyView<'_>,
    list: &[u8],
    encoding: ReceiptEncoding,
    roots: &mut RootBuilder,
) -> Result<(), Violation> {
    let mut converted = vec![];
    let list = match encoding {
        ReceiptEncoding::Consensus => list,
        ReceiptEncoding::Storage => {
            storage_to_consensus(list, body.transaction_types(), &mut converted)
                .map_err(malformed)?;
            &converted
        }
    };
    let totals = Totals::of(list).map_err(malformed)?;
    let (transactions, receipts) = (body.transaction_count(), totals.receipts.count);
    if receipts != transactions {
        return Err(malformed(ReceiptError::Count { transactions, receipts }));
    }
    let root = totals.root(roots);
    if root != *header.receipts_root {
        let expected = Hex(header.receipts_root);
        return Err(Violation::new(Rule::ReceiptsRoot, expected, Hex(&root)));
    }
    if totals.bloom.0 != *header.logs_bloom {
        let expected = Hex(header.logs_bloom);
        return Err(Violation::new(Rule::LogsBloom, expected, Hex(&totals.bloom.0)));
    }
    if totals.gas_used != header.gas_used {
        return Err(Violation::new(Rule::ReceiptsGas, header.gas_used, totals.gas_used));
    }
    Ok(())
}

fn malformed(error: ReceiptError) -> Violation {
    Violation::new(Rule::ReceiptEncoding, "one well-formed receipt for each transaction", error)
}

/// The root of the trie over a block's receipts, given in consensus form.
pub fn receipts_root(list: &[u8], roots: &mut RootBuilder) -> Result<Hash, ReceiptError> {
    Ok(Totals::of(list)?.root(roots))
}

/// What the receipts of a block say together.
struct Totals<'a> {
    receipts: List<'a>,
    bloom: Bloom,
    gas_used: u64,
}

impl<'a> Totals<'a> {
    /// Of receipts in consensus form.
    fn of(list: &'a [u8]) -> Result<Self, ReceiptError> {
        let mut outer = Reader::new(list);
        let mut bloom = Bloom::default();
        let mut gas_used = 0;
        let receipts = List::read(&mut outer, |item| {
            let receipt = ReceiptView::decode(item, ReceiptEncoding::Consensus)?;
            gas_used = receipt.cumulative_gas;
            receipt.bloom.into_iter().for_each(|own| bloom.merge(own));
            Ok::<_, ReceiptError>(())
        })?;
        outer.finish()?;
        Ok(Self { receipts, bloom, gas_used })
    }

    fn root(&self, roots: &mut RootBuilder) -> Hash {
        match self.receipts.count {
            0 => EMPTY_ROOT,
            _ => roots.ordered(self.receipts.encodings()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(fields: &[Vec<u8>]) -> Vec<u8> {
        let payload = fields.concat();
        let mut out = vec![];
        rlp::put_list_prefix(&mut out, payload.len());
        out.extend(payload);
        out
    }

    fn bytes(content: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        rlp::put_bytes(&mut out, content);
        out
    }

    /// A list of logs with one log, and the same log as geth stored it before 1.9.
    fn logs() -> (Vec<u8>, Vec<u8>) {
        let topics = list(&[bytes(&[2; 32]), bytes(&[3; 32])]);
        let fields = [bytes(&[1; 20]), topics, bytes(b"data")];
        let number = bytes(&[7]);
        let position = [number.clone(), bytes(&[4; 32]), number.clone(), bytes(&[5; 32]), number];
        let old = [&fields[..], &position].concat();
        (list(&[list(&fields)]), list(&[list(&old)]))
    }

    fn to_consensus(receipt: &[Vec<u8>]) -> Result<Vec<u8>, ReceiptError> {
        let mut out = vec![];
        storage_to_consensus(&list(&[list(receipt)]), [TransactionType::Legacy], &mut out)?;
        Ok(out)
    }

    #[test]
    fn the_three_storage_forms_of_a_receipt_give_the_same_consensus_form() {
        let (logs, old_logs) = logs();
        let (root, gas) = (bytes(&[9; 32]), bytes(&[0x52, 0x08]));
        let now = to_consensus(&[root.clone(), gas.clone(), logs.clone()]).unwrap();
        let details = [bytes(&[6; 32]), bytes(&[8; 20])];
        for logs in [logs, old_logs] {
            let tail = [&details[..], &[logs.clone(), gas.clone()]].concat();
            let version_4 = [&[root.clone(), gas.clone()], &tail[..]].concat();
            let version_3 = [&[root.clone(), gas.clone(), bytes(&[0; 256])], &tail[..]].concat();
            assert_eq!(to_consensus(&version_4).as_ref(), Ok(&now));
            assert_eq!(to_consensus(&version_3).as_ref(), Ok(&now));
            let missing_field = &version_4[..5];
            assert!(to_consensus(missing_field).is_err());
            assert!(to_consensus(&[&version_3[..], &tail[..1]].concat()).is_err());
        }
    }

    #[test]
    fn outcome_is_a_status_or_a_state_root() {
        let (logs, _) = logs();
        let verdict =
            |outcome: &[u8]| to_consensus(&[bytes(outcome), bytes(&[1]), logs.clone()]).map(drop);
        assert_eq!(verdict(&[]), Ok(()));
        assert_eq!(verdict(&[1]), Ok(()));
        assert_eq!(verdict(&[9; 32]), Ok(()));
        for wrong in [&[0][..], &[2], &[1, 0], &[9; 31], &[9; 33]] {
            assert!(matches!(verdict(wrong), Err(ReceiptError::Status { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn typed_receipts_need_a_known_type() {
        let convert = |item: &[u8]| consensus_to_storage(&list(&[bytes(item)]), &mut vec![]);
        assert_eq!(
            convert(&[0x7e, 0xc0]),
            Err(ReceiptError::UnknownType { offset: 2, found: 0x7e })
        );
        assert!(matches!(convert(&[]), Err(ReceiptError::Rlp(_))));
    }
}
