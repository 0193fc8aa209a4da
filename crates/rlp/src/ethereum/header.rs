//! Block headers.
//!
//! Fields are in the order of their encoding. Those after `nonce` were added by later forks and are
//! present from their fork on: base fee (EIP-1559), withdrawals root (EIP-4895), blob gas
//! (EIP-4844), parent beacon block root (EIP-4788), requests hash (EIP-7685), block access list
//! hash (EIP-7928), slot number (EIP-7843).

use crate::{Decode, Encode, Error, Reader, Write};
use ruint::aliases::U256;

/// A header: numbers by value, everything else borrowed, from an encoding or from an owned header.
///
/// Of the optional fields, none is present without all those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Hash of the parent's header.
    pub parent_hash: &'a [u8; 32],
    /// Keccak-256 of the encoded list of ommer headers.
    pub ommers_hash: &'a [u8; 32],
    /// Receiver of the reward and of priority fees.
    pub beneficiary: &'a [u8; 20],
    /// State after this block.
    pub state_root: &'a [u8; 32],
    /// Root of the transactions trie.
    pub transactions_root: &'a [u8; 32],
    /// Root of the receipts trie.
    pub receipts_root: &'a [u8; 32],
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
    pub mix_hash: &'a [u8; 32],
    /// Ethash nonce; after the merge 0.
    pub nonce: &'a [u8; 8],
    /// Wei for each unit of gas, from London on.
    pub base_fee: Option<U256>,
    /// Root of the withdrawals trie, from Shanghai on.
    pub withdrawals_root: Option<&'a [u8; 32]>,
    /// Blob gas that the block used, from Cancun on.
    pub blob_gas_used: Option<u64>,
    /// Running excess of blob gas, from Cancun on.
    pub excess_blob_gas: Option<u64>,
    /// Root of the parent beacon block, from Cancun on.
    pub parent_beacon_root: Option<&'a [u8; 32]>,
    /// Hash of the execution requests, from Prague on.
    pub requests_hash: Option<&'a [u8; 32]>,
    /// Hash of the block access list, from Amsterdam on.
    pub block_access_list_hash: Option<&'a [u8; 32]>,
    /// Slot of the beacon chain, from Amsterdam on.
    pub slot_number: Option<u64>,
}

impl Default for Header<'_> {
    /// Every number and byte 0, and no field of a later fork.
    fn default() -> Self {
        Self {
            parent_hash: &[0; 32],
            ommers_hash: &[0; 32],
            beneficiary: &[0; 20],
            state_root: &[0; 32],
            transactions_root: &[0; 32],
            receipts_root: &[0; 32],
            logs_bloom: &[0; 256],
            difficulty: U256::ZERO,
            number: 0,
            gas_limit: 0,
            gas_used: 0,
            timestamp: 0,
            extra_data: &[],
            mix_hash: &[0; 32],
            nonce: &[0; 8],
            base_fee: None,
            withdrawals_root: None,
            blob_gas_used: None,
            excess_blob_gas: None,
            parent_beacon_root: None,
            requests_hash: None,
            block_access_list_hash: None,
            slot_number: None,
        }
    }
}

impl<'a> Header<'a> {
    /// The part of the header that the ethash seal covers: all fields except mix hash and nonce.
    #[must_use]
    pub fn unsealed(&self) -> UnsealedHeader<'_, 'a> {
        UnsealedHeader(self)
    }

    #[inline(always)]
    fn write_before_seal<W: Write>(&self, out: &mut W) {
        out.fixed(self.parent_hash);
        out.fixed(self.ommers_hash);
        out.fixed(self.beneficiary);
        out.fixed(self.state_root);
        out.fixed(self.transactions_root);
        out.fixed(self.receipts_root);
        out.fixed(self.logs_bloom);
        out.u256(&self.difficulty);
        out.u64(self.number);
        out.u64(self.gas_limit);
        out.u64(self.gas_used);
        out.u64(self.timestamp);
        out.bytes(self.extra_data);
    }

    #[inline(always)]
    fn write_after_seal<W: Write>(&self, out: &mut W) {
        self.base_fee.write(out);
        self.withdrawals_root.write(out);
        self.blob_gas_used.write(out);
        self.excess_blob_gas.write(out);
        self.parent_beacon_root.write(out);
        self.requests_hash.write(out);
        self.block_access_list_hash.write(out);
        self.slot_number.write(out);
    }
}

impl Encode for Header<'_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.write_before_seal(out);
            out.fixed(self.mix_hash);
            out.fixed(self.nonce);
            self.write_after_seal(out);
        });
    }
}

/// A header without mix hash and nonce; its hash is what the ethash seal signs.
#[derive(Clone, Copy, Debug)]
pub struct UnsealedHeader<'h, 'a>(&'h Header<'a>);

impl Encode for UnsealedHeader<'_, '_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.0.write_before_seal(out);
            self.0.write_after_seal(out);
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
        let header = Self {
            parent_hash: head.parent_hash,
            ommers_hash: head.ommers_hash,
            beneficiary: head.beneficiary,
            state_root: head.state_root,
            transactions_root: head.transactions_root,
            receipts_root: head.receipts_root,
            logs_bloom: head.logs_bloom,
            difficulty: list.u256()?,
            number: list.u64()?,
            gas_limit: list.u64()?,
            gas_used: list.u64()?,
            timestamp: list.u64()?,
            extra_data: list.bytes()?,
            mix_hash: list.fixed()?,
            nonce: list.fixed()?,
            base_fee: Decode::read(&mut list)?,
            withdrawals_root: Decode::read(&mut list)?,
            blob_gas_used: Decode::read(&mut list)?,
            excess_blob_gas: Decode::read(&mut list)?,
            parent_beacon_root: Decode::read(&mut list)?,
            requests_hash: Decode::read(&mut list)?,
            block_access_list_hash: Decode::read(&mut list)?,
            slot_number: Decode::read(&mut list)?,
        };
        list.finish()?;
        Ok(header)
    }
}

/// Bytes of [`Head`] with all prefixes.
const HEAD_LEN: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;

/// The fields before the difficulty, which have the same size in every header.
struct Head<'a> {
    parent_hash: &'a [u8; 32],
    ommers_hash: &'a [u8; 32],
    beneficiary: &'a [u8; 20],
    state_root: &'a [u8; 32],
    transactions_root: &'a [u8; 32],
    receipts_root: &'a [u8; 32],
    logs_bloom: &'a [u8; 256],
}

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

    /// Reads the fields one by one, to find the error.
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
