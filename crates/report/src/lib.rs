//! Run records in; tables, charts and one HTML page out.
//!
//! Everything here is drawn from [`blockmill_pipeline::record::RunRecord`]s and from nothing else.
//! Text of a record is data: it is escaped in markdown, SVG and HTML, and its control characters
//! never reach a terminal. The parts of tables, charts and pages are public: the crate `bench`
//! draws its comparisons with them.

mod block_files;
pub mod chart;
mod compare;
pub mod executed;
pub mod format;
mod functions;
pub mod page;
pub mod runs;
pub mod slowest;
pub mod stages;
mod summary;
mod symbol;
pub mod table;
mod terminal;
mod times;

#[cfg(test)]
mod sample;

use blockmill_pipeline::record::RunRecord;
pub use chart::{Chart, charts};
pub use format::{bytes, counted, date, date_time, duration, rate};
pub use page::html;
pub use summary::{View, left_out, record_time, summary};
pub use terminal::{Colour, error_width, width, wrap};

/// The stages of a run, or several runs side by side, for a terminal.
#[must_use]
pub fn runs_table(records: &[RunRecord], colour: Colour) -> String {
    match records {
        [] => String::new(),
        [one] => stages::stages_table(one, colour),
        many => compare::compare_table(many, colour),
    }
}

/// The stages of a run, or several runs side by side, as markdown.
#[must_use]
pub fn runs_markdown(records: &[RunRecord]) -> String {
    match records {
        [] => String::new(),
        [one] => stages::stages_markdown(one),
        many => compare::compare_markdown(many),
    }
}
