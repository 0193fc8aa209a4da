//! Contests as tables, charts, markdown and one HTML page.
//!
//! Everything here is drawn from the [`crate::findings::Contest`]s of a [`Sitting`], and from
//! nothing else. A contest has one table and one set of charts, whatever is measured.

mod chart;
mod comparison;
mod contest;
mod document;
mod fact;
mod overview;
mod page;

#[cfg(test)]
mod sample;

use crate::sitting::Sitting;
use blockmill_pipeline::record::RunRecord;
use blockmill_report::Chart;
pub use document::{page_charts, page_markdown, sitting_markdown};
pub use overview::sitting_table;
pub use page::html;

/// The charts of benches and of runs, each with a name that a file can have.
#[must_use]
pub fn charts(sittings: &[Sitting], records: &[RunRecord]) -> Vec<(String, Chart)> {
    let contests = sittings.iter().flat_map(|sitting| &sitting.contests);
    let charts = contests.flat_map(chart::of_contest);
    charts.chain(blockmill_report::charts(records)).collect()
}
