//! The pages of results (`docs/results`): one page for each question, from records of benches.
//!
//! A page shows the newest comparison of each definition, experiment and case whose result has an
//! interval. Everything else in the records is left out, without a list.

mod condense;
mod page;
mod question;
mod select;

use crate::definition::Definition;
use crate::session::Session;
use blockmill_report::Chart;
pub use condense::condensed;
use question::Question;
use select::{Shown, select};

/// Pages as Markdown, and their charts.
#[derive(Debug, Default)]
pub struct Results {
    /// File names and texts.
    pub pages: Vec<(String, String)>,
    /// Names without extension, and charts.
    pub charts: Vec<(String, Chart)>,
}

/// Renders the pages of `sessions`. Ladder steps and titles have the names of `definitions`, which
/// may be newer than the record.
#[must_use]
pub fn results(mut sessions: Vec<Session>, definitions: &[Definition]) -> Results {
    select::rename(&mut sessions, definitions);
    let shown = select(&sessions);
    let mut results = Results::default();
    let (mut index, mut peers) = (page::index_head(), vec![]);
    for question in Question::ALL {
        let all: Vec<Shown<'_>> =
            shown.iter().copied().filter(|one| one.question == question).collect();
        if all.is_empty() {
            continue;
        }
        let charts = page::charts(question, &all);
        results
            .pages
            .push((format!("{}.md", question.file()), page::page(question, &all, &charts)));
        index += &page::index_section(question, &all);
        peers.extend(all.iter().filter(|one| one.comparison.experiment == "peers").copied());
        results.charts.extend(charts);
    }
    let chart = page::overview(&peers).map(|chart| ("all-peers".to_owned(), chart));
    let index = index.replace(page::CHART, &page::links(chart.as_slice()));
    results.pages.insert(0, ("index.md".to_owned(), index));
    results.charts.extend(chart);
    results
}

#[cfg(test)]
mod tests;
