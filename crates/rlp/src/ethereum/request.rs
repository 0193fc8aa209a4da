//! Requests of the execution layer to the beacon chain (EIP-7685): one byte string for each kind,
//! with a type byte and records of fixed size without a prefix.
//!
//! A block has only a hash of them, which is SHA-256 and not RLP. As an RLP item a request is the
//! byte string that is hashed.

use crate::{Decode, Encode, Error, ErrorKind, OnePass, Reader, Write};
use alloc::vec::Vec;
use blockmill_hashes::{Sha256, sha256};

/// All requests of one kind in a block.
///
/// ```
/// use blockmill_rlp::ethereum::{Records, Request, WithdrawalRequest};
///
/// let record = WithdrawalRequest { source: &[1; 20], public_key: &[2; 48], amount: 5 };
/// let request = Request::Withdrawals(Records::Values(&[record]));
/// let bytes = request.canonical();
/// assert_eq!(bytes[0], 1);
/// assert_eq!(Request::decode_canonical(&bytes), Ok(request));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Type 0 (EIP-6110).
    Deposits(Records<'a, Deposit<'a>>),
    /// Type 1 (EIP-7002).
    Withdrawals(Records<'a, WithdrawalRequest<'a>>),
    /// Type 2 (EIP-7251).
    Consolidations(Records<'a, Consolidation<'a>>),
}

impl<'a> Request<'a> {
    /// Decodes a type byte and the records after it, which fill `bytes`.
    pub fn decode_canonical(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::read_typed(bytes, 0)
    }

    /// Like [`Request::decode_canonical`]; errors count from `offset`.
    fn read_typed(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        let Some((&found, data)) = bytes.split_first() else {
            let kind = ErrorKind::Truncated { needed: 1, available: 0 };
            return Err(Error { offset, kind });
        };
        match found {
            0 => Records::read(data, offset + 1).map(Self::Deposits),
            1 => Records::read(data, offset + 1).map(Self::Withdrawals),
            2 => Records::read(data, offset + 1).map(Self::Consolidations),
            _ => Err(Error { offset, kind: ErrorKind::UnknownType { found } }),
        }
    }

    /// The type byte and the records after it.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = OnePass::default();
        match self {
            Self::Deposits(records) => {
                out.raw(&[0]);
                records.write(&mut out);
            }
            Self::Withdrawals(records) => {
                out.raw(&[1]);
                records.write(&mut out);
            }
            Self::Consolidations(records) => {
                out.raw(&[2]);
                records.write(&mut out);
            }
        }
        out.into_bytes()
    }
}

/// The requests hash of a header (EIP-7685): SHA-256 over the SHA-256 of each request, in ascending
/// order of types, without requests that have no records.
///
/// ```
/// use blockmill_rlp::ethereum::requests_hash;
///
/// // a block without requests
/// assert_eq!(requests_hash(&[]), blockmill_hashes::sha256(&[]));
/// ```
#[must_use]
pub fn requests_hash(requests: &[Request<'_>]) -> [u8; 32] {
    let mut all = Sha256::new();
    for request in requests {
        let bytes = request.canonical();
        if bytes.len() > 1 {
            all.update(&sha256(&bytes));
        }
    }
    all.finalize()
}

impl<'a> Decode<'a> for Request<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let bytes = reader.bytes()?;
        Self::read_typed(bytes, reader.offset() - bytes.len())
    }
}

impl Encode for Request<'_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Deposits(records) => out.envelope(0, |out| records.write(out)),
            Self::Withdrawals(records) => out.envelope(1, |out| records.write(out)),
            Self::Consolidations(records) => out.envelope(2, |out| records.write(out)),
        }
    }
}

/// A row of fields of fixed sizes without prefixes.
pub trait Record<'a>: Copy + PartialEq {
    /// Bytes of all fields together.
    const SIZE: usize;

    /// Reads the fields from the start of `bytes`; `None` if there are too few bytes.
    fn take(bytes: &mut &'a [u8]) -> Option<Self>;

    /// Writes the fields, one after the other.
    fn put<W: Write>(&self, out: &mut W);
}

/// Records of one kind: a slice, or encoded records of a request.
#[derive(Clone, Copy, Debug)]
pub enum Records<'a, T> {
    /// Records that are not encoded yet.
    Values(&'a [T]),
    /// Encoded records. Bytes after the last whole record are ignored.
    Packed(&'a [u8]),
}

impl<'a, T: Record<'a>> Records<'a, T> {
    fn read(bytes: &'a [u8], offset: usize) -> Result<Self, Error> {
        match bytes.len() % T::SIZE {
            0 => Ok(Self::Packed(bytes)),
            rest => {
                let expected = bytes.len() - rest + T::SIZE;
                let kind = ErrorKind::WrongLength { expected, found: bytes.len() };
                Err(Error { offset, kind })
            }
        }
    }

    /// The records, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let (given, mut packed) = match *self {
            Self::Values(records) => (records, &[][..]),
            Self::Packed(bytes) => (&[][..], bytes),
        };
        given.iter().copied().chain(core::iter::from_fn(move || T::take(&mut packed)))
    }

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Values(records) => records.iter().for_each(|record| record.put(out)),
            Self::Packed(bytes) => out.raw(bytes),
        }
    }
}

impl<'a, T: Record<'a>> PartialEq for Records<'a, T> {
    /// Equal when they hold equal records, encoded or not.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Record<'a> + Eq> Eq for Records<'a, T> {}

/// Declares a record: its fields in their order, byte strings with their size and numbers of 64
/// bits, which the beacon chain writes with the least significant byte first.
macro_rules! record {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $field:ident: $($size:literal)? $($number:ident)?,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            $($(#[$doc])* pub $field: record!(@type $($size)? $($number)?),)+
        }

        impl<'a> Record<'a> for $name<'a> {
            const SIZE: usize = 0 $(+ record!(@size $($size)? $($number)?))+;

            #[inline]
            fn take(bytes: &mut &'a [u8]) -> Option<Self> {
                $(let $field = bytes.split_off(..record!(@size $($size)? $($number)?))?;)+
                Some(Self { $($field: record!(@take $field $($size)? $($number)?),)+ })
            }

            #[inline(always)]
            fn put<W: Write>(&self, out: &mut W) {
                $(record!(@put out, self.$field, $($size)? $($number)?);)+
            }
        }
    };
    (@type $size:literal) => { &'a [u8; $size] };
    (@type u64) => { u64 };
    (@size $size:literal) => { $size };
    (@size u64) => { 8 };
    (@take $field:ident $size:literal) => { $field.try_into().ok()? };
    (@take $field:ident u64) => { u64::from_le_bytes($field.try_into().ok()?) };
    (@put $out:ident, $field:expr, $size:literal) => { $out.raw($field) };
    (@put $out:ident, $field:expr, u64) => { $out.raw(&$field.to_le_bytes()) };
}

record! {
    /// A deposit to the beacon chain (EIP-6110).
    Deposit {
        /// BLS public key of the validator.
        public_key: 48,
        /// Who can withdraw.
        credentials: 32,
        /// Gwei.
        amount: u64,
        /// BLS signature of the three fields before.
        signature: 96,
        /// Running number over all deposits.
        index: u64,
    }
}

record! {
    /// The wish of a contract or an account to withdraw from a validator (EIP-7002).
    WithdrawalRequest {
        /// Who asks.
        source: 20,
        /// BLS public key of the validator.
        public_key: 48,
        /// Gwei; 0 to leave.
        amount: u64,
    }
}

record! {
    /// The wish to merge one validator into another (EIP-7251).
    Consolidation {
        /// Who asks.
        source: 20,
        /// BLS public key of the validator that ends.
        source_key: 48,
        /// BLS public key of the validator that remains.
        target_key: 48,
    }
}
