//! A block as a payload of the engine API: the object `ExecutionPayload`, with what the call has
//! besides it. The header is built from its fields, and must have the stated hash.

use super::WitnessError;
use super::block::{Assembled, JsonWithdrawal};
use super::header::Wide;
use super::values::{Bytes, Fixed, Number};
use crate::Hash;
use crate::header::Header;
use blockmill_rlp::Encode;
use blockmill_verdict::Hex;
use serde::Deserialize;

/// A payload. Provers name its fields with underscores.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Payload {
    #[serde(alias = "parent_hash")]
    parent_hash: Fixed<32>,
    #[serde(alias = "fee_recipient")]
    fee_recipient: Fixed<20>,
    #[serde(alias = "state_root")]
    state_root: Fixed<32>,
    #[serde(alias = "receipts_root")]
    receipts_root: Fixed<32>,
    #[serde(alias = "logs_bloom")]
    logs_bloom: Fixed<256>,
    #[serde(alias = "prev_randao")]
    prev_randao: Fixed<32>,
    #[serde(alias = "block_number")]
    block_number: Number,
    #[serde(alias = "gas_limit")]
    gas_limit: Number,
    #[serde(alias = "gas_used")]
    gas_used: Number,
    timestamp: Number,
    #[serde(alias = "extra_data")]
    extra_data: Bytes,
    #[serde(alias = "base_fee_per_gas")]
    base_fee_per_gas: Wide,
    #[serde(alias = "block_hash")]
    block_hash: Fixed<32>,
    transactions: Vec<Bytes>,
    withdrawals: Option<Vec<JsonWithdrawal>>,
    #[serde(alias = "blob_gas_used")]
    blob_gas_used: Option<Number>,
    #[serde(alias = "excess_blob_gas")]
    excess_blob_gas: Option<Number>,
    #[serde(alias = "block_access_list")]
    block_access_list: Option<Bytes>,
    #[serde(alias = "slot_number")]
    slot_number: Option<Number>,
    #[serde(flatten)]
    others: Others,
}

/// What a call has besides the payload; some files have it in the same object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Others {
    parent_beacon_block_root: Option<Fixed<32>>,
    execution_requests: Option<Vec<Bytes>>,
}

/// A call of `engine_newPayload`: the parameters are the payload, blob hashes, the parent's beacon
/// root and the requests, as many as the version has.
#[derive(Deserialize)]
pub(crate) struct NewPayload {
    params: Vec<serde_json::Value>,
}

/// A block that was built from a payload.
pub(crate) struct Built {
    /// The encoded block.
    pub raw: Vec<u8>,
    /// The hash that the payload says.
    pub stated: Hash,
    /// The hash of the header that was built from its fields.
    pub found: Hash,
}

/// The answer of `engine_getPayload`, or a file of that shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    execution_payload: Payload,
    #[serde(flatten)]
    others: Others,
}

impl NewPayload {
    /// The encoded block.
    ///
    /// # Errors
    /// [`WitnessError::Json`], [`WitnessError::Block`] or [`WitnessError::Stated`].
    pub fn encode(self) -> Result<Vec<u8>, WitnessError> {
        self.build()?.checked()
    }

    /// The block, and the hash that the payload says, which may be another one.
    ///
    /// # Errors
    /// [`WitnessError::Json`] or [`WitnessError::Block`].
    pub fn build(self) -> Result<Built, WitnessError> {
        let mut params = self.params.into_iter();
        let Some(payload) = params.next() else {
            return Err(WitnessError::Block("no parameters".into()));
        };
        let payload: Payload = serde_json::from_value(payload)?;
        let root = params.nth(1).map(serde_json::from_value).transpose()?.flatten();
        let requests = params.next().map(serde_json::from_value).transpose()?.flatten();
        Ok(payload.build(Others { parent_beacon_block_root: root, execution_requests: requests }))
    }
}

impl Built {
    /// The encoded block, if its hash is the one that the payload says.
    fn checked(self) -> Result<Vec<u8>, WitnessError> {
        let Self { raw, stated, found } = self;
        if found != stated {
            let (stated, found) = (Hex(&stated).to_string(), Hex(&found).to_string());
            return Err(WitnessError::Stated { field: "hash", stated, found });
        }
        Ok(raw)
    }
}

impl Envelope {
    /// The encoded block.
    ///
    /// # Errors
    /// [`WitnessError::Stated`] for another block hash than the payload says.
    pub fn encode(self) -> Result<Vec<u8>, WitnessError> {
        self.execution_payload.encode(self.others)
    }
}

impl Payload {
    /// The encoded block of a payload without its call.
    ///
    /// # Errors
    /// [`WitnessError::Stated`], and [`WitnessError::Block`] from Cancun on: the call has fields of
    /// the header.
    pub fn encode_alone(self) -> Result<Vec<u8>, WitnessError> {
        if self.excess_blob_gas.is_some() && self.others.parent_beacon_block_root.is_none() {
            let text = "a payload from Cancun on needs its call: name the whole call of \
                        engine_newPayload";
            return Err(WitnessError::Block(text.into()));
        }
        self.encode(Others { parent_beacon_block_root: None, execution_requests: None })
    }

    /// The encoded block of a payload and of what its call has besides.
    ///
    /// # Errors
    /// [`WitnessError::Stated`] for another block hash than the payload says.
    pub fn encode_called(
        self,
        parent_beacon_block_root: Option<Fixed<32>>,
        execution_requests: Option<Vec<Bytes>>,
    ) -> Result<Vec<u8>, WitnessError> {
        self.encode(Others { parent_beacon_block_root, execution_requests })
    }

    fn encode(self, others: Others) -> Result<Vec<u8>, WitnessError> {
        self.build(others).checked()
    }

    fn build(self, others: Others) -> Built {
        let withdrawals: Option<Vec<Vec<u8>>> = self
            .withdrawals
            .map(|list| list.iter().map(|withdrawal| withdrawal.fields().encode()).collect());
        let root =
            |items: &[Vec<u8>]| blockmill_trie::ordered_root(items.iter().map(Vec::as_slice));
        let raw: Vec<Vec<u8>> = self.transactions.into_iter().map(|bytes| bytes.0).collect();
        let beacon_root = others.parent_beacon_block_root.or(self.others.parent_beacon_block_root);
        let requests = others.execution_requests.or(self.others.execution_requests);
        let header = Header {
            parent_hash: self.parent_hash.0,
            beneficiary: self.fee_recipient.0,
            state_root: self.state_root.0,
            transactions_root: root(&raw),
            receipts_root: self.receipts_root.0,
            logs_bloom: Box::new(self.logs_bloom.0),
            number: self.block_number.0,
            gas_limit: self.gas_limit.0,
            gas_used: self.gas_used.0,
            timestamp: self.timestamp.0,
            extra_data: self.extra_data.0,
            mix_hash: self.prev_randao.0,
            base_fee: Some(self.base_fee_per_gas.0),
            withdrawals_root: withdrawals.as_deref().map(root),
            blob_gas_used: self.blob_gas_used.map(|gas| gas.0),
            excess_blob_gas: self.excess_blob_gas.map(|gas| gas.0),
            parent_beacon_root: beacon_root.map(|root| root.0),
            requests_hash: requests.as_deref().map(requests_hash),
            block_access_list_hash: self
                .block_access_list
                .map(|list| blockmill_hashes::keccak256(&list.0)),
            slot_number: self.slot_number.map(|slot| slot.0),
            ..Header::default()
        };
        let header = header.encode();
        let found = blockmill_rlp::ethereum::block_hash(&header);
        let raw = Assembled { header, transactions: raw, ommers: vec![], withdrawals }.encode();
        Built { raw, stated: self.block_hash.0, found }
    }
}

/// SHA-256 over the SHA-256 of each request (EIP-7685); one without data is left out.
fn requests_hash(requests: &[Bytes]) -> [u8; 32] {
    let mut all = blockmill_hashes::Sha256::new();
    let requests = requests.iter().filter(|request| request.0.len() > 1);
    requests.for_each(|request| all.update(&blockmill_hashes::sha256(&request.0)));
    all.finalize()
}
