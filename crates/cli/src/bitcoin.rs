//! Bitcoin for each verb: options out of arguments, the engine's call, results into answers.

mod blocks;
pub mod check;
pub mod coins;
pub mod convert;
mod datadir;
pub mod demo;
#[cfg(feature = "export")]
pub mod export;
pub mod generate;
pub mod import;
pub mod inspect;
pub mod network;
pub mod shard;
pub mod sources;

use anyhow::Result;
use blockmill_bitcoin::{Error, datadir as core_datadir};
use blockmill_verdict::{FaultReport, Status};
use std::path::Path;

type Cause = dyn std::error::Error + 'static;

/// The status of an error of this chain.
pub fn status_of(cause: &Cause) -> Option<Status> {
    let error = cause.downcast_ref::<Error>().map(Error::status);
    let of_datadir =
        || cause.downcast_ref::<core_datadir::Error>().map(core_datadir::Error::status);
    error.or_else(of_datadir)
}

/// Block, location and rule of an error of this chain.
pub fn report_of(cause: &Cause) -> Option<FaultReport> {
    cause.downcast_ref::<Error>().map(Error::report)
}

/// Returns whether the folder holds a store of this chain.
///
/// # Errors
/// If the folder cannot be read.
pub fn is_store(folder: &Path) -> Result<bool> {
    Ok(blockmill_bitcoin::data_folder::holds_bitcoin(folder)?)
}

/// Returns whether the folder is a datadir of Bitcoin Core.
pub fn is_datadir(folder: &Path) -> bool {
    blockmill_bitcoin::inspect::is_datadir(folder).unwrap_or(false)
}
