//! One HTML page about contests: what was found first, then where the time goes. Runs may follow.

use crate::contest::{AGAIN, BASELINE};
use crate::findings::Contest;
use crate::report::chart;
use crate::report::comparison::Outcome;
use crate::report::contest::{
    Headline, blocks, caution, headline, median, name, notes, operation_table, reference,
};
use crate::report::fact::{Unit, words};
use crate::report::overview;
use crate::shape::Contestant;
use crate::sitting::Sitting;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::Chart;
use blockmill_report::format::{self, percent_of_noise};
use blockmill_report::page::{self, cards, figure, figures, list};
use blockmill_report::runs::{distinct, shell};
use blockmill_report::{executed, slowest, stages};
use maud::{Markup, html};
use serde_json::Value;

/// Up to so many contests are open when the page is opened.
const OPEN: usize = 3;
/// Up to so many are named in the title.
const NAMED: usize = 3;

/// One self-contained page about benches and runs: one of them, or several.
#[must_use]
pub fn html(sittings: &[Sitting], records: &[RunRecord]) -> String {
    let title = match sittings {
        [] => page::title(records),
        [first, ..] => title(first),
    };
    let body = html! {
        @for one in sittings { (sitting(one)) }
        @if sittings.is_empty() || !records.is_empty() { (page::runs(records)) }
    };
    let runs: usize = sittings.iter().flat_map(|s| &s.contests).map(|c| c.runs.len()).sum();
    let all = format::counted((runs + records.len()) as u64, "run record");
    let without = if runs > 0 { " (of contests without their series)" } else { "" };
    page::page(&title, &body, &page::source(&all, without), &held(sittings, records))
}

/// What the page holds as JSON.
fn held(sittings: &[Sitting], records: &[RunRecord]) -> Value {
    let mut sittings = sittings.to_vec();
    for run in sittings.iter_mut().flat_map(|s| &mut s.contests).flat_map(|c| &mut c.runs) {
        run.record.series.clear();
    }
    serde_json::json!({ "sittings": sittings, "runs": records })
}

/// What the page is about, in one line.
fn title(sitting: &Sitting) -> String {
    let Some(first) = sitting.contests.first() else { return "No contests".to_owned() };
    let contests = &sitting.contests;
    if contests.len() == 1 {
        return overview::name(first);
    }
    let titles = distinct(contests.iter().map(|contest| contest.title.as_str()));
    let more = if titles.len() > NAMED { ", ..." } else { "" };
    let titles = titles.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    format!("{}: {titles}{more}", format::counted(contests.len() as u64, "contest"))
}

/// Everything about one sitting.
fn sitting(sitting: &Sitting) -> Markup {
    let contests = &sitting.contests;
    let alone = contests.len() == 1;
    html! {
        header {
            h1 { (title(sitting)) }
            p.faint { (overview::program(sitting)) " · " (overview::machine(&sitting.machine)) }
        }
        @if !alone {
            (figures(&[overview::all_results(contests)]))
            (overview::table(contests).html())
        }
        @for contest in contests {
            @if alone { (body(contest)) } @else {
                details.contest open[contests.len() <= OPEN] {
                    summary {
                        (overview::name(contest))
                        span.faint { (headline(contest).text) "." }
                    }
                    (body(contest))
                }
            }
        }
        @for error in &sitting.failed { p.warn { "Failed: " (error) } }
        @if !sitting.left_out.is_empty() { h2 { "Left out" } }
        @for why in &sitting.left_out { p.note { (why) } }
        h2 { "Repeat" }
        (list(repeat(sitting)))
        h2 { "Machine" }
        (list(page::machine(&sitting.machine)))
    }
}

/// What measures the same again.
fn repeat(sitting: &Sitting) -> Vec<(&'static str, String)> {
    let revision = sitting.program.revision.clone();
    let mut all = vec![("command", shell(&sitting.command)), ("revision", revision)];
    all.retain(|(_, value)| !value.is_empty());
    all
}

fn body(contest: &Contest) -> Markup {
    let Headline { text, sure, found } = headline(contest);
    let class = found.map_or("", |found| match found.outcome {
        Outcome::Better => "good",
        Outcome::Worse => "bad",
        Outcome::Same | Outcome::Unknown => "",
    });
    let mut blocks = blocks(contest);
    if let Some(last) = blocks.last_mut() {
        last.table.notes = notes(contest);
    }
    html! {
        p class={ "verdict " (class) } { (text) "." }
        p.sure { (sure) }
        @if let Some(caution) = caution(contest) { p.warn { (caution) } }
        (cards(figures_of(contest)))
        @if !contest.about.is_empty() { p.about { (contest.about) } }
        (figures(&[chart::growth(contest)]))
        @for chart in chart::ratios(contest) { (figure(&chart)) }
        (figures(&[chart::typical_runs(contest)]))
        @for block in &blocks {
            @if let Some(heading) = block.heading { h3 { (heading) } }
            (block.table.html())
        }
        (figures(&[chart::pairs(contest)]))
        @if let Some(table) = operation_table(contest) {
            h3 { "The slowest for their gas first" }
            (table.html())
        }
        (inside(contest))
        (commands(contest))
        @if contest.reference.is_some() {
            details open { summary { "Beside what others published" } (list(reference(contest))) }
        }
    }
}

/// The figures that matter most.
fn figures_of(contest: &Contest) -> Vec<(&'static str, String)> {
    let figure = contest.figure();
    let mut all = vec![];
    if let Some(found) = headline(contest).found {
        all.push(("result", found.words()));
        all.extend(found.interval().map(|interval| ("95 % interval", interval)));
    }
    let noise = contest.noise(figure);
    let noise = noise.is_finite().then(|| ("noise of this machine", percent_of_noise(noise)));
    all.extend(noise);
    if let Some(value) = median(contest, BASELINE, figure) {
        all.push(("ours, median", Unit::of(figure).show(value)));
    }
    all
}

/// The typical run of the baseline, looked into, and the curves of all.
fn inside(contest: &Contest) -> Markup {
    let Some(ours) = contest.typical(BASELINE) else { return html! {} };
    let swept = contest.shape.starts_with("sweep ");
    let shown = (0..contest.contestants.len()).filter(|at| *at != AGAIN);
    let typical = |at| Some(RunRecord { label: name(contest, at), ..contest.typical(at)?.clone() });
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
        details {
            summary { "Inside a typical run" }
            (figures(&charts))
            @if !ours.stages.is_empty() { (stages::table(ours).html()) }
            (figures(&curves))
            @if let Some(table) = executed::table(ours) { h3 { "Time of a block" } (table.html()) }
            @if let Some(table) = slowest { h3 { (slowest::title(ours)) } (table.html()) }
        }
    }
}

/// The exact command of each contestant.
fn commands(contest: &Contest) -> Markup {
    let all = contest.contestants.iter().enumerate().filter(|(at, _)| *at != AGAIN);
    let settings = contest.settings.iter().map(|(name, value)| format!("{name} {value}"));
    let settings: Vec<String> = settings.collect();
    let compared: Vec<String> = contest.compare.iter().map(|figure| words(figure)).collect();
    html! {
        details {
            summary { "Commands" }
            dl { @for (at, one) in all {
                dt { (name(contest, at)) }
                dd {
                    @if let Some(run) = contest.typical(at).filter(|run| !run.command.is_empty()) {
                        code { (shell(&run.command)) } " "
                    }
                    span.faint { (differs(one)) }
                }
            } }
            p.note { "Settings: " (settings.join(", ")) ". Compared: " (compared.join(", ")) "." }
        }
    }
}

/// In what a contestant is not the default.
fn differs(one: &Contestant) -> String {
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
