//! Charts as SVG.
//!
//! Each is drawn twice for a page, wide and for a phone, and once with its title and keys for a
//! file of its own.

pub mod axis;
pub mod bars;
mod flame;
pub mod lines;
mod of_blocks;
mod of_runs;
pub mod palette;
pub mod series;
pub mod surface;

use std::io;
use std::path::Path;
use std::rc::Rc;

use blockmill_pipeline::record::RunRecord;
use serde_json::{Value, json};

use bars::SIZE;
use lines::LineChart;
pub use of_runs::part_ink;
use palette::{FAINT, Ink, TEXT, series as ink};
use surface::{Draw, EDGE, Hold, NARROW, Surface, WIDE, WIDER, text_width};

use crate::format;

/// A chart, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    subtitle: String,
    /// Names of the colours.
    keys: Vec<Key>,
    body: Body,
}

/// What a colour means.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its meaning.
    pub name: String,
    /// The colour.
    pub ink: Ink,
    /// 1 for a full colour, less for a pale one.
    pub strength: f64,
}

#[derive(Clone, Debug)]
enum Body {
    /// Lines, which the page's script can hide and show values of.
    Lines(LineChart),
    Drawn(Rc<dyn Draw>),
}

impl Body {
    fn drawn(drawing: impl Draw + 'static) -> Self {
        Self::Drawn(Rc::new(drawing))
    }
}

/// The charts of runs, each with a name that a file can have.
#[must_use]
pub fn charts(records: &[RunRecord]) -> Vec<(String, Chart)> {
    let all = [
        ("accumulated", Chart::accumulated(records)),
        ("per-chunk", Chart::per_chunk(records)),
        ("per-block", Chart::per_block(records)),
        ("speed", Chart::speed(records)),
        ("busy-over-time", records.first().and_then(Chart::busy_over_time)),
        ("time", Chart::time(records)),
        ("functions", records.iter().find_map(Chart::flame)),
    ];
    all.into_iter().filter_map(|(name, chart)| Some((name.to_owned(), chart?))).collect()
}

impl Chart {
    /// A chart of lines.
    #[must_use]
    pub fn of_lines(title: String, subtitle: String, keys: Vec<Key>, lines: LineChart) -> Self {
        Self { title, subtitle, keys, body: Body::Lines(lines) }
    }

    /// A chart of another kind.
    #[must_use]
    pub fn drawn(
        title: String,
        subtitle: String,
        keys: Vec<Key>,
        drawing: impl Draw + 'static,
    ) -> Self {
        Self { title, subtitle, keys, body: Body::drawn(drawing) }
    }

    fn body(&self) -> &dyn Draw {
        match &self.body {
            Body::Lines(chart) => chart,
            Body::Drawn(chart) => &**chart,
        }
    }

    /// The chart as an SVG document with its title, 1,000 points wide, on white paper.
    #[must_use]
    pub fn svg(&self) -> String {
        let has_row = !self.keys.is_empty() && !self.has_lines();
        let head = |on: &mut Surface| {
            on.text(&self.title, (EDGE, 28.0), 20.0, TEXT, Hold::Left);
            on.text(&self.subtitle, (EDGE, 53.0), 14.0, FAINT, Hold::Left);
            let mut x = EDGE;
            for Key { name, ink, strength } in self.keys.iter().filter(|_| has_row) {
                on.block((x, 76.0), (x + 12.0, 88.0), *ink, *strength);
                on.text(name, (x + 18.0, 82.0), SIZE, FAINT, Hold::Left);
                x += 18.0 + text_width(name, SIZE) * WIDER + 22.0;
            }
        };
        surface::svg(self.body(), WIDE, (if has_row { 102.0 } else { 76.0 }, &head))
    }

    /// Writes the chart to `path`, as SVG.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        blockmill_pipeline::disk::replace_file(path, self.svg().as_bytes())
    }

    /// What the chart shows.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn subtitle(&self) -> &str {
        &self.subtitle
    }

    /// Names of the colours.
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Are there lines, which can be hidden?
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self.body, Body::Lines(_))
    }

    /// Without title and keys, wide and for a phone.
    pub fn drawings(&self) -> [String; 2] {
        [WIDE, NARROW].map(|width| surface::svg(self.body(), width, (0.0, &|_| {})))
    }

    /// What the page's script needs to show values under the pointer: the lines and their places in
    /// both drawings. None for others, which have their texts in them.
    pub fn hover(&self) -> Option<Value> {
        let Body::Lines(chart) = &self.body else { return None };
        let frames = [WIDE, NARROW].map(|width| chart.frames(width));
        let panel = |(at, panel): (usize, &lines::Panel)| {
            let frame = |of: &Vec<lines::Frame>| of[at].to_array();
            let series = panel.series.iter().map(|series| {
                let point = |(at, (x, y)): (usize, &(f64, f64))| {
                    let name = chart.x.name(*x).map(|name| json!(name.replace('\n', " ")));
                    let name = name.unwrap_or_else(|| json!(x));
                    match series.intervals.get(at).copied().flatten() {
                        Some((low, high)) => json!([chart.x.place(*x), name, y, low, high]),
                        None => json!([chart.x.place(*x), name, y]),
                    }
                };
                let points: Vec<Value> = series.points.iter().enumerate().map(point).collect();
                json!([series.label, palette::hex(ink(series.place).light), points])
            });
            json!({
                "frames": frames.iter().map(frame).collect::<Vec<_>>(),
                "unit": panel.unit,
                "series": series.collect::<Vec<_>>(),
            })
        };
        let panels: Vec<Value> = chart.panels.iter().enumerate().map(panel).collect();
        Some(json!({ "x": chart.x_name, "panels": panels }))
    }
}

/// The keys of lines, from the first panel.
#[must_use]
pub fn keys_of(panels: &[lines::Panel]) -> Vec<Key> {
    let all = panels.iter().take(1).flat_map(|panel| &panel.series);
    all.map(|series| Key { name: series.label.clone(), ink: ink(series.place), strength: 1.0 })
        .collect()
}

/// At most 28 characters of a label: a longer one would leave no room for the chart.
#[must_use]
pub fn shortened(label: &str) -> String {
    let label = format::printable(label);
    match label.char_indices().nth(28) {
        Some(_) => label.chars().take(27).chain(['…']).collect(),
        None => label,
    }
}

#[cfg(test)]
mod tests;
