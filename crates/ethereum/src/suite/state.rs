//! GeneralStateTests: one transaction on a state, under several forks.

use super::unsigned::{self, Given};
use super::{Case, End, Runner, SuiteError, Verdict, compare, json, networks, transaction};
use crate::execute::{BlockTerms, Evm, ExecutionError, Log, PreparedTransaction};
use crate::header::Header;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::signing;
use crate::state::{State, Tries};
use crate::transaction_rules::{self, TransactionError, block};
use crate::{Hash, U256};
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum;
use blockmill_verdict::Hex;
use serde_json::Value;

/// The default base fee from London on (go-ethereum's `tests/state_test_util.go`).
const BASE_FEE: u64 = 10;

/// Runs every case of a test.
pub(super) fn run(
    name: &str,
    test: &Value,
    runner: &mut Runner<'_>,
) -> Result<Vec<Case>, SuiteError> {
    let post = test["post"].as_object().ok_or_else(|| json::wrong("post", "an object"))?;
    let header = header(&test["env"])?;
    let mut cases = vec![];
    for (network, results) in post {
        let results = results.as_array().ok_or_else(|| json::wrong("post", "lists"))?;
        let named = results.iter().map(|result| (case_name(name, &result["indexes"]), result));
        let named: Vec<_> = named.filter(|(name, _)| runner.wants(name, network)).collect();
        if named.is_empty() {
            continue;
        }
        let spec = networks::spec(network, &test["config"], &genesis(&header), &test["pre"]);
        for (name, result) in named {
            let done = match &spec {
                Ok(spec) => verdict(spec, &header, &test["transaction"], result, runner),
                Err(error) => {
                    cases.push(Case::skipped(&name, network, error));
                    continue;
                }
            };
            cases.push(match done {
                Ok((verdict, end)) => Case { name, network: network.clone(), verdict, end },
                Err(error) => Case::skipped(&name, network, &error),
            });
        }
    }
    Ok(cases)
}

/// The name of a test with the indexes of data, gas and value.
fn case_name(name: &str, indexes: &Value) -> String {
    let index = |field: &str| indexes[field].as_u64().unwrap_or_default();
    format!("{name}[{}/{}/{}]", index("data"), index("gas"), index("value"))
}

/// The header in a test's environment.
fn header(env: &Value) -> Result<Header, SuiteError> {
    let random = json::maybe_number(env, "currentRandom")?;
    let excess = json::maybe_number(env, "currentExcessBlobGas")?;
    Ok(Header {
        beneficiary: json::address(env, "currentCoinbase")?,
        difficulty: json::maybe_number(env, "currentDifficulty")?.unwrap_or_default(),
        gas_limit: json::number(env, "currentGasLimit")?.saturating_to(),
        number: json::small(env, "currentNumber")?,
        timestamp: json::small(env, "currentTimestamp")?,
        mix_hash: random.unwrap_or_default().to_be_bytes(),
        base_fee: json::maybe_number(env, "currentBaseFee")?,
        excess_blob_gas: excess.map(|excess| excess.saturating_to()),
        slot_number: json::maybe_number(env, "slotNumber")?.map(|slot| slot.saturating_to()),
        ..Header::default()
    })
}

/// A genesis header for any network: only the forks and the accounts matter.
fn genesis(header: &Header) -> Value {
    serde_json::json!({ "difficulty": "0x20000", "gasLimit": format!("{:#x}", header.gas_limit) })
}

/// The verdict and the end of a case.
fn verdict(
    spec: &ChainSpec,
    header: &Header,
    transaction: &Value,
    result: &Value,
    runner: &mut Runner<'_>,
) -> Result<(Verdict, End), SuiteError> {
    let given = match result["txbytes"].as_str() {
        None | Some("" | "0x") => unsigned::build(transaction, &result["indexes"], spec.chain_id)?,
        Some(_) => Ok(Given { raw: json::bytes(result, "txbytes")?, sender: None }),
    };
    let exception = result["expectException"].as_str();
    let base_fee = header.base_fee.unwrap_or(U256::from(BASE_FEE));
    let base_fee = spec.rules_at(header.number, header.timestamp).london.then_some(base_fee);
    let header = Header { base_fee, ..header.clone() };
    let done = match run_one(spec, &header, given, runner) {
        Ok(done) => done,
        Err(error) => {
            let (expected, found) = ("an executed case".into(), error.to_string());
            return Ok((Verdict::Failed { expected, found }, End::default()));
        }
    };
    let (root, logs) = (json::hash(result, "hash")?, json::hash(result, "logs")?);
    let found = done.untouched.filter(|untouched| *untouched == root).unwrap_or(done.root);
    let end = End { state_root: Some(found), gas_used: done.gas_used };
    let failed = |expected: String, found: String| Ok((Verdict::Failed { expected, found }, end));
    let refused = done.refused.map(ExecutionError::Rule);
    if let Some(failed) = compare("the transaction", exception, refused.as_ref())? {
        return Ok((failed, end));
    }
    if found != root {
        let zeros = if root == [0; 32] { ", as no state has it" } else { "" };
        let expected = format!("state root {}{zeros}", Hex(&root));
        return failed(expected, Hex(&found).to_string());
    }
    if done.logs != logs {
        return failed(format!("hash of logs {}", Hex(&logs)), Hex(&done.logs).to_string());
    }
    Ok((Verdict::Passed, end))
}

/// The result of a case.
struct Done {
    refused: Option<Violation>,
    /// Gas of the transaction, 0 if it is refused.
    gas_used: u64,
    root: Hash,
    /// The root after a refused transaction if the beneficiary is not touched. Runners differ:
    /// those that filled ethereum/tests touched it, those of the Python specification do not. It
    /// makes a difference before EIP-161 only.
    untouched: Option<Hash>,
    logs: Hash,
}

fn run_one(
    spec: &ChainSpec,
    header: &Header,
    given: Result<Given, Violation>,
    runner: &mut Runner<'_>,
) -> Result<Done, ExecutionError> {
    let accounts = spec
        .genesis
        .accounts()
        .map_err(|error| Violation::new(Rule::Genesis, "accounts", error))?;
    let mut state = State::from_accounts(&accounts)?;
    let mut tries = Tries::pointers();
    tries.apply(&state.take_changes())?;
    for number in header.number.saturating_sub(256)..header.number {
        // as go-ethereum's runner makes the hashes of blocks that there are not
        state.ancestors.push(number, blockmill_hashes::keccak256(number.to_string().as_bytes()));
    }
    let encoded = header.encode();
    let view = header.view(&encoded);
    let rules = spec.rules_at(header.number, header.timestamp);
    let terms = BlockTerms::new(rules.fork, rules.blobs, &view);
    let log = std::mem::take(&mut runner.step_log);
    let mut evm = Evm::new(&mut state, spec.chain_id).with_step_log(log);
    let wide = Violation::new(Rule::ExecutionRules, "a blob fee below 2^256 wei", "more");
    evm.begin(&terms).ok_or(wide)?;
    let block_terms = block::BlockTerms::new(&view, rules.blobs);
    let prepared = given.and_then(|given| prepare(spec, header, &given, &block_terms));
    let outcome = match prepared {
        Ok(tx) => match evm.transact(&tx) {
            Ok(outcome) => Ok(outcome),
            Err(refusal) => Err(refusal.violation(0, &tx.sender)?),
        },
        Err(violation) => Err(violation),
    };
    runner.step_log = evm.take_step_log();
    evm.commit_block()?;
    let untouched = match &outcome {
        Ok(_) => None,
        Err(_) => Some(tries.apply(&evm.state().take_changes())?),
    };
    // the runner of go-ethereum credits nothing, so that the beneficiary is touched
    let clear = evm.clears_empty();
    evm.state().credit(&header.beneficiary, U256::ZERO, clear)?;
    let root = tries.apply(&evm.state().take_changes())?;
    let (logs, gas_used, refused) = match outcome {
        Ok(outcome) => (outcome.logs, outcome.gas_used, None),
        Err(violation) => (vec![], 0, Some(violation)),
    };
    Ok(Done { refused, gas_used, root, untouched, logs: hash_of_logs(&logs) })
}

/// Verifies every rule of a transaction that needs no state, and prepares it.
fn prepare(
    spec: &ChainSpec,
    header: &Header,
    Given { raw, sender }: &Given,
    terms: &block::BlockTerms,
) -> Result<PreparedTransaction, Violation> {
    let rules = spec.rules_at(header.number, header.timestamp);
    let item = transaction::item(raw);
    let tx = transaction::decode(&item, rules.fork)?;
    let asked = transaction_rules::TransactionRules::new(rules.fork, spec.chain_id);
    let form = transaction_rules::verify_form(&tx, &asked)?;
    let sender = match sender {
        Some(sender) => *sender,
        None => signing::recover_sender(&tx, form).map_err(TransactionError::from)?,
    };
    transaction_rules::verify_fields(&tx, &asked)?;
    transaction_rules::verify_sender_gas(&tx, rules.fork, &sender)?;
    terms.verify(&tx)?;
    let most = rules.blobs.map_or(0, |blobs| blobs.max);
    if tx.blob_hashes.len() as u64 > most {
        return Err(Violation::new(
            Rule::BlobGasUsed,
            format!("at most {most}"),
            tx.blob_hashes.len(),
        ));
    }
    Ok(PreparedTransaction::new(&tx, sender, form.protected))
}

/// Keccak-256 of the list of logs.
fn hash_of_logs(logs: &[Log]) -> Hash {
    let topics: Vec<Vec<&Hash>> = logs.iter().map(|log| log.topics().collect()).collect();
    let encoded: Vec<u8> = logs
        .iter()
        .zip(&topics)
        .flat_map(|(log, topics)| {
            let topics = blockmill_rlp::List::Values(topics);
            ethereum::Log { address: log.address(), topics, data: log.data() }.encode()
        })
        .collect();
    blockmill_hashes::keccak256(&blockmill_rlp::RawList(&[&encoded]).encode())
}
