//! Run records in; tables, charts and one HTML page out.
//!
//! Everything here is drawn from [`pipeline::record::RunRecord`]s and from nothing else. Records
//! with the same label are repetitions of one measurement and are shown as median and range. Text
//! of a record is data: it is escaped in markdown, SVG and HTML, and its control characters never
//! reach a terminal.

mod chart;
mod compare;
mod format;
mod group;
mod ladder;
mod page;
mod stages;
mod summary;
mod table;
mod terminal;

#[cfg(test)]
mod sample;

pub use chart::{Chart, ChartError};
pub use compare::{compare_markdown, compare_table};
pub use ladder::{ladder_markdown, ladder_table};
pub use page::html;
pub use stages::{stages_markdown, stages_table};
pub use summary::summary;
pub use terminal::Colour;
