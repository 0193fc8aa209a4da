//! Merges shard summaries one by one. It keeps what a run keeps of its blocks, and files and
//! shortfalls of each shard, so any number of shards needs little memory.

use super::merge::{MergeError, Merged};
use super::summary::{Asked, Counts, ShardFault, ShardSummary, Source};
use crate::error::Error;
use crate::fault::Fault;
use crate::import::{Options, Run, checks};
use crate::link::Link;
use crate::link::merge::Broken;
use crate::record;
use crate::resume::Beginning;
use crate::verify::Checks;
use blockmill_archive::Want;
use blockmill_verdict::Shortfall;
use std::collections::HashSet;
use std::path::PathBuf;

/// Merges shards one by one, in the order of their blocks.
pub struct Merger<'a> {
    options: &'a Options,
    checks: Checks<'a>,
    asked: AskedText,
    /// `None` before the first shard, which determines the start of the chain.
    link: Option<Link>,
    run: Run,
    lacking: HashSet<Shortfall>,
    noted: HashSet<String>,
    /// The last file so far.
    before: Option<PathBuf>,
    format: String,
    sources: Vec<Source>,
    stated: Vec<Option<(u64, Option<u64>)>>,
    broken: Option<Stop>,
}

/// Why a merge stopped.
struct Stop {
    fault: Box<Fault>,
    /// The shard to verify again, if the fault may be anywhere in it.
    again: Option<usize>,
}

impl<'a> Merger<'a> {
    /// A merge without shards. `options` must have the chain, level, seals and trusted hashes of
    /// the shards.
    #[must_use]
    pub fn new(options: &'a Options) -> Self {
        Self {
            options,
            checks: checks(options, Want::default()),
            asked: AskedText::of(super::SCHEMA, &Asked::of(options)),
            link: None,
            run: Run::default(),
            lacking: HashSet::new(),
            noted: HashSet::new(),
            before: None,
            format: String::new(),
            sources: vec![],
            stated: vec![],
            broken: None,
        }
    }

    /// Links the next shard to the earlier ones. Of shards after a fault, only shortfalls are
    /// added.
    ///
    /// # Errors
    /// Returns [`MergeError::Asked`] if it was verified with other settings, and
    /// [`MergeError::Inconsistent`] if its fields contradict each other.
    pub fn add(&mut self, shard: &ShardSummary) -> Result<(), MergeError> {
        self.asked.same_as(&AskedText::of(shard.schema, &shard.asked))?;
        shard.expect_consistent().map_err(|field| {
            let file = shard.sources.first().map(|source| source.path.clone()).unwrap_or_default();
            MergeError::Inconsistent { file, field }
        })?;
        let options = self.options;
        let mut link = self.link.take().unwrap_or_else(|| {
            self.format.clone_from(&shard.format);
            let beginning = match shard.starts_at() {
                Some(1) => Beginning::after_genesis(options).unwrap_or_default(),
                _ => Beginning::default(),
            };
            Link::new(beginning, options.trust.iter().copied().collect())
        });
        self.add_survey(shard);
        if self.broken.is_none() {
            self.run.add_counts(shard);
            let again = self.stated.len();
            match link.merge(&self.checks, self.before.as_deref(), shard) {
                Ok(()) if shard.blocks > 0 => {
                    let path = shard.sources.last().map(|source| source.path.clone());
                    self.before = Some(path.unwrap_or_default());
                }
                Ok(()) => {}
                Err(Broken::Fault(fault)) => self.broken = Some(Stop { fault, again: None }),
                Err(Broken::Within(fault)) => {
                    self.broken = Some(Stop { fault, again: Some(again) });
                }
            }
        }
        self.stated.push(shard.stated);
        self.link = Some(link);
        Ok(())
    }

    /// Returns the verdict.
    ///
    /// # Errors
    /// Returns [`MergeError::None`] if there were no shards.
    pub fn finish(self) -> Result<Merged, MergeError> {
        let Self { options, mut run, sources, stated, format, broken, .. } = self;
        let link = self.link.ok_or(MergeError::None)?;
        let again = broken.as_ref().and_then(|stop| stop.again);
        let (outcome, fault) = match broken {
            Some(Stop { fault, .. }) => {
                let at = link.passed.fault_at.unwrap_or(link.passed.seen);
                let found = ShardFault::new(at, &fault);
                (Err(Error::Fault(fault)), Some(found))
            }
            None => (Ok(()), None),
        };
        run.surveyed = run.shortfalls.len();
        run.blocks = link.passed.blocks;
        let (accumulators, unchecked) = (run.accumulators, link.unchecked_ommers);
        let outcome = run.close(link, outcome, options);
        (run.accumulators, run.unchecked_ommers) = (accumulators, unchecked);
        let outcome = run.judge(|number| blocks_from(&stated, number), options, outcome);
        let first = stated.first().copied().flatten();
        let last = stated.last().copied().flatten();
        let summary = ShardSummary {
            sources,
            format,
            stated: first.zip(last).map(|((first, _), (_, last))| (first, last)),
            fault,
            ..ShardSummary::of_run(options, &run)
        };
        let unchecked = record::unchecked(&run, options);
        let (summary, shortfalls) = (summary.with_status(), run.shortfalls);
        Ok(Merged { summary, outcome, shortfalls, unchecked, again })
    }

    /// Adds sources, shortfalls and notes of `shard`; ranges of one folder have the same ones.
    fn add_survey(&mut self, shard: &ShardSummary) {
        for source in &shard.sources {
            if self.sources.last() != Some(source) {
                self.sources.push(source.clone());
            }
        }
        for shortfall in &shard.shortfalls {
            if self.lacking.insert(shortfall.clone()) {
                self.run.shortfalls.push(shortfall.clone());
            }
        }
        for note in &shard.notes {
            if self.noted.insert(note.clone()) {
                self.run.notes.push(note.clone());
            }
        }
    }
}

/// The settings that must be the same for all shards, by name.
struct AskedText([(&'static str, String); 5]);

impl AskedText {
    fn of(schema: u32, asked: &Asked) -> Self {
        let mut trust: Vec<_> = asked.trust.iter().map(|hash| String::from(*hash)).collect();
        trust.sort_unstable();
        let seal = match &asked.seal[..] {
            plain @ ("off" | "all") => plain.to_owned(),
            sample => format!("{sample} with seed {}", asked.seal_seed),
        };
        Self([
            ("schema", schema.to_string()),
            ("chain", format!("{} ({})", asked.chain, String::from(asked.genesis))),
            ("level", asked.level.name().to_owned()),
            ("seals", seal),
            ("trusted hashes", trust.join(", ")),
        ])
    }

    /// Checks that a shard was verified with the settings of the merge.
    fn same_as(&self, shard: &Self) -> Result<(), MergeError> {
        for ((what, expected), (_, found)) in self.0.iter().zip(&shard.0) {
            if expected != found {
                let (expected, found) = (expected.clone(), found.clone());
                return Err(MergeError::Asked { what, expected, found });
            }
        }
        Ok(())
    }
}

/// Number of blocks in the shards that begin at block `number` or later. `None` if one of them does
/// not state it.
fn blocks_from(stated: &[Option<(u64, Option<u64>)>], number: u64) -> Option<u64> {
    let mut blocks = 0;
    for (first, last) in stated.iter().flatten() {
        if *first >= number {
            blocks += last.as_ref()?.saturating_sub(*first).saturating_add(1);
        }
    }
    Some(blocks)
}

impl Run {
    /// Adds the counts of `shard`.
    fn add_counts(&mut self, shard: &ShardSummary) {
        let Counts {
            bytes, seals_checked, seals_left, transactions, senders, accumulators, ..
        } = shard.counts;
        self.bytes += bytes;
        self.seals_checked += seals_checked;
        self.seals_left += seals_left;
        self.transactions += transactions;
        self.senders += senders;
        self.accumulators += accumulators;
    }
}
