//! The public tests of the execution layer (github.com/ethereum/tests): BlockchainTests and
//! GeneralStateTests, as a judge of this program beside the other clients.

mod blockchain;
mod json;
mod networks;
mod state;

use crate::Hash;
use serde_json::Value;

/// What a case came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed {
        /// What the test says.
        expected: String,
        /// What happened.
        found: String,
    },
    /// Not run.
    Skipped {
        /// Why.
        reason: &'static str,
    },
}

/// A case of a test.
#[derive(Clone, Debug)]
pub struct Case {
    /// The test's name, and in a state test the indexes of data, gas and value.
    pub name: String,
    /// The network whose rules it is under.
    pub network: String,
    /// What it came to.
    pub verdict: Verdict,
    /// The state root at its end, where it came so far.
    pub state_root: Option<Hash>,
}

/// Why a file is not run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// No JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is not what it should be.
    #[error("{field}: expected {expected}")]
    Field {
        /// Its name.
        field: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Neither kind of test.
    #[error("expected BlockchainTests or GeneralStateTests, found neither blocks nor a post state")]
    Unknown,
}

/// Runs all cases of one file, whose kind shows in its fields.
///
/// # Errors
/// When the text is none of a test.
pub fn run(text: &str) -> Result<Vec<Case>, SuiteError> {
    let file: Value = serde_json::from_str(text)?;
    let tests = file.as_object().ok_or_else(|| json::wrong("file", "an object of tests"))?;
    let mut cases = vec![];
    for (name, test) in tests {
        if test.get("blocks").is_some() {
            cases.push(blockchain::run(name, test)?);
        } else if test.get("post").is_some() {
            cases.extend(state::run(name, test)?);
        } else {
            return Err(SuiteError::Unknown);
        }
    }
    Ok(cases)
}
