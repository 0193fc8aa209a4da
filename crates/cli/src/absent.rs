//! Replacements for cargo features that are not built: modules with the functions that the verbs
//! call, each of which fails with [`NotBuilt`]. `lib.rs` chooses between a chain and its
//! replacement.

use anyhow::Result;
use std::fmt;

/// A command needs a cargo feature that this program was built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBuilt {
    /// The feature.
    pub feature: &'static str,
}

impl fmt::Display for NotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature } = self;
        write!(f, "this program was built without the feature `{feature}`; ")?;
        write!(f, "build it with: cargo build --release --features {feature}")
    }
}

impl std::error::Error for NotBuilt {}

/// Fails with the name of the feature.
///
/// # Errors
/// [`NotBuilt`], always.
#[allow(dead_code, reason = "a program with all features has no use for it")]
pub fn absent<T>(feature: &'static str) -> Result<T> {
    Err(NotBuilt { feature }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use blockmill_verdict::Status;

    #[test]
    fn a_feature_that_is_not_built_is_named() {
        let error = absent::<()>("neo").unwrap_err();
        let answer = Answer::failed(&error);
        assert_eq!(answer.status, Status::Usage);
        let message = answer.error.unwrap().message;
        assert!(message.contains("without the feature `neo`"), "{message}");
        assert!(message.contains("--features neo"), "{message}");
    }
}
