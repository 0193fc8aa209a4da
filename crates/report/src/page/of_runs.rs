//! The part of the page that is about runs: one, or several side by side.

use blockmill_pipeline::machine::Machine;
use blockmill_pipeline::record::{BLOCKS_PER_S, MGAS_PER_S, PEAK_RSS_BYTES, RunRecord, rate};
use maud::{Markup, html};

use super::{cards, figures, hero, list, part};
use crate::chart::Chart;
use crate::runs::{Drawn, ONE_RUN_EACH, cautions, drawn, shell};
use crate::table::Table;
use crate::{block_files, compare, executed, format, summary, times};
use crate::{functions as function_table, slowest, stages as stage_table};

/// Up to so many runs are named in the first sentence.
const NAMED: usize = 4;

/// What the page is about, in one line.
#[must_use]
pub fn title(records: &[RunRecord]) -> String {
    let Some(first) = records.first() else { return "blockmill: no runs".to_owned() };
    let chain = [first.data.chain.as_str(), first.data.format.as_str()].join(" ");
    let what = match records.len() {
        1 => first.label.clone(),
        more => format!("{more} runs compared"),
    };
    let blocks = format::counted(first.data.blocks, "block");
    format!("{what}: {blocks} of {}", chain.trim())
}

/// Everything about the runs.
#[must_use]
pub fn runs(records: &[RunRecord]) -> Markup {
    let curves = [
        Chart::speed(records),
        Chart::accumulated(records),
        Chart::per_chunk(records),
        Chart::per_block(records),
    ];
    let several = records.len() > 1;
    let along = html! { (figures(&curves)) };
    html! {
        (head(records))
        (figures(&[Chart::time(records)]))
        @if several { h2 { "Side by side" } (compare::table(records).html()) }
        (stages(records))
        @if curves.iter().any(Option::is_some) { (part("Along the chain", &along)) }
        (block_times(records))
        (slowest_rows(records))
        (functions(records))
        (data_and_machine(records))
    }
}

/// Heading, verdict and the figures that matter most.
fn head(records: &[RunRecord]) -> Markup {
    html! {
        header {
            h1 { (title(records)) }
            @if let Some(first) = records.first() {
                p.faint {
                    (first.program.name) " " (first.program.version)
                    @if let Some(date) = format::date(first.started_unix) { " · " (date) }
                    @if !first.machine.cpu.is_empty() { " · " (first.machine.cpu) }
                }
                (verdict(records))
            }
            @if let [record] = records && let Some((value, what)) = leading(record) {
                (hero(&value, what))
            }
            (cards(figures_of(records)))
            @if records.len() == 1 {
                @for caution in cautions(records) { p.warn { (caution) } }
            }
        }
    }
}

fn verdict(records: &[RunRecord]) -> Markup {
    let well = |record: &&RunRecord| summary::status(record).is_success();
    let failed = records.len() - records.iter().filter(well).count();
    let text = match (records, failed) {
        ([one], _) => summary::verdict(one).1,
        (many, 0) => times_of(many),
        (many, failed) => format!("{failed} of {} runs failed.", many.len()),
    };
    let class = match (records.len(), failed) {
        (_, 1..) => "verdict bad",
        (1, 0) => "verdict good",
        // nothing was compared
        _ => "verdict",
    };
    html! { p class=(class) { (text) } }
}

/// What each run took, in a sentence, in the order in which they were given. It calls none the
/// faster one: two equal runs differ, too, and one run of each does not say by how much.
fn times_of(records: &[RunRecord]) -> String {
    let all = drawn(records);
    let took =
        |run: &Drawn<'_>| format!("{} took {}", run.name, format::duration(run.record.wall_s()));
    let mut times: Vec<String> = all.iter().take(NAMED).map(took).collect();
    if let more @ 1.. = all.len() - times.len() {
        times.push(format!("{} more are below", format::count(more as u64)));
    }
    format!("{}. {ONE_RUN_EACH}", times.join(", "))
}

/// The figure of a run that matters most, of what it did: executed, connected or verified.
fn leading(record: &RunRecord) -> Option<(String, &'static str)> {
    let inputs = rate(record.facts.count_of("inputs"), record.facts.value("connect_s"));
    let (value, what) = match (executed::blocks(record), block_files::are_of(record)) {
        (Some(_), _) if record.facts.value(MGAS_PER_S) > 0.0 => {
            (record.facts.value(MGAS_PER_S), "Mgas a second executed, over the whole run")
        }
        (_, true) if inputs > 0.0 => (inputs, "inputs a second connected"),
        _ => (record.facts.value(BLOCKS_PER_S), "blocks a second, over the whole run"),
    };
    (value > 0.0).then(|| (format::rate(value), what))
}

/// The figures of a single run: what it took of the wall, of CPUs and of memory. Those of several
/// are next to each other in a table.
fn figures_of(records: &[RunRecord]) -> Vec<(&'static str, String)> {
    let [record] = records else { return vec![] };
    let mut cards = vec![];
    cards.push(("whole run, wall time", format::duration(record.wall_s())));
    cards.extend(times::cpu(record).map(|time| ("CPU time", time)));
    cards.extend(times::threads_busy(record).map(|busy| ("threads busy", busy)));
    if executed::blocks(record).is_some() {
        cards.push(("a block, p99", format::duration(record.facts.value("block_p99_s"))));
    }
    if block_files::are_of(record) {
        cards.push(("index, wall time", format::duration(record.facts.value("index_s"))));
    }
    if let peak @ 1.. = record.facts.count_of(PEAK_RSS_BYTES) {
        cards.push(("peak memory", format::bytes(peak)));
    }
    cards
}

/// Busy and waiting time of the stages and threads of each run that has them.
fn stages(records: &[RunRecord]) -> Markup {
    let of = |run: &Drawn<'_>| {
        Chart::stages(run.record).map(|_| {
            html! { (figures(&inside(run.record))) (stage_table::table(run.record).html()) }
        })
    };
    each("Stages", records, of)
}

/// A folded part with what `of` says of each run; nothing if it says nothing of any.
fn each(title: &str, records: &[RunRecord], of: impl Fn(&Drawn<'_>) -> Option<Markup>) -> Markup {
    let all: Vec<_> =
        drawn(records).into_iter().filter_map(|run| Some((of(&run)?, run.name))).collect();
    let body = match &all[..] {
        [] => return html! {},
        [(only, _)] => only.clone(),
        several => html! {
            @for (one, name) in several { details { summary { (name) } (one) } }
        },
    };
    part(title, &body)
}

/// Where the time of one run went.
#[must_use]
pub fn inside(record: &RunRecord) -> [Option<Chart>; 3] {
    [Chart::stages(record), Chart::threads(record), Chart::busy_over_time(record)]
}

/// What a block takes, of each run that executed them.
fn block_times(records: &[RunRecord]) -> Markup {
    tables(records, "Time of a block", executed::table)
}

fn slowest_rows(records: &[RunRecord]) -> Markup {
    let titles = records.iter().map(slowest::title);
    tables(records, titles.max().unwrap_or_default(), slowest::table)
}

/// A table of each run that has one.
fn tables(records: &[RunRecord], title: &str, of: fn(&RunRecord) -> Option<Table>) -> Markup {
    each(title, records, |run| Some(of(run.record)?.html()))
}

/// Where the CPU time of the runs went that were sampled.
fn functions(records: &[RunRecord]) -> Markup {
    let of = |run: &Drawn<'_>| {
        let table = function_table::table(run.record)?;
        Some(html! { (figures(&[Chart::flame(run.record)])) (table.html()) })
    };
    each("Functions", records, of)
}

/// What was imported and checked, on which machine, with which options and notes.
fn data_and_machine(records: &[RunRecord]) -> Markup {
    let Some(first) = records.first() else { return html! {} };
    let mut notes: Vec<&str> = records
        .iter()
        .flat_map(|record| record.notes.iter().chain(&record.details))
        .map(String::as_str)
        .collect();
    notes.sort_unstable();
    notes.dedup();
    let program = [
        ("revision", first.program.revision.clone()),
        ("allocator", first.program.allocator.clone()),
        ("profile", first.program.profile.clone()),
    ];
    let machine = machine(&first.machine).into_iter().chain(program);
    let options = first.options.iter().map(|(name, value)| (name.as_str(), value.clone()));
    html! {
        @if let [one] = records { h2 { "Checked" } (list(summary::facts(one))) }
        (part("Data", &list(data(first))))
        @if records.len() > 1 { (part("Commands", &commands(records))) }
        (part("Machine", &list(machine.into_iter().filter(|(_, v)| !v.is_empty()))))
        @if records.len() == 1 && !first.options.is_empty() { (part("Options", &list(options))) }
        @if !notes.is_empty() { h2 { "Notes" } }
        @for note in notes { p { (note) } }
    }
}

fn commands(records: &[RunRecord]) -> Markup {
    html! { dl { @for run in drawn(records) {
        dt { (run.name) } dd { code { (shell(&run.record.command)) } }
    } } }
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
    entries.push(("command", shell(&record.command)));
    entries.retain(|(_, value)| !value.is_empty());
    entries
}

/// What is known about a machine.
#[must_use]
pub fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
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
    entries.retain(|(_, value)| !value.is_empty());
    entries
}
