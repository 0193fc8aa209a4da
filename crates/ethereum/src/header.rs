//! Block headers: a view into encoded bytes, and an owned value. The folder has the rules of
//! headers, the formulas that they need, and seals.

use crate::Hash;
use blockmill_rlp::ethereum::Header as Fields;
use blockmill_rlp::{Decode, Encode, Error};
use std::ops::Deref;

mod base_fee;
mod blobs;
pub mod difficulty;
pub mod ethash;
mod index;
mod owned;
pub mod rules;
pub mod seal;

pub use base_fee::{INITIAL_BASE_FEE, next_base_fee};
pub use blobs::{BLOB_GAS, blob_base_fee, next_excess_blob_gas};
pub use index::EncodedHeader;
pub(crate) use index::HeaderIndex;
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

/// A header decoded in place, and its encoding.
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    /// The whole encoding; its Keccak-256 is the block hash.
    pub raw: &'a [u8],
    /// The fields, which the view gives itself too.
    pub fields: Fields<'a>,
}

impl<'a> Deref for HeaderView<'a> {
    type Target = Fields<'a>;

    #[inline]
    fn deref(&self) -> &Fields<'a> {
        &self.fields
    }
}

impl<'a> HeaderView<'a> {
    /// Decodes one header that fills `raw` exactly.
    #[inline]
    pub fn decode(raw: &'a [u8]) -> Result<Self, Error> {
        Ok(Self { raw, fields: Fields::decode(raw)? })
    }

    /// The block hash.
    pub fn hash(&self) -> Hash {
        blockmill_hashes::keccak256(self.raw)
    }

    /// What the ethash seal signs: the hash of the header without mix hash and nonce.
    pub fn seal_hash(&self) -> Hash {
        self.fields.unsealed().hash()
    }

    /// The nonce as a number.
    pub fn nonce(&self) -> u64 {
        u64::from_be_bytes(*self.nonce)
    }

    /// An owned copy.
    pub fn to_owned(&self) -> Header {
        Header::from(&self.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;

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
    fn owned_headers_become_views_and_again_owned() {
        for header in [Header::default(), newest()] {
            let raw = header.encode();
            let view = HeaderView::decode(&raw).unwrap();
            assert_eq!(view.to_owned(), header);
            assert_eq!(header.view(&raw).fields, view.fields);
            assert_eq!(header.hash(), view.hash());
        }
    }
}
