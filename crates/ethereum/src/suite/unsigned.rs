//! Builds the transaction of a state test without signed bytes from its fields and the indexes of a
//! result, like go-ethereum's runner (`stTransaction.toMessage`).

use super::{SuiteError, json};
use crate::rule::{Rule, Violation};
use crate::signing::{GROUP_ORDER, MAX_LOW_S};
use crate::transactions::{Transaction, TransactionType};
use crate::{Address, Hash, U256};
use blockmill_rlp::ethereum::{AccessListEntry, Authorization};
use blockmill_rlp::{Encode, List};
use serde_json::Value;

/// The x coordinate of secp256k1's generator (SEC 2, section 2.4.1); its y is even.
const GENERATOR_X: U256 = U256::from_limbs([
    0x59f2_815b_16f8_1798,
    0x029b_fcdb_2dce_28d9,
    0x55a0_6295_ce87_0b07,
    0x79be_667e_f9dc_bbac,
]);

/// A transaction of a test.
pub(super) struct Given {
    /// Its canonical encoding.
    pub raw: Vec<u8>,
    /// The sender, if the test names one; otherwise it is recovered from the signature.
    pub sender: Option<Address>,
}

/// Builds the transaction of a result. The inner error is for numbers that no transaction can hold,
/// which a test may expect.
///
/// # Errors
/// Returns an error if a field is missing or malformed.
pub(super) fn build(
    transaction: &Value,
    indexes: &Value,
    chain_id: U256,
) -> Result<Result<Given, Violation>, SuiteError> {
    let fields = Fields::read(transaction, indexes)?;
    let sender = match transaction["sender"].is_null() {
        true => None,
        false => Some(json::address(transaction, "sender")?),
    };
    let key = match transaction["secretKey"].is_null() {
        true => None,
        false => Some(U256::from_be_bytes(json::hash(transaction, "secretKey")?)),
    };
    if sender.is_none() && key.is_none() {
        return Err(json::wrong("secretKey", "the key of the sender, or a sender"));
    }
    Ok(fields.encode(chain_id, key).map(|raw| Given { raw, sender }))
}

/// The fields of the transaction of a result.
struct Fields {
    kind: TransactionType,
    nonce: U256,
    max_fee: U256,
    max_priority_fee: U256,
    gas_limit: U256,
    to: Option<Address>,
    /// `None` if it exceeds 256 bits.
    value: Option<U256>,
    data: Vec<u8>,
    access_list: Vec<(Address, Vec<Hash>)>,
    max_blob_fee: U256,
    blob_hashes: Vec<Hash>,
    authorizations: Vec<Delegation>,
}

/// An authorization of EIP-7702: address, chain, nonce, parity and both halves of the signature.
struct Delegation(Address, [U256; 5]);

impl Fields {
    fn read(tx: &Value, indexes: &Value) -> Result<Self, SuiteError> {
        let at = |list: &'static str, index: &str| {
            let index = indexes[index].as_u64().and_then(|index| usize::try_from(index).ok());
            let value = index.and_then(|index| tx[list].get(index));
            value.ok_or_else(|| json::wrong(list, "a list with an item for each index"))
        };
        let data = at("data", "data")?.as_str().and_then(json::decode);
        let data = data.ok_or_else(|| json::wrong("data", "0x and hexadecimal digits"))?;
        let gas_limit = json::number_of(at("gasLimit", "gas")?);
        let to = match tx["to"].as_str() {
            None | Some("") => None,
            Some(_) => Some(json::address(tx, "to")?),
        };
        let lists = at("accessLists", "data").ok().filter(|list| !list.is_null());
        let max_fee = json::maybe_number(tx, "maxFeePerGas")?;
        let blobs = ["maxFeePerBlobGas", "blobVersionedHashes"];
        let kind = match () {
            () if !tx["authorizationList"].is_null() => TransactionType::SetCode,
            () if blobs.iter().any(|field| !tx[*field].is_null()) => TransactionType::Blob,
            () if max_fee.is_some() => TransactionType::DynamicFee,
            () if lists.is_some() => TransactionType::AccessList,
            () => TransactionType::Legacy,
        };
        let max_fee = match max_fee {
            Some(fee) => fee,
            None => json::number(tx, "gasPrice")?,
        };
        let priority = json::maybe_number(tx, "maxPriorityFeePerGas")?;
        Ok(Self {
            kind,
            nonce: json::number(tx, "nonce")?,
            max_fee,
            max_priority_fee: priority.unwrap_or(max_fee),
            gas_limit: gas_limit.ok_or_else(|| json::wrong("gasLimit", "numbers"))?,
            to,
            value: json::number_of(at("value", "value")?),
            data,
            access_list: lists.map_or(Ok(vec![]), access_list)?,
            max_blob_fee: json::maybe_number(tx, "maxFeePerBlobGas")?.unwrap_or_default(),
            blob_hashes: list(&tx["blobVersionedHashes"])?,
            authorizations: delegations(&tx["authorizationList"])?,
        })
    }

    /// The signed transaction, or with a signature of no key where there is none to sign with.
    fn encode(&self, chain_id: U256, key: Option<U256>) -> Result<Vec<u8>, Violation> {
        let small = |number: U256, what: &str| {
            let expected = format!("{what} of at most 64 bits");
            u64::try_from(number)
                .map_err(|_| Violation::new(Rule::TransactionEncoding, expected, number))
        };
        let too_large =
            || Violation::new(Rule::TransactionEncoding, "a value of at most 256 bits", "more");
        let entries = self
            .access_list
            .iter()
            .map(|(address, keys)| AccessListEntry { address, storage_keys: List::Values(keys) });
        let entries: Vec<_> = entries.collect();
        let mut authorizations = vec![];
        for Delegation(address, [chain_id, nonce, parity, r, s]) in &self.authorizations {
            let (nonce, parity) = (small(*nonce, "a nonce")?, small(*parity, "a parity")?);
            let y_parity = u8::try_from(parity);
            let y_parity = y_parity.map_err(|_| {
                Violation::new(Rule::TransactionEncoding, "a parity of 8 bits", parity)
            })?;
            let (chain_id, r, s) = (*chain_id, *r, *s);
            authorizations.push(Authorization { chain_id, address, nonce, y_parity, r, s });
        }
        let mut tx = Transaction {
            chain_id,
            nonce: small(self.nonce, "a nonce")?,
            max_priority_fee: self.max_priority_fee,
            max_fee: self.max_fee,
            gas_limit: small(self.gas_limit, "a gas limit")?,
            to: self.to.as_ref(),
            value: self.value.ok_or_else(too_large)?,
            input: &self.data,
            access_list: List::Values(&entries),
            max_blob_fee: self.max_blob_fee,
            blob_hashes: List::Values(&self.blob_hashes),
            authorizations: List::Values(&authorizations),
            ..Transaction::new(self.kind)
        };
        let (odd, r, s) = match key {
            Some(key) => sign(tx.signing(None).hash(), key)?,
            None => (false, U256::ONE, U256::ONE),
        };
        let base = if self.kind == TransactionType::Legacy { 27 } else { 0 };
        (tx.v, tx.r, tx.s) = (U256::from(base + u64::from(odd)), r, s);
        Ok(tx.canonical().encode())
    }
}

/// Signs with the nonce 1, whose point is the generator. Such a signature gives the key away, as
/// the test does.
fn sign(digest: Hash, key: U256) -> Result<(bool, U256, U256), Violation> {
    if key.is_zero() || key >= GROUP_ORDER {
        let expected = "a secret key between 1 and the group's order";
        return Err(Violation::new(Rule::TransactionEncoding, expected, format!("{key:#x}")));
    }
    let digest = U256::from_be_bytes(digest).reduce_mod(GROUP_ORDER);
    let s = GENERATOR_X.mul_mod(key, GROUP_ORDER).add_mod(digest, GROUP_ORDER);
    match s > MAX_LOW_S {
        true => Ok((true, GENERATOR_X, GROUP_ORDER - s)),
        false => Ok((false, GENERATOR_X, s)),
    }
}

fn access_list(list: &Value) -> Result<Vec<(Address, Vec<Hash>)>, SuiteError> {
    let list = list.as_array().ok_or_else(|| json::wrong("accessLists", "lists"))?;
    let entry = |entry: &Value| {
        let keys = self::list(&entry["storageKeys"])?;
        Ok((json::address(entry, "address")?, keys))
    };
    list.iter().map(entry).collect()
}

fn delegations(list: &Value) -> Result<Vec<Delegation>, SuiteError> {
    let Some(list) = list.as_array() else { return Ok(vec![]) };
    let delegation = |one: &Value| {
        let parity = if one["v"].is_null() { "yParity" } else { "v" };
        let number = |field| json::number(one, field);
        let numbers =
            [number("chainId")?, number("nonce")?, number(parity)?, number("r")?, number("s")?];
        Ok(Delegation(json::address(one, "address")?, numbers))
    };
    list.iter().map(delegation).collect()
}

/// Hashes; empty if the field is missing.
fn list(list: &Value) -> Result<Vec<Hash>, SuiteError> {
    let Some(list) = list.as_array() else { return Ok(vec![]) };
    let hash = |value: &Value| value.as_str().and_then(json::decode)?.try_into().ok();
    let hash = |value| hash(value).ok_or_else(|| json::wrong("list", "hashes of 32 bytes"));
    list.iter().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Fork;
    use crate::signing::sender;
    use blockmill_rlp::Decode;
    use serde_json::json;

    #[test]
    fn the_key_of_a_test_signs_transactions_of_every_type() {
        // the key and the account of nearly all public tests
        let key = "0x45a915e4d060149eb4365960e6a7a45f334393093061116b197e3240065ff2d8";
        let account = "a94f5374fce5edbc8e2a8697c15331677e6ebf0b";
        let to = "0x095e7baea6a6c7c4c2dfeb977efac326af552d87";
        let delegation = json!({
            "chainId": "0x1", "address": to, "nonce": "0x0", "v": "0x1", "r": "0x1", "s": "0x2",
        });
        let list = json!([[{ "address": to, "storageKeys": [key] }]]);
        let fields = [
            ("gasPrice", json!("0x0a")),
            ("accessLists", list),
            ("maxFeePerGas", json!("17")),
            ("blobVersionedHashes", json!([key])),
            ("authorizationList", json!([delegation])),
        ];
        let mut test = json!({
            "nonce": "0x01", "to": to, "secretKey": key,
            "data": ["0x", "0x1234"], "gasLimit": ["0x5208", "100000"], "value": ["0x", "0x1"],
        });
        for (at, (field, value)) in fields.into_iter().enumerate() {
            test[field] = value;
            let index = usize::from(at != 1);
            let indexes = json!({ "data": index, "gas": 1, "value": 1 });
            let given = build(&test, &indexes, U256::ONE).unwrap().unwrap();
            let tx = Transaction::decode_canonical(&given.raw).unwrap();
            assert_eq!(tx.kind, TransactionType::ALL[at]);
            assert_eq!(
                blockmill_testkit::hex::encode(sender(&tx, Fork::Prague, U256::ONE).unwrap()),
                account
            );
            assert_eq!((tx.nonce, tx.gas_limit, tx.value), (1, 100_000, U256::ONE));
            assert_eq!(tx.max_fee, U256::from(if at < 2 { 10 } else { 17 }));
        }
    }

    #[test]
    fn numbers_that_no_transaction_holds_are_refused_and_missing_fields_are_errors() {
        let indexes = json!({ "data": 0, "gas": 0, "value": 0 });
        let test = json!({
            "nonce": "0x010000000000000000", "gasPrice": "0x1", "to": "",
            "sender": "0xa94f5374fce5edbc8e2a8697c15331677e6ebf0b",
            "data": ["0x"], "gasLimit": ["0x5208"], "value": ["0x:bigint 0x1"],
        });
        let refused =
            |test: &Value| build(test, &indexes, U256::ONE).unwrap().err().unwrap().to_string();
        assert!(refused(&test).contains("a nonce of at most 64 bits"), "{}", refused(&test));
        let mut small = test.clone();
        small["nonce"] = json!("0x1");
        assert!(refused(&small).contains("256 bits"), "{}", refused(&small));
        small["value"] = json!(["0x1"]);
        let given = build(&small, &indexes, U256::ONE).unwrap().unwrap();
        assert!(given.sender.is_some() && Transaction::decode(&given.raw).unwrap().to.is_none());
        small["data"] = json!([]);
        assert!(build(&small, &indexes, U256::ONE).is_err(), "no data at this index");
    }
}
