//! The chart of blocks that were executed one by one: what each took, and how fast it was.

use super::axis::Axis;
use super::lines::{LineChart, Panel};
use super::of_runs::{subtitle, time_axis};
use super::series::{MOST_POINTS, Series, trend};
use super::{Body, Chart, keys_of};
use crate::executed::{blocks, phases};
use crate::runs::drawn;
use blockmill_pipeline::record::{FIRST, RunRecord};

/// Some blocks that follow each other, as one point.
#[derive(Default)]
struct Point {
    /// The first of them.
    number: f64,
    seconds: f64,
    gas: f64,
    count: f64,
}

impl Chart {
    /// Time of each block and million gas in a second of that time, over the chain, one panel for
    /// each. `None` if no blocks were executed.
    pub fn per_block(records: &[RunRecord]) -> Option<Self> {
        let time = lines(records, |point| point.seconds / point.count * 1e3);
        let speed = lines(records, |point| point.gas / 1e6 / point.seconds);
        let numbers = || time.iter().flat_map(|series| &series.points).map(|point| point.0);
        let end = numbers().reduce(f64::max)? + 1.0;
        let x = Axis::blocks(numbers().reduce(f64::min)?, end, 5);
        let panel = |caption: &str, unit, series: Vec<Series>| {
            let y = time_axis(&series)?;
            let scale = if y.log { ", logarithmic scale" } else { "" };
            Some(Panel::new(format!("{caption}{scale}"), y, unit, series))
        };
        let panels = [
            panel("ms a block, all phases", "ms", time),
            panel("Mgas a second of that time", "Mgas/s", speed),
        ];
        let panels: Vec<Panel> = panels.into_iter().flatten().collect();
        let in_a_point = records.iter().filter_map(blocks).map(|b| b.len().div_ceil(MOST_POINTS));
        let dots = match in_a_point.max() {
            Some(2..) => "each dot is the mean of some blocks",
            _ => "each dot is one block",
        };
        if panels.is_empty() {
            return None;
        }
        Some(Self {
            title: "Time and speed of each block".to_owned(),
            subtitle: subtitle(records, &format!("{dots}, lines are running medians")),
            keys: keys_of(&panels),
            body: Body::Lines(LineChart { x, x_name: super::of_runs::BLOCKS.into(), panels }),
        })
    }
}

/// A line for each run whose blocks were executed.
fn lines(records: &[RunRecord], value: impl Fn(&Point) -> f64) -> Vec<Series> {
    let mut all = vec![];
    for run in drawn(records) {
        let points = points(run.record);
        let points = points.iter().map(|point| (point.number, value(point)));
        let points: Vec<_> = points.filter(|point| point.1.is_finite()).collect();
        if points.len() > 1 {
            let label = crate::format::printable(&run.name);
            let line = Some(trend(&points));
            all.push(Series { label, place: run.place, points, line, intervals: vec![] });
        }
    }
    all
}

/// The blocks of a run, grouped so that there are few enough points. A record may hold
/// anything: what is no number or below 0 counts as 0.
fn points(record: &RunRecord) -> Vec<Point> {
    let Some(series) = blocks(record) else { return vec![] };
    let measured = |values: &[f64], row: usize| {
        values.get(row).filter(|value| value.is_finite()).map_or(0.0, |value| value.max(0.0))
    };
    let group = series.len().div_ceil(MOST_POINTS).max(1);
    let mut points: Vec<Point> = vec![];
    for row in 0..series.len() {
        if row % group == 0 {
            let number = measured(series.values(FIRST), row);
            points.push(Point { number, ..Point::default() });
        }
        let Some(point) = points.last_mut() else { continue };
        point.seconds += phases(series).map(|phase| measured(&phase.values, row)).sum::<f64>();
        point.gas += measured(series.values("gas"), row);
        point.count += 1.0;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_block_is_a_point_until_there_are_many() {
        let record = sample::executed("x");
        let found = points(&record);
        assert_eq!(found.len(), 21);
        assert_eq!((found[6].number, found[6].gas, found[6].count), (7.0, 3e7, 1.0));
        assert!((found[6].seconds - 0.012).abs() < 1e-9);
        let mut many = sample::executed("x");
        for column in &mut many.series.last_mut().unwrap().columns {
            column.values = column.values.iter().copied().cycle().take(21 * 40).collect();
        }
        let found = points(&many);
        assert_eq!(found.len(), 210);
        assert!(found.iter().all(|point| point.count == 4.0 && point.gas == 1.2e8));
    }

    #[test]
    fn the_chart_has_a_panel_of_times_and_one_of_speed() {
        let chart = Chart::per_block(&[sample::executed("x"), sample::full("y", 1.0)]).unwrap();
        let Body::Lines(lines) = &chart.body else { panic!("no lines") };
        let captions: Vec<_> = lines.panels.iter().map(|panel| panel.caption.as_str()).collect();
        assert_eq!(captions, ["ms a block, all phases", "Mgas a second of that time"]);
        assert!(lines.panels.iter().all(|panel| panel.series.len() == 1));
        let speed = lines.panels[1].series[0].points[6].1;
        assert!((speed - 2_500.0).abs() < 1e-6, "{speed}");
        assert!(Chart::per_block(&[sample::full("y", 1.0)]).is_none());
    }
}
