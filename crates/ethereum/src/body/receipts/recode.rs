//! Receipts of a block from each encoding to each.

use super::{ReceiptError, bloom_of};
use crate::body::transactions::TransactionType;
use blockmill_archive::ReceiptEncoding;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::{
    Log, OldLog, Receipt, SlimReceipt, StoredLogs, StoredReceipt, TransactionType as RlpType,
};
use blockmill_rlp::{Decode, Encode, Error, RawList, Reader};

/// A reader over the receipts of one block, an RLP list that must fill `list` exactly.
pub(super) fn items(list: &[u8]) -> Result<Reader<'_>, Error> {
    let mut outer = Reader::new(list);
    let items = outer.list()?;
    outer.finish()?;
    Ok(items)
}

/// Appends to `out` the storage form of a block's receipts, given in consensus form. The blooms
/// are dropped unseen; [`verify_receipts`](super::verify_receipts) checks them.
pub fn consensus_to_storage(list: &[u8], out: &mut Vec<u8>) -> Result<(), ReceiptError> {
    recode(list, (ReceiptEncoding::Consensus, ReceiptEncoding::Storage), [], out)
}

/// Appends to `out` the consensus form of a block's receipts, given in storage form, with the
/// types of the body's transactions.
pub fn storage_to_consensus(
    list: &[u8],
    types: impl IntoIterator<Item = TransactionType>,
    out: &mut Vec<u8>,
) -> Result<(), ReceiptError> {
    recode(list, (ReceiptEncoding::Storage, ReceiptEncoding::Consensus), types, out)
}

/// Appends to `out` a block's receipts, given in the first encoding, in the second one. `types` are
/// those of the body's transactions, which only receipts in storage form need.
pub fn recode(
    list: &[u8],
    (from, to): (ReceiptEncoding, ReceiptEncoding),
    types: impl IntoIterator<Item = TransactionType>,
    out: &mut Vec<u8>,
) -> Result<(), ReceiptError> {
    let hasher = ManyKeccak::detect();
    let mut receipts = items(list)?;
    let mut types = types.into_iter();
    let (mut converted, mut logs) = (Vec::with_capacity(list.len()), vec![]);
    let mut count = 0;
    while !receipts.is_empty() {
        let (kind, stored) = read_as(from, &mut receipts)?;
        count += 1;
        let kind = match (kind, to) {
            (None, ReceiptEncoding::Storage) => RlpType::Legacy,
            (kind, _) => type_of(kind, &mut types, count)?,
        };
        logs.clear();
        write_as(to, kind, &stored, (&hasher, &mut logs), &mut converted);
    }
    let needs_types = from == ReceiptEncoding::Storage && to != ReceiptEncoding::Storage;
    let missing = if needs_types { types.count() } else { 0 };
    if missing > 0 {
        return Err(ReceiptError::Count { transactions: count + missing, receipts: count });
    }
    RawList(&[&converted]).encode_into(out);
    Ok(())
}

/// The type of receipt number `count`: its own, or the next of `types` if the encoding has none.
pub(super) fn type_of(
    own: Option<RlpType>,
    types: &mut impl Iterator<Item = TransactionType>,
    count: usize,
) -> Result<RlpType, ReceiptError> {
    let missing = ReceiptError::Count { transactions: count - 1, receipts: count };
    own.map_or_else(
        || {
            let kind = types.next().ok_or(missing)?;
            Ok(RlpType::from_byte(kind as u8).unwrap_or(RlpType::Legacy))
        },
        Ok,
    )
}

/// Reads a receipt: its type, if the encoding has it, and the fields that all encodings have.
pub(super) fn read_as<'a>(
    encoding: ReceiptEncoding,
    receipts: &mut Reader<'a>,
) -> Result<(Option<RlpType>, StoredReceipt<'a>), Error> {
    Ok(match encoding {
        ReceiptEncoding::Consensus => {
            let receipt = Receipt::read(receipts)?;
            (Some(receipt.kind), receipt.stored())
        }
        ReceiptEncoding::Storage => (None, StoredReceipt::read(receipts)?),
        ReceiptEncoding::Slim => {
            let SlimReceipt { kind, outcome, cumulative_gas, logs } = SlimReceipt::read(receipts)?;
            let logs = StoredLogs::Current(logs);
            (Some(kind), StoredReceipt { outcome, cumulative_gas, logs })
        }
    })
}

/// Appends a receipt. Logs that were stored in the old form are put into `logs`.
fn write_as<'a>(
    encoding: ReceiptEncoding,
    kind: RlpType,
    stored: &StoredReceipt<'a>,
    (hasher, logs): (&ManyKeccak, &mut Vec<Log<'a>>),
    out: &mut Vec<u8>,
) {
    let StoredReceipt { outcome, cumulative_gas, .. } = *stored;
    // with room for more, since `encode_into` makes just enough
    match encoding {
        ReceiptEncoding::Storage => {
            out.reserve(stored.encoded_len());
            stored.encode_into(out);
        }
        ReceiptEncoding::Slim => {
            let logs = current(&stored.logs, logs);
            let receipt = SlimReceipt { kind, outcome, cumulative_gas, logs };
            out.reserve(receipt.encoded_len());
            receipt.encode_into(out);
        }
        ReceiptEncoding::Consensus => {
            let bloom = bloom_of(stored.logs.iter(), hasher);
            let logs = current(&stored.logs, logs);
            let receipt = Receipt { kind, outcome, cumulative_gas, bloom: &bloom.0, logs };
            out.reserve(receipt.encoded_len());
            receipt.encode_into(out);
        }
    }
}

/// Logs in the present form. Those in the old one are put into `logs`.
pub(super) fn current<'b, 'a: 'b>(
    stored: &StoredLogs<'a>,
    logs: &'b mut Vec<Log<'a>>,
) -> blockmill_rlp::List<'b, Log<'b>> {
    match stored {
        StoredLogs::Current(logs) => logs.clone(),
        StoredLogs::Old(old) => {
            logs.extend(old.iter().map(|OldLog(log)| log));
            blockmill_rlp::List::Values(logs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_rlp::ErrorKind;

    fn list(fields: &[Vec<u8>]) -> Vec<u8> {
        RawList(&[&fields.concat()]).encode()
    }

    fn bytes(content: &[u8]) -> Vec<u8> {
        content.encode()
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
        let error = |wrong: &[u8]| match verdict(wrong) {
            // after the prefixes of the list of receipts and of the receipt
            Err(ReceiptError::Rlp(Error { offset: 4, kind })) => kind,
            other => panic!("{other:?}"),
        };
        for found in [0, 2, 0x7f] {
            assert_eq!(error(&[found]), ErrorKind::UnknownStatus { found });
        }
        for found in [2, 31, 33] {
            assert_eq!(error(&vec![9; found]), ErrorKind::WrongLength { expected: 32, found });
        }
    }

    #[test]
    fn typed_receipts_need_a_known_type() {
        let convert = |item: &[u8]| consensus_to_storage(&list(&[bytes(item)]), &mut vec![]);
        let kind = ErrorKind::UnknownType { found: 0x7e };
        assert_eq!(convert(&[0x7e, 0xc0]), Err(ReceiptError::Rlp(Error { offset: 2, kind })));
        assert!(matches!(convert(&[]), Err(ReceiptError::Rlp(_))));
    }
}
