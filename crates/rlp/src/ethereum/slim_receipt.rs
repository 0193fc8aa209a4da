//! Receipts in the form of eth/69 (EIP-7642) and of `.ere` files: without bloom, and with the type
//! as a field.

use super::{Log, Outcome, TransactionType};
use crate::{Decode, Encode, Error, ErrorKind, List, Reader, Write};

/// A receipt without bloom.
///
/// ```
/// use blockmill_rlp::ethereum::{Outcome, SlimReceipt, TransactionType};
/// use blockmill_rlp::{Decode, Encode, List};
///
/// let receipt = SlimReceipt {
///     kind: TransactionType::Blob,
///     outcome: Outcome::Success,
///     cumulative_gas: 21_000,
///     logs: List::Values(&[]),
/// };
/// let bytes = receipt.encode();
/// assert_eq!(bytes, [0xc6, 3, 1, 0x82, 0x52, 0x08, 0xc0]);
/// assert_eq!(SlimReceipt::decode(&bytes), Ok(receipt));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlimReceipt<'a> {
    /// Type of the transaction.
    pub kind: TransactionType,
    /// The outcome of the transaction.
    pub outcome: Outcome<'a>,
    /// Gas used in the block up to and with this transaction.
    pub cumulative_gas: u64,
    /// The logs of the transaction.
    pub logs: List<'a, Log<'a>>,
}

impl<'a> Decode<'a> for SlimReceipt<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let offset = list.offset();
        // types are single bytes (EIP-2718)
        let kind = match list.bytes()? {
            [] => TransactionType::Legacy,
            [found] => TransactionType::from_byte(*found)
                .ok_or(Error { offset, kind: ErrorKind::UnknownType { found: *found } })?,
            bytes => {
                let kind = ErrorKind::WrongLength { expected: 1, found: bytes.len() };
                return Err(Error { offset, kind });
            }
        };
        let receipt = Self {
            kind,
            outcome: Outcome::read(&mut list)?,
            cumulative_gas: list.u64()?,
            logs: List::read(&mut list)?,
        };
        list.finish()?;
        Ok(receipt)
    }
}

impl Encode for SlimReceipt<'_> {
    const LISTS: usize = 2;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            out.u64(self.kind as u64);
            self.outcome.write(out);
            out.u64(self.cumulative_gas);
            self.logs.write(out);
        });
    }
}
