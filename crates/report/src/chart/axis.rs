//! Axes: where a value lies between two ends, and which round values are marked.

use crate::format;

/// One axis from `min` to `max`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The value at its beginning.
    pub min: f64,
    /// The value at its end.
    pub max: f64,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Marked values with their texts.
    pub ticks: Vec<(f64, String)>,
    /// Whether the texts are names, and their values only say in which order they are.
    pub named: bool,
}

impl Axis {
    /// A linear axis that begins at zero and ends at a mark at or above `max`.
    pub fn from_zero(max: f64, about: usize) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let step = round_step(max / about as f64);
        let last = (max / step - 1e-9).ceil().max(1.0);
        Self::linear(0.0, last * step, step)
    }

    /// A linear axis over a range of blocks; both ends are kept, since data fills all of it.
    pub fn blocks(first: f64, last: f64, about: usize) -> Self {
        let last = if last > first { last } else { first + 1.0 };
        Self::linear(first, last, round_step((last - first) / about as f64).max(1.0))
    }

    /// A linear axis from the mark at or below `min` to the mark at or above `max`.
    pub fn around(min: f64, max: f64, about: usize) -> Self {
        let known = min.is_finite() && max.is_finite() && min < max;
        let (min, max) = if known { (min, max) } else { (0.0, 1.0) };
        let step = round_step((max - min) / about as f64);
        let (first, last) = ((min / step + 1e-9).floor(), (max / step - 1e-9).ceil());
        Self::linear(first * step, last * step, step)
    }

    /// An axis with `names` in equal distances, at 0, 1, 2 and so on; a name may have two lines.
    pub fn of_names(names: &[String]) -> Self {
        let ticks: Vec<(f64, String)> =
            names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect();
        Self { min: -0.5, max: ticks.len() as f64 - 0.5, log: false, ticks, named: true }
    }

    fn linear(min: f64, max: f64, step: f64) -> Self {
        let decimals = decimals_of(step);
        let (from, to) = ((min / step - 1e-9).ceil(), (max / step + 1e-9).floor());
        let ticks = (0..=(to - from).max(0.0) as usize)
            .map(|at| (from + at as f64) * step)
            .map(|value| (value, format::number(value, decimals)))
            .collect();
        Self { min, max, log: false, ticks, named: false }
    }

    /// A logarithmic axis that covers `min..=max`, which must be above zero.
    pub fn logarithmic(min: f64, max: f64) -> Self {
        let (low, high) = (min.log10().floor() as i32, max.log10().ceil() as i32);
        let decades = (high - low).max(1);
        let marks = (low..=low + decades)
            .flat_map(|decade| [1.0, 2.0, 5.0].map(|step| (decade, step * 10f64.powi(decade))))
            .map(|(decade, value)| (value, format::number(value, (-decade).max(0) as usize)))
            .collect::<Vec<_>>();
        let from = marks.iter().rposition(|(value, _)| *value <= min * 1.000_001).unwrap_or(0);
        let to = marks.iter().position(|(value, _)| *value >= max * 0.999_999);
        let to = to.unwrap_or(marks.len() - 1).max(from + 1).min(marks.len() - 1);
        let (min, max) = (marks[from].0, marks[to].0);
        // Over many decades only the powers of ten are marked; `marks` holds three a decade.
        let every = if to - from > 8 { 3 } else { 1 };
        let kept = (from..=to).filter(|at| at % every == 0);
        let ticks = kept.map(|at| marks[at].clone()).collect();
        Self { min, max, log: true, ticks, named: false }
    }

    /// A logarithmic axis for ratios around 1, with some room at both ends.
    pub fn of_ratios(min: f64, max: f64, about: usize) -> Self {
        let known = |value: f64| if value.is_finite() && value > 0.0 { value } else { 1.0 };
        let (min, max) = (known(min).min(1.0), known(max).max(1.0));
        let room = (max / min).powf(0.06).max(1.004);
        let (min, max) = (min / room, max * room);
        if max / min > 3.0 {
            let ticks = Self::logarithmic(min, max).ticks;
            let inside = ticks.into_iter().filter(|(value, _)| (min..=max).contains(value));
            return Self { min, max, log: true, ticks: inside.collect(), named: false };
        }
        // too near for powers of ten: equal steps, of which 1 is one
        Self { log: true, ..Self::linear(min, max, round_step((max - min) / about as f64)) }
    }

    /// A logarithmic axis on which each of `values`, ascending and above zero, is marked, and
    /// nothing else.
    pub fn of_values(values: &[f64]) -> Option<Self> {
        let (first, last) = (*values.first()?, *values.last()?);
        // a single value is in the middle
        let (min, max) = if first < last { (first, last) } else { (first / 2.0, last * 2.0) };
        let text = |value: f64| format::number(value, if value.fract() == 0.0 { 0 } else { 2 });
        let ticks = values.iter().map(|value| (*value, text(*value))).collect();
        Some(Self { min, max, log: true, ticks, named: false })
    }

    /// The name at `value`; none on an axis of numbers.
    pub fn name(&self, value: f64) -> Option<&str> {
        let tick = self.ticks.iter().filter(|_| self.named).find(|(at, _)| *at == value);
        tick.map(|(_, name)| name.as_str())
    }

    /// Whether `value` is above the end, by more than the error of a sum of times.
    pub fn is_exceeded_by(&self, value: f64) -> bool {
        value > self.max + 1e-6 * self.max.abs()
    }

    /// Where `value` lies: 0 at the lower end, 1 at the upper; values outside lie on the ends.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.min) / self.min).ln() / (self.max / self.min).ln()
        } else {
            (value - self.min) / (self.max - self.min)
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

/// Digits after the point that a multiple of `step` needs: 2 for 0.25.
fn decimals_of(step: f64) -> usize {
    let is_whole = |value: f64| (value - value.round()).abs() < 1e-6 * value;
    (0..9).find(|digits| is_whole(step * 10f64.powi(*digits))).unwrap_or(9) as usize
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|round| *round >= step * 0.999_999).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn a_sum_of_times_that_is_a_little_more_than_the_end_is_not_above_it() {
        let axis = Axis::from_zero(2.0 + 1e-12, 4);
        assert_eq!(axis.max, 2.0);
        assert!(!axis.is_exceeded_by(2.0 + 1e-12) && axis.is_exceeded_by(2.01));
    }

    #[test]
    fn marks_round_values_and_covers_the_largest() {
        assert_eq!(texts(&Axis::from_zero(41.7, 5)), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(texts(&Axis::from_zero(0.9, 4)), ["0.00", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(texts(&Axis::from_zero(3000.0, 3)), ["0", "1,000", "2,000", "3,000"]);
        assert_eq!(Axis::from_zero(f64::NAN, 5).max, 1.0);
        assert_eq!(Axis::from_zero(0.0, 5).max, 1.0);
    }

    #[test]
    fn block_axis_keeps_its_ends() {
        let axis = Axis::blocks(15_000_100.0, 15_008_292.0, 4);
        assert_eq!((axis.min, axis.max), (15_000_100.0, 15_008_292.0));
        assert_eq!(texts(&axis), ["15,002,500", "15,005,000", "15,007,500"]);
        assert_eq!(texts(&Axis::blocks(5.0, 5.0, 4)), ["5", "6"]);
    }

    #[test]
    fn axis_of_values_marks_each_of_them() {
        let axis = Axis::of_values(&[8.0, 80.0, 1280.0]).unwrap();
        assert_eq!(texts(&axis), ["8", "80", "1,280"]);
        assert_eq!((axis.place(8.0), axis.place(1280.0)), (0.0, 1.0));
        assert!((Axis::of_values(&[8.0]).unwrap().place(8.0) - 0.5).abs() < 1e-9);
        assert_eq!(Axis::of_values(&[]), None);
    }

    #[test]
    fn axis_around_values_need_not_begin_at_zero() {
        let axis = Axis::around(0.973, 1.024, 4);
        assert_eq!(texts(&axis), ["0.96", "0.98", "1.00", "1.02", "1.04"]);
        assert_eq!((axis.min, axis.max), (0.96, 1.04));
        assert_eq!(texts(&Axis::around(2.0, 4.0, 4)), ["2.0", "2.5", "3.0", "3.5", "4.0"]);
        assert_eq!(Axis::around(f64::NAN, 1.0, 4).max, 1.0);
    }

    #[test]
    fn axis_of_names_has_them_in_equal_distances() {
        let axis = Axis::of_names(&["v1".into(), "main".into()]);
        assert_eq!(texts(&axis), ["v1", "main"]);
        assert_eq!((axis.place(0.0), axis.place(1.0)), (0.25, 0.75));
        assert_eq!((axis.name(1.0), axis.name(0.5)), (Some("main"), None));
        assert_eq!(Axis::from_zero(3.0, 3).name(1.0), None, "a number");
    }

    #[test]
    fn axis_of_ratios_holds_one() {
        assert_eq!(
            texts(&Axis::of_ratios(1.1, 1.5, 8)),
            ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]
        );
        assert_eq!(texts(&Axis::of_ratios(0.5, 40.0, 5)), ["0.5", "1", "2", "5", "10", "20", "50"]);
        let bounds = Axis::of_ratios(0.0, f64::INFINITY, 5);
        assert!(bounds.min < 1.0 && bounds.max > 1.0 && bounds.max < 1.1, "{bounds:?}");
    }

    #[test]
    fn log_axis_covers_its_range() {
        assert_eq!(texts(&Axis::logarithmic(0.3, 18.0)), ["0.2", "0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(texts(&Axis::logarithmic(1.0, 1.0)), ["1", "2"]);
        let wide = Axis::logarithmic(0.002, 400.0);
        assert_eq!((wide.min, wide.max), (0.002, 500.0));
        assert_eq!(texts(&wide), ["0.01", "0.1", "1", "10", "100"]);
        assert!((wide.place(1.0) - 0.5).abs() < 1e-9);
        assert_eq!((wide.place(0.0), wide.place(1e9)), (0.0, 1.0));
    }
}
