//! Boundaries joined one by one. What is kept of a unit is what a run keeps of its blocks, where
//! its files are, and what they lack: any number of units needs little memory.

use super::boundary::{Asked, Boundary, Counts, Source, UnitFault};
use super::join::{JoinError, Joined};
use crate::batch::Checks;
use crate::fault::{Error, Fault};
use crate::import::{Options, Run, checks};
use crate::link::Link;
use crate::link::join::Broken;
use crate::resume::Beginning;
use blockmill_archive::Want;
use blockmill_verdict::Shortfall;
use std::collections::HashSet;
use std::path::PathBuf;

/// A join under way, which takes units one by one, in the order of their blocks.
pub struct Fold<'a> {
    options: &'a Options,
    checks: Checks<'a>,
    asked: AskedText,
    /// None before the first unit, which tells how the chain begins.
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

/// Where a join cannot go on.
struct Stop {
    fault: Box<Fault>,
    /// The unit, where the fault is somewhere within it.
    again: Option<usize>,
}

impl<'a> Fold<'a> {
    /// A join of no units yet. `options` must ask for what the units were asked for; only chain,
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

    /// Ties the next unit to those before it. Units behind a fault only tell what they lack.
    ///
    /// # Errors
    /// It was verified for another purpose, or disagrees with itself.
    pub fn take(&mut self, unit: &Boundary) -> Result<(), JoinError> {
        self.asked.same_as(&AskedText::of(unit.schema, &unit.asked))?;
        unit.expect_consistent().map_err(|field| {
            let file = unit.sources.first().map(|source| source.path.clone()).unwrap_or_default();
            JoinError::Inconsistent { file, field }
        })?;
        let options = self.options;
        let mut link = self.link.take().unwrap_or_else(|| {
            self.format.clone_from(&unit.format);
            let beginning = match unit.starts_at() {
                Some(1) => Beginning::behind_genesis(options).unwrap_or_default(),
                _ => Beginning::default(),
            };
            Link::new(beginning, options.trust.iter().copied().collect())
        });
        self.take_over_survey(unit);
        if self.broken.is_none() {
            self.run.take_over(unit);
            let again = self.stated.len();
            match link.join(&self.checks, self.before.as_deref(), unit) {
                Ok(()) if unit.blocks > 0 => {
                    let path = unit.sources.last().map(|source| source.path.clone());
                    self.before = Some(path.unwrap_or_default());
                }
                Ok(()) => {}
                Err(Broken::Fault(fault)) => self.broken = Some(Stop { fault, again: None }),
                Err(Broken::Within(fault)) => {
                    self.broken = Some(Stop { fault, again: Some(again) });
                }
            }
        }
        self.stated.push(unit.stated);
        self.link = Some(link);
        Ok(())
    }

    /// There are no more units: the verdict.
    ///
    /// # Errors
    /// There were none.
    pub fn finish(self) -> Result<Joined, JoinError> {
        let Self { options, mut run, sources, stated, format, broken, .. } = self;
        let link = self.link.ok_or(JoinError::None)?;
        let again = broken.as_ref().and_then(|stop| stop.again);
        let (outcome, fault) = match broken {
            Some(Stop { fault, .. }) => {
                let at = link.passed.fault_at.unwrap_or(link.passed.seen);
                let told = UnitFault::new(at, &fault);
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
        let boundary = Boundary {
            sources,
            format,
            stated: first.zip(last).map(|((first, _), (_, last))| (first, last)),
            fault,
            ..Boundary::of_run(options, &run)
        };
        Ok(Joined { boundary: boundary.with_status(), outcome, shortfalls: run.shortfalls, again })
    }

    /// Adds what the files of `unit` are, lack and say of themselves; of ranges of one folder it
    /// is the same.
    fn take_over_survey(&mut self, unit: &Boundary) {
        for source in &unit.sources {
            if self.sources.last() != Some(source) {
                self.sources.push(source.clone());
            }
        }
        for shortfall in &unit.shortfalls {
            if self.lacking.insert(shortfall.clone()) {
                self.run.shortfalls.push(shortfall.clone());
            }
        }
        for note in &unit.notes {
            if self.noted.insert(note.clone()) {
                self.run.notes.push(note.clone());
            }
        }
    }
}

/// What must be the same for all units, by name.
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

    /// Was a unit verified as the join is asked to?
    fn same_as(&self, unit: &Self) -> Result<(), JoinError> {
        for ((what, expected), (_, found)) in self.0.iter().zip(&unit.0) {
            if expected != found {
                let (expected, found) = (expected.clone(), found.clone());
                return Err(JoinError::Asked { what, expected, found });
            }
        }
        Ok(())
    }
}

/// How many blocks the units state that begin with block `number` or a later one; none where one
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
    /// Adds what was done for `unit`.
    fn take_over(&mut self, unit: &Boundary) {
        let Counts {
            bytes, seals_checked, seals_left, transactions, senders, accumulators, ..
        } = unit.counts;
        self.bytes += bytes;
        self.seals_checked += seals_checked;
        self.seals_left += seals_left;
        self.transactions += transactions;
        self.senders += senders;
        self.accumulators += accumulators;
    }
}
