//! A finding in words: which variant is better, by how much, and with which interval.

use crate::findings::{Comparison, Verdict};
use crate::report::fact::{Unit, is_speed, words};
use crate::statistics::Bounds;
use blockmill_report::format::{number, percent, percent_of_noise, times};

/// The ratio of a fact of two variants, inverted if needed so that more than 1 is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gain {
    /// How many times better the first one is.
    pub gain: f64,
    /// Between what the true ratio is, with its confidence; `None` of one pair.
    pub bounds: Option<Bounds>,
    /// Number of pairs.
    pub pairs: usize,
    /// By which share the baseline differs from itself.
    pub noise: f64,
    /// The verdict.
    pub outcome: Outcome,
    /// The two variants.
    pub of: (usize, usize),
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

/// The confidence of an interval that a verdict may rest on.
const SURE: f64 = 0.95;

impl Gain {
    /// Compares variant `one` with the `other`; `None` if one of them lacks the fact.
    pub fn of(comparison: &Comparison, one: usize, other: usize, figure: &str) -> Option<Self> {
        let finding = comparison.finding(one, other, figure)?;
        let (more, estimate) = (Unit::of(figure).more_is_better(), finding.estimate);
        let (gain, bounds) = match (more, estimate.bounds()) {
            (true, bounds) => (estimate.ratio, bounds),
            (false, bounds) => (1.0 / estimate.ratio, bounds.map(inverse)),
        };
        let outcome = match finding.verdict() {
            Verdict::Same => Outcome::Same,
            Verdict::Unknown => Outcome::Unknown,
            Verdict::More if more => Outcome::Better,
            Verdict::Less if !more => Outcome::Better,
            Verdict::More | Verdict::Less => Outcome::Worse,
        };
        let (pairs, noise) = (estimate.pairs, finding.noise);
        let (of, is_speed) = ((one, other), is_speed(figure));
        Some(Self { gain, bounds, pairs, noise, outcome, of, is_speed })
    }

    /// The ratio or its inverse, whichever is at least 1, with its bounds.
    pub fn at_least_1(&self) -> (f64, Option<Bounds>) {
        match self.gain < 1.0 {
            true => (1.0 / self.gain, self.bounds.map(inverse)),
            false => (self.gain, self.bounds),
        }
    }

    /// The ends of the interval of 95 %, of the gain as it is; `None` of too few pairs.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.bounds.filter(|all| all.confidence >= SURE).map(|all| (all.low, all.high))
    }

    /// `1.31 times as fast`, `1.25 times as long`, `1.20 times less`; of too few pairs for an
    /// interval of 95 % their range, and of one pair that there is none.
    pub fn words(&self) -> String {
        match (self.ends(), self.range()) {
            (Some(_), _) => format!("{} {}", times(self.at_least_1().0), self.direction()),
            (None, Some(range)) => format!("{range} {}", self.direction()),
            (None, None) => "one pair".to_owned(),
        }
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
        let (ratio, bounds) = self.at_least_1();
        match bounds.filter(|_| self.ends().is_some()) {
            Some(Bounds { low, high, .. }) => {
                let interval = format!("{}..{}", digits(low), digits(high));
                (format!("{} {}", digits(ratio), self.direction()), Some(interval))
            }
            None => (self.words(), None),
        }
    }

    /// `1.28..1.35`; none when there are too few pairs for an interval of 95 %.
    pub fn interval(&self) -> Option<String> {
        self.range().filter(|_| self.ends().is_some())
    }

    /// `1.28..1.35`, whatever its confidence; none of one pair.
    fn range(&self) -> Option<String> {
        let Bounds { low, high, .. } = self.at_least_1().1?;
        Some(format!("{}..{}", times(low), times(high)))
    }

    /// The interval and the number of pairs; of too few pairs the confidence of their range.
    pub fn sure(&self) -> String {
        let pairs = blockmill_report::format::counted(self.pairs as u64, "pair");
        match (self.interval(), self.bounds) {
            (Some(interval), _) => format!("{interval}, {pairs}"),
            (None, Some(bounds)) => {
                format!("{} interval, {pairs}", percent(bounds.confidence))
            }
            (None, None) => format!("{pairs}: no interval"),
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
                let compared = format!("{one} compared with {other}: {said}");
                match (self.ends(), self.bounds) {
                    (Some(_), _) => format!("{compared}, but the noise is not known"),
                    (None, Some(_)) => {
                        format!("{compared} in {} pairs, too few for a verdict", self.pairs)
                    }
                    (None, None) => format!("{compared} is too few for a ratio"),
                }
            }
            (_, true) if self.gain >= 1.0 => format!("{one} is {said} as {other}"),
            (_, true) => format!("{one} takes {said} as {other}"),
            (_, false) if self.gain >= 1.0 => format!("{one} has {said} {what} than {other}"),
            (_, false) => format!("{one} has {said} {what} as {other}"),
        }
    }
}

/// The bounds of the inverse.
fn inverse(Bounds { low, high, confidence }: Bounds) -> Bounds {
    Bounds { low: 1.0 / high, high: 1.0 / low, confidence }
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
        assert_eq!(found.sure(), "50 % interval, 2 pairs");
        let text = found.sentence("new", "old", "wall_s");
        assert_eq!(
            text,
            "new compared with old: 1.00..1.00 times as long in 2 pairs, too few for a verdict"
        );
        comparison.runs.retain(|run| run.variant != 2);
        comparison.runs.truncate(3);
        assert_eq!(Gain::of(&comparison, 2, 0, "wall_s"), None);
    }
}
