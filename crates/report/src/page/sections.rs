//! The parts of the page that are made of words.

use maud::{Markup, PreEscaped, html};
use pipeline::record::{RunRecord, rate};

use crate::chart::Chart;
use crate::format;
use crate::group::{Group, by_label, cautions, drawn, validate_and_write};
use crate::{stages as stage_table, summary};

/// What the page is about, in one line.
pub(crate) fn title(records: &[RunRecord]) -> String {
    let Some(first) = records.first() else { return "blockmill: no runs".to_owned() };
    let labels = by_label(records).len();
    let chain = [first.data.chain.as_str(), first.data.format.as_str()].join(" ");
    let what = match labels {
        1 => first.label.clone(),
        more => format!("{more} ways compared"),
    };
    let blocks = format::count(first.data.blocks);
    format!("{what}: {blocks} blocks of {}", chain.trim())
}

/// Heading, verdict and the figures that matter most.
pub(crate) fn head(records: &[RunRecord]) -> Markup {
    let groups = by_label(records);
    let first = records.first();
    html! {
        header {
            h1 { (title(records)) }
            @if let Some(first) = first {
                p.faint {
                    (first.program.name) " " (first.program.version)
                    @if let Some(date) = format::date(first.started_unix) { " · " (date) }
                    @if !first.machine.cpu.is_empty() { " · " (first.machine.cpu) }
                }
                (verdict(records))
            }
            div.cards { @for (name, value) in cards(&groups) { div.card { (name) b { (value) } } } }
            @if groups.len() == 1 {
                @for caution in cautions(&groups) { p.warn { (caution) } }
            }
        }
    }
}

fn verdict(records: &[RunRecord]) -> Markup {
    let well = |record: &&RunRecord| summary::status(record).is_success();
    let failed = records.len() - records.iter().filter(well).count();
    let text = match (records, failed) {
        ([one], _) => summary::verdict(one).1,
        (many, 0) => format!("All {} runs ended well.", many.len()),
        (many, failed) => format!("{failed} of {} runs failed.", many.len()),
    };
    html! { p.verdict.bad[failed > 0] { (text) } }
}

/// The fastest label by validation and write, and what sets it off.
fn cards<'a>(groups: &[Group<'a>]) -> Vec<(&'a str, String)> {
    let total = |group: &Group<'_>| group.spread(validate_and_write).map(|spread| spread.median);
    let fastest = groups
        .iter()
        .filter_map(|group| Some((total(group)?, group)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((best, group)) = fastest else { return Vec::new() };
    let median = |figure: fn(&RunRecord) -> f64| group.spread(figure).map_or(0.0, |s| s.median);
    let mut cards = Vec::new();
    if groups.len() > 1 {
        cards.push(("fastest", group.label.to_owned()));
        if let Some(first) = groups.first().and_then(total).filter(|_| best > 0.0) {
            cards.push(("against the first", format::ratio(first / best)));
        }
    }
    cards.push(("blocks a second", format::rate(median(|r| r.totals.blocks_per_s))));
    if let Some(RunRecord { reindex: Some(_), .. }) = group.typical() {
        cards.push(("inputs a second", format::rate(median(inputs_per_s))));
        cards.push(("index", format::duration(median(index_s))));
    }
    for phase in group.typical().map_or(vec![], summary::shown_phases) {
        let busy = group.spread(|r| r.busy_s(phase)).map_or(0.0, |spread| spread.median);
        cards.push((phase, format::duration(busy)));
    }
    cards.push(("whole run", format::duration(median(|r| r.totals.wall_s))));
    let peak = group.runs.iter().map(|record| record.totals.peak_rss_bytes).max().unwrap_or(0);
    if peak > 0 {
        cards.push(("peak memory", format::bytes(peak)));
    }
    cards
}

/// Seconds that the index of a run over block files took.
fn index_s(record: &RunRecord) -> f64 {
    record.reindex.as_ref().map_or(0.0, |reindex| reindex.index_s)
}

/// Inputs that a run over block files connected in a second.
fn inputs_per_s(record: &RunRecord) -> f64 {
    record.reindex.as_ref().map_or(0.0, |reindex| rate(reindex.inputs, reindex.connect_s))
}

/// Busy and waiting time of the stages of each label that has them.
pub(crate) fn stages(records: &[RunRecord]) -> Markup {
    let mut found = Vec::new();
    for (_, record) in drawn(&by_label(records)) {
        if let Some(chart) = Chart::stages(record) {
            found.push((record, chart.svg()));
        }
    }
    let alone = found.len() == 1;
    html! {
        @if !found.is_empty() { h2 { "Stages" } }
        @for (record, svg) in found {
            details open[alone] {
                summary { (record.label) }
                figure { div.drawing { div.sheet { (PreEscaped(svg)) } } }
                (stage_table::table(record).html())
            }
        }
    }
}

/// What was imported and checked, on which machine, with which switches and notes.
pub(crate) fn data_and_machine(records: &[RunRecord]) -> Markup {
    let Some(first) = records.first() else { return html! {} };
    let mut notes: Vec<&str> = records.iter().flat_map(|r| &r.notes).map(String::as_str).collect();
    notes.sort_unstable();
    notes.dedup();
    html! {
        @if let [one] = records { h2 { "Checked" } (list(summary::facts(one))) }
        h2 { "Data" }
        (list(data(first)))
        h2 { "Machine" }
        (list(machine(first)))
        @if records.len() == 1 && !first.variants.is_empty() {
            h2 { "Switches" }
            dl { @for (name, value) in &first.variants { dt { (name) } dd { (value) } } }
        }
        @if !notes.is_empty() { h2 { "Notes" } }
        @for note in notes { p { (note) } }
    }
}

fn list(entries: Vec<(&'static str, String)>) -> Markup {
    html! { dl { @for (name, value) in entries { dt { (name) } dd { (value) } } } }
}

fn data(record: &RunRecord) -> Vec<(&'static str, String)> {
    let data = &record.data;
    let mut entries = vec![
        ("chain", data.chain.clone()),
        ("format", data.format.clone()),
        ("blocks", format::block_range(data.first, data.last, data.blocks)),
        ("size", format::bytes(data.bytes)),
    ];
    let more = data.paths.len().saturating_sub(8);
    let mut paths = data.paths.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        paths += &format!(" and {} more", format::count(more as u64));
    }
    entries.push(("paths", paths));
    entries.extend(data.checksum.clone().map(|checksum| ("checksum", checksum)));
    entries.push(("command", record.command.join(" ")));
    entries.retain(|(_, value)| !value.is_empty());
    entries
}

fn machine(record: &RunRecord) -> Vec<(&'static str, String)> {
    let machine = &record.machine;
    let mut entries = vec![("CPU", machine.cpu.clone())];
    entries.push(("cores", format::count(u64::from(machine.cores))));
    if machine.memory_bytes > 0 {
        entries.push(("memory", format::bytes(machine.memory_bytes)));
    }
    entries.push(("kernel", machine.kernel.clone()));
    entries.push(("features", machine.features.join(", ")));
    if let Some(disk) = &machine.disk {
        let kind = match disk.rotational {
            Some(true) => "spinning",
            Some(false) => "solid state",
            None => "",
        };
        let parts: [&str; 4] = [&disk.model, &disk.device, &disk.filesystem, kind];
        let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        entries.push(("disk", known.join(", ")));
    }
    entries.push(("revision", record.program.revision.clone()));
    entries.retain(|(_, value)| !value.is_empty());
    entries
}

/// Where the figures come from.
pub(crate) fn raw(records: &[RunRecord]) -> Markup {
    html! {
        h2 { "Records" }
        p.faint {
            "Everything above is drawn from " (format::count(records.len() as u64))
            " run record" @if records.len() != 1 { "s" } ", which this page holds as JSON in the "
            "element " code { "#records" } "."
        }
    }
}
