//! `unwind` of a store of Ethereum blocks.

use crate::unwind::Unwound;
use anyhow::{Context, Result};
use blockmill_ethereum::commit::executed_store::{self, ExecutedStore, Limits};
use blockmill_pipeline::Cancel;
use std::path::Path;

/// Makes block `to` the last one; `None` on a request to stop.
pub fn unwind(data: &Path, to: u64, cancel: &Cancel) -> Result<Option<Unwound>> {
    let options = blockmill_store::Options::default();
    let (mut store, _) = ExecutedStore::open(data, &options, Limits::default())
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let done = store.unwind(to, cancel)?;
    let reported =
        |executed_store::Unwound { from, to, with_state }| Unwound { from, to, with_state };
    Ok(done.map(reported))
}
