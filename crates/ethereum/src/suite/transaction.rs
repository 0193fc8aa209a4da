//! Transaction tests: the bytes of one transaction, which each fork accepts or refuses.

use super::{Case, End, Runner, SuiteError, Verdict, compare, json, networks};
use crate::body::BodyError;
use crate::encoding::transaction_violation;
use crate::execute::ExecutionError;
use crate::params::Fork;
use crate::rule::{Rule, Violation};
use crate::transaction_rules::{TransactionRules, gas, verify_transaction};
use crate::transactions::{self, Transaction};
use crate::{Address, Hash, U256};
use blockmill_rlp::{Encode, Reader};
use blockmill_verdict::Hex;
use serde_json::Value;

/// The fork that knows every type.
const NEWEST: Fork = Fork::ALL[Fork::ALL.len() - 1];

/// The bytes of a transaction as an item of a body: a list, or a byte string with the type and a
/// list. Bytes that are such a string already stay as they are, as the tests have both.
pub(super) fn item(raw: &[u8]) -> Vec<u8> {
    match raw {
        [0..0x80, ..] => raw.encode(),
        _ => raw.to_vec(),
    }
}

/// Decodes the only transaction of `item` under `fork`.
///
/// # Errors
/// The rule that it breaks; [`Rule::TransactionEncoding`] for bytes that are not canonical RLP.
pub(super) fn decode(item: &[u8], fork: Fork) -> Result<Transaction<'_>, Violation> {
    let of = |error: BodyError| Violation::new(Rule::TransactionEncoding, "a transaction", error);
    let mut reader = Reader::new(item);
    let read = transactions::read(&mut reader);
    let error = match read.and_then(|tx| Ok((tx, reader.finish()?))) {
        Ok((tx, ())) => return Ok(tx),
        Err(error) => error,
    };
    let Ok(item) = Reader::new(item).item() else { return Err(of(error)) };
    Err(transaction_violation(&item, error, fork).unwrap_or_else(|| of(error)))
}

/// Runs every case of a test: one for each fork.
pub(super) fn run(name: &str, test: &Value, runner: &Runner<'_>) -> Result<Vec<Case>, SuiteError> {
    let item = item(&json::bytes(test, "txbytes")?);
    let results = test["result"].as_object().ok_or_else(|| json::wrong("result", "an object"))?;
    let mut cases = vec![];
    for (network, result) in results.iter().filter(|(network, _)| runner.wants(name, network)) {
        let verdict = networks::fork(network).and_then(|fork| verdict(&item, fork, result));
        cases.push(match verdict {
            Ok(verdict) => {
                Case { name: name.into(), network: network.clone(), verdict, end: End::default() }
            }
            Err(error) => Case::skipped(name, network, &error),
        });
    }
    Ok(cases)
}

/// An accepted transaction.
struct Accepted {
    sender: Address,
    hash: Hash,
    intrinsic_gas: u64,
}

fn verdict(item: &[u8], fork: Fork, result: &Value) -> Result<Verdict, SuiteError> {
    let exception = result["exception"].as_str();
    let found = verify(item, fork);
    let refused = found.as_ref().err().cloned().map(ExecutionError::Rule);
    if let Some(failed) = compare("the transaction", exception, refused.as_ref())? {
        // the tests name the fault of a field also where a later fork brings the type
        let of_field = decode(item, NEWEST).err().map(ExecutionError::Rule);
        return Ok(match of_field.filter(|_| refused.is_some()) {
            Some(of_field) => compare("the transaction", exception, Some(&of_field))?,
            None => Some(failed),
        }
        .unwrap_or(Verdict::Passed));
    }
    let Ok(found) = found else { return Ok(Verdict::Passed) };
    let (hash, sender) = (json::hash(result, "hash")?, json::address(result, "sender")?);
    let differs = |what: &str, expected: String, found: String| {
        Ok(Verdict::Failed { expected: format!("{what} {expected}"), found })
    };
    if found.hash != hash {
        return differs("hash", Hex(&hash).to_string(), Hex(&found.hash).to_string());
    }
    if found.sender != sender {
        return differs("sender", Hex(&sender).to_string(), Hex(&found.sender).to_string());
    }
    match json::maybe_number(result, "intrinsicGas")? {
        Some(gas) if gas != U256::from(found.intrinsic_gas) => {
            differs("intrinsic gas", gas.to_string(), found.intrinsic_gas.to_string())
        }
        _ => Ok(Verdict::Passed),
    }
}

fn verify(item: &[u8], fork: Fork) -> Result<Accepted, Violation> {
    let tx = decode(item, fork)?;
    let sender = verify_transaction(&tx, &TransactionRules::new(fork, U256::ONE))?;
    let intrinsic_gas = gas::intrinsic_gas(&tx, fork, tx.to == Some(&sender));
    Ok(Accepted { sender, hash: tx.canonical().hash(), intrinsic_gas })
}
