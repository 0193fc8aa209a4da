//! What a check of a store found.

/// A block of a store that is not what its hash or its header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its number or height.
    pub block: u64,
    /// What does not fit.
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// The result of a check of every block of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Blocks that were compared with their hashes.
    pub blocks: u64,
    /// What does not fit, in the order of blocks.
    pub findings: Vec<Finding>,
    /// Whether the check ended early.
    pub stopped: bool,
}

impl CheckReport {
    /// Adds a block that does not fit.
    pub fn add(
        &mut self,
        block: u64,
        what: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) {
        let (expected, found) = (expected.to_string(), found.to_string());
        self.findings.push(Finding { block, what, expected, found });
    }
}
