//! Comparisons as tables, charts, markdown and one HTML page.
//!
//! Everything here is drawn from the [`crate::findings::Comparison`]s of a [`Session`], and from
//! nothing else. A comparison has one table and one set of charts, whatever is measured.

mod chart;
mod comment;
mod comparison;
mod document;
mod fact;
mod gain;
mod history;
mod overview;
mod page;
mod results;
mod side_by_side;

#[cfg(test)]
mod sample;

use crate::session::Session;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::Chart;
pub use comment::{comment, slower};
pub use document::{page_charts, page_markdown, session_markdown};
pub(crate) use fact::Unit;
pub use overview::session_table;
pub use page::html;
pub use results::{Results, condensed, results};

/// The charts of benches and of runs, each with a name that a file can have.
#[must_use]
pub fn charts(sessions: &[Session], records: &[RunRecord]) -> Vec<(String, Chart)> {
    let comparisons = sessions.iter().flat_map(|session| &session.comparisons);
    let charts = history::charts(sessions).into_iter();
    let charts = charts.chain(comparisons.flat_map(chart::of_comparison));
    charts.chain(blockmill_report::charts(records)).collect()
}
