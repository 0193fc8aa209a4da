//! When a run will end, and how sure that is: what is left, at the speeds of the last minutes.

use serde::Serialize;
use std::collections::VecDeque;

/// Speeds that are remembered: those of two minutes, at two looks a second.
const SPEEDS: usize = 240;
/// Number of samples over which a speed is measured, so that one chunk more or less does not
/// matter.
const LOOKS: usize = 4;

/// Time that is left, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Eta {
    /// At a speed that one in ten was above.
    pub low_s: f64,
    /// At the median speed.
    pub median_s: f64,
    /// At a speed that nine in ten were above.
    pub high_s: f64,
}

/// How far a run had come at each look: seconds, and bytes or blocks.
#[derive(Clone, Debug, Default)]
pub struct Looks(VecDeque<(f64, u64)>);

impl Looks {
    /// One more look.
    pub fn add(&mut self, seconds: f64, done: u64) {
        if self.0.back().is_none_or(|last| seconds > last.0) {
            self.0.push_back((seconds, done));
        }
        if self.0.len() > SPEEDS + LOOKS {
            self.0.pop_front();
        }
    }

    /// How much a second, one speed for each look.
    fn speeds(&self) -> Vec<f64> {
        let pairs = self.0.iter().zip(self.0.iter().skip(LOOKS));
        let speed = |((t0, b0), (t1, b1)): (&(f64, u64), &(f64, u64))| {
            b1.saturating_sub(*b0) as f64 / (t1 - t0)
        };
        let mut speeds: Vec<f64> = pairs.map(speed).collect();
        speeds.sort_unstable_by(f64::total_cmp);
        speeds
    }

    /// How much a second now; none before there were a few looks.
    pub fn speed(&self) -> Option<f64> {
        let (last, before) = (self.0.back()?, self.0.iter().rev().nth(LOOKS)?);
        Some(last.1.saturating_sub(before.1) as f64 / (last.0 - before.0))
    }

    /// The time until this much more is done; `None` as long as it is unknown.
    pub fn eta(&self, left: u64) -> Option<Eta> {
        let speeds = self.speeds();
        let at = |tenth: usize| {
            let speed = *speeds.get(speeds.len() * tenth / 10)?;
            (speed > 0.0).then(|| left as f64 / speed)
        };
        Some(Eta { low_s: at(9)?, median_s: at(5)?, high_s: at(1)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_run_ends_when_it_must_and_an_uneven_one_has_a_spread() {
        let mut looks = Looks::default();
        assert_eq!((looks.eta(1000), looks.speed()), (None, None));
        for at in 0..100u64 {
            looks.add(at as f64 / 2.0, at * 500);
        }
        let eta = looks.eta(10_000).unwrap();
        assert_eq!((eta.low_s, eta.median_s, eta.high_s), (10.0, 10.0, 10.0));
        assert_eq!(looks.speed(), Some(1000.0));
        let mut bytes = 50_000;
        for at in 100..300u64 {
            bytes += if at % 50 < 25 { 100 } else { 900 };
            looks.add(at as f64 / 2.0, bytes);
        }
        let eta = looks.eta(10_000).unwrap();
        assert!(eta.low_s < eta.median_s && eta.median_s < eta.high_s, "{eta:?}");
        assert!(looks.0.len() <= SPEEDS + LOOKS);
    }

    #[test]
    fn a_run_that_stands_still_has_no_end() {
        let mut looks = Looks::default();
        (0..20).for_each(|at| looks.add(f64::from(at), 7));
        assert_eq!((looks.eta(10), looks.speed()), (None, Some(0.0)));
    }
}
