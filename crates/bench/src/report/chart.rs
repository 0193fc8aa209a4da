//! Charts of comparisons: one set, whatever is measured.

mod heat;
pub(crate) mod history;
mod ratios;

use crate::comparison::BASELINE;
use crate::experiment::OURS;
use crate::findings::Comparison;
use crate::report::comparison::{Block, Line, median, name, operations};
use crate::report::fact::{Unit, exponent, is_speed, words};
use crate::report::gain::Gain;
use blockmill_pipeline::record::{RunRecord, WALL_S};
use blockmill_report::chart::axis::Axis;
use blockmill_report::chart::bars::{BarChart, BarPart, Row};
use blockmill_report::chart::lines::{LineChart, Panel};
use blockmill_report::chart::palette::{self, FAINT, WORSE};
use blockmill_report::chart::series::Series;
use blockmill_report::chart::{Chart, Key, keys_of, part_ink, shortened};
use blockmill_report::format;
use blockmill_report::runs::distinct;
use blockmill_report::stages::work;
use heat::{HeatChart, STRENGTHS};
use ratios::{Ratio, RatioChart};
use std::collections::HashMap;

/// What a run did in no stage.
const REST: &str = "waiting";
/// How strong its colour is.
const PALE: f64 = 0.3;

/// The charts of a comparison, each with a name that a file can have; the first are those that show
/// what was found.
pub(crate) fn of_comparison(comparison: &Comparison) -> Vec<(String, Chart)> {
    let mut charts = findings(comparison);
    let times = typical_runs(comparison);
    charts.extend(times.map(|chart| (format!("{}-time", file_name(comparison)), chart)));
    charts
}

/// What was found: the history, ratios, and how it grows.
pub(crate) fn findings(comparison: &Comparison) -> Vec<(String, Chart)> {
    let name = file_name(comparison);
    let ratios = ratios(comparison).into_iter().enumerate();
    let history = history::of_revisions(comparison);
    let mut charts: Vec<(String, Chart)> =
        history.map(|chart| (format!("{name}-history"), chart)).into_iter().collect();
    charts.extend(ratios.map(|(at, chart)| match at {
        0 => (name.clone(), chart),
        at => (format!("{name}-{}", at + 1), chart),
    }));
    charts.extend(growth(comparison).map(|chart| (format!("{name}-growth"), chart)));
    charts.extend(pairs(comparison).map(|chart| (format!("{name}-pairs"), chart)));
    charts
}

/// The name of a comparison in letters, digits and hyphens.
fn file_name(comparison: &Comparison) -> String {
    plain(&comparison.name())
}

/// A text in letters, digits and hyphens.
pub(crate) fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = text.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// How many times better each variant is, with intervals and the noise. None when nothing is
/// compared.
pub fn ratios(comparison: &Comparison) -> Vec<Chart> {
    let blocks = crate::report::comparison::blocks(comparison);
    blocks.iter().filter_map(|block| ratios_of(comparison, block)).collect()
}

fn ratios_of(comparison: &Comparison, block: &Block) -> Option<Chart> {
    let figure = comparison.figure();
    let row = |line: &Line| {
        let (one, other) = line.compared?;
        let found = Gain::of(comparison, one, other, figure)?;
        Some(Ratio { name: shortened(&name(comparison, line.at)), found })
    };
    let rows: Vec<Ratio> = block.lines.iter().filter_map(row).collect();
    let with = match (comparison.experiment.as_str(), comparison.experiment.strip_prefix("sweep "))
    {
        ("ladder", _) => "each step against the one before".to_owned(),
        ("peers", _) => format!("{OURS} against each of them"),
        (_, Some(_)) if comparison.programs().len() > 1 => {
            format!("{OURS} against each of them at the same value")
        }
        (_, Some(setting)) => format!("each against {setting} {}", name(comparison, BASELINE)),
        _ => format!("each against {}", name(comparison, block.lines.first()?.at)),
    };
    let speed = is_speed(figure);
    let what = if speed { "How many times as fast" } else { "How many times less" };
    let title = match block.heading {
        Some(heading) => format!("{heading}: {}", what.to_lowercase()),
        None => what.to_owned(),
    };
    let subtitle =
        format!("{} · {with} · {}", words(figure), lines(rows.iter().map(|row| &row.found)));
    let sides = if speed { ("slower", "faster") } else { ("more", "less") };
    let chart = RatioChart { rows, sides, one_comparison: true };
    (!chart.rows.is_empty()).then(|| Chart::drawn(title, subtitle, chart.keys(), chart))
}

/// What the lines of a chart of ratios are.
fn lines<'a>(all: impl Iterator<Item = &'a Gain>) -> &'static str {
    match all.into_iter().all(|found| found.ends().is_some()) {
        true => "lines are intervals of 95 %",
        false => "lines are intervals of 95 %, thin ones ranges of too few pairs",
    }
}

/// The main result of each of several comparisons.
pub(crate) fn overview(rows: Vec<(String, Gain)>) -> Option<Chart> {
    let row = |(name, found)| Ratio { name, found };
    let rows: Vec<Ratio> = rows.into_iter().map(row).collect();
    let lines = lines(rows.iter().map(|row| &row.found));
    let subtitle = format!("the main result of each comparison · {lines}");
    let chart = RatioChart { rows, sides: ("slower", "faster"), one_comparison: false };
    let title = "All results".to_owned();
    (!chart.rows.is_empty()).then(|| Chart::drawn(title, subtitle, chart.keys(), chart))
}

/// Where the time of the typical run of each variant goes; without stages, how long it is.
pub fn typical_runs(comparison: &Comparison) -> Option<Chart> {
    let blocks = crate::report::comparison::blocks(comparison);
    let lines = blocks.iter().flat_map(|block| &block.lines).map(|line| line.at);
    bars(comparison, &distinct(lines))
}

/// The same of the variants that the headline is about.
pub fn leading_runs(comparison: &Comparison) -> Option<Chart> {
    let found = crate::report::comparison::headline(comparison).found;
    let (one, other) = found.map_or((BASELINE, BASELINE), |found| found.of);
    bars(comparison, &distinct([one, other]))
}

fn bars(comparison: &Comparison, variants: &[usize]) -> Option<Chart> {
    let figure = comparison.figure();
    let all = variants.iter().filter_map(|at| Some((*at, comparison.typical(*at)?)));
    let all: Vec<(usize, &RunRecord)> = all.collect();
    let staged = figure == WALL_S && all.iter().any(|(_, run)| !run.stages.is_empty());
    let parts = all.iter().filter(|_| staged).flat_map(|(_, run)| working(run));
    let names = distinct(parts.map(|(part, _)| part));
    let row = |(at, run): &(usize, &RunRecord)| {
        let value = median(comparison, *at, figure)?;
        let parts = match staged && !working(run).is_empty() {
            true => stacked(run, &names),
            false => vec![whole(value, figure, staged)],
        };
        let text = Unit::of(figure).show(value);
        Some(Row { name: shortened(&name(comparison, *at)), parts, text })
    };
    let rows: Vec<Row> = all.iter().filter_map(row).collect();
    let key = |name: &&str| {
        let ink = part_ink(name, &names);
        Key { name: shortened(name), ink, strength: 1.0 }
    };
    let mut keys: Vec<Key> = names.iter().map(key).collect();
    if staged {
        keys.push(Key { name: REST.into(), ink: FAINT, strength: PALE });
    }
    let subtitle = match staged {
        true => "the typical run of each: wall time, by what its threads did meanwhile".into(),
        false => format!("{}, median", words(figure)),
    };
    let title = if staged { "Where the time goes" } else { "How much each takes" };
    let chart = BarChart { rows };
    (!chart.rows.is_empty()).then(|| Chart::drawn(title.into(), subtitle, keys, chart))
}

/// Million gas in a second of each operation after each other one; the slowest are in the
/// upper left corner. None of comparisons that have no pairs.
pub fn pairs(comparison: &Comparison) -> Option<Chart> {
    let all = operations(comparison);
    let pairs: Vec<_> = all.iter().filter_map(|one| Some((one.pair()?, one.mgas))).collect();
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for ((first, second), mgas) in pairs.iter().filter(|(_, mgas)| mgas.is_finite()) {
        // of the times, as a mean of speeds would hide what is slow
        [*first, *second].iter().for_each(|name| *sums.entry(name).or_default() += 1.0 / mgas);
    }
    let mut names: Vec<&str> = sums.keys().copied().collect();
    names.sort_by(|a, b| sums[b].total_cmp(&sums[a]).then(a.cmp(b)));
    let places: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let mut values = vec![f64::NAN; names.len() * names.len()];
    for ((first, second), mgas) in &pairs {
        if let (Some(row), Some(column)) = (places.get(first), places.get(second)) {
            values[row * names.len() + column] = *mgas;
        }
    }
    let count = format::count(pairs.len() as u64);
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let chart = HeatChart::new(names, values, ("executed first", "executed second"));
    let classes = chart.classes().into_iter().zip(STRENGTHS);
    let keys = classes.map(|(name, strength)| Key { name, ink: WORSE, strength }).collect();
    let title = "Each operation after each other one".to_owned();
    let subtitle = format!("Mgas a second of {count} pairs · the slowest at the upper left");
    (!pairs.is_empty()).then(|| Chart::drawn(title, subtitle, keys, chart))
}

/// How each compared fact grows along a sweep. None of other comparisons.
pub fn growth(comparison: &Comparison) -> Option<Chart> {
    let setting = comparison.experiment.strip_prefix("sweep ")?;
    let points = comparison.points(None, comparison.figure());
    let xs: Vec<f64> = points.into_iter().map(|point| point.0).collect();
    let programs = comparison.programs();
    let panel = |figure: &String| {
        let (mut series, mut names) = (vec![], vec![]);
        for (place, program) in programs.iter().enumerate() {
            let Some(growth) = comparison.growth(*program, figure) else { continue };
            let points = comparison.points(*program, figure);
            let line = points.iter().map(|(x, _)| (*x, growth.at(*x))).collect();
            let exponent = exponent(&growth);
            let (label, name) = match programs.len() {
                0 | 1 => (words(figure), format!("^{exponent}")),
                _ => {
                    let label = program.unwrap_or(OURS).to_owned();
                    (label.clone(), format!("{label} ^{exponent}"))
                }
            };
            names.push(name);
            series.push(Series { label, place, points, line: Some(line), intervals: vec![] });
        }
        let detail = names.first()?.replacen('^', "grows to the power of ", 1);
        let values = || series.iter().flat_map(|one: &Series| &one.points).map(|point| point.1);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let mut y = Axis::logarithmic(low, high);
        for (value, text) in &mut y.ticks {
            *text = Unit::of(figure).show(*value);
        }
        let panel = Panel::new(words(figure), y, Unit::of(figure).sign(), series);
        Some(Panel { detail, names, ..panel })
    };
    let panels: Vec<Panel> = comparison.compare.iter().filter_map(panel).collect();
    let x = Axis::of_values(&xs)?;
    let title = format!("How it grows with {setting}");
    let subtitle = "both scales are logarithmic · dots are medians, lines the fitted powers";
    let keys = if programs.len() > 1 { keys_of(&panels) } else { vec![] };
    let lines = LineChart { x, x_name: setting.to_owned(), panels };
    (!lines.panels.is_empty()).then(|| Chart::of_lines(title, subtitle.into(), keys, lines))
}

/// What the threads of a run did, in parts of its wall time: the stages, or the phases where there
/// are no stages.
fn working(run: &RunRecord) -> Vec<(&str, f64)> {
    let threads = run.threads.len().max(1) as f64;
    work(run).into_iter().map(|(name, busy_s)| (name, busy_s / threads)).collect()
}

fn stacked(run: &RunRecord, names: &[&str]) -> Vec<BarPart> {
    let part = |(name, value): (&str, f64)| BarPart {
        value,
        ink: part_ink(name, names),
        strength: 1.0,
        text: format::duration(value),
        name: name.to_owned(),
    };
    let mut parts: Vec<BarPart> = working(run).into_iter().map(part).collect();
    let rest = run.wall_s() - parts.iter().map(|part| part.value).sum::<f64>();
    if rest > 0.0 {
        let text = format::duration(rest);
        parts.push(BarPart { value: rest, ink: FAINT, strength: PALE, text, name: REST.into() });
    }
    parts
}

/// A run without stages; grey if other runs have them.
fn whole(value: f64, figure: &str, staged: bool) -> BarPart {
    let ink = if staged { palette::SET_UP } else { palette::WORK };
    BarPart { value, ink, strength: 1.0, text: String::new(), name: words(figure) }
}

#[cfg(test)]
mod tests;
