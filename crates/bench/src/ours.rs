//! One import of ours, timed, into a store of its own.

use crate::designs::Earlier;
use anyhow::Result;
use archive::{Archive, ChunkLimit};
use ethereum::commit::Sink;
use ethereum::ethash::Caches;
use ethereum::import::{Options, import};
use ethereum::option_table::Setting;
use ethereum::params::ChainSpec;
use ethereum::seal::SealPolicy;
use ethereum::{Level, record};
use pipeline::Cancel;
use pipeline::record::RunRecord;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::ChainStore;

/// What to import, and how.
pub(crate) struct Import<'a> {
    pub paths: &'a [PathBuf],
    pub spec: ChainSpec,
    pub level: Level,
    pub seal: SealPolicy,
    pub caches: Arc<Caches>,
    pub variants: Setting,
    /// Threads that verify.
    pub threads: usize,
    /// An empty folder for the store.
    pub scratch: &'a Path,
    /// What the run is called in tables.
    pub label: &'a str,
}

/// Imports the archive; the record of the run.
pub(crate) fn once(what: Import<'_>) -> Result<RunRecord> {
    let archive = Archive::open(what.paths)?;
    let options = Options {
        spec: Arc::new(what.spec),
        level: what.level,
        seal: what.seal,
        setting: what.variants,
        threads: what.threads,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        trust: vec![],
        caches: what.caches,
        now: None,
        cancel: Cancel::new(),
    };
    let plan = what.variants.plan();
    let mut sink = match Earlier::is_described_by(&plan) {
        true => Sink::Design(Box::new(Earlier::open(what.scratch, plan)?)),
        false => {
            let (store, _) = ChainStore::open(what.scratch, &store::Options::default())?;
            Sink::Segments(Box::new(store))
        }
    };
    let (run, outcome) = import(&archive, &options, &mut sink, |_| {});
    let record = record::of(&run, &outcome, &archive, &options, program::this(), what.label);
    drop(sink);
    outcome?;
    Ok(record)
}
