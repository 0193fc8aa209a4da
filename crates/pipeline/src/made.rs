//! What somebody makes of verified blocks, beside verifying and storing them.

use blockmill_verdict::Status;
use std::any::Any;
use std::fmt;

/// What was made of some blocks; only who made it knows what it is.
pub type Made = Box<dyn Any + Send + Sync>;

/// Why nothing was made of blocks, or why that cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMade {
    /// The reason, in a sentence.
    pub message: String,
    /// What it says of the blocks, the question or this machine.
    pub status: Status,
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotMade {}
