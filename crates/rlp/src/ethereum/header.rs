//! Block headers.
//!
//! Fields are in the order of their encoding. Those after `nonce` were added by later forks and are
//! present from their fork on. A new one is a line of the list in this file.

use crate::{Decode, Encode, Error, Reader, Write};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ruint::aliases::U256;

#[macro_use]
mod fields;
mod hash;
mod index;
mod later;
mod view;

pub use hash::{block_hash, block_hashes};
use index::Places;
pub use index::{EncodedHeader, HeaderIndex};
pub use later::{EditLater, LaterField, LaterValue};
pub use view::HeaderView;

header_fields! {
    head {
        /// Hash of the parent's header.
        parent_hash: fixed 32,
        /// Keccak-256 of the encoded list of ommer headers.
        ommers_hash: fixed 32,
        /// Receiver of the reward and of priority fees.
        beneficiary: fixed 20,
        /// State after this block.
        state_root: fixed 32,
        /// Root of the transactions trie.
        transactions_root: fixed 32,
        /// Root of the receipts trie.
        receipts_root: fixed 32,
        /// Union of the receipts' blooms.
        logs_bloom: boxed 256,
    }
    middle {
        /// Proof-of-work difficulty; 0 after the merge.
        difficulty: wei,
        /// Height.
        number: number,
        /// Most gas that the block may use.
        gas_limit: number,
        /// Gas that it used.
        gas_used: number,
        /// Seconds since 1970.
        timestamp: number,
        /// At most 32 free bytes.
        extra_data: bytes,
    }
    seal {
        /// Ethash mix; after the merge the beacon chain's randomness.
        mix_hash: fixed 32,
        /// Ethash nonce; after the merge 0.
        nonce: fixed 8,
    }
    later {
        /// Wei for each unit of gas, from London on (EIP-1559).
        base_fee: wei "base_fee_per_gas",
        /// Root of the withdrawals trie, from Shanghai on (EIP-4895).
        withdrawals_root: hash "withdrawals_root",
        /// Blob gas that the block used, from Cancun on (EIP-4844).
        blob_gas_used: number "blob_gas_used",
        /// Running excess of blob gas, from Cancun on (EIP-4844).
        excess_blob_gas: number "excess_blob_gas",
        /// Root of the parent beacon block, from Cancun on (EIP-4788).
        parent_beacon_root: hash "parent_beacon_block_root",
        /// Hash of the execution requests, from Prague on (EIP-7685).
        requests_hash: hash "requests_hash",
        /// Hash of the block access list, from Amsterdam on (EIP-7928).
        block_access_list_hash: hash "block_access_list_hash",
        /// Slot of the beacon chain, from Amsterdam on (EIP-7843).
        slot_number: number "slot_number",
    }
}

/// The hash of an empty list of ommers: Keccak-256 of the byte 0xc0.
pub const EMPTY_OMMERS: [u8; 32] = [
    0x1d, 0xcc, 0x4d, 0xe8, 0xde, 0xc7, 0x5d, 0x7a, 0xab, 0x85, 0xb5, 0x67, 0xb6, 0xcc, 0xd4, 0x1a,
    0xd3, 0x12, 0x45, 0x1b, 0x94, 0x8a, 0x74, 0x13, 0xf0, 0xa1, 0x42, 0xfd, 0x40, 0xd4, 0x93, 0x47,
];

/// The root of an empty trie: Keccak-256 of the byte 0x80.
pub const EMPTY_ROOT: [u8; 32] = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e,
    0x5b, 0x48, 0xe0, 0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];

impl Default for OwnedHeader {
    /// An empty Frontier header: no ommers, no transactions, every number 0.
    fn default() -> Self {
        Self {
            ommers_hash: EMPTY_OMMERS,
            state_root: EMPTY_ROOT,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            ..Self::from(&Header::default())
        }
    }
}

impl Encode for OwnedHeader {
    const LISTS: usize = Header::LISTS;

    #[inline]
    fn write<W: Write>(&self, out: &mut W) {
        self.fields().write(out);
    }
}

impl<'a> Header<'a> {
    /// The part of the header that the ethash seal covers: all fields except mix hash and nonce.
    #[must_use]
    pub fn unsealed(&self) -> UnsealedHeader<'_, 'a> {
        UnsealedHeader(self)
    }
}

impl Encode for Header<'_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.write_before_seal(out);
            self.write_seal(out);
            self.write_later(out);
        });
    }
}

/// A header without mix hash and nonce; its hash is what the ethash seal signs.
///
/// ```
/// use blockmill_rlp::Encode;
/// use blockmill_rlp::ethereum::Header;
///
/// let header = Header::default();
/// let sealed = Header { nonce: &[1; 8], mix_hash: &[2; 32], ..header };
/// assert_eq!(header.unsealed().hash(), sealed.unsealed().hash());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UnsealedHeader<'h, 'a>(&'h Header<'a>);

impl Encode for UnsealedHeader<'_, '_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.0.write_before_seal(out);
            self.0.write_later(out);
        });
    }
}

impl<'a> Decode<'a> for Header<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let head = match Head::at_fixed_places(list.rest()) {
            Some(head) => {
                list = Reader::with_base(&list.rest()[HEAD_LEN..], list.offset() + HEAD_LEN);
                head
            }
            None => Head::one_by_one(&mut list)?,
        };
        let header = Self::read_after(head, &mut list)?;
        list.finish()?;
        Ok(header)
    }
}

/// Bytes of [`Head`] with all prefixes.
const HEAD_LEN: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;

impl<'a> Head<'a> {
    /// Reads the fields at their fixed offsets; `None` if a prefix is not as expected.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn newest() -> OwnedHeader {
        OwnedHeader {
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
            ..OwnedHeader::default()
        }
    }

    #[test]
    fn owned_headers_become_views_and_again_owned() {
        for header in [OwnedHeader::default(), newest()] {
            let raw = header.encode();
            let view = HeaderView::decode(&raw).unwrap();
            assert_eq!(view.to_owned(), header);
            assert_eq!(header.view(&raw).fields, view.fields);
            assert_eq!(header.hash(), view.hash());
        }
    }
}
