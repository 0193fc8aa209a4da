//! Transactions.
//!
//! A legacy transaction is an RLP list (Yellow Paper, section 4.3). A typed transaction is a type
//! byte and a list (EIP-2718); inside another list both are wrapped in a byte string. Types: access
//! lists (EIP-2930), dynamic fees (EIP-1559), blobs (EIP-4844, without the blobs themselves, as in
//! blocks) and code delegation (EIP-7702). Field sizes are those of the execution specifications:
//! 64 bits for nonces and gas, 256 bits for amounts, and for chain ids, as in go-ethereum.

use super::access_list::write_words;
use super::{AccessListEntry, Authorization, TransactionType};
use crate::{Decode, Encode, Error, ErrorKind, List, Reader, Write, hash_each};
use blockmill_hashes::ManyKeccak;
use ruint::aliases::U256;

/// A transaction of any type. Fields that its type does not have are 0 or empty, and are not
/// written.
///
/// [`Encode`] and [`Decode`] use its form in a list, such as the transactions of a block;
/// [`Transaction::canonical`] is the form that is hashed.
///
/// ```
/// use blockmill_rlp::ethereum::{Transaction, TransactionType};
/// use blockmill_rlp::{Decode, Encode, U256};
///
/// let blank = Transaction::new(TransactionType::DynamicFee);
/// let value = U256::from(1_000);
/// let transfer = Transaction { gas_limit: 21_000, to: Some(&[1; 20]), value, ..blank };
/// let bytes = transfer.encode();
/// assert_eq!(Transaction::decode(&bytes), Ok(transfer));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// The type, which determines the fields.
    pub kind: TransactionType,
    /// Chain for which it is signed; a legacy one says it in `v`, if at all (EIP-155).
    pub chain_id: U256,
    /// Number of transactions that the sender sent before.
    pub nonce: u64,
    /// Most wei for each unit of gas that the block's producer gets, from EIP-1559 on.
    pub max_priority_fee: U256,
    /// Most wei for each unit of gas in all; the gas price before EIP-1559.
    pub max_fee: U256,
    /// Most units of gas.
    pub gas_limit: u64,
    /// Receiver; `None` creates a contract, which the types from blobs on cannot.
    pub to: Option<&'a [u8; 20]>,
    /// Wei sent along.
    pub value: U256,
    /// Call data or creation code.
    pub input: &'a [u8],
    /// Accounts and storage that it will touch, in typed transactions.
    pub access_list: List<'a, AccessListEntry<'a>>,
    /// Most wei for each unit of blob gas, in blob transactions.
    pub max_blob_fee: U256,
    /// Versioned hashes of the blobs, in blob transactions.
    pub blob_hashes: List<'a, [u8; 32]>,
    /// Code delegations, in set-code transactions.
    pub authorizations: List<'a, Authorization<'a>>,
    /// Parity of the signature's point: 0 or 1, in legacy transactions 27 or 28, or 35 or 36 and
    /// twice the chain id more (EIP-155).
    pub v: U256,
    /// First half of the signature.
    pub r: U256,
    /// Second half of the signature.
    pub s: U256,
}

impl<'a> Transaction<'a> {
    /// An unsigned transaction with every field 0 or empty.
    #[must_use]
    #[inline]
    pub const fn new(kind: TransactionType) -> Self {
        Self {
            kind,
            chain_id: U256::ZERO,
            nonce: 0,
            max_priority_fee: U256::ZERO,
            max_fee: U256::ZERO,
            gas_limit: 0,
            to: None,
            value: U256::ZERO,
            input: &[],
            access_list: List::Values(&[]),
            max_blob_fee: U256::ZERO,
            blob_hashes: List::Values(&[]),
            authorizations: List::Values(&[]),
            v: U256::ZERO,
            r: U256::ZERO,
            s: U256::ZERO,
        }
    }

    /// The form that the transactions trie holds, and whose hash is the transaction's: a list, or a
    /// type byte and a list (EIP-2718).
    ///
    /// ```
    /// use blockmill_rlp::Encode;
    /// use blockmill_rlp::ethereum::{Transaction, TransactionType};
    ///
    /// let transaction = Transaction::new(TransactionType::DynamicFee);
    /// assert_eq!(transaction.canonical().encode()[0], 2);
    /// let hash: [u8; 32] = transaction.canonical().hash();
    /// ```
    #[must_use]
    #[inline]
    pub fn canonical(&self) -> CanonicalTransaction<'_, 'a> {
        CanonicalTransaction(self)
    }

    /// The signed form; its hash is the message. A legacy transaction is signed for the chain
    /// `chain_id` (EIP-155), or with `None` for any chain; the other types have a chain id
    /// themselves.
    #[must_use]
    #[inline]
    pub fn signing(&self, chain_id: Option<U256>) -> UnsignedTransaction<'_, 'a> {
        UnsignedTransaction { transaction: self, chain_id }
    }

    /// Decodes the canonical form, which must fill `bytes`.
    pub fn decode_canonical(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.first() {
            Some(0..0xc0) => Self::read_typed(bytes, 0),
            _ => Self::decode(bytes),
        }
    }

    /// Reads type and list, which fill `bytes`; errors count from `offset`.
    #[inline]
    fn read_typed(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        let Some((&found, list)) = bytes.split_first() else {
            let kind = ErrorKind::Truncated { needed: 1, available: 0 };
            return Err(Error { offset, kind });
        };
        let unknown = Error { offset, kind: ErrorKind::UnknownType { found } };
        let kind = TransactionType::from_byte(found).ok_or(unknown)?;
        let mut reader = Reader::with_base(list, offset + 1);
        let transaction = Self::read_fields(kind, reader.list()?)?;
        reader.finish()?;
        Ok(transaction)
    }

    fn read_fields(kind: TransactionType, mut list: Reader<'a>) -> Result<Self, Error> {
        use TransactionType::{Blob, DynamicFee, Legacy, SetCode};
        let chain_id = if kind == Legacy { U256::ZERO } else { list.u256()? };
        let nonce = list.u64()?;
        let max_priority_fee = if kind >= DynamicFee { list.u256()? } else { U256::ZERO };
        let max_fee = list.u256()?;
        let gas_limit = list.u64()?;
        let to = receiver(&mut list, kind)?;
        let value = list.u256()?;
        let input = list.bytes()?;
        let access_list = if kind == Legacy { List::default() } else { List::read(&mut list)? };
        let (max_blob_fee, blob_hashes) = match kind {
            Blob => (list.u256()?, List::read(&mut list)?),
            _ => (U256::ZERO, List::default()),
        };
        let authorizations = if kind == SetCode { List::read(&mut list)? } else { List::default() };
        let v = if kind == Legacy { list.u256()? } else { U256::from(list.u64()?) };
        let (r, s) = (list.u256()?, list.u256()?);
        list.finish()?;
        Ok(Self {
            kind,
            chain_id,
            nonce,
            max_priority_fee,
            max_fee,
            gas_limit,
            to,
            value,
            input,
            access_list,
            max_blob_fee,
            blob_hashes,
            authorizations,
            v,
            r,
            s,
        })
    }

    /// The six fields of a legacy transaction that are signed.
    #[inline(always)]
    fn write_legacy<W: Write>(&self, out: &mut W) {
        out.u64(self.nonce);
        out.u256(&self.max_fee);
        self.write_call(out);
    }

    /// The fields of a typed transaction that are signed.
    #[inline(always)]
    fn write_typed<W: Write>(&self, out: &mut W) {
        out.u256(&self.chain_id);
        out.u64(self.nonce);
        if self.kind >= TransactionType::DynamicFee {
            out.u256(&self.max_priority_fee);
        }
        out.u256(&self.max_fee);
        self.write_call(out);
        self.access_list.write(out);
        if self.kind == TransactionType::Blob {
            out.u256(&self.max_blob_fee);
            write_words(&self.blob_hashes, out);
        }
        if self.kind == TransactionType::SetCode {
            self.authorizations.write(out);
        }
    }

    #[inline(always)]
    fn write_call<W: Write>(&self, out: &mut W) {
        out.u64(self.gas_limit);
        match self.to {
            Some(address) => out.fixed(address),
            None => out.bytes(&[]),
        }
        out.u256(&self.value);
        out.bytes(self.input);
    }

    #[inline(always)]
    fn write_signature<W: Write>(&self, out: &mut W) {
        out.u256(&self.v);
        out.u256(&self.r);
        out.u256(&self.s);
    }

    #[inline(always)]
    fn write_legacy_list<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.write_legacy(out);
            self.write_signature(out);
        });
    }

    #[inline(always)]
    fn write_typed_list<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.write_typed(out);
            self.write_signature(out);
        });
    }
}

/// The receiver; only types without blobs and delegations may create contracts.
#[inline]
fn receiver<'a>(
    list: &mut Reader<'a>,
    kind: TransactionType,
) -> Result<Option<&'a [u8; 20]>, Error> {
    let creates = kind < TransactionType::Blob && list.rest().first() == Some(&0x80);
    if creates {
        list.bytes()?;
        return Ok(None);
    }
    list.fixed().map(Some)
}

/// The form in a list: legacy ones as they are, typed ones in a byte string.
impl Encode for Transaction<'_> {
    /// The envelope, the fields, the access list, the authorizations.
    const LISTS: usize = 4;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self.kind {
            TransactionType::Legacy => self.write_legacy_list(out),
            kind => out.envelope(kind as u8, |out| self.write_typed_list(out)),
        }
    }
}

impl<'a> Decode<'a> for Transaction<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        if reader.next_is_list() {
            return Self::read_fields(TransactionType::Legacy, reader.list()?);
        }
        let typed = reader.bytes()?;
        Self::read_typed(typed, reader.offset() - typed.len())
    }
}

/// A transaction as the transactions trie holds it; its hash is the transaction's.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalTransaction<'t, 'a>(&'t Transaction<'a>);

impl Encode for CanonicalTransaction<'_, '_> {
    /// The fields, the access list, the authorizations.
    const LISTS: usize = 3;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self.0.kind {
            TransactionType::Legacy => self.0.write_legacy_list(out),
            kind => {
                out.raw(&[kind as u8]);
                self.0.write_typed_list(out);
            }
        }
    }
}

impl<'a> List<'a, Transaction<'a>> {
    /// Writes the hash of each transaction to the same index of `out`, hashing as many at once as
    /// `hasher` can. Decoded transactions are hashed in place.
    ///
    /// # Panics
    ///
    /// Panics if `out` does not have the length of the list.
    pub fn hashes(&self, hasher: &ManyKeccak, out: &mut [[u8; 32]]) {
        match self {
            Self::Values(values) => {
                hash_each(values.iter().map(Transaction::canonical), hasher, out);
            }
            Self::Encoded(encoded) => {
                let mut items = encoded.reader();
                let canonical = core::iter::from_fn(|| {
                    let item = items.item().ok()?;
                    Some(Canonical(if item.is_list { item.raw } else { item.payload }))
                });
                hash_each(canonical, hasher, out);
            }
        }
    }
}

/// The canonical form of a transaction, encoded.
struct Canonical<'a>(&'a [u8]);

impl Encode for Canonical<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.raw(self.0);
    }
}

/// The form of a transaction that its sender signs.
#[derive(Clone, Copy, Debug)]
pub struct UnsignedTransaction<'t, 'a> {
    transaction: &'t Transaction<'a>,
    chain_id: Option<U256>,
}

impl Encode for UnsignedTransaction<'_, '_> {
    /// The fields, the access list, the authorizations.
    const LISTS: usize = 3;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self.transaction.kind {
            TransactionType::Legacy => out.list(|out| {
                self.transaction.write_legacy(out);
                if let Some(chain_id) = &self.chain_id {
                    out.u256(chain_id);
                    out.u64(0);
                    out.u64(0);
                }
            }),
            kind => {
                out.raw(&[kind as u8]);
                out.list(|out| self.transaction.write_typed(out));
            }
        }
    }
}
