//! One HTML page that holds everything: no request leaves it, and it reads without scripts.
//!
//! The page is rendered with templates that escape every text, so nothing in a record can become
//! markup. Charts are SVG in the page, wide and for a phone; their colours become the ones
//! for dark paper by value.

mod of_runs;

use blockmill_pipeline::record::RunRecord;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::chart::{Chart, Key, palette};
pub use of_runs::{inside, machine, runs, title};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/page.js");

/// One self-contained page about runs: one of them, or several.
#[must_use]
pub fn html(records: &[RunRecord]) -> String {
    let all = crate::format::counted(records.len() as u64, "run record");
    let held = serde_json::json!({ "runs": records });
    page(&title(records), &runs(records), &source(&all, ""), &held)
}

/// One self-contained page: its title, what it shows, where that comes from, and the records as
/// JSON.
#[must_use]
pub fn page(title: &str, body: &Markup, source: &Markup, records: &Value) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(colours())) }
            }
            body {
                (body)
                (source)
                script type="application/json" id="records" { (PreEscaped(embedded(records))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// A chart with what the script needs to show values and to hide lines.
#[must_use]
pub fn figure(chart: &Chart) -> Markup {
    let [wide, narrow] = chart.drawings();
    let hide = chart.has_lines() && chart.keys().len() > 1;
    html! {
        figure data-hover=[chart.hover().map(|hover| hover.to_string())] {
            figcaption { b { (chart.title()) } span.faint { (chart.subtitle()) } }
            @if chart.keys().len() > 1 {
                div.keys {
                    @for key in chart.keys() {
                        @if hide {
                            button.key type="button" aria-pressed="true" data-colour=(hex(key))
                                style=(colour(key)) { (key.name) }
                        } @else { span.key style=(colour(key)) { (key.name) } }
                    }
                }
            }
            div.sheet.wide { (PreEscaped(wide)) }
            div.sheet.narrow { (PreEscaped(narrow)) }
        }
    }
}

/// The charts that there are.
#[must_use]
pub fn figures(charts: &[Option<Chart>]) -> Markup {
    html! { @for chart in charts.iter().flatten() { (figure(chart)) } }
}

fn hex(key: &Key) -> String {
    palette::hex(key.ink.light)
}

/// The colour of a key, through a variable that has another value on dark paper.
fn colour(key: &Key) -> String {
    let opacity =
        if key.strength < 1.0 { format!(";--strength:{}", key.strength) } else { String::new() };
    format!("--key:var(--c{}){opacity}", hex(key).trim_start_matches('#'))
}

/// Style rules for the colours of charts: variables for keys, and each colour's dark partner.
fn colours() -> String {
    let variable = |ink: palette::Ink, rgb| {
        format!("--c{}:{};", palette::hex(ink.light).trim_start_matches('#'), palette::hex(rgb))
    };
    let turn = |ink: palette::Ink| {
        let (from, to) = (palette::hex(ink.light), palette::hex(ink.dark));
        format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}")
    };
    let light: String = palette::all().map(|ink| variable(ink, ink.light)).collect();
    let dark: String = palette::all().map(|ink| variable(ink, ink.dark)).collect();
    let turned: String = palette::all().map(turn).collect();
    format!(
        ":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}{turned}}}"
    )
}

/// Where the figures come from: `records` is how many there are, `without` what the page leaves out
/// of them.
#[must_use]
pub fn source(records: &str, without: &str) -> Markup {
    html! {
        h2 { "Records" }
        p.faint {
            "Everything above is drawn from " (records)
            ", which this page holds as JSON in the element "
            code { "#records" } (without) "."
        }
    }
}

/// Records as JSON that cannot end the script element that holds it: `<` occurs in JSON only inside
/// of strings, where it may be written as an escape.
fn embedded(records: &Value) -> String {
    records.to_string().replace('<', "\\u003c")
}

/// Names and values.
pub fn list<'a>(entries: impl IntoIterator<Item = (&'a str, String)>) -> Markup {
    html! { dl { @for (name, value) in entries { dt { (name) } dd { (value) } } } }
}

/// The figure that matters most: its value, and what it is.
#[must_use]
pub fn hero(value: &str, what: &str) -> Markup {
    html! { p.hero { b { (value) } " " span.faint { (what) } } }
}

/// A part of a page that is folded until a reader wants it.
#[must_use]
pub fn part(title: &str, body: &Markup) -> Markup {
    html! { details.part { summary { h2 { (title) } } (body) } }
}

/// Figures next to the one that matters most.
pub fn cards(all: impl IntoIterator<Item = (impl AsRef<str>, String)>) -> Markup {
    html! { div.cards { @for (name, value) in all { div.card { (name.as_ref()) b { (value) } } } } }
}

#[cfg(test)]
mod browser;
#[cfg(test)]
mod in_chromium;
#[cfg(test)]
mod tests;
