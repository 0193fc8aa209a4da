//! A block as a JSON object: as `eth_getBlockByNumber` gives it with full transactions, and the
//! header and body of provers. It is encoded again, and must have the stated hashes.

use super::header::{JsonHeader, Wide};
use super::values::{Bytes, Fixed, Number, visited};
use crate::{Address, Hash, U256};
use blockmill_rlp::ethereum::{
    AccessListEntry, Authorization, Transaction, TransactionType, Withdrawal,
};
use blockmill_rlp::{Encode, List, Write};
use blockmill_verdict::Hex;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// First byte of the encoding of a list: such a transaction has no type.
const LIST: u8 = 0xc0;

/// A block as the RPC gives it, in one object.
#[derive(Deserialize)]
pub(super) struct RpcBlock {
    #[serde(flatten)]
    header: JsonHeader,
    transactions: Vec<RpcTransaction>,
    #[serde(default)]
    uncles: Vec<Fixed<32>>,
    withdrawals: Option<Vec<JsonWithdrawal>>,
}

/// A transaction, or its hash alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum RpcTransaction {
    Whole(Box<JsonTransaction>),
    Hash(#[expect(dead_code)] Fixed<32>),
}

impl RpcBlock {
    /// Its header, encoded.
    ///
    /// # Errors
    /// A message if a field is malformed or the stated hash is another one.
    pub fn header(&self) -> Result<Vec<u8>, String> {
        self.header.encode()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.header.number()
    }

    /// The encoded block, with these encoded headers of its ommers, which the RPC does not give.
    ///
    /// # Errors
    /// A message that says what is missing or malformed.
    pub fn encode(self, ommers: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        if ommers.len() != self.uncles.len() {
            return Err(format!(
                "the block has {} uncles, and eth_getBlockByNumber does not give their headers: \
                 use debug_getRawBlock",
                self.uncles.len()
            ));
        }
        let mut transactions = vec![];
        for transaction in self.transactions {
            match transaction {
                RpcTransaction::Whole(transaction) => transactions.push(*transaction),
                RpcTransaction::Hash(_) => {
                    return Err("the block has hashes of transactions: ask for full transactions \
                                (the second parameter of eth_getBlockByNumber is true)"
                        .into());
                }
            }
        }
        let header = self.header.encode()?;
        let body = JsonBody { transactions, uncles: vec![], withdrawals: self.withdrawals };
        body.encode(header, ommers)
    }
}

/// The body of a block whose ommers are headers.
#[derive(Deserialize)]
pub(super) struct JsonBody {
    #[serde(alias = "transaction")]
    pub transactions: Vec<JsonTransaction>,
    #[serde(default, alias = "ommers")]
    pub uncles: Vec<JsonHeader>,
    pub withdrawals: Option<Vec<JsonWithdrawal>>,
}

impl JsonBody {
    /// The encoded block with this encoded header.
    ///
    /// # Errors
    /// A message that says what is malformed.
    pub fn encode_with(self, header: Vec<u8>) -> Result<Vec<u8>, String> {
        let ommers = self.uncles.iter().map(JsonHeader::encode).collect::<Result<_, _>>()?;
        self.encode(header, ommers)
    }

    fn encode(self, header: Vec<u8>, ommers: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        let mut transactions = vec![];
        for (index, transaction) in self.transactions.iter().enumerate() {
            let encoded = transaction.encode();
            transactions.push(encoded.map_err(|error| format!("transaction {index}: {error}"))?);
        }
        let withdrawals = self.withdrawals.map(|list| {
            list.iter().map(|withdrawal| withdrawal.fields().encode()).collect::<Vec<_>>()
        });
        Ok(Assembled { header, transactions, ommers, withdrawals }.encode())
    }
}

/// A block of encoded parts.
pub(super) struct Assembled {
    pub header: Vec<u8>,
    /// In the canonical form, whose Keccak-256 is the hash.
    pub transactions: Vec<Vec<u8>>,
    pub ommers: Vec<Vec<u8>>,
    pub withdrawals: Option<Vec<Vec<u8>>>,
}

impl Encode for Assembled {
    const LISTS: usize = 4;

    fn write<W: Write>(&self, out: &mut W) {
        let list = |items: &[Vec<u8>], out: &mut W| {
            out.list(|out| items.iter().for_each(|item| out.raw(item)));
        };
        out.list(|out| {
            out.raw(&self.header);
            out.list(|out| {
                for transaction in &self.transactions {
                    match transaction.first() {
                        Some(first) if *first >= LIST => out.raw(transaction),
                        _ => out.bytes(transaction),
                    }
                }
            });
            list(&self.ommers, out);
            if let Some(withdrawals) = &self.withdrawals {
                list(withdrawals, out);
            }
        });
    }
}

/// A withdrawal.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonWithdrawal {
    index: Number,
    #[serde(alias = "validator_index")]
    validator_index: Number,
    address: Fixed<20>,
    amount: Number,
}

impl JsonWithdrawal {
    pub fn fields(&self) -> Withdrawal<'_> {
        Withdrawal {
            index: self.index.0,
            validator: self.validator_index.0,
            address: &self.address.0,
            amount: self.amount.0,
        }
    }
}

/// A transaction. Fields that others determine, such as the sender, are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonTransaction {
    #[serde(rename = "type")]
    kind: Option<Number>,
    hash: Option<Fixed<32>>,
    chain_id: Option<Wide>,
    nonce: Number,
    gas_price: Option<Wide>,
    max_fee_per_gas: Option<Wide>,
    max_priority_fee_per_gas: Option<Wide>,
    max_fee_per_blob_gas: Option<Wide>,
    #[serde(alias = "gasLimit")]
    gas: Number,
    to: Option<Receiver>,
    value: Wide,
    #[serde(alias = "data")]
    input: Bytes,
    access_list: Option<Vec<JsonAccess>>,
    blob_versioned_hashes: Option<Vec<Fixed<32>>>,
    authorization_list: Option<Vec<JsonDelegation>>,
    v: Option<Wide>,
    y_parity: Option<Wide>,
    r: Wide,
    s: Wide,
}

/// A receiver; an empty text is none.
struct Receiver(Option<Address>);

visited! { Receiver, "an address",
    fn visit_str<E: Error>(self, text: &str) -> Result<Receiver, E> {
        if matches!(text, "" | "0x") {
            return Ok(Receiver(None));
        }
        let address = super::values::decode(text).and_then(|bytes| bytes.try_into().ok());
        let address = address.ok_or_else(|| E::custom("expected 0x and 40 hexadecimal digits"))?;
        Ok(Receiver(Some(address)))
    }
}

/// An entry of an access list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonAccess {
    address: Fixed<20>,
    storage_keys: Vec<Fixed<32>>,
}

/// A delegation (EIP-7702).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonDelegation {
    chain_id: Wide,
    address: Fixed<20>,
    nonce: Number,
    #[serde(alias = "v")]
    y_parity: Number,
    r: Wide,
    s: Wide,
}

impl JsonTransaction {
    fn kind(&self) -> Result<TransactionType, String> {
        match &self.kind {
            None | Some(Number(0)) => Ok(TransactionType::Legacy),
            Some(Number(kind)) => u8::try_from(*kind)
                .ok()
                .and_then(TransactionType::from_byte)
                .ok_or_else(|| format!("expected a type of at most 4, found {kind}")),
        }
    }

    /// The canonical encoding.
    fn encode(&self) -> Result<Vec<u8>, String> {
        let kind = self.kind()?;
        let missing = |field: &str| format!("a transaction of type {} without {field}", kind as u8);
        let needed = |number: &Option<Wide>, field: &str| {
            number.as_ref().map(|number| number.0).ok_or_else(|| missing(field))
        };
        let is_typed = kind != TransactionType::Legacy;
        let has_fees = kind >= TransactionType::DynamicFee;
        let is_blob = kind == TransactionType::Blob;
        let max_fee = match has_fees {
            true => needed(&self.max_fee_per_gas, "maxFeePerGas")?,
            false => needed(&self.gas_price, "gasPrice")?,
        };
        let keys: Vec<Vec<Hash>> =
            self.access_list.iter().flatten().map(JsonAccess::keys).collect();
        let entries = self.access_list.iter().flatten().zip(&keys);
        let access_list: Vec<_> = entries
            .map(|(entry, keys)| AccessListEntry {
                address: &entry.address.0,
                storage_keys: List::Values(keys),
            })
            .collect();
        let blob_hashes: Vec<Hash> =
            self.blob_versioned_hashes.iter().flatten().map(|hash| hash.0).collect();
        let mut authorizations = vec![];
        for delegation in self.authorization_list.iter().flatten() {
            authorizations.push(delegation.fields()?);
        }
        let parity =
            if is_typed { self.y_parity.as_ref().or(self.v.as_ref()) } else { self.v.as_ref() };
        let transaction = Transaction {
            kind,
            chain_id: if is_typed { needed(&self.chain_id, "chainId")? } else { U256::ZERO },
            nonce: self.nonce.0,
            max_priority_fee: match has_fees {
                true => needed(&self.max_priority_fee_per_gas, "maxPriorityFeePerGas")?,
                false => max_fee,
            },
            max_fee,
            gas_limit: self.gas.0,
            to: self.to.as_ref().and_then(|to| to.0.as_ref()),
            value: self.value.0,
            input: &self.input.0,
            access_list: List::Values(&access_list),
            max_blob_fee: match is_blob {
                true => needed(&self.max_fee_per_blob_gas, "maxFeePerBlobGas")?,
                false => U256::ZERO,
            },
            blob_hashes: List::Values(&blob_hashes),
            authorizations: List::Values(&authorizations),
            v: parity.ok_or_else(|| missing("v"))?.0,
            r: self.r.0,
            s: self.s.0,
        };
        let encoded = transaction.canonical().encode();
        let found = blockmill_hashes::keccak256(&encoded);
        match &self.hash {
            Some(stated) if stated.0 != found => Err(format!(
                "it says the hash {}, and its fields have {}",
                Hex(&stated.0),
                Hex(&found)
            )),
            _ => Ok(encoded),
        }
    }
}

impl JsonAccess {
    fn keys(&self) -> Vec<Hash> {
        self.storage_keys.iter().map(|key| key.0).collect()
    }
}

impl JsonDelegation {
    fn fields(&self) -> Result<Authorization<'_>, String> {
        let y_parity = u8::try_from(self.y_parity.0)
            .map_err(|_| format!("expected a parity of 8 bits, found {}", self.y_parity.0))?;
        Ok(Authorization {
            chain_id: self.chain_id.0,
            address: &self.address.0,
            nonce: self.nonce.0,
            y_parity,
            r: self.r.0,
            s: self.s.0,
        })
    }
}
