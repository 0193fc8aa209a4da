//! Witnesses and blocks in the forms of clients and provers, compared with the normalised files of
//! the same blocks.

use super::witnesses::{files, spec};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::witness::{Document, Stateless, Witness, WitnessError};
use blockmill_rlp::Encode;
use blockmill_testkit::hex;
use serde_json::{Value, json};

/// The file of each block that a prover wrote, and of the same block in the normalised form.
const TWINS: [(&str, &str); 4] = [
    ("ethrex-560048-1041734.json.zst", "560048-1041734-ethrex"),
    ("keth-1-21688509.json.zst", "1-21688509-keth"),
    ("zeth-1-1150000.json.gz", "1-1150000-zeth"),
    ("zeth-1-2675000.json.gz", "1-2675000-nimbus"),
];

fn native(name: &str) -> Value {
    let path = blockmill_testkit::fixture(format!("ethereum/witness-native/{name}"));
    let bytes = blockmill_archive::read_whole(&path, 1 << 24).unwrap();
    let mut value: Value = serde_json::from_slice(&bytes).unwrap();
    // a number beyond 64 bits, which changes of documents cannot hold
    if let Some(config) = value.get_mut("chainConfig").and_then(Value::as_object_mut) {
        config.remove("terminalTotalDifficulty");
    }
    value
}

fn read(value: &Value) -> Result<Document, WitnessError> {
    Document::read(value.to_string().as_bytes())
}

fn execute(value: &Value, spec: &ChainSpec) -> Result<Stateless, WitnessError> {
    match read(value)? {
        Document::Whole(witness) => witness.execute(spec),
        other => Err(WitnessError::Shape(format!("{other:?}"))),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn inputs_of_provers_give_the_result_of_the_normalised_file() {
    let files = files();
    for (name, twin) in TWINS {
        let (_, json) = files.iter().find(|(file, _)| file.starts_with(twin)).unwrap();
        let witness = Witness::read(&json.to_string()).unwrap();
        let spec = spec(witness.chain_id.unwrap());
        let given = native(name);
        let Ok(Document::Whole(own)) = read(&given) else { panic!("{name}") };
        // zeth does not say the chain
        assert_eq!(own.chain_id, witness.chain_id.filter(|_| !name.starts_with("zeth")), "{name}");
        let found = execute(&given, &spec).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, witness.execute(&spec).unwrap(), "{name}");
    }
}

/// Documents with a change in one place, at most `most` of them.
fn changed(value: &Value, most: usize) -> Vec<(String, Value)> {
    let all = blockmill_testkit::mutations(value);
    let step = (all.len() / most).max(1);
    all.into_iter().step_by(step).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn changed_inputs_of_provers_have_an_error_or_the_same_result() {
    let (mut same, mut refused) = (0, 0);
    // every change of the part that is parsed, with few of the nodes
    for (name, path, chain, has_hash) in [
        // without the hash of the block, some changes give another block that is valid
        ("ethrex-560048-1041734.json.zst", "/witness/stateTrieNodes", "hoodi", false),
        ("zeth-1-1150000.json.gz", "/proofs", "mainnet", true),
    ] {
        let spec = ChainSpec::by_name(chain).unwrap();
        let whole = native(name);
        let good = execute(&whole, &spec).unwrap();
        let mut few = whole.clone();
        let cut = few.pointer_mut(path).unwrap();
        let nodes = cut.take();
        for (place, mut other) in changed(&few, blockmill_testkit::rounds(400)) {
            if let Some(cut) = other.pointer_mut(path) {
                *cut = nodes.clone();
            }
            match execute(&other, &spec) {
                Ok(done) => {
                    assert_eq!(done.number, good.number, "{name}: {place}");
                    assert!(done == good || !has_hash, "{name}: {place}");
                    same += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(same > 0 && refused > 0, "{same} {refused}");
}

fn text(bytes: impl AsRef<[u8]>) -> Value {
    json!(hex::encode_0x(bytes))
}

fn number(number: impl std::fmt::LowerHex) -> Value {
    json!(format!("{number:#x}"))
}

/// A header as the RPC gives it.
fn rpc_header(header: &HeaderView<'_>) -> Value {
    let mut value = json!({
        "hash": text(header.hash()),
        "parentHash": text(header.parent_hash),
        "sha3Uncles": text(header.ommers_hash),
        "miner": text(header.beneficiary),
        "stateRoot": text(header.state_root),
        "transactionsRoot": text(header.transactions_root),
        "receiptsRoot": text(header.receipts_root),
        "logsBloom": text(&header.logs_bloom[..]),
        "difficulty": number(header.difficulty),
        "number": number(header.number),
        "gasLimit": number(header.gas_limit),
        "gasUsed": number(header.gas_used),
        "timestamp": number(header.timestamp),
        "extraData": text(header.extra_data),
        "mixHash": text(header.mix_hash),
        "nonce": text(header.nonce),
        "size": "0x1",
    });
    let mut set = |name: &str, field: Option<Value>| {
        if let Some(field) = field {
            value[name] = field;
        }
    };
    set("baseFeePerGas", header.base_fee.map(number));
    set("withdrawalsRoot", header.withdrawals_root.map(text));
    set("blobGasUsed", header.blob_gas_used.map(number));
    set("excessBlobGas", header.excess_blob_gas.map(number));
    set("parentBeaconBlockRoot", header.parent_beacon_root.map(text));
    set("requestsHash", header.requests_hash.map(text));
    value
}

/// A transaction as the RPC gives it.
fn rpc_transaction(tx: &Transaction<'_>) -> Value {
    let mut value = json!({
        "type": number(tx.kind as u8),
        "hash": text(tx.canonical().hash()),
        "nonce": number(tx.nonce),
        "gas": number(tx.gas_limit),
        "to": tx.to.map(text),
        "value": number(tx.value),
        "input": text(tx.input),
        "v": number(tx.v),
        "r": number(tx.r),
        "s": number(tx.s),
        "gasPrice": number(tx.max_fee),
        "from": text([0; 20]),
    });
    if tx.kind > TransactionType::Legacy {
        let entries = tx.access_list.iter().map(|entry| {
            let keys: Vec<_> = entry.storage_keys.iter().map(text).collect();
            json!({ "address": text(entry.address), "storageKeys": keys })
        });
        value["accessList"] = entries.collect();
        value["chainId"] = number(tx.chain_id);
        value["yParity"] = number(tx.v);
    }
    if tx.kind >= TransactionType::DynamicFee {
        value["maxFeePerGas"] = number(tx.max_fee);
        value["maxPriorityFeePerGas"] = number(tx.max_priority_fee);
    }
    if tx.kind == TransactionType::Blob {
        value["maxFeePerBlobGas"] = number(tx.max_blob_fee);
        value["blobVersionedHashes"] = tx.blob_hashes.iter().map(text).collect();
    }
    if tx.kind == TransactionType::SetCode {
        let delegations = tx.authorizations.iter().map(|one| {
            json!({
                "chainId": number(one.chain_id), "address": text(one.address),
                "nonce": number(one.nonce), "yParity": number(one.y_parity),
                "r": number(one.r), "s": number(one.s),
            })
        });
        value["authorizationList"] = delegations.collect();
    }
    value
}

/// The withdrawals of a block as the RPC gives them.
fn rpc_withdrawals(body: &BodyView<'_>) -> Option<Value> {
    let withdrawals = body.withdrawals()?.map(|withdrawal| {
        json!({
            "index": number(withdrawal.index), "validatorIndex": number(withdrawal.validator),
            "address": text(withdrawal.address), "amount": number(withdrawal.amount),
        })
    });
    Some(withdrawals.collect())
}

fn rpc_block(raw: &[u8]) -> Value {
    let (header, body) = BodyView::decode_block(raw).unwrap();
    let mut value = rpc_header(&HeaderView::decode(header).unwrap());
    value["transactions"] = body.transactions().map(|tx| rpc_transaction(&tx)).collect();
    value["uncles"] = body.ommers().map(|ommer| text(ommer.hash())).collect();
    if let Some(withdrawals) = rpc_withdrawals(&body) {
        value["withdrawals"] = withdrawals;
    }
    value
}

/// A call of `engine_newPayload` for a block; `None` before the merge.
fn new_payload(raw: &[u8]) -> Option<Value> {
    let (header, body) = BodyView::decode_block(raw).unwrap();
    let header = HeaderView::decode(header).unwrap();
    if !header.difficulty.is_zero() || header.number == 0 {
        return None;
    }
    let transactions = body.transactions().map(|tx| text(tx.canonical().encode()));
    let mut payload = json!({
        "parentHash": text(header.parent_hash),
        "feeRecipient": text(header.beneficiary),
        "stateRoot": text(header.state_root),
        "receiptsRoot": text(header.receipts_root),
        "logsBloom": text(&header.logs_bloom[..]),
        "prevRandao": text(header.mix_hash),
        "blockNumber": number(header.number),
        "gasLimit": number(header.gas_limit),
        "gasUsed": number(header.gas_used),
        "timestamp": number(header.timestamp),
        "extraData": text(header.extra_data),
        "baseFeePerGas": number(header.base_fee?),
        "blockHash": text(header.hash()),
        "transactions": transactions.collect::<Value>(),
    });
    if let Some(withdrawals) = rpc_withdrawals(&body) {
        payload["withdrawals"] = withdrawals;
    }
    if let (Some(used), Some(excess)) = (header.blob_gas_used, header.excess_blob_gas) {
        payload["blobGasUsed"] = number(used);
        payload["excessBlobGas"] = number(excess);
    }
    let mut params = vec![payload];
    if let Some(root) = header.parent_beacon_root {
        params.extend([json!([]), text(root)]);
    }
    if let Some(hash) = header.requests_hash {
        // the requests are not in the block: blocks without any are enough
        let none = blockmill_hashes::sha256(b"");
        if *hash != none {
            return None;
        }
        params.push(json!([]));
    }
    Some(json!({ "jsonrpc": "2.0", "id": 1, "method": "engine_newPayload", "params": params }))
}

fn block_of(value: &Value) -> Result<Vec<u8>, String> {
    match read(value) {
        Ok(Document::Block(raw)) => Ok(raw),
        other => Err(format!("{other:?}")),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_the_rpc_and_payloads_are_encoded_as_the_block_is() {
    let (mut blocks, mut ommers, mut payloads) = (0, 0, 0);
    for (name, json) in files() {
        let raw = hex::decode(json["block"].as_str().unwrap());
        let block = rpc_block(&raw);
        if block["uncles"].as_array().is_some_and(|uncles| !uncles.is_empty()) {
            // their headers are not in the answer
            assert!(block_of(&block).unwrap_err().contains("debug_getRawBlock"), "{name}");
            ommers += 1;
        } else {
            assert_eq!(block_of(&block).as_ref(), Ok(&raw), "{name}");
            let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": block });
            assert_eq!(block_of(&answer).as_ref(), Ok(&raw), "{name}");
            let mut both = json.clone();
            both["block"] = block;
            assert!(matches!(read(&both), Ok(Document::Whole(_))), "{name}");
            blocks += 1;
        }
        let Some(call) = new_payload(&raw) else { continue };
        assert_eq!(block_of(&call).as_ref(), Ok(&raw), "{name}");
        let params = call["params"].as_array().unwrap();
        let mut envelope = json!({ "executionPayload": params[0] });
        if let [_, _, root, requests @ ..] = &params[..] {
            envelope["parentBeaconBlockRoot"] = root.clone();
            if let [requests] = requests {
                envelope["executionRequests"] = requests.clone();
            }
            let alone = block_of(&params[0]).unwrap_err();
            assert!(alone.contains("name the whole call"), "{name}: {alone}");
        } else {
            assert_eq!(block_of(&params[0]).as_ref(), Ok(&raw), "{name}");
        }
        assert_eq!(block_of(&envelope).as_ref(), Ok(&raw), "{name}");
        payloads += 1;
    }
    assert!(blocks >= 15 && payloads >= 3, "{blocks} blocks, {ommers} with ommers, {payloads}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn changed_blocks_of_the_rpc_have_an_error_or_the_same_bytes() {
    let (_, json) = files().into_iter().find(|(name, _)| name.contains("21688509")).unwrap();
    let raw = hex::decode(json["block"].as_str().unwrap());
    for value in [rpc_block(&raw), new_payload(&raw).unwrap()] {
        let (mut same, mut refused) = (0, 0);
        for (place, other) in changed(&value, blockmill_testkit::rounds(2000)) {
            match block_of(&other) {
                Ok(found) if found == raw => same += 1,
                // the list of transactions has no hash here: execution compares the root
                Ok(_) => assert!(!place.starts_with("params"), "{place}"),
                Err(_) => refused += 1,
            }
        }
        assert!(same > 0 && refused > 0, "{same} {refused}");
    }
}

/// Bytes as a list of numbers.
fn numbers(text: &Value) -> Value {
    json!(hex::decode(text.as_str().unwrap().strip_prefix("0x").unwrap()))
}

/// Fields that are numbers in the input of a guest, too.
const COUNTED: [&str; 6] =
    ["block_number", "gas_limit", "gas_used", "timestamp", "blob_gas_used", "excess_blob_gas"];

/// A field of a payload as the input of a guest has it.
fn guest_field(name: &str, value: &Value) -> Value {
    let number = |value: &Value| {
        let digits = value.as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(digits, 16).unwrap()
    };
    match name {
        "transactions" => value.as_array().unwrap().iter().map(numbers).collect(),
        "withdrawals" => {
            let list = value.as_array().unwrap().iter().map(|it| {
                json!({
                    "index": number(&it["index"]), "amount": number(&it["amount"]),
                    "validator_index": number(&it["validatorIndex"]),
                    "address": numbers(&it["address"]),
                })
            });
            list.collect()
        }
        "base_fee_per_gas" => {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number(value).to_le_bytes());
            json!(&bytes[..])
        }
        _ if COUNTED.contains(&name) => json!(number(value)),
        _ => numbers(value),
    }
}

/// `blockHash` as `block_hash`.
fn with_underscores(name: &str) -> String {
    name.chars().fold(String::new(), |mut done, letter| {
        if letter.is_ascii_uppercase() {
            done.push('_');
        }
        done.push(letter.to_ascii_lowercase());
        done
    })
}

/// The input of zisk's guest for a normalised file; `None` if no payload can be made of its block.
fn guest_input(json: &Value) -> Option<Value> {
    let call = new_payload(&hex::decode(json["block"].as_str()?))?;
    let [payload, _, root, _] = &call["params"].as_array()?[..] else { return None };
    let fields = payload.as_object()?.iter().map(|(name, value)| {
        let name = with_underscores(name);
        let value = guest_field(&name, value);
        (name, value)
    });
    Some(json!({
        "new_payload_request": { "ElectraFulu": {
            "execution_payload": fields.collect::<serde_json::Map<_, _>>(),
            "versioned_hashes": [],
            "parent_beacon_block_root": numbers(root),
            "execution_requests": { "deposits": [], "withdrawals": [], "consolidations": [] },
        } },
        "witness": json["witness"],
        "chain_config": { "chain_id": json["chainId"], "homestead_block": 0 },
        "public_keys": [[4, 1]],
    }))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn inputs_of_guests_give_the_result_of_the_normalised_file() {
    let mut inputs = 0;
    for (name, json) in files() {
        let Some(input) = guest_input(&json) else { continue };
        let witness = Witness::read(&json.to_string()).unwrap();
        let spec = spec(witness.chain_id.unwrap());
        let found = execute(&input, &spec).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, witness.execute(&spec).unwrap(), "{name}");
        inputs += 1;

        let mut request = input.clone();
        let calls = request["new_payload_request"].as_object_mut().unwrap();
        let call = calls["ElectraFulu"].clone();
        calls.insert("Deneb".into(), call);
        let error = execute(&request, &spec).unwrap_err().to_string();
        assert!(error.contains("with 2 payloads: expected one"), "{error}");
        let mut other = input.clone();
        other["new_payload_request"]["ElectraFulu"]["execution_payload"]["gas_used"] = json!(1);
        let error = execute(&other, &spec);
        assert!(matches!(error, Err(WitnessError::Stated { field: "hash", .. })), "{error:?}");
        let mut other = input;
        let call = &mut other["new_payload_request"]["ElectraFulu"];
        call["parent_beacon_block_root"][31] = json!(256);
        assert!(matches!(execute(&other, &spec), Err(WitnessError::Json(_))), "{name}");
    }
    assert!(inputs >= 3, "{inputs}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn changed_inputs_of_guests_have_an_error_or_the_same_result() {
    let (_, json) = files().into_iter().find(|(name, _)| name.contains("1041734")).unwrap();
    let input = guest_input(&json).unwrap();
    let spec = ChainSpec::by_name("hoodi").unwrap();
    let good = execute(&input, &spec).unwrap();
    let (mut same, mut refused) = (0, 0);
    let mut few = input.clone();
    let nodes = few["witness"]["state"].take();
    for (place, mut other) in changed(&few, blockmill_testkit::rounds(200)) {
        if let Some(state) = other.pointer_mut("/witness/state") {
            *state = nodes.clone();
        }
        match execute(&other, &spec) {
            Ok(done) => {
                assert_eq!(done, good, "{place}");
                same += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(same > 0 && refused > 0, "{same} {refused}");
}
