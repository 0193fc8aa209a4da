//! Shard summaries merged one by one. What is kept of a shard is what a run keeps of its blocks, where
//! its files are, and what they lack: any number of shards needs little memory.

use super::merge::{MergeError, Merged};
use super::summary::{Asked, Counts, ShardFault, ShardSummary, Source};
use crate::fault::{Error, Fault};
use crate::import::{Options, Run, checks};
use crate::link::Link;
use crate::link::merge::Broken;
use crate::resume::Beginning;
use crate::verify::Checks;
use blockmill_archive::Want;
use blockmill_verdict::Shortfall;
use std::collections::HashSet;
use std::path::PathBuf;

/// A merge under way, which takes shards one by one, in the order of their blocks.
pub struct Merger<'a> {
    options: &'a Options,
    checks: Checks<'a>,
    asked: AskedText,
    /// None before the first shard, which tells how the chain begins.
    link: Option<Link>,
    run: Run,
    lacking: HashSet<Shortfall>,
    noted: HashSet<String>,
    /// The file in which the blocks so far end.
    before: Option<PathBuf>,
    format: String,
    sources: Vec<Source>,
    stated: Vec<Option<(u64, Option<u64>)>>,
    broken: Option<Stop>,
}

/// Where a merge cannot go on.
struct Stop {
    fault: Box<Fault>,
    /// The shard, where the fault is somewhere within it.
    again: Option<usize>,
}

impl<'a> Merger<'a> {
    /// A merge of no shards yet. `options` must ask for what the shards were asked for; only chain,
    /// level, seals and trusted hashes are looked at.
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

    /// Ties the next shard to those before it. Shards behind a fault only tell what they lack.
    ///
    /// # Errors
    /// It was verified for another purpose, or disagrees with itself.
    pub fn take(&mut self, shard: &ShardSummary) -> Result<(), MergeError> {
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
        self.take_over_survey(shard);
        if self.broken.is_none() {
            self.run.take_over(shard);
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

    /// There are no more shards: the verdict.
    ///
    /// # Errors
    /// There were none.
    pub fn finish(self) -> Result<Merged, MergeError> {
        let Self { options, mut run, sources, stated, format, broken, .. } = self;
        let link = self.link.ok_or(MergeError::None)?;
        let again = broken.as_ref().and_then(|stop| stop.again);
        let (outcome, fault) = match broken {
            Some(Stop { fault, .. }) => {
                let at = link.passed.fault_at.unwrap_or(link.passed.seen);
                let told = ShardFault::new(at, &fault);
                (Err(Error::Fault(fault)), Some(told))
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
        Ok(Merged { summary: summary.with_status(), outcome, shortfalls: run.shortfalls, again })
    }

    /// Adds what the files of `shard` are, lack and say of themselves; of ranges of one folder it
    /// is the same.
    fn take_over_survey(&mut self, shard: &ShardSummary) {
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

/// What must be the same for all shards, by name.
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

    /// Was a shard verified as the merge is asked to?
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

/// How many blocks the shards state that begin with block `number` or a later one; none where one
/// of them does not say.
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
    /// Adds what was done for `shard`.
    fn take_over(&mut self, shard: &ShardSummary) {
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
