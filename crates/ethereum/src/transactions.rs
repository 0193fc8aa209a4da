//! Transactions as they stand in a block body, decoded in place.
//!
//! A legacy transaction is an RLP list (Yellow Paper, section 4.3); a typed one is a byte string of
//! one type byte and a list (EIP-2718): access lists (EIP-2930), dynamic fees (EIP-1559), blobs
//! (EIP-4844, in blocks always without the blobs themselves) and code delegation (EIP-7702). Field
//! sizes are those of the execution specifications: 64 bits for nonces, gas and chain ids, 256
//! bits for amounts.

use crate::bodies::BodyError;
use crate::params::Fork;
use crate::{Address, Hash, U256};
use rlp::{Error, ErrorKind, Item, Reader};

/// Blob gas of one blob (EIP-4844).
pub const GAS_PER_BLOB: u64 = 131_072;

/// First byte of a versioned hash that names a KZG commitment (EIP-4844).
pub const KZG_VERSION: u8 = 1;

/// The kinds of transactions, in the order in which forks added them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionType {
    /// Untyped, valid in every fork.
    Legacy = 0,
    /// EIP-2930, from Berlin on.
    AccessList = 1,
    /// EIP-1559, from London on.
    DynamicFee = 2,
    /// EIP-4844, from Cancun on.
    Blob = 3,
    /// EIP-7702, from Prague on.
    SetCode = 4,
}

impl TransactionType {
    /// Every type, oldest first.
    pub const ALL: [Self; 5] =
        [Self::Legacy, Self::AccessList, Self::DynamicFee, Self::Blob, Self::SetCode];

    /// The type that the first byte of a typed encoding names; `None` for an unknown one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().skip(1).find(|kind| *kind as u8 == byte)
    }

    /// The last type that blocks of `fork` may hold; all types before it are valid too.
    pub fn newest_of(fork: Fork) -> Self {
        match fork {
            fork if fork >= Fork::Prague => Self::SetCode,
            fork if fork >= Fork::Cancun => Self::Blob,
            fork if fork >= Fork::London => Self::DynamicFee,
            fork if fork >= Fork::Berlin => Self::AccessList,
            _ => Self::Legacy,
        }
    }

    /// The type of the transaction `item` of a body, its contents not looked at.
    pub fn of(item: &Item<'_>) -> Result<Self, BodyError> {
        if item.is_list {
            return Ok(Self::Legacy);
        }
        let offset = item.offset + item.raw.len() - item.payload.len();
        let Some(&byte) = item.payload.first() else {
            let kind = ErrorKind::Truncated { needed: 1, available: 0 };
            return Err(BodyError::Rlp(Error { offset, kind }));
        };
        Self::from_byte(byte).ok_or(BodyError::UnknownType { offset, found: byte })
    }
}

/// A decoded transaction. Lists are checked when it is decoded and stay encoded.
#[derive(Clone, Debug)]
pub struct TransactionView<'a> {
    /// What the transactions trie holds; its Keccak-256 is the transaction's hash.
    pub encoding: &'a [u8],
    /// Which fields it has.
    pub kind: TransactionType,
    /// Chain for which it is signed; `None` for legacy ones, where `v` may hold it (EIP-155).
    pub chain_id: Option<u64>,
    /// Transactions that the sender made before.
    pub nonce: u64,
    /// Most wei for each unit of gas that the miner gets; `None` before EIP-1559.
    pub max_priority_fee: Option<U256>,
    /// Most wei for each unit of gas in all; the gas price before EIP-1559.
    pub max_fee: U256,
    /// Most units of gas.
    pub gas_limit: u64,
    /// Receiver; `None` creates a contract.
    pub to: Option<&'a Address>,
    /// Wei sent along.
    pub value: U256,
    /// Call data or creation code.
    pub input: &'a [u8],
    /// Pairs of an address and a list of storage keys.
    pub access_list: Reader<'a>,
    /// Most wei for each unit of blob gas; 0 without blobs.
    pub max_blob_fee: U256,
    /// Versioned hashes of the blobs.
    pub blob_hashes: Reader<'a>,
    /// How many blobs.
    pub blobs: u64,
    /// Signed code delegations: chain, address, nonce, y parity, r, s.
    pub authorizations: Reader<'a>,
    /// Parity of the signature's point, or the legacy form of it.
    pub v: U256,
    /// First half of the signature.
    pub r: U256,
    /// Second half of the signature.
    pub s: U256,
}

impl<'a> TransactionView<'a> {
    /// Decodes the transaction `item` of a body.
    pub fn decode(item: &Item<'a>) -> Result<Self, BodyError> {
        let kind = TransactionType::of(item)?;
        if kind == TransactionType::Legacy {
            return Self::decode_fields(item.raw, kind, item.reader());
        }
        let base = item.offset + item.raw.len() - item.payload.len();
        let mut outer = Reader::with_base(&item.payload[1..], base + 1);
        let list = outer.list()?;
        outer.finish()?;
        Self::decode_fields(item.payload, kind, list)
    }

    fn decode_fields(
        encoding: &'a [u8],
        kind: TransactionType,
        mut list: Reader<'a>,
    ) -> Result<Self, BodyError> {
        use TransactionType::{Blob, DynamicFee, Legacy, SetCode};
        let mut tx = Self::blank(encoding, kind);
        if kind != Legacy {
            tx.chain_id = Some(list.u64()?);
        }
        tx.nonce = list.u64()?;
        if kind >= DynamicFee {
            tx.max_priority_fee = Some(u256(&mut list)?);
        }
        tx.max_fee = u256(&mut list)?;
        tx.gas_limit = list.u64()?;
        tx.to = receiver(&mut list, kind)?;
        tx.value = u256(&mut list)?;
        tx.input = list.bytes()?;
        if kind != Legacy {
            tx.access_list = access_list(&mut list)?;
        }
        if kind == Blob {
            tx.max_blob_fee = u256(&mut list)?;
            (tx.blob_hashes, tx.blobs) = blob_hashes(&mut list)?;
        }
        if kind == SetCode {
            tx.authorizations = authorizations(&mut list)?;
        }
        tx.v = if kind == Legacy { u256(&mut list)? } else { U256::from(parity(&mut list)?) };
        tx.r = u256(&mut list)?;
        tx.s = u256(&mut list)?;
        list.finish()?;
        Ok(tx)
    }

    /// A transaction with every field empty or 0.
    fn blank(encoding: &'a [u8], kind: TransactionType) -> Self {
        Self {
            encoding,
            kind,
            chain_id: None,
            nonce: 0,
            max_priority_fee: None,
            max_fee: U256::ZERO,
            gas_limit: 0,
            to: None,
            value: U256::ZERO,
            input: &[],
            access_list: Reader::new(&[]),
            max_blob_fee: U256::ZERO,
            blob_hashes: Reader::new(&[]),
            blobs: 0,
            authorizations: Reader::new(&[]),
            v: U256::ZERO,
            r: U256::ZERO,
            s: U256::ZERO,
        }
    }
}

fn u256(list: &mut Reader<'_>) -> Result<U256, Error> {
    Ok(U256::from_be_bytes(list.uint::<32>()?))
}

/// The receiver; only types without blobs and delegations may create contracts.
fn receiver<'a>(
    list: &mut Reader<'a>,
    kind: TransactionType,
) -> Result<Option<&'a Address>, Error> {
    let creates = kind < TransactionType::Blob && list.rest().first() == Some(&0x80);
    if creates {
        list.bytes()?;
        return Ok(None);
    }
    list.fixed().map(Some)
}

/// A list of pairs of an address and a list of storage keys (EIP-2930).
fn access_list<'a>(list: &mut Reader<'a>) -> Result<Reader<'a>, Error> {
    let entries = list.list()?;
    let mut rest = entries.clone();
    while !rest.is_empty() {
        let mut entry = rest.list()?;
        entry.fixed::<20>()?;
        let mut keys = entry.list()?;
        while !keys.is_empty() {
            keys.fixed::<32>()?;
        }
        entry.finish()?;
    }
    Ok(entries)
}

/// A list of at least one versioned hash (EIP-4844) and their number.
fn blob_hashes<'a>(list: &mut Reader<'a>) -> Result<(Reader<'a>, u64), BodyError> {
    let hashes = list.list()?;
    let mut rest = hashes.clone();
    let mut count = 0;
    while !rest.is_empty() {
        let offset = rest.offset();
        let hash: &Hash = rest.fixed()?;
        if hash[0] != KZG_VERSION {
            return Err(BodyError::BlobVersion { offset, found: hash[0] });
        }
        count += 1;
    }
    not_empty(&hashes)?;
    Ok((hashes, count))
}

/// A list of at least one signed delegation (EIP-7702). The signature's parity has 8 bits there,
/// and one that is not 0 or 1 makes only its own delegation void, not the transaction.
fn authorizations<'a>(list: &mut Reader<'a>) -> Result<Reader<'a>, BodyError> {
    let entries = list.list()?;
    let mut rest = entries.clone();
    while !rest.is_empty() {
        let mut entry = rest.list()?;
        u256(&mut entry)?;
        entry.fixed::<20>()?;
        entry.u64()?;
        entry.uint::<1>()?;
        u256(&mut entry)?;
        u256(&mut entry)?;
        entry.finish()?;
    }
    not_empty(&entries)?;
    Ok(entries)
}

fn not_empty(list: &Reader<'_>) -> Result<(), BodyError> {
    if list.is_empty() {
        return Err(BodyError::EmptyList { offset: list.offset() });
    }
    Ok(())
}

/// The y parity of a typed signature.
fn parity(list: &mut Reader<'_>) -> Result<u64, BodyError> {
    let offset = list.offset();
    match list.u64()? {
        found if found > 1 => Err(BodyError::Parity { offset, found }),
        parity => Ok(parity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a valid transaction of each type, encoded.
    fn fields(kind: TransactionType) -> Vec<Vec<u8>> {
        let bytes = |content: &[u8]| {
            let mut out = vec![];
            rlp::put_bytes(&mut out, content);
            out
        };
        let (fee, number) = (bytes(&[0x3b, 0x9a, 0xca, 0x00]), bytes(&[1]));
        let mut fields = vec![number.clone()];
        if kind != TransactionType::Legacy {
            fields.push(number.clone());
        }
        if kind >= TransactionType::DynamicFee {
            fields.push(fee.clone());
        }
        fields.extend([fee.clone(), bytes(&[0x52, 0x08]), bytes(&[7; 20]), fee.clone()]);
        fields.push(bytes(b"input"));
        if kind != TransactionType::Legacy {
            let keys = list(&[bytes(&[3; 32])]);
            fields.push(list(&[list(&[bytes(&[2; 20]), keys])]));
        }
        if kind == TransactionType::Blob {
            fields.extend([fee.clone(), list(&[bytes(&[1; 32]), bytes(&[1; 32])])]);
        }
        if kind == TransactionType::SetCode {
            let signature = [number.clone(), fee.clone(), fee.clone()];
            let entry = [&[number.clone(), bytes(&[4; 20]), number.clone()], &signature[..]];
            fields.push(list(&[list(&entry.concat())]));
        }
        fields.extend([number, fee.clone(), fee]);
        fields
    }

    fn list(fields: &[Vec<u8>]) -> Vec<u8> {
        let payload = fields.concat();
        let mut out = vec![];
        rlp::put_list_prefix(&mut out, payload.len());
        out.extend(payload);
        out
    }

    /// The transaction as it stands in a body.
    fn in_body(kind: TransactionType, fields: &[Vec<u8>]) -> Vec<u8> {
        if kind == TransactionType::Legacy {
            return list(fields);
        }
        let mut out = vec![];
        rlp::put_bytes(&mut out, &[&[kind as u8], &list(fields)[..]].concat());
        out
    }

    fn decode(raw: &[u8]) -> Result<TransactionView<'_>, BodyError> {
        TransactionView::decode(&Reader::new(raw).item()?)
    }

    #[test]
    fn every_field_of_every_type_is_decoded() {
        for kind in TransactionType::ALL {
            let raw = in_body(kind, &fields(kind));
            let tx = decode(&raw).unwrap();
            let gwei = U256::from(1_000_000_000);
            assert_eq!((tx.kind, tx.nonce, tx.gas_limit), (kind, 1, 21_000));
            assert_eq!((tx.max_fee, tx.value, tx.r, tx.s), (gwei, gwei, gwei, gwei));
            assert_eq!((tx.to, tx.input, tx.v), (Some(&[7; 20]), &b"input"[..], U256::ONE));
            assert_eq!(tx.chain_id, (kind != TransactionType::Legacy).then_some(1));
            let priority = (kind >= TransactionType::DynamicFee).then_some(gwei);
            assert_eq!(tx.max_priority_fee, priority);
            assert_eq!(tx.access_list.is_empty(), kind == TransactionType::Legacy);
            let blobs = if kind == TransactionType::Blob { 2 } else { 0 };
            assert_eq!((tx.blobs, tx.blob_hashes.is_empty()), (blobs, blobs == 0));
            assert_eq!(tx.max_blob_fee.is_zero(), blobs == 0);
            assert_eq!(tx.authorizations.is_empty(), kind != TransactionType::SetCode);
        }
    }

    #[test]
    fn a_field_too_few_or_too_many_is_an_error() {
        for kind in TransactionType::ALL {
            let mut fields = fields(kind);
            fields.push(vec![0x80]);
            assert!(decode(&in_body(kind, &fields)).is_err(), "{kind:?}");
            fields.truncate(fields.len() - 2);
            assert!(decode(&in_body(kind, &fields)).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn only_types_without_blobs_and_delegations_create_contracts() {
        for kind in TransactionType::ALL {
            let mut fields = fields(kind);
            let to = fields.iter().position(|field| field.len() == 21).unwrap();
            fields[to] = vec![0x80];
            let created = decode(&in_body(kind, &fields)).map(|tx| tx.to.is_none()).ok();
            assert_eq!(created, (kind < TransactionType::Blob).then_some(true), "{kind:?}");
        }
    }

    #[test]
    fn unknown_and_missing_types_are_named() {
        let unknown = |found| Some(BodyError::UnknownType { offset: 1, found });
        for byte in [0x00, 0x05, 0x7f] {
            assert_eq!(decode(&[0x82, byte, 0xc0]).err(), unknown(byte));
        }
        assert!(matches!(decode(&[0x80]), Err(BodyError::Rlp(_))));
    }

    #[test]
    fn lists_and_parities_have_bounds() {
        let with = |kind, at_end: usize, field: Vec<u8>| {
            let mut fields = fields(kind);
            let at = fields.len() - at_end;
            fields[at] = field;
            decode(&in_body(kind, &fields)).err()
        };
        let (blob, code) = (TransactionType::Blob, TransactionType::SetCode);
        assert!(matches!(with(blob, 4, vec![0xc0]), Some(BodyError::EmptyList { .. })));
        assert!(matches!(with(code, 4, vec![0xc0]), Some(BodyError::EmptyList { .. })));
        let hash = [&[0xe1, 0xa0][..], &[2; 32]].concat();
        assert!(matches!(with(blob, 4, hash), Some(BodyError::BlobVersion { found: 2, .. })));
        assert!(matches!(with(code, 3, vec![2]), Some(BodyError::Parity { found: 2, .. })));
        assert_eq!(with(TransactionType::Legacy, 3, vec![0x1b]), None);
    }
}
