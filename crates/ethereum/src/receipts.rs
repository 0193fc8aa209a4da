//! Receipts: the encoding of the receipts trie, the one of geth's database, and back.
//!
//! * Consensus (era1 files): `[status or state root, cumulative gas, bloom, logs]`, as a list for
//!   legacy transactions, as a byte string of type byte and list for typed ones (EIP-2718).
//! * Storage (ancient folders): `[status or state root, cumulative gas, logs]`. Type and bloom are
//!   left out; the body and the logs have them. Folders that grew up under geth before 1.9 hold
//!   two older forms with more fields, in receipts and in logs; they are read, not written.

mod lists;

pub use lists::{consensus_to_storage, receipts_root, storage_to_consensus, verify_receipts};

use crate::bloom::Bloom;
use crate::transactions::TransactionType;
use archive::ReceiptEncoding;
use crypto::ManyKeccak;
use rlp::{Error, ErrorKind, Item, Reader};
use std::fmt;

/// Why receipts are malformed. Offsets count from the start of the block's list of receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptError {
    /// Not the RLP of a receipt.
    Rlp(Error),
    /// A type byte that no fork knows.
    UnknownType {
        /// Where the receipt stands.
        offset: usize,
        /// The byte.
        found: u8,
    },
    /// The first field is neither empty, nor 1, nor a state root.
    Status {
        /// Where the field stands.
        offset: usize,
    },
    /// Not one receipt for each transaction.
    Count {
        /// Transactions of the body.
        transactions: usize,
        /// Receipts found; one too many stands for any number.
        receipts: usize,
    },
}

impl From<Error> for ReceiptError {
    fn from(error: Error) -> Self {
        Self::Rlp(error)
    }
}

impl fmt::Display for ReceiptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rlp(error) => error.fmt(f),
            Self::UnknownType { offset, found } => {
                write!(f, "byte {offset}: unknown receipt type {found:#04x}")
            }
            Self::Status { offset } => {
                write!(f, "byte {offset}: expected a status of 0 or 1 or a state root")
            }
            Self::Count { transactions, receipts } => {
                write!(f, "{receipts} receipts for {transactions} transactions")
            }
        }
    }
}

impl std::error::Error for ReceiptError {}

/// A receipt decoded in place.
#[derive(Clone, Debug)]
pub struct ReceiptView<'a> {
    /// Type of the transaction; legacy when decoded from storage, which does not tell.
    pub kind: TransactionType,
    /// Empty for failure, 1 for success, from Byzantium on (EIP-658); a state root before.
    pub outcome: &'a [u8],
    /// Gas used in the block up to and with this transaction.
    pub cumulative_gas: u64,
    /// Filter over the logs; `None` in storage.
    pub bloom: Option<&'a [u8; 256]>,
    /// The logs, each checked; [`LogView::decode`] reads them.
    pub logs: Reader<'a>,
}

/// A log decoded in place.
#[derive(Clone, Debug)]
pub struct LogView<'a> {
    /// The contract that wrote it.
    pub address: &'a [u8; 20],
    /// Up to four words, 32 bytes each.
    pub topics: Reader<'a>,
    /// Free bytes.
    pub data: &'a [u8],
    /// The encodings of these three fields.
    fields: &'a [u8],
}

impl<'a> LogView<'a> {
    /// Decodes a log: address, topics, data. In storage five more fields may follow, which geth
    /// wrote before 1.9: block number, transaction hash and index, block hash, index.
    pub fn decode(item: &Item<'a>, encoding: ReceiptEncoding) -> Result<Self, Error> {
        let mut list = Reader::with_base(item.raw, item.offset).list()?;
        let whole = list.rest();
        let address = list.fixed()?;
        let topics = list.list()?;
        let mut rest = topics.clone();
        while !rest.is_empty() {
            rest.fixed::<32>()?;
        }
        let data = list.bytes()?;
        let fields = &whole[..whole.len() - list.rest().len()];
        if encoding == ReceiptEncoding::Storage && !list.is_empty() {
            list.u64()?;
            list.fixed::<32>()?;
            list.u64()?;
            list.fixed::<32>()?;
            list.u64()?;
        }
        list.finish()?;
        Ok(Self { address, topics, data, fields })
    }
}

impl<'a> ReceiptView<'a> {
    /// Decodes the receipt `item` of a block's list.
    pub fn decode(item: &Item<'a>, encoding: ReceiptEncoding) -> Result<Self, ReceiptError> {
        let receipt = match encoding {
            ReceiptEncoding::Consensus => Self::decode_consensus(item)?,
            ReceiptEncoding::Storage => Self::decode_storage(item)?,
        };
        let mut logs = receipt.logs.clone();
        while !logs.is_empty() {
            LogView::decode(&logs.item()?, encoding)?;
        }
        Ok(receipt)
    }

    fn decode_consensus(item: &Item<'a>) -> Result<Self, ReceiptError> {
        let start = item.offset + item.raw.len() - item.payload.len();
        let (kind, mut list) = match item.payload {
            _ if item.is_list => (TransactionType::Legacy, item.reader()),
            [] => {
                let kind = ErrorKind::Truncated { needed: 1, available: 0 };
                return Err(Error { offset: start, kind }.into());
            }
            [byte, typed @ ..] => {
                let unknown = ReceiptError::UnknownType { offset: start, found: *byte };
                let kind = TransactionType::from_byte(*byte).ok_or(unknown)?;
                let mut outer = Reader::with_base(typed, start + 1);
                let list = outer.list()?;
                outer.finish()?;
                (kind, list)
            }
        };
        let outcome = outcome(&mut list)?;
        let cumulative_gas = list.u64()?;
        let bloom = Some(list.fixed()?);
        let logs = list.list()?;
        list.finish()?;
        Ok(Self { kind, outcome, cumulative_gas, bloom, logs })
    }

    /// The number of fields tells the three forms apart: 3 now, 6 in database version 4 of geth,
    /// 7 before it.
    fn decode_storage(item: &Item<'a>) -> Result<Self, ReceiptError> {
        let mut list = Reader::with_base(item.raw, item.offset).list()?;
        let mut counter = list.clone();
        let mut fields = 0;
        while !counter.is_empty() && fields <= 7 {
            counter.item()?;
            fields += 1;
        }
        let outcome = outcome(&mut list)?;
        let cumulative_gas = list.u64()?;
        if fields == 7 {
            list.fixed::<256>()?;
        }
        if fields >= 6 {
            // hash of the transaction and address of the contract that it made
            list.fixed::<32>()?;
            list.fixed::<20>()?;
        }
        let logs = list.list()?;
        if fields >= 6 {
            // gas that this transaction used
            list.u64()?;
        }
        list.finish()?;
        Ok(Self { kind: TransactionType::Legacy, outcome, cumulative_gas, bloom: None, logs })
    }

    /// The filter over this receipt's logs, computed anew.
    pub fn compute_bloom(&self, hasher: &ManyKeccak) -> Bloom {
        let mut bloom = Bloom::default();
        let entries = self.logs().flat_map(|log| {
            let mut topics = log.topics;
            let words = std::iter::from_fn(move || topics.fixed::<32>().ok().map(|t| &t[..]));
            std::iter::once(&log.address[..]).chain(words)
        });
        bloom.extend(entries, hasher);
        bloom
    }

    /// The logs; they were checked when the receipt was decoded.
    pub fn logs(&self) -> impl Iterator<Item = LogView<'a>> + use<'a> {
        let mut logs = self.logs.clone();
        // the storage form of a log includes the other one
        std::iter::from_fn(move || {
            LogView::decode(&logs.item().ok()?, ReceiptEncoding::Storage).ok()
        })
    }

    /// Appends the list of fields, with `bloom` or, for storage, without.
    fn put(&self, bloom: Option<&[u8; 256]>, out: &mut Vec<u8>) {
        let logs: usize = self.logs().map(|log| rlp::list_len(log.fields.len())).sum();
        let mut payload = rlp::bytes_len(self.outcome) + rlp::u64_len(self.cumulative_gas);
        payload += bloom.map_or(0, |bloom| rlp::bytes_len(bloom)) + rlp::list_len(logs);
        rlp::put_list_prefix(out, payload);
        rlp::put_bytes(out, self.outcome);
        rlp::put_u64(out, self.cumulative_gas);
        if let Some(bloom) = bloom {
            rlp::put_bytes(out, bloom);
        }
        rlp::put_list_prefix(out, logs);
        for log in self.logs() {
            rlp::put_list_prefix(out, log.fields.len());
            out.extend_from_slice(log.fields);
        }
    }
}

/// Reads the first field of a receipt.
fn outcome<'a>(list: &mut Reader<'a>) -> Result<&'a [u8], ReceiptError> {
    let offset = list.offset();
    let bytes = list.bytes()?;
    match (bytes.len(), bytes) {
        (0 | 32, _) | (1, [1]) => Ok(bytes),
        _ => Err(ReceiptError::Status { offset }),
    }
}
