//! Runs the public tests of the execution layer (github.com/ethereum/tests and the tests of the
//! Python specification) as other clients do: BlockchainTests, tests of the engine API,
//! GeneralStateTests and TransactionTests.

mod accounts;
mod blockchain;
mod engine;
mod exceptions;
mod json;
mod networks;
mod state;
mod transaction;
mod unsigned;
mod weak;

use crate::Hash;
use crate::execute::{ExecutionError, StepLog};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed {
        /// The expected result.
        expected: String,
        /// The result.
        found: String,
    },
    /// Not run.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// A case of a test.
#[derive(Clone, Debug)]
pub struct Case {
    /// The test's name, with the indexes of data, gas and value in a state test.
    pub name: String,
    /// The network; empty if the test names none.
    pub network: String,
    /// The result.
    pub verdict: Verdict,
    /// What it came to.
    pub end: End,
}

/// What a case came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The state root after it, if it was reached.
    pub state_root: Option<Hash>,
    /// Gas of the transaction, or of the accepted blocks of a chain if its end was reached.
    pub gas_used: u64,
}

impl Case {
    /// A case that is not run.
    fn skipped(name: &str, network: &str, reason: &impl ToString) -> Self {
        let verdict = Verdict::Skipped { reason: reason.to_string() };
        Self { name: name.into(), network: network.into(), verdict, end: End::default() }
    }
}

/// The reason why a file or a test is not run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field has an unexpected value.
    #[error("{field}: expected {expected}")]
    Field {
        /// Its name.
        field: String,
        /// What was expected.
        expected: &'static str,
    },
    /// An unknown network.
    #[error("unknown network {name}")]
    Network {
        /// Its name.
        name: String,
    },
    /// An exception that names no rule of this program.
    #[error("unknown exception {name}")]
    Exception {
        /// Its name.
        name: String,
    },
    /// An unsupported kind of test.
    #[error("{0}")]
    Kind(&'static str),
    /// Not a test.
    #[error(
        "expected a test, found none of the fields blocks, engineNewPayloads, post, and txbytes \
         with result"
    )]
    Unknown,
}

/// Kinds of tests that are recognised but not supported: a field that only this kind has, and the
/// reason.
const NOT_SUPPORTED: [(&str, &str); 2] = [
    ("preHash", "tests whose accounts are in another file (engine_x) are not supported"),
    ("result", "a result without a transaction (a test of another kind) is not supported"),
];

/// Says whether a case is run, by its name (with the indexes of a state test) and its network.
pub type Wanted<'f> = &'f (dyn Fn(&str, &str) -> bool + Sync);

/// How cases are run.
pub struct Runner<'f> {
    /// Which of them.
    pub wanted: Wanted<'f>,
    /// Where their instructions are written; off by default.
    pub step_log: StepLog,
}

impl Default for Runner<'_> {
    fn default() -> Self {
        Self { wanted: &|_, _| true, step_log: StepLog::default() }
    }
}

impl Runner<'_> {
    fn wants(&self, name: &str, network: &str) -> bool {
        (self.wanted)(name, network)
    }
}

/// A test of a file, which is not decoded yet: a file may have hundreds of megabytes, and values
/// take many times that.
pub struct Test<'t> {
    /// Its name.
    pub name: String,
    raw: &'t RawValue,
}

/// The tests of a file, ordered by name.
///
/// # Errors
/// Returns an error if the text is not a JSON object.
pub fn tests(text: &str) -> Result<Vec<Test<'_>>, SuiteError> {
    let file: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
    Ok(file.into_iter().map(|(name, raw)| Test { name, raw }).collect())
}

/// Runs all cases of one file. The fields of a test determine its kind. A test that cannot be run
/// is a skipped case.
///
/// # Errors
/// Returns an error if the text is not JSON, or holds no test of any kind.
pub fn run(text: &str) -> Result<Vec<Case>, SuiteError> {
    let (mut cases, mut is_test) = (vec![], false);
    for test in tests(text)? {
        match test.run(&mut Runner::default()) {
            Ok(of_test) => {
                is_test = true;
                cases.extend(of_test);
            }
            Err(error) => cases.push(Case::skipped(&test.name, "", &error)),
        }
    }
    if is_test { Ok(cases) } else { Err(SuiteError::Unknown) }
}

impl Test<'_> {
    /// Runs the cases. A test of a known kind that cannot be run is a skipped case.
    ///
    /// # Errors
    /// [`SuiteError::Unknown`] if this is no test, [`SuiteError::Json`] if it is not JSON.
    pub fn run(&self, runner: &mut Runner<'_>) -> Result<Vec<Case>, SuiteError> {
        let test = value(self.raw.get())?;
        let network = test["network"].as_str().unwrap_or_default();
        match one(&self.name, network, &test, runner) {
            Err(SuiteError::Unknown) => Err(SuiteError::Unknown),
            Err(error) if runner.wants(&self.name, network) => {
                Ok(vec![Case::skipped(&self.name, network, &error)])
            }
            Err(_) => Ok(vec![]),
            Ok(cases) => Ok(cases),
        }
    }
}

/// A block of a test, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'b> {
    #[serde(borrow)]
    rlp: &'b RawValue,
    #[serde(borrow)]
    expect_exception: Option<&'b RawValue>,
}

/// A test, without most of what only people read: the decoded form of blocks, which takes more
/// than all the rest.
fn value(text: &str) -> Result<Value, serde_json::Error> {
    let Ok(fields) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else {
        return serde_json::from_str(text);
    };
    let mut test = Map::new();
    for (name, raw) in fields.into_iter().filter(|(name, _)| name != "_info") {
        let blocks = match &*name {
            "blocks" => serde_json::from_str::<Vec<Block<'_>>>(raw.get()).ok(),
            _ => None,
        };
        let value = match blocks {
            Some(blocks) => Value::Array(blocks.iter().map(block).collect::<Result<_, _>>()?),
            None => serde_json::from_str(raw.get())?,
        };
        test.insert(name.into_owned(), value);
    }
    Ok(Value::Object(test))
}

fn block(block: &Block<'_>) -> Result<Value, serde_json::Error> {
    let parse = |raw: &RawValue| serde_json::from_str::<Value>(raw.get());
    let exception = block.expect_exception.map(parse).transpose()?;
    Ok(json!({ "rlp": parse(block.rlp)?, "expectException": exception }))
}

/// The cases of one test.
fn one(
    name: &str,
    network: &str,
    test: &Value,
    runner: &mut Runner<'_>,
) -> Result<Vec<Case>, SuiteError> {
    let has = |field: &str| test.get(field).is_some();
    if has("post") {
        return state::run(name, test, runner);
    }
    if has("txbytes") && has("result") {
        return transaction::run(name, test, runner);
    }
    let other = NOT_SUPPORTED.iter().find(|(field, _)| has(field));
    let judge = match () {
        () if has("blocks") => blockchain::verdict,
        () if other.is_none() && has("engineNewPayloads") => engine::verdict,
        () => return Err(other.map_or(SuiteError::Unknown, |(_, why)| SuiteError::Kind(why))),
    };
    if !runner.wants(name, network) {
        return Ok(vec![]);
    }
    let (name, network) = (name.to_owned(), json::text(test, "network")?.to_owned());
    let mut end = End::default();
    let verdict = judge(&network, test, runner, &mut end)?;
    Ok(vec![Case { name, network, verdict, end }])
}

/// Compares what a test expects of a block, payload or transaction, an exception or none, with the
/// reason for which it was refused. `None` if they agree.
fn compare(
    what: &str,
    exception: Option<&str>,
    refused: Option<&ExecutionError>,
) -> Result<Option<Verdict>, SuiteError> {
    let exception = exception.filter(|text| !text.is_empty());
    let (expected, found) = match (exception, refused) {
        (None, None) => return Ok(None),
        (None, Some(error)) => (format!("{what} accepted"), error.to_string()),
        (Some(exception), None) => (format!("{what} refused: {exception}"), "accepted".into()),
        (Some(exception), Some(ExecutionError::Rule(violation))) => {
            if exceptions::allows(exception, violation.rule)? {
                return Ok(None);
            }
            (format!("{what} refused: {exception}"), violation.to_string())
        }
        (Some(_), Some(error)) => ("a broken rule".into(), error.to_string()),
    };
    Ok(Some(Verdict::Failed { expected, found }))
}
