//! Run records in; tables, charts and one HTML page out.
//!
//! Everything here is drawn from [`pipeline::record::RunRecord`]s, for the writers of RLP from a
//! [`pipeline::writer_record::WriterRecord`], for signatures from a
//! [`pipeline::signature_record::SignatureRecord`], and from nothing else. Records
//! with the same label are repetitions of one measurement and are shown as median and range. Text
//! of a record is data: it is escaped in markdown, SVG and HTML, and its control characters never
//! reach a terminal.

mod block_files;
mod chart;
mod compare;
mod format;
mod group;
mod ladder;
mod page;
mod reindex;
mod senders;
mod signatures;
mod stages;
mod summary;
mod table;
mod terminal;
mod writers;

#[cfg(test)]
mod sample;

pub use chart::Chart;
pub use compare::{compare_markdown, compare_table};
pub use format::{bytes, counted, date, date_time, duration};
pub use ladder::{ladder_markdown, ladder_table};
pub use page::html;
pub use reindex::{is_reindex, reindex_markdown, reindex_table};
pub use senders::{senders_markdown, senders_table};
pub use signatures::{signatures_markdown, signatures_table};
pub use stages::{stages_markdown, stages_table};
pub use summary::summary;
pub use terminal::Colour;
pub use writers::{writers_markdown, writers_table};
