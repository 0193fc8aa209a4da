//! A broken rule, with what was expected and what was found.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};

/// A broken rule, with what it asks for and what the block has. `R` is the table of rules of a
/// chain; a rule shows itself as its name and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation<R> {
    /// The rule.
    pub rule: R,
    /// Which transaction of the block breaks it, from 0; `None` if it is the whole block.
    pub transaction: Option<u32>,
    /// What a valid block has.
    pub expected: String,
    /// What this block has.
    pub found: String,
}

impl<R> Violation<R> {
    /// The whole block breaks `rule`; only a failure pays for the texts.
    #[cold]
    #[inline(never)]
    pub fn new(rule: R, expected: impl Display, found: impl Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self { rule, transaction: None, expected, found }
    }

    /// The transaction of this index breaks `rule`.
    #[cold]
    #[inline(never)]
    pub fn of_transaction(
        rule: R,
        index: usize,
        expected: impl Display,
        found: impl Display,
    ) -> Self {
        Self::new(rule, expected, found).in_transaction(index)
    }

    /// The same of one transaction, by its index in the block.
    #[must_use]
    pub fn in_transaction(self, index: usize) -> Self {
        Self { transaction: u32::try_from(index).ok(), ..self }
    }
}

impl<R: Display> Display for Violation<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(transaction) = self.transaction {
            write!(f, "transaction {transaction}: ")?;
        }
        write!(f, "{}: expected {}, found {}", self.rule, self.expected, self.found)
    }
}

impl<R: Debug + Display> Error for Violation<R> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_transaction_rule_expected_and_found() {
        let violation = Violation::new("size (EIP-1)", "at most 5", 7);
        assert_eq!(violation.to_string(), "size (EIP-1): expected at most 5, found 7");
        let text = violation.in_transaction(3).to_string();
        assert_eq!(text, "transaction 3: size (EIP-1): expected at most 5, found 7");
    }
}
