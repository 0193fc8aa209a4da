//! Ethereum for each verb: options out of arguments, the engine's call, results into answers.

mod blocks;
pub mod check;
pub mod convert;
pub mod demo;
#[cfg(feature = "export")]
pub mod export;
pub mod generate;
pub mod heal;
pub mod import;
pub mod inspect;
pub mod network;
pub mod prove;
pub mod shard;
pub mod snapshot;
mod state;
pub mod state_dump;
pub mod suite;
pub mod unwind;
mod upgrade;
pub mod witness;

use anyhow::Result;
use blockmill_ethereum::convert::ConvertError;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::params::KeptError;
use blockmill_ethereum::shard::MergeError;
use blockmill_verdict::{FaultReport, Shortfall, Status};

pub use blockmill_ethereum::stored::register;

type Cause = dyn std::error::Error + 'static;

/// The status of an error of this chain.
pub fn status_of(cause: &Cause) -> Option<Status> {
    let error = cause.downcast_ref::<Error>().map(Error::status);
    error
        .or_else(|| cause.downcast_ref::<ConvertError>().map(ConvertError::status))
        .or_else(|| cause.downcast_ref::<KeptError>().map(KeptError::status))
        .or_else(|| cause.downcast_ref::<MergeError>().map(MergeError::status))
}

/// What an archive of this chain lacks, if that is the cause.
pub fn shortfall_of(cause: &Cause) -> Option<Shortfall> {
    cause.downcast_ref::<ConvertError>()?.shortfall()
}

/// Block, location and rule of an error of this chain.
pub fn report_of(cause: &Cause) -> Option<FaultReport> {
    let error = cause.downcast_ref::<Error>().map(Error::report);
    error
        .or_else(|| cause.downcast_ref::<ConvertError>().map(ConvertError::report))
        .or_else(|| cause.downcast_ref::<MergeError>().map(MergeError::report))
}

/// Fails because the store in a folder belongs to another chain.
///
/// # Errors
/// [`Error::OtherChain`], always.
pub fn other_chain<T>(expected: String, found: String) -> Result<T> {
    Err(Error::OtherChain { expected, found }.into())
}
