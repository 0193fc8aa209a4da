//! Charts of contests: one set, whatever is measured.

use super::axis::Axis;
use super::bars::{BarChart, Part, Row};
use super::heat::{HeatChart, STRENGTHS};
use super::lines::{LineChart, Panel};
use super::of_runs::part_ink;
use super::palette::{self, FAINT, WORSE};
use super::ratios::{Ratio, RatioChart};
use super::series::Series;
use super::{Body, Chart, Key, keys_of, shortened};
use crate::comparison::Comparison;
use crate::contest::{Block, Line, median, name, operations};
use crate::fact::{Unit, is_speed, words};
use crate::format;
use crate::runs::distinct;
use blockmill_bench::contest::BASELINE;
use blockmill_bench::findings::Contest;
use blockmill_bench::shape::OURS;
use blockmill_pipeline::record::{RunRecord, WALL_S};
use std::collections::HashMap;

/// What a run did in no stage.
const REST: &str = "waiting";
/// How strong its colour is.
const PALE: f64 = 0.3;

impl Chart {
    /// How many times better each contestant is, with intervals and the noise. None when nothing is
    /// compared.
    pub fn ratios(contest: &Contest) -> Vec<Self> {
        let blocks = crate::contest::blocks(contest);
        blocks.iter().filter_map(|block| Self::ratios_of(contest, block)).collect()
    }

    fn ratios_of(contest: &Contest, block: &Block) -> Option<Self> {
        let figure = contest.figure();
        let row = |line: &Line| {
            let (one, other) = line.compared?;
            let found = Comparison::of(contest, one, other, figure)?;
            Some(Ratio { name: shortened(&name(contest, line.at)), found })
        };
        let rows: Vec<Ratio> = block.lines.iter().filter_map(row).collect();
        let with = match (contest.shape.as_str(), contest.shape.strip_prefix("sweep ")) {
            ("ladder", _) => "each rung against the one before".to_owned(),
            ("peers", _) => format!("{OURS} against each of them"),
            (_, Some(_)) if contest.programs().len() > 1 => {
                format!("{OURS} against each of them at the same value")
            }
            (_, Some(setting)) => format!("each against {setting} {}", name(contest, BASELINE)),
            _ => format!("each against {}", name(contest, block.lines.first()?.at)),
        };
        let speed = is_speed(figure);
        let what = if speed { "How many times as fast" } else { "How many times less" };
        let heading = block.heading.map_or(String::new(), |heading| format!("{heading}: "));
        Some(Self {
            title: format!(
                "{heading}{}",
                if heading.is_empty() { what.into() } else { what.to_lowercase() }
            ),
            subtitle: format!("{} · {with} · lines are intervals of 95 %", words(figure)),
            keys: vec![],
            body: Body::Ratios(RatioChart {
                rows: if rows.is_empty() { return None } else { rows },
                sides: if speed { ("slower", "faster") } else { ("more", "less") },
                one_contest: true,
            }),
        })
    }

    /// The main comparison of each of several contests.
    pub(crate) fn overview(rows: Vec<(String, Comparison)>) -> Option<Self> {
        let row = |(name, found)| Ratio { name, found };
        let rows: Vec<Ratio> = rows.into_iter().map(row).collect();
        (!rows.is_empty()).then(|| Self {
            title: "All results".into(),
            subtitle: "the main comparison of each contest · lines are intervals of 95 %".into(),
            keys: vec![],
            body: Body::Ratios(RatioChart {
                rows,
                sides: ("slower", "faster"),
                one_contest: false,
            }),
        })
    }

    /// Where the time of the typical run of each contestant goes; without stages, how long it is.
    pub fn typical_runs(contest: &Contest) -> Option<Self> {
        let figure = contest.figure();
        let mut all: Vec<(usize, &RunRecord)> = vec![];
        for line in crate::contest::blocks(contest).iter().flat_map(|block| &block.lines) {
            if let Some(run) =
                contest.typical(line.at).filter(|_| all.iter().all(|(at, _)| *at != line.at))
            {
                all.push((line.at, run));
            }
        }
        let staged = figure == WALL_S && all.iter().any(|(_, run)| !run.stages.is_empty());
        let parts = all.iter().filter(|_| staged).flat_map(|(_, run)| working(run));
        let names = distinct(parts.map(|(part, _)| part));
        let row = |(at, run): &(usize, &RunRecord)| {
            let value = median(contest, *at, figure)?;
            let parts = match staged && !working(run).is_empty() {
                true => stacked(run, &names),
                false => vec![whole(value, figure, staged)],
            };
            let text = Unit::of(figure).show(value);
            Some(Row { name: shortened(&name(contest, *at)), parts, text })
        };
        let rows: Vec<Row> = all.iter().filter_map(row).collect();
        let key =
            |name: &&str| Key { name: shortened(name), ink: part_ink(name, &names), strength: 1.0 };
        let mut keys: Vec<Key> = names.iter().map(key).collect();
        if staged {
            keys.push(Key { name: REST.into(), ink: FAINT, strength: PALE });
        }
        let subtitle = match staged {
            true => "the typical run of each: wall time, by what its threads did meanwhile".into(),
            false => format!("{}, median", words(figure)),
        };
        Some(Self {
            title: if staged { "Where the time goes".into() } else { "How much each takes".into() },
            subtitle,
            keys,
            body: Body::Bars(BarChart { rows: if rows.is_empty() { return None } else { rows } }),
        })
    }

    /// Million gas in a second of each operation behind each other one; the slowest are in the
    /// upper left corner. None of contests that have no pairs.
    pub fn pairs(contest: &Contest) -> Option<Self> {
        let all = operations(contest);
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
        let chart = HeatChart::new(names, values, ("executed first", "executed behind it"));
        let classes = chart.classes().into_iter().zip(STRENGTHS);
        let keys = classes.map(|(name, strength)| Key { name, ink: WORSE, strength }).collect();
        (!pairs.is_empty()).then(|| Self {
            title: "Each operation behind each other".into(),
            subtitle: format!("Mgas a second of {count} pairs · the slowest at the upper left"),
            keys,
            body: Body::Heat(chart),
        })
    }

    /// How each compared fact grows along a sweep. None of other contests.
    pub fn growth(contest: &Contest) -> Option<Self> {
        let setting = contest.shape.strip_prefix("sweep ")?;
        let points = contest.points(None, contest.figure());
        let xs: Vec<f64> = points.into_iter().map(|point| point.0).collect();
        let programs = contest.programs();
        let panel = |figure: &String| {
            let (mut series, mut names) = (vec![], vec![]);
            for (place, program) in programs.iter().enumerate() {
                let Some(growth) = contest.growth(*program, figure) else { continue };
                let points = contest.points(*program, figure);
                let line = points.iter().map(|(x, _)| (*x, growth.at(*x))).collect();
                let exponent = format::exponent(&growth);
                let (label, name) = match programs.len() {
                    0 | 1 => (words(figure), format!("^{exponent}")),
                    _ => {
                        let label = program.unwrap_or(OURS).to_owned();
                        (label.clone(), format!("{label} ^{exponent}"))
                    }
                };
                names.push(name);
                series.push(Series { label, place, points, line: Some(line) });
            }
            let detail = names.first()?.replacen('^', "grows to the power of ", 1);
            let values = || series.iter().flat_map(|one: &Series| &one.points).map(|point| point.1);
            let (low, high) =
                (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            let mut y = Axis::logarithmic(low, high);
            for (value, text) in &mut y.ticks {
                *text = Unit::of(figure).show(*value);
            }
            let panel = Panel::new(words(figure), y, Unit::of(figure).sign(), series);
            Some(Panel { detail, names, ..panel })
        };
        let panels: Vec<Panel> = contest.compare.iter().filter_map(panel).collect();
        let x = Axis::of_values(&xs)?;
        (!panels.is_empty()).then(|| Self {
            title: format!("How it grows with {setting}"),
            subtitle: "both scales are logarithmic · dots are medians, lines the fitted powers"
                .into(),
            keys: if programs.len() > 1 { keys_of(&panels) } else { vec![] },
            body: Body::Lines(LineChart { x, x_name: setting.to_owned(), panels }),
        })
    }
}

/// What the threads of a run did, in parts of its wall time: the stages, or the phases where there
/// are no stages.
fn working(run: &RunRecord) -> Vec<(&str, f64)> {
    let threads = run.threads.len().max(1) as f64;
    if run.stages.is_empty() {
        return run.phases().into_iter().map(|phase| (phase, run.busy_s(phase))).collect();
    }
    run.stages.iter().map(|stage| (stage.name.as_str(), stage.busy_s / threads)).collect()
}

fn stacked(run: &RunRecord, names: &[&str]) -> Vec<Part> {
    let part = |(name, value): (&str, f64)| Part {
        value,
        ink: part_ink(name, names),
        strength: 1.0,
        text: format::duration(value),
        name: name.to_owned(),
    };
    let mut parts: Vec<Part> = working(run).into_iter().map(part).collect();
    let rest = run.wall_s() - parts.iter().map(|part| part.value).sum::<f64>();
    if rest > 0.0 {
        let text = format::duration(rest);
        parts.push(Part { value: rest, ink: FAINT, strength: PALE, text, name: REST.into() });
    }
    parts
}

/// A run that is not looked into; grey beside others that are.
fn whole(value: f64, figure: &str, staged: bool) -> Part {
    let ink = if staged { palette::SET_UP } else { palette::WORK };
    Part { value, ink, strength: 1.0, text: String::new(), name: words(figure) }
}
