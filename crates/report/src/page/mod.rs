//! One HTML page that holds everything: no request leaves it, and it reads without scripts.
//!
//! The page is made with templates that escape every text, so nothing in a record can become
//! markup. Charts are SVG in the page; their colours are turned into those for dark paper by value.

mod sections;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pipeline::record::RunRecord;

use crate::chart::{Chart, palette};
use crate::{compare, ladder};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("hover.js");

/// One self-contained page about `records`: one run, or many to compare.
#[must_use]
pub fn html(records: &[RunRecord]) -> String {
    let labels = crate::group::by_label(records).len();
    let mut side_by_side = compare::table(records);
    side_by_side.notes.clear(); // they stand below the first table
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (sections::title(records)) }
                style { (PreEscaped(STYLE)) (PreEscaped(colours())) }
            }
            body {
                (sections::head(records))
                @if labels > 1 {
                    h2 { "Result" }
                    (ladder::table(records).html())
                }
                (charts(records))
                @if labels > 1 {
                    h2 { "Side by side" }
                    (side_by_side.html())
                }
                (sections::stages(records))
                (sections::data_and_machine(records))
                (sections::raw(records))
                script type="application/json" id="records" { (PreEscaped(embedded(records))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn charts(records: &[RunRecord]) -> Markup {
    let charts = [Chart::accumulated(records), Chart::per_chunk(records), Chart::time(records)];
    let figures: Vec<Markup> = charts.iter().flatten().map(figure).collect();
    html! {
        @if !figures.is_empty() { h2 { "Charts" } }
        @for figure in figures { (figure) }
    }
}

/// A chart with what the script needs to show values and to hide lines.
fn figure(chart: &Chart) -> Markup {
    let lines = chart.lines();
    html! {
        figure data-hover=[chart.hover().map(|hover| hover.to_string())] {
            div.drawing { div.sheet { (PreEscaped(chart.svg())) } }
            @if lines.len() > 1 {
                div.keys {
                    @for (label, place) in &lines {
                        button type="button" class=(format!("k{}", place % palette::SERIES.len()))
                            data-place=(place) aria-pressed="true"
                            data-colour=(palette::hex(palette::series(*place).light)) { (label) }
                    }
                }
            }
        }
    }
}

/// Style rules for the colours of charts: the keys of the lines, and each colour's dark partner.
fn colours() -> String {
    let key = |(at, ink): (usize, &palette::Ink), dark: bool| {
        let rgb = if dark { ink.dark } else { ink.light };
        format!(".k{at}{{--key:{}}}", palette::hex(rgb))
    };
    let keys = |dark| palette::SERIES.iter().enumerate().map(move |entry| key(entry, dark));
    let turn = |ink: palette::Ink| {
        let (from, to) = (palette::hex(ink.light), palette::hex(ink.dark));
        format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}")
    };
    let dark: String = keys(true).chain(palette::all().map(turn)).collect();
    let light: String = keys(false).collect();
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// The records as JSON that cannot end the script element that holds it: `<` occurs in JSON only
/// inside of strings, where it may be written as an escape.
fn embedded(records: &[RunRecord]) -> String {
    serde_json::to_string(records).unwrap_or_else(|_| "[]".to_owned()).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests;
