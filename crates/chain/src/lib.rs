//! The words that all chains share: how a run ends, what is missing, where a fault stands.
//!
//! A verdict is a promise, so there is one set of words for it: the exit code, the `status` of
//! `--json`, the run record and the first line that a person reads all say the same [`Status`].

#![forbid(unsafe_code)]

mod counted;
mod fault;
pub mod path;
mod shortfall;
mod status;

pub use counted::{counted, grouped};
pub use fault::FaultReport;
pub use shortfall::{Shortfall, ShortfallKind};
pub use status::Status;
