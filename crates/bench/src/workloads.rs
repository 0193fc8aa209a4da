//! What can be measured: workloads, one file each. A definition says which one it is and
//! gives it settings; everything else, from the order of the runs to the page, is the same for all.

mod benchmark_tests;
mod data;
mod evm;
mod export;
mod import;
mod public_tests;
mod remote;
pub mod rlp;
mod signatures;
mod snapshot;
mod store;
mod witnesses;

use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::Job;
use anyhow::{Context, Result};
use blockmill_pipeline::record::RunRecord;
use std::path::{Path, PathBuf};

/// Something that can be measured.
pub trait Workload: Sync {
    /// Its name in definitions.
    fn name(&self) -> &'static str;

    /// Is there such a case? Not every combination of a matrix is one.
    ///
    /// # Errors
    /// When a setting is missing or wrong.
    fn fits(&self, _settings: &Settings) -> Result<bool> {
        Ok(true)
    }

    /// The options of what `settings` describe, on this machine.
    ///
    /// # Errors
    /// When a setting is missing or wrong.
    fn options(&self, settings: &Settings) -> Result<Vec<OptionValues>>;

    /// Makes sure that the data is there, in `folder`, and adds to the settings where it is and
    /// what else runs and peers have to know.
    ///
    /// # Errors
    /// When it cannot be made.
    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()>;

    /// Measures once, in this process.
    ///
    /// # Errors
    /// When it fails.
    fn measure(&self, job: &Job) -> Result<RunRecord>;

    /// What a run reads: dropped from the page cache before a cold run.
    fn inputs(&self, _settings: &Settings) -> Vec<PathBuf> {
        vec![]
    }
}

/// All workloads.
const WORKLOADS: &[&dyn Workload] = &[
    &benchmark_tests::BenchmarkTests,
    &evm::Evm,
    &export::Export,
    &import::Import,
    &public_tests::PublicTests,
    &remote::Remote,
    &rlp::Rlp,
    &signatures::Signing,
    &snapshot::Snapshots,
    &store::Tables,
    &witnesses::Witnesses,
];

/// The workload of this name.
///
/// # Errors
/// When there is none.
pub fn by_name(name: &str) -> Result<&'static dyn Workload> {
    let found = WORKLOADS.iter().find(|workload| workload.name() == name);
    let names = || WORKLOADS.iter().map(|workload| workload.name()).collect::<Vec<_>>().join(", ");
    found.copied().with_context(|| format!("measures = '{name}'; available: {}", names()))
}
