//! What can be said of measured ratios, and how surely.
//!
//! A comparison yields pairs: figures of two variants at nearly the same time. The logarithms of
//! their ratios scatter around the true value, to both sides alike if both are equally
//! exposed to whatever else the machine does. For such numbers the median of all means of two
//! (Hodges and Lehmann 1963) is hardly less precise than the mean and, like the median, indifferent
//! to a few wild runs; the exact distribution of Wilcoxon's signed ranks gives its interval without
//! any assumption of how the numbers scatter.

/// How sure an interval is: the true value lies outside of it once in 20 times.
const MISSED: f64 = 0.05;
/// Fewer pairs bound nothing.
pub const LEAST_PAIRS: usize = 6;
/// Beyond so many pairs the distribution of the signed ranks is normal to all digits that matter.
const EXACT: usize = 60;
/// 97.5 % of a normal distribution lie below so many standard deviations.
const NORMAL: f64 = 1.959_963_985;

/// A ratio and its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median paired ratio.
    pub ratio: f64,
    /// The interval begins here.
    pub low: f64,
    /// It ends here. Fewer than six pairs bound nothing: then it ends at infinity.
    pub high: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// The smallest and the largest ratio of the pairs.
    pub range: (f64, f64),
}

/// Two ends, between which the true ratio is in this share of all cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence: 0.95 for an interval from signed ranks.
    pub confidence: f64,
}

impl Estimate {
    /// Of these ratios, one of each pair; none when there are none.
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let means = means_of_two(&logs);
        let (low, high) = match rank(logs.len()) {
            0 => (0.0, f64::INFINITY),
            rank => (means[rank - 1].exp(), means[means.len() - rank].exp()),
        };
        let ends = |(low, high): (f64, f64), log: &f64| (low.min(log.exp()), high.max(log.exp()));
        let range = logs.iter().fold((f64::INFINITY, 0.0), ends);
        Some(Self { ratio: median_of_sorted(&means).exp(), low, high, pairs: logs.len(), range })
    }

    /// The interval of 95 %. Of too few pairs for one, their range: the median is outside of it if
    /// all pairs are on one side of it, which has a probability of 2 in 2 to the power of the
    /// number of pairs (the sign test). `None` of one pair.
    pub fn bounds(&self) -> Option<Bounds> {
        let Self { low, high, range, pairs, .. } = *self;
        match (low > 0.0 && high.is_finite(), pairs) {
            (true, _) => Some(Bounds { low, high, confidence: 1.0 - MISSED }),
            (false, 0 | 1) => None,
            (false, pairs) => {
                let confidence = 1.0 - 0.5f64.powi(pairs as i32 - 1);
                Some(Bounds { low: range.0, high: range.1, confidence })
            }
        }
    }

    /// Half of the interval's width, as a share of the ratio.
    pub fn half_width(&self) -> f64 {
        ((self.high / self.low).sqrt() - 1.0).abs()
    }

    /// How far from 1 the true ratio may be, as far as is known.
    pub fn reach(&self) -> f64 {
        if self.low <= 0.0 { f64::INFINITY } else { (1.0 / self.low).max(self.high) - 1.0 }
    }

    /// Does it differ from 1, on a machine on which the same program differs from itself by
    /// `noise` (a share)?
    pub fn differs(&self, noise: f64) -> bool {
        let from_one = self.ratio.max(1.0 / self.ratio) - 1.0;
        (self.low > 1.0 || self.high < 1.0) && from_one > noise
    }
}

/// The median; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| median_of_sorted(&values))
}

/// The values below which a quarter and three quarters of `values` are; none of fewer than two
/// values.
pub fn quartiles(values: &[f64]) -> Option<(f64, f64)> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1).filter(|last| *last > 0)?;
    // between two neighbours, by the distance to each
    let at = |share: f64| {
        let place = last as f64 * share;
        let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    Some((at(0.25), at(0.75)))
}

fn median_of_sorted(values: &[f64]) -> f64 {
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// The means of all pairs of numbers and of each with itself, ascending.
fn means_of_two(values: &[f64]) -> Vec<f64> {
    let with_later =
        |(i, a): (usize, &f64)| -> Vec<f64> { values[i..].iter().map(|b| (a + b) / 2.0).collect() };
    let mut means: Vec<f64> = values.iter().enumerate().flat_map(with_later).collect();
    means.sort_unstable_by(f64::total_cmp);
    means
}

/// The place, counted from 1, of the mean of two at which the interval of `n` numbers begins; 0
/// when so few numbers bound nothing.
fn rank(n: usize) -> usize {
    if n > EXACT {
        let n = n as f64;
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        return (mean - NORMAL * variance.sqrt()).floor().max(0.0) as usize;
    }
    // number of subsets of the ranks 1 to n with each sum
    let mut ways = vec![0.0f64; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let allowed = MISSED / 2.0 * (n as f64).exp2();
    let mut below = 0.0;
    let fits = |ways: &&f64| {
        below += **ways;
        below <= allowed
    };
    ways.iter().take_while(fits).count()
}

/// A power law through points: `y` is about `factor` times `x` to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// `y` at an `x` of 1.
    pub factor: f64,
    /// By which power `y` grows.
    pub exponent: f64,
    /// How far the exponent may be off: twice its standard error; 0 of two points.
    pub error: f64,
}

impl Growth {
    /// By least squares of the logarithms; none of fewer than two different, positive `x`.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
        let n = logs.len() as f64;
        let (mean_x, mean_y) =
            (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
        let spread: f64 = logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        let common: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
        let exponent = common / spread;
        if !exponent.is_finite() {
            return None;
        }
        let at_zero = mean_y - exponent * mean_x;
        let left: f64 = logs.iter().map(|p| (p.1 - at_zero - exponent * p.0).powi(2)).sum();
        let error = if n > 2.0 { 2.0 * (left / (n - 2.0) / spread).sqrt() } else { 0.0 };
        Some(Self { factor: at_zero.exp(), exponent, error })
    }

    /// `y` at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.factor * x.powf(self.exponent)
    }
}

#[cfg(test)]
mod tests;
