//! Where the time of a run went while it went: the busy time of each stage in slices of the run.
//!
//! However long a run is, it has at most [`SLICES`] slices: when they do not suffice, two become
//! one.

use std::time::Duration;

/// Most slices.
const SLICES: usize = 256;
/// How long a slice is at first.
const FIRST: Duration = Duration::from_millis(1);

/// Busy time of stages in slices of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    names: Vec<&'static str>,
    width_s: f64,
    /// Seconds, one list for each slice, in the order of the names.
    slices: Vec<Vec<f64>>,
}

impl Timeline {
    /// An empty one.
    pub fn new(names: Vec<&'static str>) -> Self {
        Self { names, width_s: FIRST.as_secs_f64(), slices: vec![] }
    }

    /// The stages.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// How long a slice is, in seconds.
    pub fn width_s(&self) -> f64 {
        self.width_s
    }

    /// Busy time of all threads in each slice, in seconds.
    pub fn busy_s(&self, stage: usize) -> impl Iterator<Item = f64> + '_ {
        self.slices.iter().map(move |slice| slice.get(stage).copied().unwrap_or(0.0))
    }

    /// How many slices there are.
    pub fn len(&self) -> usize {
        self.slices.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// A thread was in `stage` from `start` to `end`, counted from the start of the run.
    pub fn add(&mut self, stage: usize, start: Duration, end: Duration) {
        let (mut from, end) = (start.as_secs_f64(), end.as_secs_f64());
        while end >= self.width_s * SLICES as f64 {
            self.halve();
        }
        while from < end {
            let slice = (from / self.width_s) as usize;
            // the next slice, also where rounding would have it begin at `from`
            let until = ((slice + 1) as f64 * self.width_s).min(end);
            if slice >= self.slices.len() {
                self.slices.resize(slice + 1, vec![0.0; self.names.len()]);
            }
            if let Some(busy) = self.slices[slice].get_mut(stage) {
                *busy += until - from;
            }
            if until <= from {
                break;
            }
            from = until;
        }
    }

    /// Two slices become one.
    fn halve(&mut self) {
        self.width_s *= 2.0;
        let pair = |pair: &[Vec<f64>]| {
            let mut sum = pair[0].clone();
            let second = pair.get(1).into_iter().flatten();
            sum.iter_mut().zip(second).for_each(|(sum, more)| *sum += more);
            sum
        };
        self.slices = self.slices.chunks(2).map(pair).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn sum(timeline: &Timeline, stage: usize) -> f64 {
        timeline.busy_s(stage).sum()
    }

    #[test]
    fn time_is_spread_over_the_slices_that_it_covers() {
        let mut timeline = Timeline::new(vec!["read", "check"]);
        timeline.add(0, Duration::from_micros(500), Duration::from_micros(2_500));
        timeline.add(1, ms(2), ms(3));
        timeline.add(1, ms(2), ms(3));
        let busy = |stage| timeline.busy_s(stage).map(|s| (s * 1e6).round()).collect::<Vec<_>>();
        assert_eq!((busy(0), busy(1)), (vec![500.0, 1000.0, 500.0], vec![0.0, 0.0, 2000.0]));
    }

    #[test]
    fn long_runs_have_wide_slices_and_lose_nothing() {
        let mut timeline = Timeline::new(vec!["read", "check"]);
        let mut expected = [0.0; 2];
        for at in 0..100_000u64 {
            let stage = (at % 2) as usize;
            timeline.add(stage, ms(7 * at), ms(7 * at + 5));
            expected[stage] += 0.005;
        }
        assert!(timeline.len() <= SLICES && timeline.len() > SLICES / 2, "{}", timeline.len());
        assert!(timeline.width_s() > 2.0 && timeline.width_s() < 6.0);
        for (stage, expected) in expected.into_iter().enumerate() {
            assert!((sum(&timeline, stage) / expected - 1.0).abs() < 1e-6);
        }
        let most = timeline.busy_s(0).fold(0.0, f64::max);
        assert!(most <= timeline.width_s());
    }

    #[test]
    fn nothing_that_takes_no_time_is_a_slice() {
        let mut timeline = Timeline::new(vec!["read"]);
        timeline.add(0, ms(5), ms(5));
        assert!(timeline.is_empty());
    }
}
