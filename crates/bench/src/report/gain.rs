//! A finding in words: which variant is better, by how much, and with which interval.

use crate::findings::{Comparison, Verdict};
use crate::report::fact::{Unit, is_speed, words};
use blockmill_report::format::{number, percent_of_noise, times};

/// The ratio of a fact of two variants, inverted if needed so that more than 1 is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gain {
    /// How many times better the first one is.
    pub gain: f64,
    /// The interval of 95 % begins here.
    pub low: f64,
    /// It ends here.
    pub high: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// By which share the baseline differs from itself.
    pub noise: f64,
    /// The verdict.
    pub outcome: Outcome,
    /// Is it a matter of speed? Otherwise it is one of amount.
    is_speed: bool,
}

/// The verdict about a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Better,
    Worse,
    Same,
    Unknown,
}

impl Gain {
    /// Compares variant `one` with the `other`; `None` if one of them lacks the fact.
    pub fn of(comparison: &Comparison, one: usize, other: usize, figure: &str) -> Option<Self> {
        let finding = comparison.finding(one, other, figure)?;
        let (more, estimate) = (Unit::of(figure).more_is_better(), finding.estimate);
        let (gain, low, high) = match more {
            true => (estimate.ratio, estimate.low, estimate.high),
            false => (1.0 / estimate.ratio, 1.0 / estimate.high, 1.0 / estimate.low),
        };
        let outcome = match finding.verdict() {
            Verdict::Same => Outcome::Same,
            Verdict::Unknown => Outcome::Unknown,
            Verdict::More if more => Outcome::Better,
            Verdict::Less if !more => Outcome::Better,
            Verdict::More | Verdict::Less => Outcome::Worse,
        };
        let (pairs, noise) = (estimate.pairs, finding.noise);
        Some(Self { gain, low, high, pairs, noise, outcome, is_speed: is_speed(figure) })
    }

    /// The ratio or its inverse, whichever is at least 1, with its interval.
    pub fn at_least_1(&self) -> (f64, f64, f64) {
        match self.gain < 1.0 {
            true => (1.0 / self.gain, 1.0 / self.high, 1.0 / self.low),
            false => (self.gain, self.low, self.high),
        }
    }

    /// `1.31 times as fast`, `1.25 times as long`, `1.20 times less`.
    pub fn words(&self) -> String {
        format!("{} {}", times(self.at_least_1().0), self.direction())
    }

    /// The words after the ratio.
    fn direction(&self) -> &'static str {
        match (self.is_speed, self.gain < 1.0) {
            (true, false) => "times as fast",
            (true, true) => "times as long",
            (false, false) => "times less",
            (false, true) => "times as much",
        }
    }

    /// The ratio in words, and its interval, with a third digit after the point: between two
    /// revisions a difference of less than a hundredth counts.
    pub fn precise(&self) -> (String, Option<String>) {
        let digits = |value: f64| number(value, if value < 9.9995 { 3 } else { 1 });
        let (ratio, low, high) = self.at_least_1();
        let interval = self.interval().map(|_| format!("{}..{}", digits(low), digits(high)));
        (format!("{} {}", digits(ratio), self.direction()), interval)
    }

    /// `1.28..1.35`; none when the pairs bound nothing.
    pub fn interval(&self) -> Option<String> {
        let (_, low, high) = self.at_least_1();
        let bound = low > 0.0 && high.is_finite();
        bound.then(|| format!("{}..{}", times(low), times(high)))
    }

    /// The interval and the number of pairs.
    pub fn sure(&self) -> String {
        let pairs = blockmill_report::format::counted(self.pairs as u64, "pair");
        match self.interval() {
            Some(interval) => format!("{interval}, {pairs}"),
            None => format!("{pairs}: no interval"),
        }
    }

    /// The verdict in a word or two.
    pub fn verdict(&self) -> &'static str {
        match (self.outcome, self.is_speed) {
            (Outcome::Better, true) => "faster",
            (Outcome::Worse, true) => "slower",
            (Outcome::Better, false) => "less",
            (Outcome::Worse, false) => "more",
            (Outcome::Same, _) => "no difference",
            (Outcome::Unknown, _) => "too few pairs",
        }
    }

    /// A sentence about `one` and the `other`, without its full stop.
    pub fn sentence(&self, one: &str, other: &str, figure: &str) -> String {
        let (said, what) = (self.words(), words(figure));
        match (self.outcome, self.is_speed) {
            (Outcome::Same, _) => {
                let noise = percent_of_noise(self.noise);
                format!("{one} and {other} do not differ beyond the noise of {noise}")
            }
            (Outcome::Unknown, _) => {
                format!(
                    "{one} compared with {other}: about {said}, but too few pairs for an interval"
                )
            }
            (_, true) if self.gain >= 1.0 => format!("{one} is {said} as {other}"),
            (_, true) => format!("{one} takes {said} as {other}"),
            (_, false) if self.gain >= 1.0 => format!("{one} has {said} {what} than {other}"),
            (_, false) => format!("{one} has {said} {what} as {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn says_the_same_from_both_sides() {
        let comparison = sample::comparison("revisions", &[("old", 1.0), ("new", 0.8)]);
        let of = |one, other| Gain::of(&comparison, one, other, "wall_s").unwrap();
        let (better, worse) = (of(2, 0), of(0, 2));
        assert_eq!(
            (better.words(), worse.words()),
            ("1.25 times as fast".into(), "1.25 times as long".into())
        );
        assert_eq!((better.verdict(), worse.verdict()), ("faster", "slower"));
        assert_eq!(better.interval(), worse.interval());
        assert_eq!(better.sentence("new", "old", "wall_s"), "new is 1.25 times as fast as old");
        assert_eq!(worse.sentence("old", "new", "wall_s"), "old takes 1.25 times as long as new");
        let memory = Gain::of(&comparison, 2, 0, "peak_rss_bytes").unwrap();
        let expected = "new has 1.25 times less peak memory than old";
        assert_eq!(memory.sentence("new", "old", "peak_rss_bytes"), expected);
    }

    #[test]
    fn noise_is_no_difference_and_few_pairs_are_none() {
        let mut comparison = sample::comparison("revisions", &[("old", 1.0), ("new", 1.0005)]);
        let found = Gain::of(&comparison, 2, 0, "wall_s").unwrap();
        assert_eq!(found.outcome, Outcome::Same);
        let text = found.sentence("new", "old", "wall_s");
        assert!(text.starts_with("new and old do not differ beyond the noise of "), "{text}");
        comparison.runs.retain(|run| run.block <= 1);
        let found = Gain::of(&comparison, 2, 0, "wall_s").unwrap();
        assert_eq!((found.verdict(), found.interval()), ("too few pairs", None));
        assert_eq!(found.sure(), "2 pairs: no interval");
    }
}
