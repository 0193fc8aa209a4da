//! One run of our program in its own process: its description (a [`Job`]) and its execution.

use crate::definition::Settings;
use crate::workloads::Workload;
use anyhow::{Context, Result};
use blockmill_pipeline::record::{RunRecord, WALL_S};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The setting that lengthens a run by this share with a busy loop. Tests use it to show that a
/// comparison detects a slow-down.
pub const SLOW_DOWN: &str = "slow-down";

/// A run to do, as a file that the process reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The name of the workload.
    pub measures: String,
    /// What the run is called.
    pub label: String,
    /// The settings of the workload.
    pub settings: Settings,
    /// The options in which it differs from the default.
    pub with: Vec<String>,
    /// A folder for what the run writes. What an earlier step of the same run wrote is there.
    pub folder: PathBuf,
    /// Where the record goes.
    pub record: PathBuf,
}

impl Job {
    /// Reads a job.
    ///
    /// # Errors
    /// When there is none in `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Does it, and leaves its record.
    ///
    /// # Errors
    /// When it fails, and when the record cannot be written.
    pub fn run(&self, workload: &dyn Workload) -> Result<()> {
        let mut record = workload.measure(self)?;
        if let Some(share) = self.settings.get(SLOW_DOWN) {
            let share: f64 = share.parse().context(SLOW_DOWN)?;
            let time = Duration::from_secs_f64(record.wall_s()).mul_f64(share);
            slow_down(&mut record, time);
        }
        record.label.clone_from(&self.label);
        record.settings.extend(self.settings.clone());
        Ok(record.write(&self.record)?)
    }

    /// A setting.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn setting(&self, name: &str) -> Result<&str> {
        setting(&self.settings, name)
    }

    /// A setting, parsed.
    ///
    /// # Errors
    /// When there is none of this name, or it is no `T`.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<T>
    where
        T::Err: std::fmt::Display,
    {
        parsed(&self.settings, name)
    }
}

/// The setting of this name.
///
/// # Errors
/// When there is none.
pub fn setting<'a>(settings: &'a Settings, name: &str) -> Result<&'a str> {
    settings
        .get(name)
        .map(String::as_str)
        .with_context(|| format!("the setting '{name}' is missing"))
}

/// The setting of this name, parsed.
///
/// # Errors
/// When there is none, or it is no `T`.
pub fn parsed<T: std::str::FromStr>(settings: &Settings, name: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    let text = setting(settings, name)?;
    text.parse().map_err(|error| anyhow::anyhow!("{name}={text}: {error}"))
}

/// Loops for so long, and counts it.
fn slow_down(record: &mut RunRecord, time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
    let wall_s = record.wall_s() + start.elapsed().as_secs_f64();
    record.facts.set(WALL_S, wall_s);
}
