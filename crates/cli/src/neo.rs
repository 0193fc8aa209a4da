//! Neo: dumps of blocks.

mod blocks;
pub mod check;
pub mod convert;
pub mod demo;
#[cfg(feature = "export")]
pub mod export;
pub mod generate;
pub mod import;
pub mod inspect;
pub mod neo_go_database;
mod network;
pub mod query;
pub mod unwind;

use anyhow::Result;
use blockmill_neo::Error;
use blockmill_verdict::{FaultReport, Status};
use std::path::Path;

type Cause = dyn std::error::Error + 'static;

/// The status of an error of this chain.
pub fn status_of(cause: &Cause) -> Option<Status> {
    cause.downcast_ref::<Error>().map(Error::status)
}

/// Block, location and rule of an error of this chain.
pub fn report_of(cause: &Cause) -> Option<FaultReport> {
    cause.downcast_ref::<Error>().map(Error::report)
}

/// Reports whether the folder has a store of this chain.
///
/// # Errors
/// If the folder cannot be read.
pub fn is_store(folder: &Path) -> Result<bool> {
    Ok(blockmill_neo::ledger::is_neo_store(folder)?)
}

/// Fails because the store in a folder belongs to another chain.
///
/// # Errors
/// [`Error::OtherChain`], always.
pub fn other_chain<T>(expected: String, found: String) -> Result<T> {
    Err(Error::OtherChain { expected, found }.into())
}
