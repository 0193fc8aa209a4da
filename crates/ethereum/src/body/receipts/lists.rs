//! All receipts of a block: their root, and what the header says about them.

use super::recode::{current, items, read_as, type_of};
use super::{ReceiptError, bloom_of};
use crate::Hash;
use crate::body::BodyView;
use crate::body::bloom::Bloom;
use crate::body::list::List;
use crate::body::transactions::TransactionType;
use crate::header::{EMPTY_ROOT, HeaderView};
use crate::rule::{Rule, Violation};
use blockmill_archive::ReceiptEncoding;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::{Receipt, StoredReceipt};
use blockmill_rlp::{Decode, Encode, Error, Reader};
use blockmill_trie::RootBuilder;
use blockmill_verdict::Hex;

/// Compares a block's receipts with its header and its body: their number, the receipts root, the
/// filter over all logs, and the gas that the block used.
pub fn verify_receipts(
    header: &HeaderView<'_>,
    body: &BodyView<'_>,
    list: &[u8],
    encoding: ReceiptEncoding,
    roots: &mut RootBuilder,
) -> Result<(), Violation> {
    let totals = match encoding {
        ReceiptEncoding::Consensus => Totals::of_consensus_form(list),
        encoding => Totals::of_built(list, encoding, body.transaction_types()),
    };
    let totals = totals.map_err(malformed)?;
    let (transactions, receipts) = (body.transaction_count(), totals.encodings.count());
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
    verify_gas(header, totals.gas_used)
}

/// Compares the gas of all receipts with the header's. From Amsterdam on, receipts count the gas
/// that senders paid for, and the header the larger of gas for a larger state and other gas, before
/// refunds of at most a fifth (EIP-7778, EIP-8037): so the receipts' gas is between four fifths and
/// twice the header's.
fn verify_gas(header: &HeaderView<'_>, receipts: u64) -> Result<(), Violation> {
    let used = header.gas_used;
    let expected = match header.block_access_list_hash {
        None if receipts == used => return Ok(()),
        None => used.to_string(),
        Some(_) => {
            let (receipts, used) = (u128::from(receipts), u128::from(used));
            if 4 * used <= 5 * receipts && receipts <= 2 * used {
                return Ok(());
            }
            format!("from four fifths to twice {used}")
        }
    };
    Err(Violation::new(Rule::ReceiptsGas, expected, receipts))
}

/// What a header says of receipts when its block has no transactions: receipts root, filter and gas
/// are known, whoever holds the receipts. System calls (EIP-4788) use no gas of the block.
pub fn verify_no_receipts(header: &HeaderView<'_>) -> Result<(), Violation> {
    if *header.receipts_root != EMPTY_ROOT {
        let expected = Hex(header.receipts_root);
        return Err(Violation::new(Rule::ReceiptsRoot, expected, Hex(&EMPTY_ROOT)));
    }
    if header.logs_bloom.iter().any(|byte| *byte != 0) {
        let expected = Hex(header.logs_bloom);
        return Err(Violation::new(Rule::LogsBloom, expected, "no bit, as there are no logs"));
    }
    if header.gas_used != 0 {
        return Err(Violation::new(Rule::ReceiptsGas, header.gas_used, 0));
    }
    Ok(())
}

fn malformed(error: ReceiptError) -> Violation {
    Violation::new(Rule::ReceiptEncoding, "one well-formed receipt for each transaction", error)
}

/// The root of the trie over a block's receipts, given in consensus form.
pub fn receipts_root(list: &[u8], roots: &mut RootBuilder) -> Result<Hash, ReceiptError> {
    Ok(Totals::of_consensus_form(list)?.root(roots))
}

/// What the receipts of a block say together.
struct Totals<'a> {
    encodings: Encodings<'a>,
    bloom: Bloom,
    gas_used: u64,
}

/// The receipts of a block as the receipts trie holds them.
enum Encodings<'a> {
    /// In the list that was given.
    InPlace(List<'a>),
    /// Built from another encoding: back to back, with the end of each.
    Built { bytes: Vec<u8>, ends: Vec<usize> },
}

impl Encodings<'_> {
    fn count(&self) -> usize {
        match self {
            Self::InPlace(list) => list.count,
            Self::Built { ends, .. } => ends.len(),
        }
    }
}

impl<'a> Totals<'a> {
    /// The totals of a list of receipts in consensus form.
    fn of_consensus_form(list: &'a [u8]) -> Result<Self, ReceiptError> {
        let mut outer = Reader::new(list);
        let mut bloom = Bloom::default();
        let mut gas_used = 0;
        let receipts = List::read(&mut outer, |items| {
            let receipt = Receipt::read(items)?;
            gas_used = receipt.cumulative_gas;
            bloom.merge(receipt.bloom);
            Ok::<_, Error>(())
        })?;
        outer.finish()?;
        Ok(Self { encodings: Encodings::InPlace(receipts), bloom, gas_used })
    }

    /// The totals of a list of receipts in another form: blooms are built from the logs, and types
    /// that the form leaves out are those of the transactions.
    fn of_built(
        list: &[u8],
        encoding: ReceiptEncoding,
        types: impl Iterator<Item = TransactionType>,
    ) -> Result<Self, ReceiptError> {
        let hasher = ManyKeccak::detect();
        let (mut receipts, mut types) = (items(list)?, types);
        let (mut all, mut gas_used) = (Bloom::default(), 0);
        let (mut bytes, mut ends, mut old) = (Vec::with_capacity(2 * list.len()), vec![], vec![]);
        while !receipts.is_empty() {
            let (kind, stored) = read_as(encoding, &mut receipts)?;
            let kind = type_of(kind, &mut types, ends.len() + 1)?;
            let bloom = bloom_of(stored.logs.iter(), &hasher);
            all.merge(&bloom.0);
            old.clear();
            let logs = current(&stored.logs, &mut old);
            let StoredReceipt { outcome, cumulative_gas, .. } = stored;
            let receipt = Receipt { kind, outcome, cumulative_gas, bloom: &bloom.0, logs };
            gas_used = cumulative_gas;
            let encoding = receipt.canonical();
            bytes.reserve(encoding.encoded_len());
            encoding.encode_into(&mut bytes);
            ends.push(bytes.len());
        }
        Ok(Self { encodings: Encodings::Built { bytes, ends }, bloom: all, gas_used })
    }

    fn root(&self, roots: &mut RootBuilder) -> Hash {
        match &self.encodings {
            encodings if encodings.count() == 0 => EMPTY_ROOT,
            Encodings::InPlace(receipts) => roots.ordered(receipts.encodings()),
            Encodings::Built { bytes, ends } => {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let ranges: Vec<_> = starts.zip(ends).map(|(start, end)| start..*end).collect();
                roots.ordered(ranges.into_iter().map(|range| &bytes[range]))
            }
        }
    }
}
