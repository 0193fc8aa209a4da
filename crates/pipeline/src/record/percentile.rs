//! Percentiles of a series of measurements.

use serde::{Deserialize, Serialize};

/// Percentiles by the nearest-rank method: each is a value that was really measured, the smallest
/// one that at least that share of the values does not exceed. All zero for an empty series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// 95 of 100 values are not above this one.
    pub p95: f64,
    /// 99 of 100 values are not above this one.
    pub p99: f64,
    /// The largest value.
    pub max: f64,
}

impl Percentiles {
    /// The percentiles of `values`, which are sorted in place.
    pub fn from_values(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |percent| nearest_rank(values, percent);
        Self { p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

/// The value of rank `ceil(percent / 100 * n)`, counted from 1; in integers, so that 95 % of 20 is
/// the 19th value and not the 20th by a rounding error.
fn nearest_rank(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_exact_ranks_of_one_to_a_hundred_in_any_order() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let found = Percentiles::from_values(&mut values);
        assert_eq!(found, Percentiles { p50: 50.0, p95: 95.0, p99: 99.0, max: 100.0 });
    }

    #[test]
    fn takes_the_nineteenth_of_twenty_as_p95() {
        let mut values: Vec<f64> = (1..=20).map(f64::from).collect();
        let found = Percentiles::from_values(&mut values);
        assert_eq!(found, Percentiles { p50: 10.0, p95: 19.0, p99: 20.0, max: 20.0 });
    }

    #[test]
    fn gives_measured_values_for_short_series() {
        assert_eq!(Percentiles::from_values(&mut []), Percentiles::default());
        let one = Percentiles::from_values(&mut [7.0]);
        assert_eq!(one, Percentiles { p50: 7.0, p95: 7.0, p99: 7.0, max: 7.0 });
        let three = Percentiles::from_values(&mut [3.0, 1.0, 2.0]);
        assert_eq!(three, Percentiles { p50: 2.0, p95: 3.0, p99: 3.0, max: 3.0 });
    }
}
