//! `unwind` of a store of Neo blocks.

use crate::unwind::Unwound;
use anyhow::{Context, Result};
use blockmill_neo::Level;
use blockmill_neo::ledger::{self, Ledger, unwind_blocks};
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use std::path::Path;

/// Unwinds to block `to`. Returns `None` if it was cancelled.
pub fn unwind(data: &Path, to: u64, cancel: &Cancel) -> Result<Option<Unwound>> {
    let options = blockmill_store::Options::default();
    let context = || format!("cannot open the store {}", data.display());
    let (mut store, _) = ChainStore::open(data, &options).with_context(context)?;
    let done = match store.tip().is_some_and(|tip| tip.level >= Level::Execution as u8) {
        false => Some(unwind_blocks(&mut store, to)?),
        true => {
            drop(store);
            Ledger::open(data, &options).with_context(context)?.unwind(to, cancel)?
        }
    };
    let result = |ledger::Unwound { from, to, with_state }| Unwound { from, to, with_state };
    Ok(done.map(result))
}
