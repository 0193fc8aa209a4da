//! Which comparisons the pages of results show.

use super::question::Question;
use crate::comparison::{AGAIN, BASELINE};
use crate::definition::Definition;
use crate::findings::Comparison;
use crate::report::comparison::{headline, is_peer, swept};
use crate::report::fact::exponent;
use crate::report::gain::Gain;
use crate::session::Session;
use blockmill_report::format::times;
use std::collections::HashSet;

/// Names that steps of ladders had in older records, and the names that they have now.
const FORMER_STEPS: [(&str, &str); 36] = [
    ("master", "go-ethereum before PR 21471"),
    ("21471", "batch writes (PR 21471)"),
    ("mod1", "no lookup of known headers (mod1)"),
    ("mod2", "linkage checked once (mod2)"),
    ("mod3", "stop polled per chunk (mod3)"),
    ("mod4", "clock read per chunk (mod4)"),
    ("mod5", "256-bit difficulties (mod5)"),
    ("master", "Core before PR 16981"),
    ("16981", "header first (PR 16981)"),
    ("16981-8M", "8 MB look-back (PR 16981)"),
    ("16981-32M", "32 MB look-back (PR 16981)"),
    ("16981-640M", "640 MB look-back (PR 16981)"),
    ("headers", "headers linked after reading"),
    ("frames", "positioned reads of headers"),
    ("plain", "no optimisations"),
    ("one by one", "no optimisations"),
    ("lanes", "signatures and hashes in lanes"),
    ("lanes", "signatures in lanes"),
    ("chunk batches", "senders of a chunk together"),
    ("arena", "arena tries"),
    ("keccak", "own Keccak in the EVM"),
    ("journal", "journal per block"),
    ("overlapped", "overlapped stages"),
    ("roots apart", "pipelined roots"),
    ("senders ahead", "senders recovered ahead"),
    ("hashes together", "EVM hashes in lanes"),
    ("keys kept", "public key tables"),
    ("two tasks", "two tasks (neo-go 49be753850)"),
    ("roots behind", "state roots of many blocks"),
    ("flushed behind", "overlapped flush"),
    ("verified alone", "verification only"),
    ("no look-up of headers (mod1)", "no lookup of known headers (mod1)"),
    ("stop asked per chunk (mod3)", "stop polled per chunk (mod3)"),
    ("bodies left to pass 2", "headers linked after reading"),
    ("only frames and headers read", "positioned reads of headers"),
    ("all turned back", "all at the plainest value"),
];

/// A comparison that a page shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub question: Question,
    pub session: &'a Session,
    pub comparison: &'a Comparison,
}

/// The result of a comparison in a row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Headline {
    /// A sentence without its full stop.
    pub text: String,
    /// The ratio or the exponent.
    pub figure: String,
    /// Its interval of 95 %.
    pub interval: String,
    /// The ratio; `None` if the result is an exponent.
    pub gain: Option<Gain>,
}

impl Shown<'_> {
    /// The result; `None` if it has no interval.
    pub fn headline(&self) -> Option<Headline> {
        let comparison = self.comparison;
        if self.question == Question::Scaling && comparison.experiment == "sweep threads" {
            return scaling(comparison);
        }
        let headline = headline(comparison);
        if let Some(found) = headline.found {
            return of_gain(headline.text, found);
        }
        // three points are the fewest with an error of their exponent
        let growth = comparison.growth(None, comparison.figure())?;
        (growth.error > 0.0).then(|| Headline {
            text: headline.text,
            figure: format!("^{:.2}", growth.exponent),
            interval: exponent(&growth),
            gain: None,
        })
    }
}

fn of_gain(text: String, found: Gain) -> Option<Headline> {
    let interval = found.interval()?;
    Some(Headline { text, figure: times(found.at_least_1().0), interval, gain: Some(found) })
}

/// The fastest number of threads compared with one thread.
fn scaling(comparison: &Comparison) -> Option<Headline> {
    let figure = comparison.figure();
    let value = |at: usize| swept(comparison, at)?.parse::<u32>().ok();
    let ours = |at: &usize| *at != AGAIN && !is_peer(comparison, *at);
    let all: Vec<usize> = (BASELINE..comparison.variants.len()).filter(ours).collect();
    let one = all.iter().copied().find(|at| value(*at) == Some(1))?;
    let found = all.into_iter().filter(|at| *at != one).filter_map(|at| {
        let gain = Gain::of(comparison, at, one, figure)?;
        Some((gain, value(at)?))
    });
    let (gain, threads) = found.max_by(|a, b| a.0.gain.total_cmp(&b.0.gain))?;
    of_gain(format!("{threads} threads are {} as one", gain.words()), gain)
}

/// The comparisons that have a result with an interval: of each definition, experiment and case the
/// newest; of sweeps over threads the one with the most cores.
pub(super) fn select(sessions: &[Session]) -> Vec<Shown<'_>> {
    let mut all: Vec<Shown<'_>> = vec![];
    for session in sessions {
        all.extend(session.comparisons.iter().filter_map(|comparison| {
            let question = Question::of(comparison, &session.machine)?;
            Some(Shown { question, session, comparison })
        }));
    }
    let newest = |one: &Shown<'_>| one.session.started_unix;
    let cores = |one: &Shown<'_>| match one.question {
        Question::Scaling => one.session.machine.cores,
        _ => 0,
    };
    all.sort_by(|a, b| cores(b).cmp(&cores(a)).then(newest(b).total_cmp(&newest(a))));
    let mut seen = HashSet::new();
    all.retain(|one| {
        let comparison = one.comparison;
        let key = (&comparison.definition, &comparison.experiment, &comparison.case);
        let key = (one.question.file(), key);
        !seen.contains(&key) && one.headline().is_some() && seen.insert(key)
    });
    all.sort_by_key(|one| {
        let comparison = one.comparison;
        let rank =
            ["peers", "ladder", "ablation"].iter().position(|name| *name == comparison.experiment);
        (rank.unwrap_or(3), &comparison.definition, &comparison.case)
    });
    all
}

/// Gives titles and steps of ladders the names that their definitions have now.
pub(super) fn rename(sessions: &mut [Session], definitions: &[Definition]) {
    for comparison in sessions.iter_mut().flat_map(|session| &mut session.comparisons) {
        let known = definitions.iter().find(|known| known.name == comparison.definition);
        if let Some(known) = known {
            comparison.title.clone_from(&known.title);
            if comparison.reference.is_some() {
                comparison.reference.clone_from(&known.reference);
            }
        }
        for variant in &mut comparison.variants {
            let step = |name: &str| known?.ladder.iter().find(move |step| step.name == name);
            let mut now = FORMER_STEPS.iter().filter(|(former, _)| *former == variant.label);
            let first = now.clone().next();
            if let Some((_, now)) = now.find(|(_, now)| step(now).is_some()).or(first) {
                variant.label = (*now).to_owned();
            }
            if let Some(step) = step(&variant.label) {
                variant.about.clone_from(&step.about);
            }
        }
    }
}
