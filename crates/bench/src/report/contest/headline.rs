//! A contest in a sentence: what a reader should know if it is the only thing that is read.

use super::{blocks, is_peer, median, name, swept};
use crate::contest::{AGAIN, BASELINE};
use crate::findings::Contest;
use crate::report::comparison::{Comparison, Outcome};
use crate::report::fact::{Unit, exponent, words};
use crate::shape::OURS;
use blockmill_report::format::{self, percent_of_noise};

/// What was found, and how sure that is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headline {
    /// A sentence without its full stop.
    pub text: String,
    /// Interval, pairs and noise: sentences.
    pub sure: String,
    /// The comparison that the sentence is about.
    pub found: Option<Comparison>,
}

/// The headline of `contest`.
pub(crate) fn headline(contest: &Contest) -> Headline {
    let (text, found) = match contest.shape.as_str() {
        "ladder" => ladder(contest),
        "ablation" => ablation(contest),
        "peers" => peers(contest),
        "revisions" => revisions(contest),
        shape if shape.starts_with("sweep ") => sweep(contest),
        _ => (alone(contest), None),
    };
    Headline { sure: sure(contest, found.as_ref()), text, found }
}

fn of(contest: &Contest, one: usize, other: usize) -> Option<Comparison> {
    Comparison::of(contest, one, other, contest.figure())
}

fn sentence(contest: &Contest, found: &Comparison, one: usize, other: usize) -> String {
    found.sentence(&name(contest, one), &name(contest, other), contest.figure())
}

fn alone(contest: &Contest) -> String {
    let figure = contest.figure();
    let value = median(contest, BASELINE, figure);
    let value = value.map_or(format::NONE.to_owned(), |value| Unit::of(figure).show(value));
    format!("{}: {} {value}", name(contest, BASELINE), words(figure))
}

fn ladder(contest: &Contest) -> (String, Option<Comparison>) {
    let first = AGAIN + 1;
    let Some(found) = of(contest, BASELINE, first) else { return (alone(contest), None) };
    let mut text = sentence(contest, &found, BASELINE, first);
    if let Some((_, step, line)) = extreme(contest, 0, |gain| gain) {
        text += &format!("; the largest step is {}, {}", name(contest, line), step.words());
    }
    (text, Some(found))
}

fn ablation(contest: &Contest) -> (String, Option<Comparison>) {
    let lines = blocks(contest).remove(0).lines;
    let all = lines.iter().filter(|line| line.compared.is_some() && !is_plainest(contest, line.at));
    let all: Vec<_> = all.filter_map(|line| of(contest, line.at, BASELINE)).collect();
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
    match extreme(contest, 0, |gain| 1.0 / gain) {
        Some((worst, _, line)) if worst > 1.0 => {
            // what the default gains, not what the other value costs
            let Some(found) = of(contest, BASELINE, line) else { return (rest, None) };
            let (ours, other) = (name(contest, BASELINE), format!("with {}", name(contest, line)));
            let said = found.sentence(&ours, &other, contest.figure());
            (format!("{said}, which matters most; {rest}"), Some(found))
        }
        _ => (rest, None),
    }
}

fn is_plainest(contest: &Contest, at: usize) -> bool {
    super::plainest(contest) == Some(at)
}

/// The line of a block with the largest `size` of its gain, among those that differ.
fn extreme(
    contest: &Contest,
    block: usize,
    size: impl Fn(f64) -> f64,
) -> Option<(f64, Comparison, usize)> {
    let lines = blocks(contest).into_iter().nth(block)?.lines;
    let found = lines.iter().filter(|line| !is_plainest(contest, line.at)).filter_map(|line| {
        let (one, other) = line.compared?;
        let found = of(contest, one, other)?;
        let differs = [Outcome::Better, Outcome::Worse].contains(&found.outcome);
        differs.then(|| (size(found.gain), found, line.at))
    });
    found.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// We beside the best peer.
fn peers(contest: &Contest) -> (String, Option<Comparison>) {
    beside(contest, BASELINE).unwrap_or_else(|| (alone(contest), None))
}

/// `ours` beside the best of the peers that are compared with it.
fn beside(contest: &Contest, ours: usize) -> Option<(String, Option<Comparison>)> {
    let all = contest.contestants.iter().enumerate();
    let all = all.filter(|(_, one)| one.peer.is_some() && one.against == ours);
    let peers: Vec<_> = all.collect();
    let compared = peers.iter().filter_map(|(at, one)| Some((of(contest, ours, *at)?, one)));
    let (found, one) = compared.min_by(|a, b| a.0.gain.total_cmp(&b.0.gain))?;
    let peer = one.peer.as_deref().unwrap_or_default();
    let mut text = found.sentence(OURS, peer, contest.figure());
    if peers.len() > 1 {
        text += &format!(", the best of {} peers", peers.len());
    }
    Some((text, Some(found)))
}

fn revisions(contest: &Contest) -> (String, Option<Comparison>) {
    let last = contest.contestants.len().saturating_sub(1);
    match of(contest, last, BASELINE).filter(|_| last > AGAIN) {
        Some(found) => (sentence(contest, &found, last, BASELINE), Some(found)),
        None => (alone(contest), None),
    }
}

fn sweep(contest: &Contest) -> (String, Option<Comparison>) {
    let figure = contest.figure();
    let setting = contest.shape.trim_start_matches("sweep ");
    let points = contest.points(None, figure);
    let value = |at: &usize| swept(contest, *at).and_then(|value| value.parse().ok());
    let ours = (0..contest.contestants.len()).filter(|at| *at != AGAIN && !is_peer(contest, *at));
    let largest =
        ours.max_by(|a, b| value(a).unwrap_or(0.0f64).total_cmp(&value(b).unwrap_or(0.0)));
    let range = points.first().zip(points.last()).map(|(first, last)| {
        let show = |value: f64| format::number(value, 0);
        format!(", from {} to {}", show(first.0), show(last.0))
    });
    let Some(growth) = contest.growth(None, figure) else { return (alone(contest), None) };
    let what = words(figure).replacen("whole run", "The whole run", 1);
    let (exponent, range) = (exponent(&growth), range.unwrap_or_default());
    let text = format!("{what} grows with {setting} to the power of {exponent}{range}");
    match largest.and_then(|at| beside(contest, at)) {
        Some((of_peers, found)) => (format!("{text}, where {of_peers}"), found),
        None => (text, None),
    }
}

/// How sure the headline is: sentences.
fn sure(contest: &Contest, found: Option<&Comparison>) -> String {
    let mut parts = vec![];
    if let Some(found) = found {
        let pairs = format::counted(found.pairs as u64, "pair");
        parts.push(match found.interval() {
            Some(interval) => format!("95 % interval {interval} of {pairs} of runs."),
            None => format!("{pairs} of runs, too few for an interval."),
        });
    }
    let noise = contest.noise(contest.figure());
    parts.push(match noise.is_finite() {
        true => format!("Noise here and now: {}.", percent_of_noise(noise)),
        false => "The noise is not known: too few pairs of equal runs.".to_owned(),
    });
    if let (disturbed @ 1.., all) = contest.disturbed() {
        parts.push(format!("Disturbed by others: {disturbed} of {all} runs."));
    }
    parts.join(" ")
}
