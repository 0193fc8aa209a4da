//! Tests of the engine API: blocks as calls of `engine_newPayload`, each with the expected status
//! or error code. The fork choice follows every valid payload.

use super::blockchain::{Chain, finish};
use super::{End, Runner, SuiteError, Verdict, compare, json, networks};
use crate::Hash;
use crate::body::BodyView;
use crate::execute::ExecutionError;
use crate::params::{ChainSpec, Fork};
use crate::rule::{Rule, Violation};
use crate::witness::payload::{Built, NewPayload};
use blockmill_rlp::{Encode, RawList};
use blockmill_verdict::Hex;
use serde_json::Value;

/// The parameters do not fit the method (JSON-RPC).
const INVALID_PARAMS: i64 = -32602;
/// The method is not for the fork of the payload (engine API, Shanghai).
const UNSUPPORTED_FORK: i64 = -38005;

/// What a call gives.
enum Answer {
    Valid,
    Invalid(ExecutionError),
    /// An error of the call, by its code.
    Error(i64, String),
}

/// Runs a test; sets `end` to the state root if it is reached.
pub(super) fn verdict(
    network: &str,
    test: &Value,
    runner: &mut Runner<'_>,
    end: &mut End,
) -> Result<Verdict, SuiteError> {
    let spec = networks::spec(network, &test["config"], &test["genesisBlockHeader"], &test["pre"])?;
    if spec.genesis.hash != json::hash(&test["genesisBlockHeader"], "hash")? {
        let expected = "the hash of the first block".into();
        return Ok(Verdict::Failed { expected, found: Hex(&spec.genesis.hash).to_string() });
    }
    let mut chain = match Chain::new(&spec, genesis(&spec)) {
        Ok(chain) => chain,
        Err(error) => {
            let expected = "a genesis block".into();
            return Ok(Verdict::Failed { expected, found: error.to_string() });
        }
    };
    chain.log_steps(runner);
    let payloads = test["engineNewPayloads"].as_array();
    let payloads = payloads.ok_or_else(|| json::wrong("engineNewPayloads", "a list"))?;
    for (index, payload) in payloads.iter().enumerate() {
        let what = format!("payload {index}");
        let answer = call(&mut chain, &spec, payload)?;
        if let Some(failed) = judge(&what, payload, answer)? {
            return Ok(failed);
        }
    }
    chain.end_steps(runner);
    finish(&mut chain, test, end)
}

/// The encoded genesis block, which has no transactions.
fn genesis(spec: &ChainSpec) -> Vec<u8> {
    let empty = [0xc0];
    let mut parts: Vec<&[u8]> = vec![&spec.genesis.raw, &empty, &empty];
    if spec.genesis.header.withdrawals_root.is_some() {
        parts.push(&empty);
    }
    RawList(&parts).encode()
}

/// Compares the answer to a call with what the test expects.
fn judge(what: &str, payload: &Value, answer: Answer) -> Result<Option<Verdict>, SuiteError> {
    let code = error_code(payload)?;
    let failed = |expected: String, found: String| Ok(Some(Verdict::Failed { expected, found }));
    match (code, answer) {
        (Some(code), Answer::Error(found, _)) if found == code => Ok(None),
        (Some(code), Answer::Error(found, why)) => {
            failed(format!("{what}: error {code}"), format!("error {found}: {why}"))
        }
        (Some(code), Answer::Valid) => {
            failed(format!("{what}: error {code}"), "a valid payload".into())
        }
        (Some(code), Answer::Invalid(error)) => {
            failed(format!("{what}: error {code}"), error.to_string())
        }
        (None, Answer::Error(found, why)) => {
            failed(format!("{what}: a status"), format!("error {found}: {why}"))
        }
        (None, Answer::Valid) => compare(what, payload["validationError"].as_str(), None),
        (None, Answer::Invalid(error)) => {
            compare(what, payload["validationError"].as_str(), Some(&error))
        }
    }
}

/// The expected error code, as a number or as text.
fn error_code(payload: &Value) -> Result<Option<i64>, SuiteError> {
    match &payload["errorCode"] {
        Value::Null => Ok(None),
        value => {
            let code = value.as_i64().or_else(|| value.as_str()?.parse().ok());
            code.map(Some).ok_or_else(|| json::wrong("errorCode", "a number"))
        }
    }
}

/// Calls `engine_newPayload` of the version that the test names, and the fork choice after it.
fn call(chain: &mut Chain<'_>, spec: &ChainSpec, call: &Value) -> Result<Answer, SuiteError> {
    let version = json::small(call, "newPayloadVersion")?;
    let params = call["params"].as_array().ok_or_else(|| json::wrong("params", "a list"))?;
    if let Some((code, why)) = unfit(spec, version, params)? {
        return Ok(Answer::Error(code, why));
    }
    let payload: NewPayload = serde_json::from_value(call.clone())?;
    let built = match payload.build() {
        Ok(built) => built,
        Err(error) => return Ok(Answer::Error(INVALID_PARAMS, error.to_string())),
    };
    let hashes = (version >= 3).then(|| hashes(&params[1])).transpose()?;
    Ok(match import(chain, &built, hashes.as_deref()) {
        Ok(()) => Answer::Valid,
        Err(error) => Answer::Invalid(error),
    })
}

/// Why a call has no status: the version is not for the payload's fork, or parameters are missing
/// or too many (engine API, Paris to Amsterdam).
fn unfit(
    spec: &ChainSpec,
    version: u64,
    params: &[Value],
) -> Result<Option<(i64, String)>, SuiteError> {
    let payload = params.first().ok_or_else(|| json::wrong("params", "a payload"))?;
    let (number, time) = (json::small(payload, "blockNumber")?, json::small(payload, "timestamp")?);
    let fork = spec.rules_at(number, time).fork;
    let of_version = match version {
        1 => fork < Fork::Shanghai,
        2 => fork < Fork::Cancun,
        3 => fork == Fork::Cancun,
        4 => (Fork::Prague..Fork::Amsterdam).contains(&fork),
        5 => fork >= Fork::Amsterdam,
        _ => return Err(json::wrong("newPayloadVersion", "1 to 5")),
    };
    let count = match version {
        1 | 2 => 1,
        3 => 3,
        _ => 4,
    };
    let mut fields = vec![("withdrawals", fork >= Fork::Shanghai)];
    fields.extend(["blobGasUsed", "excessBlobGas"].map(|field| (field, version >= 3)));
    fields.extend(["blockAccessList", "slotNumber"].map(|field| (field, version >= 5)));
    for (field, wanted) in fields {
        if payload[field].is_null() == wanted {
            let what = if wanted { "with" } else { "without" };
            return Ok(Some((INVALID_PARAMS, format!("expected a payload {what} {field}"))));
        }
    }
    if params.len() != count || params.iter().any(Value::is_null) {
        return Ok(Some((INVALID_PARAMS, format!("expected {count} parameters"))));
    }
    if !of_version {
        // up to version 2 the parameters say the fork
        let code = if version <= 2 { INVALID_PARAMS } else { UNSUPPORTED_FORK };
        return Ok(Some((code, format!("version {version} is not for {fork:?}"))));
    }
    Ok(requests_order(params.get(3)))
}

/// Requests are in ascending order of their types, each with data (EIP-7685).
fn requests_order(requests: Option<&Value>) -> Option<(i64, String)> {
    let requests = requests?.as_array()?;
    let mut last = None;
    for request in requests {
        let bytes = request.as_str().and_then(json::decode).unwrap_or_default();
        let kind = bytes.first().copied();
        if bytes.len() < 2 || kind <= last {
            let why = "expected requests with data, in the order of their types";
            return Some((INVALID_PARAMS, why.into()));
        }
        last = kind;
    }
    None
}

/// The hashes in a list.
fn hashes(list: &Value) -> Result<Vec<Hash>, SuiteError> {
    let wrong = || json::wrong("params", "a list of blob hashes");
    let hash = |value: &Value| value.as_str().and_then(json::decode)?.try_into().ok();
    let list = list.as_array().ok_or_else(wrong)?;
    list.iter().map(|value| hash(value).ok_or_else(wrong)).collect()
}

/// Adds the block of a payload to the chain.
fn import(
    chain: &mut Chain<'_>,
    built: &Built,
    hashes: Option<&[Hash]>,
) -> Result<(), ExecutionError> {
    if built.stated != built.found {
        let (stated, found) = (Hex(&built.stated), Hex(&built.found));
        return Err(Violation::new(Rule::StatedHash, stated, found).into());
    }
    if let (Some(stated), Ok((_, body))) = (hashes, BodyView::decode_block(&built.raw)) {
        let own: Vec<Hash> =
            body.transactions().flat_map(|tx| tx.blob_hashes.iter().collect::<Vec<_>>()).collect();
        if own != stated {
            let (expected, found) = (own.len(), stated.len());
            let expected = format!("the {expected} hashes of the transactions");
            let found = format!("{found} hashes");
            return Err(Violation::new(Rule::VersionedHashes, expected, found).into());
        }
    }
    chain.add(&built.raw)
}
