//! Boundaries joined in the order of their blocks: the verdict of a single run over all of them.

use super::boundary::{Asked, Boundary, Counts, Source, UnitFault};
use crate::fault::Error;
use crate::import::{Options, Run, checks};
use crate::link::Link;
use crate::link::join::Broken;
use crate::resume::Beginning;
use archive::Want;
use chain::{Shortfall, Status};
use std::fmt;

/// Units that were joined.
#[derive(Debug)]
pub struct Joined {
    /// The boundary of all of them, which can be joined again.
    pub boundary: Boundary,
    /// How a single run over the same blocks would have ended.
    pub outcome: Result<(), Error>,
    /// What the archive lacks: what its units did, and what stopped the run.
    pub shortfalls: Vec<Shortfall>,
    /// The unit, by its index in the order of joining, in which the fault is, where the block that
    /// is named may not be the first one at fault: to be verified again after the units before it.
    pub again: Option<usize>,
}

/// Why boundaries cannot be joined at all.
#[derive(Debug)]
pub enum JoinError {
    /// There are none.
    None,
    /// They were made for different purposes.
    Asked {
        /// What differs.
        what: &'static str,
        /// What the join is asked for.
        expected: String,
        /// What a unit was.
        found: String,
    },
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("expected boundaries to join, found none"),
            Self::Asked { what, expected, found } => {
                write!(f, "units can only be joined that were verified alike: ")?;
                write!(f, "{what}: expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for JoinError {}

/// Joins units, in the order of their first blocks where all of them tell it, else, and where these
/// are equal, in the order in which they are given: that of files. `options` must ask
/// for what the units were asked for; only chain, level, seals and trusted hashes are looked at.
///
/// # Errors
/// There is nothing to join, or what does not belong together. What is wrong with blocks stands in
/// [`Joined::outcome`].
pub fn join(units: &[Boundary], options: &Options) -> Result<Joined, JoinError> {
    units.iter().try_for_each(|unit| expect_alike(unit, options))?;
    let mut order: Vec<&Boundary> = units.iter().collect();
    if order.iter().all(|unit| unit.starts_at().is_some()) {
        order.sort_by_key(|unit| unit.starts_at());
    }
    let beginning = match order.first().ok_or(JoinError::None)?.starts_at() {
        Some(1) => Beginning::behind_genesis(options).unwrap_or_default(),
        _ => Beginning::default(),
    };
    let mut link = Link::new(beginning, options.trust.iter().copied().collect());
    let checks = checks(options, Want::default());
    let mut run = Run::default();
    order.iter().for_each(|unit| run.take_over_survey(unit));
    let (mut outcome, mut again, mut fault) = (Ok(()), None, None);
    let mut before = None;
    for (i, unit) in order.iter().enumerate() {
        run.take_over(unit);
        let Err(broken) = link.join(&checks, before, unit) else {
            before = Some(*unit).filter(|unit| unit.blocks > 0).or(before);
            continue;
        };
        let found = match broken {
            Broken::Fault(found) => found,
            Broken::Within(found) => {
                again = Some(i);
                found
            }
        };
        fault = Some(UnitFault::new(link.passed.fault_at.unwrap_or(link.passed.seen), &found));
        outcome = Err(Error::Fault(found));
        break;
    }
    run.blocks = link.passed.blocks;
    let (accumulators, unchecked) = (run.accumulators, link.unchecked_ommers);
    let outcome = run.close(link, outcome, options);
    (run.accumulators, run.unchecked_ommers) = (accumulators, unchecked);
    let behind = |number| blocks_from(&order, number);
    let outcome = run.judge(behind, options, outcome);
    let boundary = Boundary {
        sources: sources(&order),
        format: order.first().map_or(String::new(), |unit| unit.format.clone()),
        stated: stated(&order),
        fault,
        ..Boundary::of_run(options, &run)
    };
    Ok(Joined { boundary: boundary.with_status(), outcome, shortfalls: run.shortfalls, again })
}

impl Joined {
    /// The verdict in one word.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.outcome {
            Err(error) => error.status(),
            Ok(()) if !self.shortfalls.is_empty() => Status::Partial,
            Ok(()) => Status::Verified,
        }
    }
}

/// Was the unit verified as the join is asked to?
fn expect_alike(unit: &Boundary, options: &Options) -> Result<(), JoinError> {
    let (asked, own) = (&unit.asked, Asked::of(options));
    let chain = |asked: &Asked| format!("{} ({})", asked.chain, String::from(asked.genesis));
    let trust = |asked: &Asked| {
        let mut hashes: Vec<_> = asked.trust.iter().map(|hash| String::from(*hash)).collect();
        hashes.sort_unstable();
        hashes.join(", ")
    };
    let seal = |asked: &Asked| match &asked.seal[..] {
        plain @ ("off" | "all") => plain.to_owned(),
        sample => format!("{sample} with seed {}", asked.seal_seed),
    };
    let level = |asked: &Asked| asked.level.name().to_owned();
    let schema = |schema: u32| schema.to_string();
    let pairs = [
        ("schema", schema(super::SCHEMA), schema(unit.schema)),
        ("chain", chain(&own), chain(asked)),
        ("level", level(&own), level(asked)),
        ("seals", seal(&own), seal(asked)),
        ("trusted hashes", trust(&own), trust(asked)),
    ];
    let differs = pairs.into_iter().find(|(_, expected, found)| expected != found);
    differs
        .map_or(Ok(()), |(what, expected, found)| Err(JoinError::Asked { what, expected, found }))
}

/// How many blocks the units state that begin with block `number` or a later one; none where one
/// of them does not say.
fn blocks_from(units: &[&Boundary], number: u64) -> Option<u64> {
    let mut blocks = 0;
    for (first, last) in units.iter().filter_map(|unit| unit.stated) {
        if first >= number {
            blocks += last?.saturating_sub(first).saturating_add(1);
        }
    }
    Some(blocks)
}

/// The files of all units, each once.
fn sources(units: &[&Boundary]) -> Vec<Source> {
    let mut sources: Vec<Source> = vec![];
    for source in units.iter().flat_map(|unit| &unit.sources) {
        if sources.last() != Some(source) {
            sources.push(source.clone());
        }
    }
    sources
}

/// First and last block of all units, as the files state them.
fn stated(units: &[&Boundary]) -> Option<(u64, Option<u64>)> {
    let (first, _) = units.first()?.stated?;
    let (_, last) = units.last()?.stated?;
    Some((first, last))
}

impl Run {
    /// Adds what the files of `unit` lack and say of themselves; of ranges of one folder it is the
    /// same.
    fn take_over_survey(&mut self, unit: &Boundary) {
        for shortfall in &unit.shortfalls {
            if !self.shortfalls.contains(shortfall) {
                self.shortfalls.push(shortfall.clone());
            }
        }
        self.surveyed = self.shortfalls.len();
        for note in &unit.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

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
