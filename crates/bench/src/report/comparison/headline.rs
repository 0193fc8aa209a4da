//! A comparison in a sentence: what a reader should know if it is the only thing that is read.

use super::{blocks, is_peer, median, name, swept};
use crate::comparison::{AGAIN, BASELINE};
use crate::experiment::OURS;
use crate::findings::Comparison;
use crate::report::fact::{Unit, exponent, words};
use crate::report::gain::{Gain, Outcome};
use crate::statistics::LEAST_PAIRS;
use blockmill_report::format::{self, percent_of_noise};

/// What was found, and how sure that is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headline {
    /// A sentence without its full stop.
    pub text: String,
    /// Interval, pairs and noise: sentences.
    pub sure: String,
    /// The gain that the sentence is about.
    pub found: Option<Gain>,
}

/// The headline of `comparison`.
pub(crate) fn headline(comparison: &Comparison) -> Headline {
    let (text, found) = match comparison.experiment.as_str() {
        "ladder" => ladder(comparison),
        "ablation" => ablation(comparison),
        "peers" => peers(comparison),
        "revisions" => revisions(comparison),
        experiment if experiment.starts_with("sweep ") => sweep(comparison),
        _ => (alone(comparison), None),
    };
    Headline { sure: sure(comparison, found.as_ref()), text, found }
}

fn gain(comparison: &Comparison, one: usize, other: usize) -> Option<Gain> {
    Gain::of(comparison, one, other, comparison.figure())
}

fn sentence(comparison: &Comparison, found: &Gain, one: usize, other: usize) -> String {
    found.sentence(&name(comparison, one), &name(comparison, other), comparison.figure())
}

fn alone(comparison: &Comparison) -> String {
    let figure = comparison.figure();
    let value = median(comparison, BASELINE, figure);
    let value = value.map_or(format::NONE.to_owned(), |value| Unit::of(figure).show(value));
    format!("{}: {} {value}", name(comparison, BASELINE), words(figure))
}

fn ladder(comparison: &Comparison) -> (String, Option<Gain>) {
    let first = AGAIN + 1;
    let Some(found) = gain(comparison, BASELINE, first) else { return (alone(comparison), None) };
    let mut text = sentence(comparison, &found, BASELINE, first);
    if let Some((_, step, line)) = extreme(comparison, 0, |gain| gain) {
        text += &format!("; the largest step is {}, {}", name(comparison, line), step.words());
    }
    (text, Some(found))
}

fn ablation(comparison: &Comparison) -> (String, Option<Gain>) {
    let lines = blocks(comparison).remove(0).lines;
    let all =
        lines.iter().filter(|line| line.compared.is_some() && !is_plainest(comparison, line.at));
    let all: Vec<_> = all.filter_map(|line| gain(comparison, line.at, BASELINE)).collect();
    let count = |outcome| all.iter().filter(|found| found.outcome == outcome).count();
    let (same, unknown) = (count(Outcome::Same), count(Outcome::Unknown));
    let mut rest = match (same, all.len() - unknown) {
        (_, 0) => return ("Too few pairs to say which options matter".to_owned(), None),
        (0, _) => "every change makes a difference".to_owned(),
        (same, of) if same == of => "no change makes a difference beyond the noise".to_owned(),
        (same, of) => format!("{same} of {of} changes make no difference beyond the noise"),
    };
    if unknown > 0 {
        rest += &format!(" (of {unknown} more there are too few pairs)");
    }
    match extreme(comparison, 0, |gain| 1.0 / gain) {
        Some((worst, _, line)) if worst > 1.0 => {
            // what the default gains, not what the other value costs
            let Some(found) = gain(comparison, BASELINE, line) else { return (rest, None) };
            let (ours, other) =
                (name(comparison, BASELINE), format!("with {}", name(comparison, line)));
            let said = found.sentence(&ours, &other, comparison.figure());
            (format!("{said}, which matters most; {rest}"), Some(found))
        }
        _ => (rest, None),
    }
}

fn is_plainest(comparison: &Comparison, at: usize) -> bool {
    super::plainest(comparison) == Some(at)
}

/// The line of a block whose gain has the largest `size`, among the lines that differ.
fn extreme(
    comparison: &Comparison,
    block: usize,
    size: impl Fn(f64) -> f64,
) -> Option<(f64, Gain, usize)> {
    let lines = blocks(comparison).into_iter().nth(block)?.lines;
    let found = lines.iter().filter(|line| !is_plainest(comparison, line.at)).filter_map(|line| {
        let (one, other) = line.compared?;
        let found = gain(comparison, one, other)?;
        let differs = [Outcome::Better, Outcome::Worse].contains(&found.outcome);
        differs.then(|| (size(found.gain), found, line.at))
    });
    found.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Our program compared with the best peer.
fn peers(comparison: &Comparison) -> (String, Option<Gain>) {
    against_best_peer(comparison, BASELINE).unwrap_or_else(|| (alone(comparison), None))
}

/// `ours` compared with the best of its peers.
fn against_best_peer(comparison: &Comparison, ours: usize) -> Option<(String, Option<Gain>)> {
    let all = comparison.variants.iter().enumerate();
    let all = all.filter(|(_, one)| one.peer.is_some() && one.against == ours);
    let peers: Vec<_> = all.collect();
    let compared = peers.iter().filter_map(|(at, one)| Some((gain(comparison, ours, *at)?, one)));
    let (found, one) = compared.min_by(|a, b| a.0.gain.total_cmp(&b.0.gain))?;
    let peer = one.peer.as_deref().unwrap_or_default();
    let mut text = found.sentence(OURS, peer, comparison.figure());
    if peers.len() > 1 && found.outcome != Outcome::Unknown {
        text += &format!(", the best of {} peers", peers.len());
    }
    Some((text, Some(found)))
}

fn revisions(comparison: &Comparison) -> (String, Option<Gain>) {
    let last = comparison.variants.len().saturating_sub(1);
    match gain(comparison, last, BASELINE).filter(|_| last > AGAIN) {
        Some(found) => (sentence(comparison, &found, last, BASELINE), Some(found)),
        None => (alone(comparison), None),
    }
}

fn sweep(comparison: &Comparison) -> (String, Option<Gain>) {
    let figure = comparison.figure();
    let setting = comparison.experiment.trim_start_matches("sweep ");
    let points = comparison.points(None, figure);
    let value = |at: &usize| swept(comparison, *at).and_then(|value| value.parse().ok());
    let ours =
        (0..comparison.variants.len()).filter(|at| *at != AGAIN && !is_peer(comparison, *at));
    let largest =
        ours.max_by(|a, b| value(a).unwrap_or(0.0f64).total_cmp(&value(b).unwrap_or(0.0)));
    let range = points.first().zip(points.last()).map(|(first, last)| {
        let show = |value: f64| format::number(value, 0);
        format!(", from {} to {}", show(first.0), show(last.0))
    });
    let Some(growth) = comparison.growth(None, figure) else { return (alone(comparison), None) };
    let what = words(figure).replacen("whole run", "The whole run", 1);
    let (exponent, range) = (exponent(&growth), range.unwrap_or_default());
    let text = format!("{what} grows with {setting} to the power of {exponent}{range}");
    match largest.and_then(|at| against_best_peer(comparison, at)) {
        Some((of_peers, found)) => (format!("{text}, where {of_peers}"), found),
        None => (text, None),
    }
}

/// How sure the headline is: sentences.
fn sure(comparison: &Comparison, found: Option<&Gain>) -> String {
    let mut parts = vec![];
    if let Some(found) = found {
        let pairs = format::counted(found.pairs as u64, "pair");
        parts.push(match (found.interval(), found.bounds) {
            (Some(interval), _) => format!("95 % interval {interval} of {pairs} of runs."),
            (None, Some(bounds)) => format!(
                "{pairs} of runs: their range holds the ratio in {} of all cases; \
                 {LEAST_PAIRS} pairs give an interval of 95 %.",
                format::percent(bounds.confidence)
            ),
            (None, None) => format!("{pairs} of runs bounds nothing; {LEAST_PAIRS} do."),
        });
    }
    let noise = comparison.noise(comparison.figure());
    parts.push(match noise.is_finite() {
        true => format!("Noise here and now: {}.", percent_of_noise(noise)),
        false => "The noise is not known: too few pairs of equal runs.".to_owned(),
    });
    if let (disturbed @ 1.., all) = comparison.disturbed() {
        parts.push(format!("Disturbed by others: {disturbed} of {all} runs."));
    }
    parts.join(" ")
}
