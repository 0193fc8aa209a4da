//! The page: the numbers of a moment, which its script renews.

use crate::Status;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn html(status: &Status) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (status.label) ": blockmill" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 {
                        (status.label) " "
                        span.faint { (status.chain) " · level " (status.level) }
                    }
                    div.track { div #bar {} }
                    p #progress {}
                }
                div.cards { (cards(&CARDS)) }
                div #following hidden {
                    h2 { "Following the archive" }
                    div.cards { (cards(&FOLLOWING)) }
                    ul #waiting.faint {}
                }
                div #execution hidden {
                    h2 { "Execution" }
                    div.cards { (cards(&EXECUTION)) }
                }
                h2 { "Where the time goes" }
                div #stages {}
                h2 { "Over time" }
                p.faint { "Busy threads in each stage, from the beginning of the run to now" }
                p #early.faint { "There is nothing to draw yet." }
                div #plot hidden {
                    div.legend #legend {}
                    div.plot {
                        div #threads {}
                        svg #timeline viewBox="0 0 1000 240" preserveAspectRatio="none" {}
                        div {}
                        div #times {}
                    }
                }
                p.faint {
                    "Metrics for Prometheus: " a href="metrics" { "/metrics" }
                    " · this page as JSON: " a href="status.json" { "/status.json" }
                    " · blockmill " (status.version)
                }
                p #gone hidden { "The run has ended, or cannot be reached." }
                script type="application/json" id="status" { (PreEscaped(embedded(status))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Names and ids of what is shown of every run.
const CARDS: [(&str, &str); 10] = [
    ("block", "number"),
    ("committed", "committed"),
    ("blocks a second", "blocks_per_s"),
    ("archive a second", "bytes_per_s"),
    ("time left", "eta"),
    ("elapsed", "elapsed"),
    ("CPU time", "cpu"),
    ("memory", "memory"),
    ("disk read", "disk_read"),
    ("disk written", "disk_written"),
];
/// Cards of an import that follows a growing archive.
const FOLLOWING: [(&str, &str); 3] =
    [("lag", "lag"), ("known, not committed", "pending"), ("rounds", "rounds")];
/// Cards of a run that executes blocks.
const EXECUTION: [(&str, &str); 11] = [
    ("Mgas a second", "mgas_per_s"),
    ("gas", "gas"),
    ("transactions", "transactions"),
    ("a block, mean", "block_mean"),
    ("last blocks, p95", "p95"),
    ("last blocks, p99", "p99"),
    ("slowest block", "slowest"),
    ("accounts read", "account_reads"),
    ("slots read", "slot_reads"),
    ("slots at hand", "slot_hits"),
    ("speculations committed", "speculation"),
];

fn cards(all: &[(&str, &str)]) -> Markup {
    html! {
        @for (name, id) in all { div.card { (name) b id=(id) { "-" } } }
    }
}

/// JSON that cannot end the script element that holds it.
fn embedded(status: &Status) -> String {
    let text = serde_json::to_string(status).unwrap_or_else(|_| "{}".to_owned());
    text.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_run_stays_text() {
        let hostile = "</script><script>alert(1)</script>".to_owned();
        let status = Status { label: hostile.clone(), paths: vec![hostile], ..Status::default() };
        let page = html(&status);
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("<script").count(), 2, "its own two");
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "src=", "url(", "@import"] {
            assert!(!page.contains(word), "no request leaves the page: {word}");
        }
    }
}
