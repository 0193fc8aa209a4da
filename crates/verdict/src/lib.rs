//! The words that all chains share: how deep a run verifies, how far it has come, how it ends, what
//! is missing, which rule is broken and where, and who receives the verified blocks.
//!
//! A verdict is a promise, so there is one set of words for it: the exit code, the `status` of
//! `--json`, the run record and the first line that a person reads all say the same [`Status`].

#![forbid(unsafe_code)]

mod block_fault;
mod check;
mod consumer;
mod counted;
mod fault;
mod hex;
mod level;
mod location;
mod malformed;
mod outcome;
pub mod path;
mod progress;
mod shortfall;
mod span;
mod status;
mod violation;

pub use block_fault::{BrokenRule, Cause, Fault, RemoteFault};
pub use check::{CheckReport, Finding};
pub use consumer::{ConsumerError, DerivedRows, ReceiveRows, VerifiedConsumer};
pub use counted::{counted, grouped};
pub use fault::FaultReport;
pub use hex::{Digits, Hex, Reversed};
pub use level::Level;
pub use location::Location;
pub use malformed::{Malformed, split_array, split_bytes};
pub use outcome::{BlockRef, CpuTimes, RunOutcome};
pub use progress::{
    BLOCK_BOUNDS, BLOCK_PHASES, BlockTimes, Count, Counts, Execution, Progress, Recent,
};
pub use shortfall::{Shortfall, ShortfallKind};
pub use span::Span;
pub use status::Status;
pub use violation::Violation;
