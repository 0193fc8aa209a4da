//! The formats of public tests, and what a refusal must be: blockchain tests as calls of the engine
//! API, transaction tests, and exceptions that name another rule.

use crate::{amsterdam, vectors};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::suite::{self, Verdict};
use blockmill_verdict::Hex;
use serde_json::{Value, json};

/// SHA-256 of nothing: the hash of no requests (EIP-7685).
const NO_REQUESTS: &str = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn hex(bytes: &[u8]) -> Value {
    format!("0x{}", blockmill_testkit::hex::encode(bytes)).into()
}

fn number(number: u64) -> Value {
    format!("{number:#x}").into()
}

/// A block as a call of `engine_newPayload`; `None` if it has requests or ommers, or if the test
/// does not have its access list.
fn call(block: &Value) -> Option<Value> {
    let raw = blockmill_testkit::hex::decode(block["rlp"].as_str()?);
    let (header, body) = BodyView::decode_block(&raw).ok()?;
    let header = HeaderView::decode(header).ok()?;
    let requests = header.requests_hash.map(|hash| Hex(hash).to_string());
    if requests.as_ref().is_some_and(|hash| hash != NO_REQUESTS) || body.ommer_count() > 0 {
        return None;
    }
    let withdrawals = body.withdrawals().map(|list| {
        let each = list.map(|one| {
            json!({
                "index": number(one.index), "validatorIndex": number(one.validator),
                "address": hex(one.address), "amount": number(one.amount),
            })
        });
        each.collect::<Vec<_>>()
    });
    let hashes = body.transactions().flat_map(|tx| tx.blob_hashes.iter().collect::<Vec<_>>());
    let hashes: Vec<_> = hashes.map(|hash| hex(&hash)).collect();
    let mut payload = json!({
        "parentHash": hex(header.parent_hash), "feeRecipient": hex(header.beneficiary),
        "stateRoot": hex(header.state_root), "receiptsRoot": hex(header.receipts_root),
        "logsBloom": hex(&header.logs_bloom[..]), "prevRandao": hex(header.mix_hash),
        "blockNumber": number(header.number), "gasLimit": number(header.gas_limit),
        "gasUsed": number(header.gas_used), "timestamp": number(header.timestamp),
        "extraData": hex(header.extra_data), "blockHash": hex(&header.hash()),
        "baseFeePerGas": format!("{:#x}", header.base_fee?), "withdrawals": withdrawals,
        "transactions": body.transaction_encodings().map(hex).collect::<Vec<_>>(),
    });
    let mut version = if withdrawals.is_some() { 2 } else { 1 };
    let mut params = vec![];
    if let (Some(used), Some(excess)) = (header.blob_gas_used, header.excess_blob_gas) {
        version = 3;
        payload["blobGasUsed"] = number(used);
        payload["excessBlobGas"] = number(excess);
        params.extend([json!(hashes), hex(header.parent_beacon_root?)]);
    }
    if requests.is_some() {
        version = 4;
        params.push(json!([]));
    }
    if header.block_access_list_hash.is_some() {
        version = 5;
        payload["blockAccessList"] = block["blockAccessListRlp"].as_str()?.into();
        payload["slotNumber"] = number(header.slot_number?);
    }
    params.insert(0, payload);
    let version = version.to_string();
    Some(json!({
        "params": params, "newPayloadVersion": version, "forkchoiceUpdatedVersion": "3",
        "validationError": block["expectException"],
    }))
}

/// A blockchain test as a test of the engine API; `None` if a block has no such form.
fn engine_test(test: &Value) -> Option<Value> {
    let calls = test["blocks"].as_array()?.iter().map(call).collect::<Option<Vec<_>>>()?;
    let mut test = test.clone();
    test.as_object_mut()?.retain(|field, _| field != "blocks" && field != "genesisRLP");
    test["engineNewPayloads"] = calls.into();
    Some(test)
}

/// Every test of these archives that has such a form.
fn engine_tests(archives: &[&str]) -> Vec<(String, Value)> {
    let mut tests = vec![];
    for (file, text) in archives.iter().flat_map(|name| amsterdam::files(name)) {
        let all: Value = serde_json::from_str(&text).unwrap();
        for (name, test) in all.as_object().unwrap() {
            tests.extend(engine_test(test).map(|test| (format!("{file} {name}"), test)));
        }
    }
    tests
}

fn verdict(test: &Value) -> Verdict {
    let mut cases = suite::run(&json!({ "case": test }).to_string()).unwrap();
    assert_eq!(cases.len(), 1);
    cases.remove(0).verdict
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn payloads_of_the_engine_api_have_the_status_of_their_blocks() {
    let tests = engine_tests(&["blockchain_tests", "eels-osaka-bpo", "random"]);
    let mut refused = 0;
    for (name, test) in &tests {
        assert_eq!(verdict(test), Verdict::Passed, "{name}");
        refused += usize::from(test.to_string().contains("Exception."));
    }
    println!("{} tests, {refused} refused", tests.len());
    assert!(tests.len() > 3_500 && refused > 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_wrong_payload_is_invalid_and_a_wrong_call_is_an_error() {
    let (_, test) = engine_tests(&["random"]).remove(0);
    assert_eq!(verdict(&test), Verdict::Passed);
    let changed = |change: &dyn Fn(&mut Value), field: &str, expected: Value| {
        let mut test = test.clone();
        let call = &mut test["engineNewPayloads"][0];
        change(call);
        call[field] = expected;
        test["engineNewPayloads"].as_array_mut().unwrap().truncate(1);
        test["lastblockhash"] = test["genesisBlockHeader"]["hash"].clone();
        test["postState"] = test["pre"].clone();
        verdict(&test)
    };
    let invalid = |change: &dyn Fn(&mut Value), name: &str| {
        let passed = changed(change, "validationError", format!("BlockException.{name}").into());
        assert_eq!(passed, Verdict::Passed, "{name}");
        // another rule, and none
        for other in [json!("BlockException.TOO_MANY_UNCLES"), Value::Null] {
            let failed = changed(change, "validationError", other);
            assert!(matches!(failed, Verdict::Failed { .. }), "{name}: {failed:?}");
        }
    };
    let hash = format!("0x{}", "11".repeat(32));
    invalid(&|call| call["params"][0]["gasUsed"] = "0x1".into(), "INVALID_BLOCK_HASH");
    invalid(&|call| call["params"][1] = json!([hash]), "INVALID_VERSIONED_HASHES");
    let error = |change: &dyn Fn(&mut Value), code: i64| {
        assert_eq!(changed(change, "errorCode", code.to_string().into()), Verdict::Passed);
        assert_eq!(changed(change, "errorCode", code.into()), Verdict::Passed);
        assert!(matches!(changed(change, "errorCode", json!(-1)), Verdict::Failed { .. }));
    };
    error(&|call| call["params"][0]["slotNumber"] = Value::Null, -32602);
    error(&|call| call["params"].as_array_mut().unwrap().truncate(3), -32602);
    error(&|call| call["params"][3] = json!(["0x02ff", "0x01ff"]), -32602);
    let old = |call: &mut Value| {
        call["newPayloadVersion"] = "4".into();
        for field in ["blockAccessList", "slotNumber"] {
            call["params"][0][field] = Value::Null;
        }
    };
    error(&old, -38005);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn transaction_tests_run_under_every_fork() {
    let (mut passed, mut others) = (0, vec![]);
    vectors::for_each_file(&["TransactionTests/"], |file, text| {
        for case in suite::run(text).unwrap() {
            match case.verdict {
                Verdict::Passed => passed += 1,
                verdict => others.push(format!("{file} {}: {verdict:?}", case.network)),
            }
        }
    });
    assert_eq!((passed, others), (606 + 2_059, vec![]));
}

/// Replaces every expected exception of a text.
fn with_exception(text: &str, exception: &str) -> String {
    fn replace(value: &mut Value, exception: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if ["expectException", "exception"].contains(&&**name) && value.is_string() {
                        *value = exception.into();
                    }
                    replace(value, exception);
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| replace(value, exception)),
            _ => {}
        }
    }
    let mut all: Value = serde_json::from_str(text).unwrap();
    replace(&mut all, exception);
    all.to_string()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_refusal_for_another_rule_is_a_failure() {
    let (mut failed, mut skipped) = (0, 0);
    let folders =
        ["BlockchainTests/InvalidBlocks/", "TransactionTests/", "GeneralStateTests/stEIP1559/"];
    vectors::for_each_file(&folders, |file, text| {
        // no block, and no transaction, of these tests breaks this rule
        let other = with_exception(text, "BlockException.INVALID_DEPOSIT_EVENT_LAYOUT");
        let unknown = with_exception(text, "BlockException.NO_SUCH_NAME");
        let before = suite::run(text).unwrap();
        let (other, unknown) = (suite::run(&other).unwrap(), suite::run(&unknown).unwrap());
        for ((before, other), unknown) in before.iter().zip(other).zip(unknown) {
            assert_eq!(before.verdict, Verdict::Passed, "{file} {}", before.name);
            // tests without an exception pass as before
            match (other.verdict, unknown.verdict) {
                (Verdict::Passed, Verdict::Passed) => {}
                (Verdict::Failed { expected, .. }, Verdict::Skipped { reason }) => {
                    assert!(expected.contains("INVALID_DEPOSIT_EVENT_LAYOUT"), "{expected}");
                    assert!(reason.contains("unknown exception"), "{reason}");
                    (failed, skipped) = (failed + 1, skipped + 1);
                }
                verdicts => panic!("{file} {}: {verdicts:?}", before.name),
            }
        }
    });
    println!("{failed} failed, {skipped} not run");
    assert!(failed > 2_000);
}

#[test]
fn tests_of_other_kinds_say_why_they_are_not_run() {
    for (test, words) in [
        (json!({ "preHash": "0x", "engineNewPayloads": [] }), "in another file"),
        (json!({ "result": {} }), "of another kind"),
        (json!({ "network": "Atlantis", "blocks": [], "pre": {} }), "unknown network Atlantis"),
    ] {
        let Verdict::Skipped { reason } = verdict(&test) else { panic!("{test}") };
        assert!(reason.contains(words), "{reason}");
    }
    let error = suite::run("{\"a\": {}}").unwrap_err().to_string();
    assert!(error.contains("engineNewPayloads"), "{error}");
}
