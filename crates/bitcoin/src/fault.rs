//! A block that was refused: the block, its location, the rule, expected and found value.

mod cause;

pub use cause::Cause;
pub(crate) use cause::fault_of_block;

/// A block that was refused.
pub type Fault = blockmill_verdict::Fault<Cause>;
