//! One HTML page about comparisons: what was found first, then where the time goes. Runs may
//! follow.

use crate::comparison::{AGAIN, BASELINE};
use crate::experiment::Variant;
use crate::findings::Comparison;
use crate::report::chart;
use crate::report::comparison::{
    Headline, block_tables, blocks, caution, headline, median, name, notes, operation_table,
    reference,
};
use crate::report::fact::{Unit, words};
use crate::report::gain::Outcome;
use crate::report::{history, overview, side_by_side};
use crate::session::Session;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::Chart;
use blockmill_report::format::{self, percent_of_noise};
use blockmill_report::page::{self, cards, figure, figures, hero, list, part};
use blockmill_report::runs::{distinct, shell};
use blockmill_report::{executed, slowest, stages};
use maud::{Markup, html};
use serde_json::Value;

/// Up to so many comparisons are open when the page is opened.
const OPEN: usize = 3;
/// Up to so many are named in the title.
const NAMED: usize = 3;

/// One self-contained page about benches and runs: one of them, or several.
#[must_use]
pub fn html(sessions: &[Session], records: &[RunRecord]) -> String {
    let title = match sessions {
        [] => page::title(records),
        [first, ..] => title(first),
    };
    let body = html! {
        (history(sessions))
        @if let Some(table) = side_by_side::table(sessions) {
            h1 { "Saved benches side by side" }
            p.warn { (history::CAUTION) }
            (table.html())
        }
        @for one in sessions { (session(one)) }
        @if sessions.is_empty() || !records.is_empty() { (page::runs(records)) }
    };
    let runs: usize = sessions.iter().flat_map(|s| &s.comparisons).map(|c| c.runs.len()).sum();
    let all = format::counted((runs + records.len()) as u64, "run record");
    let without = if runs > 0 { " (of comparisons without their series)" } else { "" };
    page::page(&title, &body, &page::source(&all, without), &embedded(sessions, records))
}

/// What several of the sessions have in common, over revisions; nothing if there is no such thing.
fn history(sessions: &[Session]) -> Markup {
    let charts = history::charts(sessions);
    html! {
        @if !charts.is_empty() {
            h1 { "History" }
            p.warn { (history::CAUTION) }
            @for (_, chart) in &charts { (figure(chart)) }
        }
    }
}

/// The records that the page embeds as JSON.
fn embedded(sessions: &[Session], records: &[RunRecord]) -> Value {
    let mut sessions = sessions.to_vec();
    for run in sessions.iter_mut().flat_map(|s| &mut s.comparisons).flat_map(|c| &mut c.runs) {
        run.record.series.clear();
    }
    serde_json::json!({ "sessions": sessions, "runs": records })
}

/// What the page is about, in one line.
fn title(session: &Session) -> String {
    let Some(first) = session.comparisons.first() else { return "No comparisons".to_owned() };
    let comparisons = &session.comparisons;
    if comparisons.len() == 1 {
        return overview::name(first);
    }
    let titles = distinct(comparisons.iter().map(|comparison| comparison.title.as_str()));
    let more = if titles.len() > NAMED { ", ..." } else { "" };
    let titles = titles.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    format!("{}: {titles}{more}", format::counted(comparisons.len() as u64, "comparison"))
}

/// Everything about one session.
fn session(session: &Session) -> Markup {
    let comparisons = &session.comparisons;
    let alone = comparisons.len() == 1;
    html! {
        header {
            h1 { (title(session)) }
            p.faint { (overview::program(session)) " · " (overview::machine(&session.machine)) }
        }
        @if !alone {
            (figures(&[overview::all_results(comparisons)]))
            (overview::table(comparisons).html())
        }
        @for comparison in comparisons {
            @if alone { (body(comparison)) } @else {
                details.comparison open[comparisons.len() <= OPEN] {
                    summary {
                        (overview::name(comparison))
                        span.faint { (headline(comparison).text) "." }
                    }
                    (body(comparison))
                }
            }
        }
        @for error in &session.failed { p.warn { "Failed: " (error) } }
        @if !session.left_out.is_empty() { h2 { "Left out" } }
        @for why in &session.left_out { p.note { (why) } }
        (part("Repeat", &list(repeat(session))))
        (part("Machine", &list(page::machine(&session.machine))))
    }
}

/// What measures the same again.
fn repeat(session: &Session) -> Vec<(&'static str, String)> {
    let program = &session.program;
    let mut all = vec![
        ("command", shell(&session.command)),
        ("revision", program.revision.clone()),
        ("profile", program.profile.clone()),
    ];
    all.retain(|(_, value)| !value.is_empty());
    all
}

fn body(comparison: &Comparison) -> Markup {
    let Headline { text, sure, found } = headline(comparison);
    let class = found.map_or("", |found| match found.outcome {
        Outcome::Better => "good",
        Outcome::Worse => "bad",
        Outcome::Same | Outcome::Unknown => "",
    });
    let mut blocks = blocks(comparison);
    if let Some(last) = blocks.last_mut() {
        last.table.notes = notes(comparison);
    }
    let tables = html! {
        @for block in &blocks {
            @if let Some(heading) = block.heading { h3 { (heading) } }
            (block.table.html())
        }
    };
    let more = html! {
        (figures(&[chart::pairs(comparison)]))
        @for (heading, table) in block_tables(comparison) { h3 { (heading) } (table.html()) }
        @if let Some(table) = operation_table(comparison) {
            h3 { "The slowest for their gas first" }
            (table.html())
        }
    };
    let all = chart::typical_runs(comparison).filter(|_| comparison.variants.len() > AGAIN + 2);
    html! {
        p class={ "verdict " (class) } { (text) "." }
        p.sure { (sure) }
        @if let Some(caution) = caution(comparison) { p.warn { (caution) } }
        @let (value, what) = leading(comparison);
        (hero(&value, &what))
        (cards(figures_of(comparison)))
        (figures(&[chart::leading_runs(comparison)]))
        @if !comparison.about.is_empty() { p.about { (comparison.about) } }
        (figures(&[chart::growth(comparison), chart::history::of_revisions(comparison)]))
        @for chart in chart::ratios(comparison) { (figure(&chart)) }
        (part("All figures", &tables))
        @if !more.0.is_empty() { (part("Blocks and operations", &more)) }
        @if all.is_some() { (part("Where the time goes in each", &figures(&[all]))) }
        (inside(comparison))
        (commands(comparison))
        @if comparison.reference.is_some() {
            (part("Compared with published results", &list(reference(comparison))))
        }
    }
}

/// The figure that leads: the gain of the headline, or what we take.
fn leading(comparison: &Comparison) -> (String, String) {
    let figure = comparison.figure();
    let ours = median(comparison, BASELINE, figure);
    let ours = ours.map_or(format::NONE.to_owned(), |value| Unit::of(figure).show(value));
    match headline(comparison).found.filter(|found| found.bounds.is_some()) {
        Some(found) => (found.words(), found.sure()),
        None => (ours, format!("{}, median", words(figure))),
    }
}

/// Further figures: what we take, and how much the machine differs from itself.
fn figures_of(comparison: &Comparison) -> Vec<(String, String)> {
    let mut all = vec![];
    // without a gain, the first is the figure that leads
    let known = usize::from(headline(comparison).found.is_none_or(|found| found.bounds.is_none()));
    for figure in comparison.compare.iter().take(3).skip(known) {
        if let Some(value) = median(comparison, BASELINE, figure) {
            all.push((format!("ours, {}", words(figure)), Unit::of(figure).show(value)));
        }
    }
    let noise = comparison.noise(comparison.figure());
    let noise = noise.is_finite().then(|| percent_of_noise(noise));
    all.extend(noise.map(|noise| ("noise of this machine".to_owned(), noise)));
    all
}

/// Details of the typical run of the baseline, and the curves of all variants.
fn inside(comparison: &Comparison) -> Markup {
    let Some(ours) = comparison.typical(BASELINE) else { return html! {} };
    let swept = comparison.experiment.starts_with("sweep ");
    let shown = (0..comparison.variants.len()).filter(|at| *at != AGAIN);
    let typical =
        |at| Some(RunRecord { label: name(comparison, at), ..comparison.typical(at)?.clone() });
    let all: Vec<RunRecord> = shown.filter_map(typical).collect();
    let curves = if swept {
        [None, None, None]
    } else {
        [Chart::accumulated(&all), Chart::per_chunk(&all), Chart::per_block(&all)]
    };
    let charts = page::inside(ours);
    let slowest = slowest::table(ours);
    if charts.iter().chain(&curves).flatten().next().is_none() && slowest.is_none() {
        return html! {};
    }
    html! {
        details.part {
            summary { h2 { "Inside a typical run" } }
            (figures(&charts))
            @if !ours.stages.is_empty() { (stages::table(ours).html()) }
            (figures(&curves))
            @if let Some(table) = executed::table(ours) { h3 { "Time of a block" } (table.html()) }
            @if let Some(table) = slowest { h3 { (slowest::title(ours)) } (table.html()) }
        }
    }
}

/// The command line of a variant's typical run, if it is known.
fn command(comparison: &Comparison, at: usize) -> Option<&[String]> {
    let command = &comparison.typical(at)?.command;
    (!command.is_empty()).then_some(command)
}

/// The exact command of each variant.
fn commands(comparison: &Comparison) -> Markup {
    let all = comparison.variants.iter().enumerate().filter(|(at, _)| *at != AGAIN);
    let settings = comparison.settings.iter().map(|(name, value)| format!("{name} {value}"));
    let settings: Vec<String> = settings.collect();
    let compared: Vec<String> = comparison.compare.iter().map(|figure| words(figure)).collect();
    html! {
        details.part {
            summary { h2 { "Commands" } }
            dl { @for (at, one) in all {
                dt { (name(comparison, at)) }
                dd {
                    @if let Some(command) = command(comparison, at) {
                        code { (shell(command)) } " "
                    }
                    span.faint { (differs(one)) }
                }
            } }
            p.note { "Settings: " (settings.join(", ")) ". Compared: " (compared.join(", ")) "." }
        }
    }
}

/// In what a variant is not the default.
fn differs(one: &Variant) -> String {
    match (&one.peer, &one.revision, &one.with[..]) {
        (Some(_), ..) => String::new(),
        (None, Some(revision), _) => format!("revision {revision}"),
        (None, None, []) => "the default".to_owned(),
        (None, None, with) => format!("with {}", with.join(", ")),
    }
}

#[cfg(test)]
mod in_chromium;
#[cfg(test)]
mod tests;
