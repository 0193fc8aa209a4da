//! A header that owns its fields: for those who make headers, and for the slow variant of decoding.

use super::{EMPTY_OMMERS, EMPTY_ROOT, HeaderView};
use crate::{Address, Hash, U256};
use rlp::Encode;

/// A header that owns its fields; they mean the same as in [`HeaderView`].
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
            parent_hash: [0; 32],
            ommers_hash: EMPTY_OMMERS,
            beneficiary: [0; 20],
            state_root: EMPTY_ROOT,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            logs_bloom: Box::new([0; 256]),
            difficulty: U256::ZERO,
            number: 0,
            gas_limit: 0,
            gas_used: 0,
            timestamp: 0,
            extra_data: vec![],
            mix_hash: [0; 32],
            nonce: [0; 8],
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

impl Header {
    /// The block hash.
    pub fn hash(&self) -> Hash {
        crypto::keccak256(&self.to_rlp())
    }

    /// The same fields as a view; `raw` is the encoding, which the caller made with `to_rlp`.
    pub fn view<'a>(&'a self, raw: &'a [u8]) -> HeaderView<'a> {
        HeaderView {
            raw,
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

    /// Calls `put` with the big-endian bytes of each later field that is present; the flag says
    /// whether it is a number.
    fn later_fields(&self, mut put: impl FnMut(bool, &[u8])) {
        if let Some(fee) = self.base_fee {
            put(true, &fee.to_be_bytes::<32>());
        }
        let hash = |field: &Option<Hash>, put: &mut dyn FnMut(bool, &[u8])| {
            if let Some(hash) = field {
                put(false, hash);
            }
        };
        let number = |field: Option<u64>, put: &mut dyn FnMut(bool, &[u8])| {
            if let Some(number) = field {
                put(true, &number.to_be_bytes());
            }
        };
        hash(&self.withdrawals_root, &mut put);
        number(self.blob_gas_used, &mut put);
        number(self.excess_blob_gas, &mut put);
        hash(&self.parent_beacon_root, &mut put);
        hash(&self.requests_hash, &mut put);
        hash(&self.block_access_list_hash, &mut put);
        number(self.slot_number, &mut put);
    }
}

impl Encode for Header {
    fn payload_len(&self) -> usize {
        // six 32-byte hashes, the address, the bloom, and the nonce with their prefixes
        let mut len = 6 * 33 + 21 + 259 + 9;
        len += rlp::uint_len(&self.difficulty.to_be_bytes::<32>());
        for number in [self.number, self.gas_limit, self.gas_used, self.timestamp] {
            len += rlp::u64_len(number);
        }
        len += rlp::bytes_len(&self.extra_data);
        self.later_fields(|number, bytes| {
            len += if number { rlp::uint_len(bytes) } else { rlp::bytes_len(bytes) };
        });
        len
    }

    fn encode_payload(&self, out: &mut Vec<u8>) {
        rlp::put_bytes(out, &self.parent_hash);
        rlp::put_bytes(out, &self.ommers_hash);
        rlp::put_bytes(out, &self.beneficiary);
        rlp::put_bytes(out, &self.state_root);
        rlp::put_bytes(out, &self.transactions_root);
        rlp::put_bytes(out, &self.receipts_root);
        rlp::put_bytes(out, &self.logs_bloom[..]);
        rlp::put_uint(out, &self.difficulty.to_be_bytes::<32>());
        for number in [self.number, self.gas_limit, self.gas_used, self.timestamp] {
            rlp::put_u64(out, number);
        }
        rlp::put_bytes(out, &self.extra_data);
        rlp::put_bytes(out, &self.mix_hash);
        rlp::put_bytes(out, &self.nonce);
        self.later_fields(|number, bytes| {
            if number { rlp::put_uint(out, bytes) } else { rlp::put_bytes(out, bytes) }
        });
    }
}
