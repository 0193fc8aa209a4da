//! History charts: facts over revisions, oldest first, with their intervals; one panel for each
//! fact.

use super::ratios::brief;
use crate::comparison::{AGAIN, BASELINE};
use crate::findings::Comparison;
use crate::report::comparison::name;
use crate::report::fact::{Unit, words};
use crate::report::gain::Gain;
use blockmill_report::Chart;
use blockmill_report::chart::axis::Axis;
use blockmill_report::chart::lines::{LineChart, Panel};
use blockmill_report::chart::series::Series;
use blockmill_report::chart::shortened;

/// Fewer programs have no history: their ratios say the same.
const LEAST_PROGRAMS: usize = 3;
/// Least height of a panel, as a share of the largest value: a smaller scale would show noise.
const LEAST_SPAN: f64 = 0.02;

/// A fact of one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// The place of the program on the lower axis.
    pub at: usize,
    /// The value.
    pub value: f64,
    /// What the value may be, or the spread of its runs.
    pub interval: Option<(f64, f64)>,
}

/// The compared facts over the revisions of a comparison. A value is the median of the baseline
/// times the paired ratio: the medians of two programs differ by the noise between their runs, too.
/// None of other experiments, of fewer than three programs and of too few pairs.
pub fn of_revisions(comparison: &Comparison) -> Option<Chart> {
    let programs: Vec<usize> = (0..comparison.variants.len()).filter(|at| *at != AGAIN).collect();
    if comparison.experiment != "revisions" || programs.len() < LEAST_PROGRAMS {
        return None;
    }
    let names: Vec<String> = programs.iter().map(|at| shortened(&name(comparison, *at))).collect();
    let panel = |figure: &String| {
        let baseline = comparison.median(BASELINE, figure)?;
        let point = |(at, program): (usize, &usize)| {
            if *program == BASELINE {
                return Some(Point { at, value: baseline, interval: None });
            }
            let found = comparison.finding(*program, BASELINE, figure)?.estimate;
            // without an interval no ratio
            let interval = (baseline * found.low, baseline * found.high);
            let interval = found.high.is_finite().then_some(interval)?;
            Some(Point { at, value: baseline * found.ratio, interval: Some(interval) })
        };
        let points: Vec<Point> = programs.iter().enumerate().filter_map(point).collect();
        let noise = comparison.noise(figure);
        let band = noise.is_finite().then(|| (baseline / (1.0 + noise), baseline * (1.0 + noise)));
        let panel = panel(figure, &points, band)?;
        let last = Gain::of(comparison, *programs.last()?, BASELINE, figure);
        Some(Panel { names: vec![last.map_or(String::new(), |found| brief(&found))], ..panel })
    };
    let panels: Vec<Panel> = comparison.compare.iter().filter_map(panel).collect();
    let subtitle = "the median of the first, times the paired ratio · bars are intervals of 95 % · \
                    grey: noise · scales do not begin at 0";
    chart("Over revisions".to_owned(), subtitle.to_owned(), ("revision", &names), panels)
}

/// A chart of panels over `names`; none without panels.
pub(crate) fn chart(
    title: String,
    subtitle: String,
    (what, names): (&str, &[String]),
    panels: Vec<Panel>,
) -> Option<Chart> {
    let lines = LineChart { x: Axis::of_names(names), x_name: what.to_owned(), panels };
    (!lines.panels.is_empty()).then(|| Chart::of_lines(title, subtitle, vec![], lines))
}

/// The panel of a fact; none of fewer than two points.
pub(crate) fn panel(figure: &str, points: &[Point], band: Option<(f64, f64)>) -> Option<Panel> {
    let intervals = points.iter().filter_map(|point| point.interval).chain(band);
    let ends = points.iter().map(|point| point.value).chain(intervals.flat_map(|(a, b)| [a, b]));
    let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(a, b), end| (a.min(end), b.max(end)));
    if points.len() < 2 || !(low.is_finite() && high > 0.0) {
        return None;
    }
    let (factor, sign) = Unit::of(figure).scaled(high);
    let room = ((LEAST_SPAN * high - (high - low)) / 2.0).max(0.0);
    let y = Axis::around((low - room).max(0.0) * factor, (high + room) * factor, 4);
    let scaled = |(low, high): (f64, f64)| (low * factor, high * factor);
    let values: Vec<_> =
        points.iter().map(|point| (point.at as f64, point.value * factor)).collect();
    let series = Series {
        label: words(figure),
        place: 0,
        line: Some(values.clone()),
        points: values,
        intervals: points.iter().map(|point| point.interval.map(scaled)).collect(),
    };
    let more = Unit::of(figure).more_is_better();
    let caption = match sign {
        "" | "/s" => words(figure),
        sign => format!("{}, {sign}", words(figure)),
    };
    let panel = Panel::new(caption, y, sign, vec![series]);
    let detail = if more { "higher is better" } else { "lower is better" };
    let (detail, names) = (detail.to_owned(), vec![String::new()]);
    Some(Panel { detail, names, band: band.map(scaled), ..panel })
}
