//! Runs the public tests of the execution layer (github.com/ethereum/tests and the tests of the
//! Python specification) as other clients do: BlockchainTests and GeneralStateTests.

mod blockchain;
mod json;
mod networks;
mod state;
mod unsigned;

use crate::Hash;
use serde_json::Value;
use serde_json::value::RawValue;
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
    /// The state root after the case, if it was reached.
    pub state_root: Option<Hash>,
}

impl Case {
    /// A case that is not run.
    fn skipped(name: &str, network: &str, reason: &impl ToString) -> Self {
        let verdict = Verdict::Skipped { reason: reason.to_string() };
        Self { name: name.into(), network: network.into(), verdict, state_root: None }
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
    /// An unsupported kind of test.
    #[error("{0}")]
    Kind(&'static str),
    /// Not a test.
    #[error("expected BlockchainTests or GeneralStateTests, found neither blocks nor a post state")]
    Unknown,
}

/// Kinds of tests that are recognised but not supported: a field that only this kind has, and the
/// reason.
const NOT_SUPPORTED: [(&str, &str); 2] = [
    ("engineNewPayloads", "tests of the engine API (blockchain_test_engine) are not supported"),
    ("result", "transaction tests are not supported"),
];

/// Runs all cases of one file. The fields of a test determine its kind. A test that cannot be run
/// is a skipped case.
///
/// # Errors
/// Returns an error if the text is not JSON, or holds no test of any kind.
pub fn run(text: &str) -> Result<Vec<Case>, SuiteError> {
    // one test at a time: a file may have hundreds of megabytes, and values take many times that
    let file: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
    let (mut cases, mut is_test) = (vec![], false);
    for (name, test) in file {
        let test: Value = serde_json::from_str(test.get())?;
        let network = test["network"].as_str().unwrap_or_default().to_owned();
        match one(&name, &test) {
            Ok(of_test) => {
                is_test = true;
                cases.extend(of_test);
            }
            Err(error) => {
                is_test |= !matches!(error, SuiteError::Unknown);
                cases.push(Case::skipped(&name, &network, &error));
            }
        }
    }
    if is_test { Ok(cases) } else { Err(SuiteError::Unknown) }
}

/// The cases of one test.
fn one(name: &str, test: &Value) -> Result<Vec<Case>, SuiteError> {
    if test.get("blocks").is_some() {
        return Ok(vec![blockchain::run(name, test)?]);
    }
    if test.get("post").is_some() {
        return state::run(name, test);
    }
    let other = NOT_SUPPORTED.iter().find(|(field, _)| test.get(field).is_some());
    Err(other.map_or(SuiteError::Unknown, |(_, reason)| SuiteError::Kind(reason)))
}
