//! Charts of `bench reindex`: one for each definition, a bar for each design and peer.

use pipeline::record::RunRecord;

use super::bars::{BarChart, Part, Row};
use super::palette::{self, Ink};
use super::{Chart, Kind, shortened};
use crate::format;
use crate::group::by_label;
use crate::reindex::{by_definition, compared, data, is_index_only, of};

/// Parts of a run and their colours.
const PARTS: [(&str, Ink); 3] =
    [("index", palette::INDEX), ("connect", palette::WORK), ("other", palette::SET_UP)];

impl Chart {
    /// Seconds of the index, or of index and connecting, of each label, with the name of the
    /// definition; of several runs, those of the one with the median time.
    pub fn reindex(records: &[RunRecord]) -> Vec<(String, Self)> {
        let charts = by_definition(records).into_iter();
        let charts = charts.map(|(name, records)| {
            let chart = of_definition(&name, &records);
            (name, Self(Kind::Bars(chart)))
        });
        charts.collect()
    }
}

fn of_definition(name: &str, records: &[RunRecord]) -> BarChart {
    let index_only = is_index_only(records);
    let groups = by_label(records);
    let time = |record: &RunRecord| compared(record, index_only);
    let shown: Vec<_> = groups.iter().filter_map(|group| group.typical_by(time)).collect();
    let ours = shown.iter().find(|record| record.label == "blockmill");
    let ours = ours.map(|record| time(record)).filter(|time| *time > 0.0);
    let rows = shown.iter().map(|record| row(record, index_only, ours));
    let legend = PARTS.iter().take(if index_only { 1 } else { PARTS.len() });
    let subtitle = format::printable(&data(records));
    BarChart {
        title: format!("Reindex, {}: seconds, shorter is faster", shortened(name)),
        subtitle,
        legend: legend.map(|(part, ink)| ((*part).to_owned(), *ink, 1.0)).collect(),
        rows: rows.collect(),
    }
}

fn row(record: &RunRecord, index_only: bool, ours: Option<f64>) -> Row {
    let (time, reindex) = (compared(record, index_only), of(record));
    let other = (time - reindex.index_s - reindex.connect_s).max(0.0);
    let values = match index_only {
        true => vec![reindex.index_s],
        false => vec![reindex.index_s, reindex.connect_s, other],
    };
    let part = |(value, (_, ink)): (f64, &(&str, Ink))| Part {
        value,
        ink: *ink,
        strength: 1.0,
        text: format::duration(value),
    };
    let times = ours.map_or(String::new(), |ours| format!(", {}", format::ratio(time / ours)));
    Row {
        name: shortened(&record.label),
        parts: values.into_iter().zip(&PARTS).map(part).collect(),
        text: format!("{}{times}", format::duration(time)),
    }
}
