//! Where variants run: folders, processes, the page cache, and the load of the machine.

use crate::comparison::Runner;
use crate::definition::Settings;
use crate::experiment::Variant;
use crate::job::Job;
use crate::peers::Ready;
use crate::revisions::Measurer;
use crate::scratch::remove;
use crate::workloads::Workload;
use crate::{cold, process, progress};
use anyhow::{Context, Result, bail};
use blockmill_pipeline::record::{Load, LoadWatch, RunRecord};
use blockmill_pipeline::usage::children_cpu_s;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The setting that says where the pages of files are before a run: [`COLD`] or warm.
pub const PAGE_CACHE: &str = "page-cache";
/// Nothing of what a run reads is in the page cache.
pub const COLD: &str = "cold";

/// One case of a definition, and everything that its variants need.
pub struct CaseRunner<'a> {
    /// What is measured.
    pub workload: &'a dyn Workload,
    /// The variants.
    pub variants: &'a [Variant],
    /// The settings of each of them.
    pub settings: Vec<Settings>,
    /// A setting and its values: a run has one process for each value, in this order. `None` for
    /// runs of one process.
    pub steps: Option<(String, Vec<String>)>,
    /// The programs of revisions, by revision; this one without one.
    pub programs: HashMap<Option<String>, Measurer>,
    /// The peers that were built, by name.
    pub peers: HashMap<String, Ready>,
    /// Folder for what runs write.
    pub folder: PathBuf,
    /// How many runs began.
    pub runs: usize,
    /// What the last pairs were.
    pub passed: String,
    /// When the comparison began.
    pub start: Instant,
    /// Receives a line for each step of progress.
    pub progress: &'a mut dyn FnMut(&str),
}

impl Runner for CaseRunner<'_> {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn run(&mut self, variant: usize) -> Result<RunRecord> {
        let folder = self.folder.join("run");
        remove(&folder)?;
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let label = &self.variants[variant].label;
        self.runs += 1;
        let live = progress::live();
        live.detail(format!("run {}: {label}{}", self.runs, self.passed));
        let record = self.steps_of(variant, &folder).with_context(|| label.clone());
        live.advance(1);
        remove(&folder)?;
        record
    }

    fn progress(&mut self, line: &str) {
        (self.progress)(line);
    }

    fn passed(&mut self, line: &str) {
        self.passed = format!("; before: {line}");
    }
}

impl CaseRunner<'_> {
    /// Runs all steps of a variant. Returns the record of the last step, with the load of the most
    /// disturbed step, and with the facts and answers of each step, prefixed by its name.
    fn steps_of(&self, variant: usize, folder: &Path) -> Result<RunRecord> {
        let settings = &self.settings[variant];
        let Some((name, values)) = &self.steps else {
            return self.step(variant, settings, folder);
        };
        let (mut facts, mut answers, mut last) = (vec![], Settings::new(), None);
        let mut load: Option<Load> = None;
        for value in values {
            let mut settings = settings.clone();
            settings.insert(name.clone(), value.clone());
            let step = self.step(variant, &settings, folder)?;
            let named = |name: &str| format!("{value}.{name}");
            facts.extend(step.facts.iter().map(|(fact, number)| (named(fact), number)));
            answers.extend(step.answer.iter().map(|(name, text)| (named(name), text.clone())));
            let by_share = |a: &Load, b: &Load| a.share().total_cmp(&b.share());
            load = load.into_iter().chain(step.load).max_by(by_share);
            last = Some(step);
        }
        let mut record = last.with_context(|| format!("no step of {name}"))?;
        facts.iter().for_each(|(fact, number)| record.facts.set(fact, *number));
        record.answer.extend(answers);
        record.load = load;
        Ok(record)
    }

    /// One process.
    fn step(&self, variant: usize, settings: &Settings, folder: &Path) -> Result<RunRecord> {
        if settings.get(PAGE_CACHE).is_some_and(|cache| cache == COLD) {
            self.workload.inputs(settings).iter().try_for_each(|path| cold::evict(path))?;
            cold::evict(folder)?;
        }
        let who = &self.variants[variant];
        let (watch, before) = (LoadWatch::begin(), children_cpu_s());
        let mut record = match &who.peer {
            Some(peer) => {
                let ready = self.peers.get(peer).with_context(|| format!("no peer {peer}"))?;
                ready.run(settings, folder)?
            }
            None => self.ours(who, settings, folder)?,
        };
        record.load = watch.and_then(|watch| watch.end(children_cpu_s() - before));
        Ok(record)
    }

    /// A run of our own program, of this or another revision.
    fn ours(&self, who: &Variant, settings: &Settings, folder: &Path) -> Result<RunRecord> {
        let program = self.programs.get(&who.revision);
        let program = program.with_context(|| {
            let revision = who.revision.as_deref().unwrap_or("this program");
            format!("{revision} was not built")
        })?;
        let (path, record) = (self.folder.join("job.json"), self.folder.join("record.json"));
        let job = Job {
            measures: self.workload.name().into(),
            label: who.label.clone(),
            settings: settings.clone(),
            with: who.with.clone(),
            folder: folder.join("store"),
            record: record.clone(),
        };
        remove(&record)?;
        fs::write(&path, serde_json::to_vec(&job)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let ended =
            process::watch(&mut program.job(&path)).context("cannot run the program again")?;
        if !ended.status.success() {
            bail!("{}", ended.stderr.trim());
        }
        RunRecord::read(&record).context("it left no record")
    }
}
