//! Receipts in the forms that consensus knows (Yellow Paper, section 4.3.1, EIP-658, EIP-2718).

use super::{Log, StoredLogs, StoredReceipt, TransactionType};
use crate::{Decode, Encode, Error, ErrorKind, List, Reader, Write};

/// The outcome of a transaction.
///
/// ```
/// use blockmill_rlp::ethereum::Outcome;
/// use blockmill_rlp::{Decode, Encode};
///
/// assert_eq!(Outcome::decode(&[0x01]), Ok(Outcome::Success));
/// assert_eq!(Outcome::decode(&[0x80]), Ok(Outcome::Failure));
/// assert_eq!(Outcome::Root(&[7; 32]).encode()[0], 0xa0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The transaction failed (from Byzantium on, EIP-658).
    Failure,
    /// The transaction succeeded (from Byzantium on).
    Success,
    /// The state root after it (before Byzantium).
    Root(&'a [u8; 32]),
}

impl<'a> Decode<'a> for Outcome<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        let kind = match reader.bytes()? {
            [] => return Ok(Self::Failure),
            [1] => return Ok(Self::Success),
            [found] => ErrorKind::UnknownStatus { found: *found },
            bytes => match bytes.try_into() {
                Ok(root) => return Ok(Self::Root(root)),
                Err(_) => ErrorKind::WrongLength { expected: 32, found: bytes.len() },
            },
        };
        Err(Error { offset, kind })
    }
}

impl Encode for Outcome<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Failure => out.u64(0),
            Self::Success => out.u64(1),
            Self::Root(root) => out.fixed(root),
        }
    }
}

/// A receipt. Encoded and decoded as an item of a block's list of receipts: a list for a legacy
/// transaction, a byte string of the type and a list for any other one.
///
/// ```
/// use blockmill_rlp::ethereum::{Outcome, Receipt, TransactionType};
/// use blockmill_rlp::{Encode, List};
///
/// let receipt = Receipt {
///     kind: TransactionType::DynamicFee,
///     outcome: Outcome::Success,
///     cumulative_gas: 21_000,
///     bloom: &[0; 256],
///     logs: List::Values(&[]),
/// };
/// // what the receipts trie holds: the type, then the list
/// let bytes = receipt.canonical().encode();
/// assert_eq!(bytes[0], 2);
/// assert_eq!(Receipt::decode_canonical(&bytes), Ok(receipt));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// Type of the transaction.
    pub kind: TransactionType,
    /// The outcome of the transaction.
    pub outcome: Outcome<'a>,
    /// Gas used in the block up to and with this transaction.
    pub cumulative_gas: u64,
    /// Filter over the addresses and topics of the logs.
    pub bloom: &'a [u8; 256],
    /// The logs of the transaction.
    pub logs: List<'a, Log<'a>>,
}

impl<'a> Receipt<'a> {
    /// Decodes the form that the receipts trie holds: the type, unless it is legacy, and the list.
    pub fn decode_canonical(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.first() {
            Some(0..0xc0) => Self::read_typed(bytes, 0),
            _ => Self::decode(bytes),
        }
    }

    /// The form that the receipts trie holds.
    #[must_use]
    pub fn canonical(&'a self) -> CanonicalReceipt<'a> {
        CanonicalReceipt(self)
    }

    /// The form of geth's database.
    #[must_use]
    pub fn stored(&self) -> StoredReceipt<'a> {
        let logs = StoredLogs::Current(self.logs.clone());
        StoredReceipt { outcome: self.outcome, cumulative_gas: self.cumulative_gas, logs }
    }

    /// Reads type and list, which fill `bytes`; errors count from `offset`.
    fn read_typed(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        let Some((&found, list)) = bytes.split_first() else {
            let kind = ErrorKind::Truncated { needed: 1, available: 0 };
            return Err(Error { offset, kind });
        };
        let unknown = Error { offset, kind: ErrorKind::UnknownType { found } };
        let kind = TransactionType::from_byte(found).ok_or(unknown)?;
        let mut reader = Reader::with_base(list, offset + 1);
        let receipt = Self::read_fields(kind, &mut reader)?;
        reader.finish()?;
        Ok(receipt)
    }

    fn read_fields(kind: TransactionType, reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let receipt = Self {
            kind,
            outcome: Outcome::read(&mut list)?,
            cumulative_gas: list.u64()?,
            bloom: list.fixed()?,
            logs: List::read(&mut list)?,
        };
        list.finish()?;
        Ok(receipt)
    }

    #[inline(always)]
    fn write_fields<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.outcome.write(out);
            out.u64(self.cumulative_gas);
            out.fixed(self.bloom);
            self.logs.write(out);
        });
    }
}

impl<'a> Decode<'a> for Receipt<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        if reader.next_is_list() {
            return Self::read_fields(TransactionType::Legacy, reader);
        }
        let typed = reader.bytes()?;
        Self::read_typed(typed, reader.offset() - typed.len())
    }
}

impl Encode for Receipt<'_> {
    /// The envelope, the receipt and the list of logs; the logs know their own lengths.
    const LISTS: usize = 3;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self.kind {
            TransactionType::Legacy => self.write_fields(out),
            kind => out.envelope(kind as u8, |out| self.write_fields(out)),
        }
    }
}

/// A receipt that is encoded as the receipts trie holds it.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalReceipt<'a>(&'a Receipt<'a>);

impl Encode for CanonicalReceipt<'_> {
    const LISTS: usize = 2;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        if self.0.kind != TransactionType::Legacy {
            out.raw(&[self.0.kind as u8]);
        }
        self.0.write_fields(out);
    }
}
