//! A block that is not accepted: the block, the location on disk, the rule, what was expected and
//! found.

mod cause;
mod remote;

pub use cause::Cause;
pub(crate) use cause::archive_fault;
pub(crate) use remote::remote_fault;
pub use remote::{RemoteDetails, RemoteFault, RemoteKind};

/// A block that is not accepted.
pub type Fault = blockmill_verdict::Fault<Cause>;
