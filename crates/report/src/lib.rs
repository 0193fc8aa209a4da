//! Run records and contests in; tables, charts and one HTML page out.
//!
//! Everything here is drawn from [`blockmill_pipeline::record::RunRecord`]s and from the
//! [`blockmill_bench::findings::Contest`]s of a [`blockmill_bench::sitting::Sitting`], and from nothing else. A contest has
//! one table and one set of charts, whatever is measured. Text of a record is data: it is escaped
//! in markdown, SVG and HTML, and its control characters never reach a terminal.

mod block_files;
mod chart;
mod compare;
mod comparison;
mod contest;
mod document;
mod executed;
mod fact;
mod format;
mod functions;
mod overview;
mod page;
mod runs;
mod slowest;
mod stages;
mod summary;
mod symbol;
mod table;
mod terminal;

#[cfg(test)]
mod sample;

pub use chart::{Chart, charts};
pub use compare::{compare_markdown, compare_table};
pub use contest::{contest_markdown, contest_table};
pub use document::{page_charts, page_markdown, sitting_markdown};
pub use format::{bytes, counted, date, date_time, duration};
pub use overview::{overview_markdown, overview_table, sitting_table};
pub use page::html;
pub use stages::{stages_markdown, stages_table};
pub use summary::summary;
pub use terminal::Colour;
