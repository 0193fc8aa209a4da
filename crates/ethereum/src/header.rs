//! Block headers: a view into encoded bytes, and an owned value.
//!
//! Fields stand in the order of their encoding. Those after `nonce` were added by later forks and
//! are present from their fork on: base fee (EIP-1559), withdrawals root (EIP-4895), blob gas
//! (EIP-4844), parent beacon block root (EIP-4788), requests hash (EIP-7685), block access list
//! hash (EIP-7928), slot number (EIP-7843).

use crate::{Address, Hash, U256};
use rlp::{Error, Reader};

mod owned;

pub use owned::Header;

/// The hash of an empty list of ommers: Keccak-256 of the byte 0xc0.
pub const EMPTY_OMMERS: Hash = [
    0x1d, 0xcc, 0x4d, 0xe8, 0xde, 0xc7, 0x5d, 0x7a, 0xab, 0x85, 0xb5, 0x67, 0xb6, 0xcc, 0xd4, 0x1a,
    0xd3, 0x12, 0x45, 0x1b, 0x94, 0x8a, 0x74, 0x13, 0xf0, 0xa1, 0x42, 0xfd, 0x40, 0xd4, 0x93, 0x47,
];

/// The root of an empty trie: Keccak-256 of the byte 0x80.
pub const EMPTY_ROOT: Hash = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e,
    0x5b, 0x48, 0xe0, 0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];

/// A header decoded in place: numbers by value, everything else borrowed from the encoding.
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    /// The whole encoding; its Keccak-256 is the block hash.
    pub raw: &'a [u8],
    /// Hash of the parent's header.
    pub parent_hash: &'a Hash,
    /// Keccak-256 of the encoded list of ommer headers.
    pub ommers_hash: &'a Hash,
    /// Receiver of the reward and of priority fees.
    pub beneficiary: &'a Address,
    /// State after this block.
    pub state_root: &'a Hash,
    /// Root of the transactions trie.
    pub transactions_root: &'a Hash,
    /// Root of the receipts trie.
    pub receipts_root: &'a Hash,
    /// Union of the receipts' blooms.
    pub logs_bloom: &'a [u8; 256],
    /// Proof-of-work difficulty; 0 after the merge.
    pub difficulty: U256,
    /// Height.
    pub number: u64,
    /// Most gas that the block may use.
    pub gas_limit: u64,
    /// Gas that it used.
    pub gas_used: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// At most 32 free bytes.
    pub extra_data: &'a [u8],
    /// Ethash mix; after the merge the beacon chain's randomness.
    pub mix_hash: &'a Hash,
    /// Ethash nonce; after the merge 0.
    pub nonce: &'a [u8; 8],
    /// Wei for each unit of gas, from London on.
    pub base_fee: Option<U256>,
    /// Root of the withdrawals trie, from Shanghai on.
    pub withdrawals_root: Option<&'a Hash>,
    /// Blob gas that the block used, from Cancun on.
    pub blob_gas_used: Option<u64>,
    /// Running excess of blob gas, from Cancun on.
    pub excess_blob_gas: Option<u64>,
    /// Root of the parent beacon block, from Cancun on.
    pub parent_beacon_root: Option<&'a Hash>,
    /// Hash of the execution requests, from Prague on.
    pub requests_hash: Option<&'a Hash>,
    /// Hash of the block access list, from Amsterdam on.
    pub block_access_list_hash: Option<&'a Hash>,
    /// Slot of the beacon chain, from Amsterdam on.
    pub slot_number: Option<u64>,
}

/// Reads the next field when there is one.
fn optional<'a, T>(
    list: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if list.is_empty() { Ok(None) } else { read(list).map(Some) }
}

#[inline]
fn u256(list: &mut Reader<'_>) -> Result<U256, Error> {
    let digits = list.digits(32)?;
    match digits.first_chunk::<8>() {
        Some(_) => Ok(U256::try_from_be_slice(digits).unwrap_or(U256::MAX)), // 32 digits fit
        None => Ok(U256::from(digits.iter().fold(0u64, |n, digit| n << 8 | u64::from(*digit)))),
    }
}

/// Bytes of [`Head`] with all prefixes.
const HEAD_LEN: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;

/// The fields before the difficulty, which have the same size in every header.
struct Head<'a> {
    parent_hash: &'a Hash,
    ommers_hash: &'a Hash,
    beneficiary: &'a Address,
    state_root: &'a Hash,
    transactions_root: &'a Hash,
    receipts_root: &'a Hash,
    logs_bloom: &'a [u8; 256],
}

impl<'a> Head<'a> {
    /// Takes the fields from their fixed places; none when a prefix is not what it must be.
    #[inline]
    fn at_fixed_places(bytes: &'a [u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEAD_LEN>()?;
        let hashes = [0, 33, 87, 120, 153].iter().all(|at| bytes[*at] == 0xa0);
        if !hashes || bytes[66] != 0x94 || bytes[186..189] != [0xb9, 0x01, 0x00] {
            return None;
        }
        Some(Self {
            parent_hash: bytes[1..].first_chunk()?,
            ommers_hash: bytes[34..].first_chunk()?,
            beneficiary: bytes[67..].first_chunk()?,
            state_root: bytes[88..].first_chunk()?,
            transactions_root: bytes[121..].first_chunk()?,
            receipts_root: bytes[154..].first_chunk()?,
            logs_bloom: bytes[189..].first_chunk()?,
        })
    }

    /// Takes the fields one by one, which says what is wrong with them.
    #[cold]
    fn one_by_one(list: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            parent_hash: list.fixed()?,
            ommers_hash: list.fixed()?,
            beneficiary: list.fixed()?,
            state_root: list.fixed()?,
            transactions_root: list.fixed()?,
            receipts_root: list.fixed()?,
            logs_bloom: list.fixed()?,
        })
    }
}

impl<'a> HeaderView<'a> {
    /// Decodes one header that fills `raw` exactly.
    #[inline]
    pub fn decode(raw: &'a [u8]) -> Result<Self, Error> {
        let mut outer = Reader::new(raw);
        let mut list = outer.list()?;
        outer.finish()?;
        let head = match Head::at_fixed_places(list.rest()) {
            Some(head) => {
                list = Reader::with_base(&list.rest()[HEAD_LEN..], list.offset() + HEAD_LEN);
                head
            }
            None => Head::one_by_one(&mut list)?,
        };
        let header = Self {
            raw,
            parent_hash: head.parent_hash,
            ommers_hash: head.ommers_hash,
            beneficiary: head.beneficiary,
            state_root: head.state_root,
            transactions_root: head.transactions_root,
            receipts_root: head.receipts_root,
            logs_bloom: head.logs_bloom,
            difficulty: u256(&mut list)?,
            number: list.u64()?,
            gas_limit: list.u64()?,
            gas_used: list.u64()?,
            timestamp: list.u64()?,
            extra_data: list.bytes()?,
            mix_hash: list.fixed()?,
            nonce: list.fixed()?,
            base_fee: optional(&mut list, u256)?,
            withdrawals_root: optional(&mut list, Reader::fixed)?,
            blob_gas_used: optional(&mut list, Reader::u64)?,
            excess_blob_gas: optional(&mut list, Reader::u64)?,
            parent_beacon_root: optional(&mut list, Reader::fixed)?,
            requests_hash: optional(&mut list, Reader::fixed)?,
            block_access_list_hash: optional(&mut list, Reader::fixed)?,
            slot_number: optional(&mut list, Reader::u64)?,
        };
        list.finish()?;
        Ok(header)
    }

    /// The block hash.
    pub fn hash(&self) -> Hash {
        crypto::keccak256(self.raw)
    }

    /// The encoding without mix hash and nonce: what the ethash seal signs. `out` is reused.
    pub fn seal_preimage(&self, out: &mut Vec<u8>) {
        // mix hash and nonce stand together as 0xa0 + 32 bytes + 0x88 + 8 bytes
        const SEAL: usize = 33 + 9;
        let payload = match self.raw[0] {
            prefix @ 0xc0..=0xf7 => usize::from(prefix - 0xc0),
            _ => self.raw.len() - 1 - usize::from(self.raw[0] - 0xf7),
        };
        let prefix = self.raw.len() - payload;
        // before them: five hashes, the address, the bloom, five numbers, the extra data
        let mut seal = prefix + 5 * 33 + 21 + 259;
        seal += rlp::uint_len(&self.difficulty.to_be_bytes::<32>());
        for number in [self.number, self.gas_limit, self.gas_used, self.timestamp] {
            seal += rlp::u64_len(number);
        }
        seal += rlp::bytes_len(self.extra_data);
        out.clear();
        rlp::put_list_prefix(out, payload - SEAL);
        out.extend_from_slice(&self.raw[prefix..seal]);
        out.extend_from_slice(&self.raw[seal + SEAL..]);
    }

    /// What the seal signs: Keccak-256 of [`HeaderView::seal_preimage`].
    pub fn seal_hash(&self) -> Hash {
        let mut preimage = Vec::with_capacity(self.raw.len());
        self.seal_preimage(&mut preimage);
        crypto::keccak256(&preimage)
    }

    /// The nonce as a number.
    pub fn nonce(&self) -> u64 {
        u64::from_be_bytes(*self.nonce)
    }

    /// An owned copy.
    pub fn to_owned(&self) -> Header {
        Header {
            parent_hash: *self.parent_hash,
            ommers_hash: *self.ommers_hash,
            beneficiary: *self.beneficiary,
            state_root: *self.state_root,
            transactions_root: *self.transactions_root,
            receipts_root: *self.receipts_root,
            logs_bloom: Box::new(*self.logs_bloom),
            difficulty: self.difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: self.extra_data.to_vec(),
            mix_hash: *self.mix_hash,
            nonce: *self.nonce,
            base_fee: self.base_fee,
            withdrawals_root: self.withdrawals_root.copied(),
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            parent_beacon_root: self.parent_beacon_root.copied(),
            requests_hash: self.requests_hash.copied(),
            block_access_list_hash: self.block_access_list_hash.copied(),
            slot_number: self.slot_number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlp::Encode;

    fn newest() -> Header {
        Header {
            difficulty: U256::from(7u8),
            extra_data: vec![1, 2, 3],
            mix_hash: [9; 32],
            nonce: [8; 8],
            base_fee: Some(U256::from(7_000_000_000u64)),
            withdrawals_root: Some([1; 32]),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(131_072),
            parent_beacon_root: Some([2; 32]),
            requests_hash: Some([3; 32]),
            block_access_list_hash: Some([4; 32]),
            slot_number: Some(5),
            ..Header::default()
        }
    }

    #[test]
    fn headers_round_trip() {
        for header in [Header::default(), newest()] {
            let raw = header.to_rlp();
            let view = HeaderView::decode(&raw).unwrap();
            assert_eq!(view.to_owned(), header);
            assert_eq!(header.encoded_len(), raw.len());
        }
    }

    #[test]
    fn a_wrong_prefix_is_named_with_its_offset() {
        let raw = newest().to_rlp();
        for (at, kind) in [
            (3, rlp::ErrorKind::WrongLength { expected: 32, found: 31 }),
            (3 + 66, rlp::ErrorKind::WrongLength { expected: 20, found: 19 }),
        ] {
            let mut raw = raw.clone();
            raw[at] -= 1;
            assert_eq!(HeaderView::decode(&raw).unwrap_err(), Error { offset: at, kind });
        }
    }

    #[test]
    fn seal_preimage_leaves_out_mix_hash_and_nonce_only() {
        let raw = newest().to_rlp();
        let mut preimage = vec![];
        HeaderView::decode(&raw).unwrap().seal_preimage(&mut preimage);
        let mut whole = Reader::new(&raw).list().unwrap();
        let mut cut = Reader::new(&preimage).list().unwrap();
        for field in 0..23 {
            let item = whole.item().unwrap();
            if field != 13 && field != 14 {
                assert_eq!(cut.item().unwrap().raw, item.raw);
            }
        }
        cut.finish().unwrap();
    }

    #[test]
    fn truncation_at_every_byte_is_an_error() {
        let raw = newest().to_rlp();
        for len in 0..raw.len() {
            assert!(HeaderView::decode(&raw[..len]).is_err());
        }
    }
}
