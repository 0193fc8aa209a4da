//! Imports of archives, whole runs from file to store, of any chain.

mod bitcoin;
pub(super) mod ethereum;
mod neo;

use super::Workload;
use crate::baselines::{BaselineOption, bitcoin_index};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use anyhow::{Result, bail};
use blockmill_pipeline::options::{Description, OptionSet};
use blockmill_pipeline::record::RunRecord;
use std::path::{Path, PathBuf};

/// Where the archive is: paths, separated by commas.
pub(crate) const PATHS: &str = "paths";

/// Imports.
pub struct Import;

impl Workload for Import {
    fn name(&self) -> &'static str {
        "import"
    }

    fn options(&self, settings: &Settings) -> Result<Vec<OptionValues>> {
        Ok(match chain(settings)? {
            Chain::Ethereum => ethereum::options(settings)?,
            Chain::Bitcoin => {
                let baselines = bitcoin_index::OPTIONS.iter().map(BaselineOption::values);
                let own = options_of::<blockmill_bitcoin::settings::Settings>(&[]);
                baselines.chain(own).collect()
            }
            Chain::Neo => options_of::<blockmill_neo::settings::Settings>(&[]),
        })
    }

    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        match chain(settings)? {
            Chain::Ethereum => ethereum::prepare(settings, folder, progress),
            Chain::Bitcoin => bitcoin::prepare(settings, folder, progress),
            Chain::Neo => neo::prepare(settings, folder, progress),
        }
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        match chain(&job.settings)? {
            Chain::Ethereum => ethereum::measure(job),
            Chain::Bitcoin => bitcoin::measure(job),
            Chain::Neo => neo::measure(job),
        }
    }

    fn inputs(&self, settings: &Settings) -> Vec<PathBuf> {
        paths(settings).unwrap_or_default()
    }
}

enum Chain {
    Ethereum,
    Bitcoin,
    Neo,
}

fn chain(settings: &Settings) -> Result<Chain> {
    match setting(settings, "chain")? {
        "ethereum" => Ok(Chain::Ethereum),
        "bitcoin" => Ok(Chain::Bitcoin),
        "neo" => Ok(Chain::Neo),
        other => bail!("chain = '{other}'; available: ethereum, bitcoin, neo"),
    }
}

/// The archive.
pub(super) fn paths(settings: &Settings) -> Result<Vec<PathBuf>> {
    Ok(setting(settings, PATHS)?.split(',').map(PathBuf::from).collect())
}

/// The first sentence of a documentation comment, as plain text.
fn first_sentence(lines: &[&str]) -> String {
    let paragraph = lines.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
    let text = paragraph.collect::<Vec<_>>().join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').replace(['`', '[', ']'], "")
}

/// The options of a chain with the values that are available on this machine, and the value that
/// variants have by default: the value in `always` if it names one.
pub(super) fn options_of<S: OptionSet>(always: &[String]) -> Vec<OptionValues> {
    let mut settings = S::default();
    always.iter().for_each(|assignment| drop(settings.set(assignment)));
    let option = |(option, position): (&Description, usize)| OptionValues {
        name: option.name.to_owned(),
        values: option.available().map(|(_, value)| value.name.to_owned()).collect(),
        default: option.values[position].name.to_owned(),
        about: first_sentence(option.documentation),
        said: option.available().map(|(_, value)| first_sentence(value.documentation)).collect(),
    };
    S::OPTIONS.iter().zip(settings.positions()).map(option).collect()
}
