//! A header as a JSON object, as go-ethereum and the RPC write it.

use super::values::{Bytes, Fixed, Number};
use crate::U256;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Header;
use blockmill_verdict::Hex;
use serde::{Deserialize, Deserializer};

/// The fields of a header. Other fields, such as the size, are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonHeader {
    hash: Option<Fixed<32>>,
    parent_hash: Fixed<32>,
    sha3_uncles: Fixed<32>,
    miner: Fixed<20>,
    state_root: Fixed<32>,
    transactions_root: Fixed<32>,
    receipts_root: Fixed<32>,
    logs_bloom: Fixed<256>,
    difficulty: Wide,
    number: Number,
    gas_limit: Number,
    gas_used: Number,
    timestamp: Number,
    extra_data: Bytes,
    mix_hash: Fixed<32>,
    nonce: Fixed<8>,
    base_fee_per_gas: Option<Wide>,
    withdrawals_root: Option<Fixed<32>>,
    blob_gas_used: Option<Number>,
    excess_blob_gas: Option<Number>,
    parent_beacon_block_root: Option<Fixed<32>>,
    requests_hash: Option<Fixed<32>>,
    #[serde(alias = "balHash")]
    block_access_list_hash: Option<Fixed<32>>,
    slot_number: Option<Number>,
}

/// A number of up to 256 bits as text with 0x.
struct Wide(U256);

impl<'de> Deserialize<'de> for Wide {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() <= 64);
        let number = digits.and_then(|digits| U256::from_str_radix(digits, 16).ok());
        number
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("expected 0x and at most 64 digits"))
    }
}

impl JsonHeader {
    /// Encodes the header in RLP.
    ///
    /// # Errors
    /// A message if the stated hash is another one.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let of = |field: &Option<Number>| field.as_ref().map(|number| number.0);
        let hash = |field: &Option<Fixed<32>>| field.as_ref().map(|hash| hash.0);
        let [withdrawals, beacon, requests, access_list] = [
            &self.withdrawals_root,
            &self.parent_beacon_block_root,
            &self.requests_hash,
            &self.block_access_list_hash,
        ]
        .map(hash);
        let header = Header {
            parent_hash: &self.parent_hash.0,
            ommers_hash: &self.sha3_uncles.0,
            beneficiary: &self.miner.0,
            state_root: &self.state_root.0,
            transactions_root: &self.transactions_root.0,
            receipts_root: &self.receipts_root.0,
            logs_bloom: &self.logs_bloom.0,
            difficulty: self.difficulty.0,
            number: self.number.0,
            gas_limit: self.gas_limit.0,
            gas_used: self.gas_used.0,
            timestamp: self.timestamp.0,
            extra_data: &self.extra_data.0,
            mix_hash: &self.mix_hash.0,
            nonce: &self.nonce.0,
            base_fee: self.base_fee_per_gas.as_ref().map(|fee| fee.0),
            withdrawals_root: withdrawals.as_ref(),
            blob_gas_used: of(&self.blob_gas_used),
            excess_blob_gas: of(&self.excess_blob_gas),
            parent_beacon_root: beacon.as_ref(),
            requests_hash: requests.as_ref(),
            block_access_list_hash: access_list.as_ref(),
            slot_number: of(&self.slot_number),
        };
        let encoded = header.encode();
        let found = blockmill_hashes::keccak256(&encoded);
        match &self.hash {
            Some(stated) if stated.0 != found => Err(format!(
                "the header {} has the hash {}, as its fields are",
                Hex(&stated.0),
                Hex(&found)
            )),
            _ => Ok(encoded),
        }
    }
}
