//! How many times as fast as the scalar library, over the size of a batch.

use pipeline::signature_record::{GOOD, SignatureRecord};

use super::axis::Axis;
use super::lines::{LineChart, Panel};
use super::series::Series;
use super::{Chart, Kind, largest, names};
use crate::format;
use crate::signatures::Figures;

impl Chart {
    /// How many times as fast as the scalar library with one thread: a panel for each variant, a
    /// line for each operation. None without such measurements.
    pub fn signatures(record: &SignatureRecord) -> Option<Self> {
        let figures = Figures(record);
        let panels: Vec<Panel> =
            figures.faster().filter_map(|variant| panel(figures, variant)).collect();
        let points = panels.iter().flat_map(|panel| &panel.series).flat_map(|s| &s.points);
        let mut batches: Vec<u64> = points.map(|(batch, _)| *batch as u64).collect();
        batches.sort_unstable();
        batches.dedup();
        let cpu = record.machine.cpu.split_whitespace().collect::<Vec<_>>().join(" ");
        let subtitle = ["times the scalar library, one thread; higher is faster", &cpu].join(" · ");
        Some(Self(Kind::Lines(LineChart {
            title: "Signatures in batches".to_owned(),
            subtitle: format::printable(subtitle.trim_end_matches(" · ")),
            x: Axis::of_counts(&batches)?,
            x_name: "signatures in a batch, logarithmic scale".to_owned(),
            panels,
        })))
    }
}

/// One variant.
fn panel(figures: Figures<'_>, variant: &str) -> Option<Panel> {
    let rows = figures.rows(GOOD);
    let series = figures.0.operations.iter().enumerate().map(|(place, operation)| {
        let of_it = rows.iter().filter(|at| at.operation == operation.name && at.threads == 1);
        let point = |ratio: Option<crate::group::Spread>, batch| Some((batch, ratio?.median));
        let points = of_it
            .filter_map(|at| point(figures.times_scalar(*at, variant), at.batch.max(1) as f64));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { label: format::printable(&operation.label), place, points }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    Some(Panel {
        caption: format!("{}: times as fast", format::printable(variant)),
        y: Axis::from_zero(largest(&series)?, 6),
        names: names(&series, format::ratio),
        scattered: true,
        height: 300.0,
        series,
    })
}
