//! Charts of run records, as SVG.
//!
//! The first two are those of the reference (holiman/headerimport): accumulated time over the
//! chain, and the time of each chunk. They are drawn from the run with the median time of each
//! label.

mod axis;
mod bars;
mod lines;
pub(crate) mod palette;
mod reindex;
mod series;
mod signatures;
mod surface;
mod writers;

use std::io;
use std::path::Path;

use pipeline::record::{RunRecord, Stage};
use serde_json::{Value, json};

use axis::Axis;
use bars::{BarChart, Part, Row};
use lines::{LineChart, Panel};
use palette::Ink;
use series::Series;

use crate::format;
use crate::group::{by_label, drawn};
use crate::stages::busy_share;
use crate::summary::{INDEX, SET_UP, parts, shown_phases};

/// A chart, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Lines(LineChart),
    Bars(BarChart),
}

impl Chart {
    /// Time of the phases, accumulated over the chain: one line for each label. None when no record
    /// has chunks.
    pub fn accumulated(records: &[RunRecord]) -> Option<Self> {
        let phases = shown_phases(records.first()?);
        let series = series::accumulated(records, &phases);
        let panel = Panel {
            caption: "seconds".to_owned(),
            y: Axis::from_zero(largest(&series)?, 6),
            names: names(&series, format::duration),
            scattered: false,
            height: 380.0,
            series,
        };
        Some(Self(Kind::Lines(LineChart {
            title: format!("{}, accumulated", listed(&phases)),
            subtitle: subtitle(records, "lower is faster"),
            x: block_axis(records)?,
            x_name: BLOCKS.to_owned(),
            panels: vec![panel],
        })))
    }

    /// Time of each chunk in each of the phases, over the chain, one panel for each. The scale is
    /// logarithmic when labels differ much. None when no record has chunks.
    pub fn per_chunk(records: &[RunRecord]) -> Option<Self> {
        let unit = series::chunk_size(records)?;
        let phases = shown_phases(records.first()?);
        let panel = |what: &str, series: Vec<Series>| {
            let y = time_axis(&series)?;
            let scale = if y.log { ", logarithmic scale" } else { "" };
            let unit = format::count(unit);
            Some(Panel {
                caption: format!("{}, milliseconds for {unit} blocks{scale}", shortened(what)),
                names: names(&series, |_| String::new()),
                y,
                scattered: true,
                height: 230.0,
                series,
            })
        };
        let panels = phases.iter().map(|at| panel(at, series::per_chunk(records, unit, at)));
        let panels: Vec<Panel> = panels.flatten().collect();
        let dots = match series::chunks_in_a_point(records) {
            1 => "each dot is one chunk".to_owned(),
            more => format!("each dot is the mean of up to {more} chunks"),
        };
        if panels.is_empty() {
            return None;
        }
        Some(Self(Kind::Lines(LineChart {
            title: format!("{} of each chunk", listed(&phases)),
            subtitle: subtitle(records, &format!("{dots}, lines are running medians")),
            x: block_axis(records)?,
            x_name: BLOCKS.to_owned(),
            panels,
        })))
    }

    /// Where the working time of each label went: the shares of the phases. None when no record has
    /// such times.
    pub fn time(records: &[RunRecord]) -> Option<Self> {
        let groups = by_label(records);
        let drawn: Vec<_> = drawn(&groups).into_iter().map(|(_, record)| record).collect();
        let mut names: Vec<&str> = vec![];
        for (name, seconds) in drawn.iter().flat_map(|record| parts(record)) {
            if seconds > 0.0 && !names.contains(&name) {
                names.push(name);
            }
        }
        let rows: Vec<Row> = drawn.iter().filter_map(|record| time_row(record, &names)).collect();
        let legend = names.iter().map(|name| (shortened(name), part_ink(name, &names), 1.0));
        Some(Self(Kind::Bars(BarChart {
            title: "Where the working time went".to_owned(),
            subtitle: subtitle(records, "share of the busy time of all threads"),
            legend: legend.collect(),
            rows: if rows.is_empty() { return None } else { rows },
        })))
    }

    /// Busy and waiting time of each stage of one run. None when it has no stages.
    pub fn stages(record: &RunRecord) -> Option<Self> {
        let all = |stage: &Stage| stage.busy_s + stage.wait_s;
        if !record.stages.iter().any(|stage| all(stage) > 0.0) {
            return None;
        }
        Some(Self(Kind::Bars(BarChart {
            title: format!("Busy and waiting: {}", shortened(&record.label)),
            subtitle: "seconds for each thread of a stage; the busiest stage sets the pace".into(),
            legend: vec![
                ("busy".to_owned(), palette::WORK, 1.0),
                ("waiting".to_owned(), palette::WORK, PALE),
            ],
            rows: record.stages.iter().map(stage_row).collect(),
        })))
    }

    /// The chart as an SVG document, 1,000 points wide, on white paper.
    #[must_use]
    pub fn svg(&self) -> String {
        match &self.0 {
            Kind::Lines(chart) => surface::svg(chart),
            Kind::Bars(chart) => surface::svg(chart),
        }
    }

    /// Writes the chart to `path`, as SVG.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        pipeline::disk::replace_file(path, self.svg().as_bytes())
    }

    /// What the page's script needs to show values under the pointer: the lines and their places.
    /// None for bars.
    pub(crate) fn hover(&self) -> Option<Value> {
        let Kind::Lines(chart) = &self.0 else { return None };
        let frames = surface::frames(chart);
        let panels: Vec<Value> = chart
            .panels
            .iter()
            .zip(frames)
            .map(|(panel, frame)| {
                let series: Vec<Value> =
                    panel.series.iter().map(|s| json!([s.label, s.place, s.points])).collect();
                json!({
                    "frame": [frame.left, frame.top, frame.right, frame.bottom],
                    "unit": if panel.scattered { "ms" } else { "s" },
                    "series": series,
                })
            })
            .collect();
        Some(json!({ "x": [chart.x.min, chart.x.max], "panels": panels }))
    }

    /// Labels and colours of the lines; empty for bars.
    pub(crate) fn lines(&self) -> Vec<(String, usize)> {
        let Kind::Lines(chart) = &self.0 else { return Vec::new() };
        let all = chart.panels.iter().take(1).flat_map(|panel| &panel.series);
        all.map(|series| (series.label.clone(), series.place)).collect()
    }
}

/// Phases as the beginning of a title: `Validation and write`.
fn listed(phases: &[&str]) -> String {
    let list = match phases {
        [] => String::new(),
        [one] => shortened(one),
        [more @ .., last] => format!("{} and {}", shortened(&more.join(", ")), shortened(last)),
    };
    let mut letters = list.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Name of the lower axis of charts over the chain.
const BLOCKS: &str = "block number";

/// How strong the colour of waiting time is.
const PALE: f64 = 0.28;

/// The colour of a part of the time, by its place among all.
fn part_ink(name: &str, names: &[&str]) -> Ink {
    let is_phase = |name: &&&str| ![SET_UP, INDEX].contains(*name);
    match names.iter().filter(is_phase).position(|other| *other == name) {
        Some(place) => palette::phase(place),
        None => palette::SET_UP,
    }
}

fn time_row(record: &RunRecord, names: &[&str]) -> Option<Row> {
    let parts = parts(record);
    let sum: f64 = parts.iter().map(|(_, seconds)| seconds.max(0.0)).sum();
    (sum > 0.0).then(|| Row {
        name: shortened(&record.label),
        parts: parts
            .into_iter()
            .map(|(name, seconds)| Part {
                value: seconds / sum,
                ink: part_ink(name, names),
                strength: 1.0,
                text: format::duration(seconds),
            })
            .collect(),
        text: format!("{} busy", format::duration(sum)),
    })
}

fn stage_row(stage: &Stage) -> Row {
    let threads = f64::from(stage.threads.max(1));
    let ink = palette::WORK;
    let part = |seconds: f64, strength| {
        let value = seconds / threads;
        Part { value, ink, strength, text: format::duration(value) }
    };
    let threads = match stage.threads {
        0 | 1 => String::new(),
        more => format!(", {more} threads"),
    };
    Row {
        name: shortened(&stage.name),
        parts: vec![part(stage.busy_s, 1.0), part(stage.wait_s, PALE)],
        text: format!("{} busy{threads}", format::percent(busy_share(stage))),
    }
}

/// The axis of a panel of chunk times: logarithmic when the medians of the lines are far apart,
/// since the fast ones would lie on the ground otherwise.
fn time_axis(series: &[Series]) -> Option<Axis> {
    let highest = largest(series)?;
    let values = || series.iter().flat_map(|s| &s.points).map(|p| p.1).filter(|v| *v > 0.0);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let medians: Vec<f64> = series
        .iter()
        .filter_map(|s| Some(series::trend(&s.points).get(s.points.len() / 2)?.1))
        .filter(|median| *median > 0.0)
        .collect();
    let apart = medians.iter().copied().fold(0.0, f64::max)
        / medians.iter().copied().fold(f64::INFINITY, f64::min);
    Some(match apart > 12.0 {
        true => Axis::logarithmic(lowest, highest),
        false => Axis::from_zero(highest, 4),
    })
}

/// The largest value, if any is above zero.
fn largest(series: &[Series]) -> Option<f64> {
    let values = series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    (largest > 0.0).then_some(largest)
}

fn block_axis(records: &[RunRecord]) -> Option<Axis> {
    let (first, end) = series::block_range(records)?;
    Some(Axis::blocks(first, end, 5))
}

fn names(series: &[Series], show: impl Fn(f64) -> String) -> Vec<String> {
    let name = |series: &Series| {
        let value = series.points.last().map(|point| show(point.1)).unwrap_or_default();
        format!("{}  {value}", shortened(&series.label)).trim_end().to_owned()
    };
    series.iter().map(name).collect()
}

/// At most 26 characters of a label: a longer one would leave no room for the chart.
fn shortened(label: &str) -> String {
    let label = format::printable(label);
    match label.char_indices().nth(26) {
        Some(_) => label.chars().take(25).chain(['…']).collect(),
        None => label,
    }
}

fn subtitle(records: &[RunRecord], hint: &str) -> String {
    let Some(data) = records.first().map(|record| &record.data) else { return hint.to_owned() };
    let what = format!("{} {}", shortened(&data.chain), shortened(&data.format));
    let what = [what.trim(), &format::counted(data.blocks, "block"), hint].join(" · ");
    what.trim_start_matches(" · ").to_owned()
}

#[cfg(test)]
mod tests;
