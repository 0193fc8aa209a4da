//! Charts of run records. The first two follow the reference (holiman/headerimport):
//! accumulated time over the chain, and the time of each chunk.

use super::axis::Axis;
use super::bars::{BarChart, BarPart, Row};
use super::lines::{LineChart, Panel};
use super::palette::{self, Ink};
use super::series::{self, Series};
use super::{Body, Chart, Key, keys_of, shortened};
use crate::format;
use crate::runs::{distinct, drawn};
use crate::stages::{busy_share, parts};
use crate::summary::{INDEX, SET_UP, shown_phases};
use crate::times::wall_and_cpu;
use blockmill_pipeline::record::{CHUNK, Percentiles, RunRecord, Stage, Thread};

/// Name of the lower axis of charts over the chain.
pub(super) const BLOCKS: &str = "block number";
/// The share of points that an axis shows whatever their values are.
const USUAL: f64 = 0.98;
/// An axis ends below a point that is so many times as high as nearly all others.
const FAR: f64 = 3.0;
/// Of fewer points each is shown at its place.
const MANY: usize = 30;
/// How strong the colour of waiting time is.
const PALE: f64 = 0.28;

impl Chart {
    /// Time of the phases, accumulated over the chain: one line for each run. None when no record
    /// has chunks.
    pub fn accumulated(records: &[RunRecord]) -> Option<Self> {
        let phases = phases_of(records);
        let series = series::accumulated(records, &phases);
        let names = names(&series, format::duration);
        let y = Axis::from_zero(largest(&series)?, 6);
        let panels = vec![Panel { names, height: 340.0, ..Panel::new("seconds", y, "s", series) }];
        Some(Self {
            title: format!("{}, accumulated", listed(&phases)),
            subtitle: subtitle(records, "thread time; lower is faster"),
            keys: keys_of(&panels),
            body: Body::Lines(LineChart { x: block_axis(records)?, x_name: BLOCKS.into(), panels }),
        })
    }

    /// Time of each chunk in each of the phases, over the chain, one panel for each. The scale is
    /// logarithmic when runs differ much. None when no record has chunks.
    pub fn per_chunk(records: &[RunRecord]) -> Option<Self> {
        let unit = series::chunk_size(records)?;
        let phases = phases_of(records);
        let panel = |what: &str| {
            let series = series::per_chunk(records, unit, what);
            let y = time_axis(&series)?;
            let scale = if y.log { ", logarithmic scale" } else { "" };
            let blocks = format::number(unit, 0);
            let name = shortened(what);
            let caption = format!("{name}, ms for {blocks} blocks{scale}");
            let detail = percentiles(records, what).unwrap_or_default();
            Some(Panel { detail, ..Panel::new(caption, y, "ms", series) })
        };
        let panels: Vec<Panel> = phases.iter().filter_map(|phase| panel(phase)).collect();
        let dots = match series::chunks_in_a_point(records) {
            1 => "each dot is one chunk".to_owned(),
            more => format!("each dot is the mean of up to {more} chunks"),
        };
        if panels.is_empty() {
            return None;
        }
        Some(Self {
            title: format!("{} of each chunk", listed(&phases)),
            subtitle: subtitle(records, &format!("{dots}, lines are running medians")),
            keys: keys_of(&panels),
            body: Body::Lines(LineChart { x: block_axis(records)?, x_name: BLOCKS.into(), panels }),
        })
    }

    /// Blocks in a second along the clock on the wall. None when no record has chunks.
    pub fn speed(records: &[RunRecord]) -> Option<Self> {
        Some(Self {
            title: "Speed over time".to_owned(),
            subtitle: subtitle(records, "blocks that left the last stage, by the clock"),
            ..Self::by_the_clock("blocks/s", "blocks/s", series::speed(records))?
        })
    }

    /// Where the working time of each run went, by phase. None when no record has
    /// such times.
    pub fn time(records: &[RunRecord]) -> Option<Self> {
        let drawn = drawn(records);
        let all = drawn.iter().flat_map(|run| parts(run.record));
        let names = distinct(all.filter(|(_, seconds)| *seconds > 0.0).map(|(name, _)| name));
        let rows: Vec<Row> =
            drawn.iter().filter_map(|run| time_row(run.record, &run.name, &names)).collect();
        let key =
            |name: &&str| Key { name: shortened(name), ink: part_ink(name, &names), strength: 1.0 };
        Some(Self {
            title: "Where the time went".to_owned(),
            subtitle: subtitle(records, &thread_time(records)),
            keys: names.iter().map(key).collect(),
            body: Body::drawn(BarChart { rows: if rows.is_empty() { return None } else { rows } }),
        })
    }

    /// Busy and waiting time of each stage of one run. None when it has no stages.
    pub fn stages(record: &RunRecord) -> Option<Self> {
        let all = |stage: &Stage| stage.busy_s + stage.wait_s;
        if !record.stages.iter().any(|stage| all(stage) > 0.0) {
            return None;
        }
        Some(Self {
            title: format!("Busy and waiting: {}", shortened(&record.label)),
            subtitle: "each stage, for each of its threads; the busiest stage sets the pace".into(),
            keys: work_keys("waiting"),
            body: Body::drawn(BarChart { rows: record.stages.iter().map(stage_row).collect() }),
        })
    }

    /// How many threads were in each stage of one run, along the clock. None when it is not known.
    pub fn busy_over_time(record: &RunRecord) -> Option<Self> {
        Some(Self {
            title: format!("Busy over time: {}", shortened(&record.label)),
            subtitle: "threads at work in each stage, by the clock".to_owned(),
            ..Self::by_the_clock("threads at work", "threads", series::busy_over_time(record))?
        })
    }

    /// Lines along the clock, without their title. None when all are 0.
    fn by_the_clock(caption: &str, unit: &'static str, series: Vec<Series>) -> Option<Self> {
        let end = series.iter().filter_map(|series| series.points.last()).map(|point| point.0);
        let x = Axis::from_zero(end.fold(0.0, f64::max), 6);
        let y = Axis::from_zero(largest(&series)?, 4);
        let panels = vec![Panel::new(caption, y, unit, series)];
        let (title, subtitle, keys) = (String::new(), String::new(), keys_of(&panels));
        let body = Body::Lines(LineChart { x, x_name: "seconds".into(), panels });
        Some(Self { title, subtitle, keys, body })
    }

    /// Busy and idle time of each thread of one run. None when they are not known.
    pub fn threads(record: &RunRecord) -> Option<Self> {
        if !record.threads.iter().any(|thread| thread.busy_s > 0.0) {
            return None;
        }
        let row = |(at, thread): (usize, &Thread)| {
            let (busy, idle) = (thread.busy_s, thread.idle_s);
            let share = if busy + idle > 0.0 { busy / (busy + idle) } else { 0.0 };
            work_row(format!("thread {}", at + 1), busy, ("idle", idle), share, "")
        };
        Some(Self {
            title: format!("Busy and idle: {}", shortened(&record.label)),
            subtitle: "each thread, from the first block to the last".into(),
            keys: work_keys("idle"),
            body: Body::drawn(BarChart {
                rows: record.threads.iter().enumerate().map(row).collect(),
            }),
        })
    }
}

/// The phases shown for all runs.
fn phases_of(records: &[RunRecord]) -> Vec<&str> {
    distinct(records.iter().flat_map(shown_phases))
}

/// Phases as the beginning of a title: `Check: verify and write`.
fn listed(phases: &[&str]) -> String {
    let list = match phases {
        [] => String::new(),
        [one] => shortened(one),
        [more @ .., last] => {
            let more: Vec<String> = more.iter().map(|one| shortened(one)).collect();
            format!("{} and {}", more.join(", "), shortened(last))
        }
    };
    let mut letters = list.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Percentiles of a phase of a run that is drawn alone: `p50 1.2 ms, p99 3.4 ms, max 8 ms`.
fn percentiles(records: &[RunRecord], phase: &str) -> Option<String> {
    let [record] = records else { return None };
    let Percentiles { p50, p95, p99, max } = record.series(CHUNK)?.column(phase)?.percentiles?;
    let all = [("p50", p50), ("p95", p95), ("p99", p99), ("max", max)];
    let shown = all.map(|(name, value)| format!("{name} {}", format::duration(value)));
    Some(shown.join(", "))
}

/// The colour of a part of the time, by its place among all.
pub fn part_ink(name: &str, names: &[&str]) -> Ink {
    let is_phase = |name: &&&str| ![SET_UP, INDEX].contains(*name);
    match names.iter().filter(is_phase).position(|other| *other == name) {
        Some(place) => palette::phase(place),
        None => palette::SET_UP,
    }
}

fn time_row(record: &RunRecord, name: &str, names: &[&str]) -> Option<Row> {
    let parts = parts(record);
    let sum: f64 = parts.iter().map(|(_, seconds)| seconds.max(0.0)).sum();
    (sum > 0.0).then(|| Row {
        name: shortened(name),
        parts: parts
            .into_iter()
            .map(|(name, seconds)| BarPart {
                value: seconds,
                ink: part_ink(name, names),
                strength: 1.0,
                text: format::duration(seconds),
                name: name.to_owned(),
            })
            .collect(),
        text: format::duration(sum),
    })
}

/// What the bars of stages add up to, next to the times of a run that is drawn alone.
fn thread_time(records: &[RunRecord]) -> String {
    let times = match records {
        [record] => format!(" · {}", wall_and_cpu(record)),
        _ => String::new(),
    };
    format!("thread time of each stage, over all threads{times}")
}

fn work_keys(rest: &str) -> Vec<Key> {
    let key = |name: &str, strength| Key { name: name.into(), ink: palette::WORK, strength };
    vec![key("busy", 1.0), key(rest, PALE)]
}

fn stage_row(stage: &Stage) -> Row {
    let each = f64::from(stage.threads.max(1));
    let threads = match stage.threads {
        0 | 1 => String::new(),
        more => format!(", {more} threads"),
    };
    let (busy, wait) = (stage.busy_s / each, stage.wait_s / each);
    work_row(shortened(&stage.name), busy, ("waiting", wait), busy_share(stage), &threads)
}

fn work_row(name: String, busy: f64, rest: (&str, f64), share: f64, more: &str) -> Row {
    let part = |name: &str, value: f64, strength| {
        let (ink, text, name) = (palette::WORK, format::duration(value), name.to_owned());
        BarPart { value, ink, strength, text, name }
    };
    Row {
        name,
        parts: vec![part("busy", busy, 1.0), part(rest.0, rest.1, PALE)],
        text: format!("{} busy{more}", format::percent(share)),
    }
}

/// The axis of a panel of chunk times: logarithmic when the medians of the lines are far apart,
/// since the fast ones would lie on the ground otherwise.
pub(super) fn time_axis(series: &[Series]) -> Option<Axis> {
    let highest = largest(series)?;
    let values = || series.iter().flat_map(|s| &s.points).map(|p| p.1).filter(|v| *v > 0.0);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let medians: Vec<f64> = series
        .iter()
        .filter_map(|s| Some(s.line().get(s.points.len() / 2)?.1))
        .filter(|median| *median > 0.0)
        .collect();
    let apart = medians.iter().copied().fold(0.0, f64::max)
        / medians.iter().copied().fold(f64::INFINITY, f64::min);
    Some(match apart > 12.0 {
        true => Axis::logarithmic(lowest, highest),
        false => Axis::from_zero(usual(series).unwrap_or(highest), 4),
    })
}

/// Up to where an axis reaches if a few points are far above all others; `None` if none are.
/// Those lie on the upper end, with a mark.
fn usual(series: &[Series]) -> Option<f64> {
    let mut values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|point| point.1).collect();
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() as f64 * USUAL) as usize;
    let (high, highest) = (*values.get(rank)?, *values.last()?);
    let is_spike = values.len() >= MANY && high > 0.0 && highest > FAR * high;
    is_spike.then_some(high * 1.25)
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

/// Lines with the value at which they end.
fn names(series: &[Series], show: impl Fn(f64) -> String) -> Vec<String> {
    let name = |series: &Series| {
        let value = series.points.last().map(|point| show(point.1)).unwrap_or_default();
        format!("{}  {value}", shortened(&series.label)).trim_end().to_owned()
    };
    series.iter().map(name).collect()
}

pub(super) fn subtitle(records: &[RunRecord], hint: &str) -> String {
    let Some(data) = records.first().map(|record| &record.data) else { return hint.to_owned() };
    let what = format!("{} {}", shortened(&data.chain), shortened(&data.format));
    let what = [what.trim(), &format::counted(data.blocks, "block"), hint].join(" · ");
    what.trim_start_matches(" · ").to_owned()
}
