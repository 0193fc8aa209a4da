//! A header that owns its fields: for generated headers, and for the slow way of decoding.

use super::{EMPTY_OMMERS, EMPTY_ROOT, Fields, HeaderView};
use crate::{Address, Hash, U256};
use blockmill_rlp::{Encode, Write};

/// A header that owns its fields; they mean the same as in [`blockmill_rlp::ethereum::Header`].
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub parent_hash: Hash,
    pub ommers_hash: Hash,
    pub beneficiary: Address,
    pub state_root: Hash,
    pub transactions_root: Hash,
    pub receipts_root: Hash,
    pub logs_bloom: Box<[u8; 256]>,
    pub difficulty: U256,
    pub number: u64,
    pub gas_limit: u64,
    pub gas_used: u64,
    pub timestamp: u64,
    pub extra_data: Vec<u8>,
    pub mix_hash: Hash,
    pub nonce: [u8; 8],
    pub base_fee: Option<U256>,
    pub withdrawals_root: Option<Hash>,
    pub blob_gas_used: Option<u64>,
    pub excess_blob_gas: Option<u64>,
    pub parent_beacon_root: Option<Hash>,
    pub requests_hash: Option<Hash>,
    pub block_access_list_hash: Option<Hash>,
    pub slot_number: Option<u64>,
}

impl Default for Header {
    /// An empty Frontier header: no ommers, no transactions, every number 0.
    fn default() -> Self {
        Self {
            ommers_hash: EMPTY_OMMERS,
            state_root: EMPTY_ROOT,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            ..Self::from(&Fields::default())
        }
    }
}

impl Header {
    /// Borrows the fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            parent_hash: &self.parent_hash,
            ommers_hash: &self.ommers_hash,
            beneficiary: &self.beneficiary,
            state_root: &self.state_root,
            transactions_root: &self.transactions_root,
            receipts_root: &self.receipts_root,
            logs_bloom: &self.logs_bloom,
            difficulty: self.difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: &self.extra_data,
            mix_hash: &self.mix_hash,
            nonce: &self.nonce,
            base_fee: self.base_fee,
            withdrawals_root: self.withdrawals_root.as_ref(),
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            parent_beacon_root: self.parent_beacon_root.as_ref(),
            requests_hash: self.requests_hash.as_ref(),
            block_access_list_hash: self.block_access_list_hash.as_ref(),
            slot_number: self.slot_number,
        }
    }

    /// Borrows the fields as a view; `raw` is the encoding, as `encode` returns it.
    pub fn view<'a>(&'a self, raw: &'a [u8]) -> HeaderView<'a> {
        HeaderView { raw, fields: self.fields() }
    }
}

impl From<&Fields<'_>> for Header {
    fn from(fields: &Fields<'_>) -> Self {
        Self {
            parent_hash: *fields.parent_hash,
            ommers_hash: *fields.ommers_hash,
            beneficiary: *fields.beneficiary,
            state_root: *fields.state_root,
            transactions_root: *fields.transactions_root,
            receipts_root: *fields.receipts_root,
            logs_bloom: Box::new(*fields.logs_bloom),
            difficulty: fields.difficulty,
            number: fields.number,
            gas_limit: fields.gas_limit,
            gas_used: fields.gas_used,
            timestamp: fields.timestamp,
            extra_data: fields.extra_data.to_vec(),
            mix_hash: *fields.mix_hash,
            nonce: *fields.nonce,
            base_fee: fields.base_fee,
            withdrawals_root: fields.withdrawals_root.copied(),
            blob_gas_used: fields.blob_gas_used,
            excess_blob_gas: fields.excess_blob_gas,
            parent_beacon_root: fields.parent_beacon_root.copied(),
            requests_hash: fields.requests_hash.copied(),
            block_access_list_hash: fields.block_access_list_hash.copied(),
            slot_number: fields.slot_number,
        }
    }
}

impl Encode for Header {
    const LISTS: usize = Fields::LISTS;

    #[inline]
    fn write<W: Write>(&self, out: &mut W) {
        self.fields().write(out);
    }
}
