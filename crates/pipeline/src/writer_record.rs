//! The writer record: what RLP writers cost, side by side, on the same objects.
//!
//! One record holds everything that was measured in one sitting; tables and charts are made from
//! it alone. The fields are specified in `docs/formats/writer-record.md`. Times are nanoseconds,
//! sizes are bytes where their name says nothing else.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::percentile::Percentiles;
use crate::record::RecordError;
use crate::record_file;

/// The schema version that this program writes, and the newest one that it reads.
pub const SCHEMA: u32 = 1;
/// What every writer record has in `kind`, and no other record.
pub const KIND: &str = "writers";
/// What a [`WriterRecord`] is called in messages.
const WRITER_RECORD: &str = "writer record";

/// Everything that was measured in one sitting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterRecord {
    /// Version of this layout; see [`SCHEMA`].
    pub schema: u32,
    /// [`KIND`].
    pub kind: String,
    /// The command line, one entry for each argument.
    #[serde(default)]
    pub command: Vec<String>,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    pub started_unix: f64,
    /// The machine that it ran on.
    #[serde(default)]
    pub machine: Machine,
    /// The writers, in the order of the tables.
    pub engines: Vec<WriterEngine>,
    /// What each process measured, in the order in which they ran.
    pub runs: Vec<WriterRun>,
    /// What a reader of the figures should know, such as peers that were left out.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriterEngine {
    /// Its name in [`WriterLine::engine`].
    pub name: String,
    /// What it is called in tables and charts.
    pub label: String,
    /// The program or library that it belongs to: `blockmill`, `alloy`, `go-ethereum`.
    pub client: String,
    /// Versions of that.
    pub version: String,
}

/// One process: one case, one operation, one writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriterRun {
    /// The round, counted from 1. The processes of one round stand next to each other in time.
    pub round: u32,
    /// What the process printed.
    #[serde(flatten)]
    pub line: WriterLine,
}

/// The line of JSON that a process prints. Figures without `first` in their name are those of one
/// operation on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WriterLine {
    /// Name of the writer.
    pub engine: String,
    /// Versions of what it is made of.
    pub version: String,
    /// The object: `transaction`, `header`, `transactions-N`, `block-N` or `headers-N`.
    pub case: String,
    /// The operation: `encode`, `encode-reused`, `hash`, `hash-reused` or `hash-each`.
    pub op: String,
    /// Length of the encoding; for `hash-each` the sum over all objects.
    pub bytes: u64,
    /// Keccak-256 of the encoding, or of all hashes one after the other for `hash-each`: `0x` and
    /// hexadecimal digits.
    pub digest: String,
    /// The first operation of the process.
    pub first_ns: u64,
    /// One operation, from each sample.
    pub samples_ns: Vec<f64>,
    /// Operations in each sample.
    pub iterations: u64,
    /// Calls of the heap that gave memory.
    pub allocations: f64,
    /// Bytes that they gave.
    pub allocated_bytes: f64,
    /// Page faults of the first operation that needed no disk.
    pub first_page_faults: u64,
    /// Such page faults of an operation in the samples.
    pub page_faults: f64,
    /// The most memory that the process held at once, in KiB; 0 when not known.
    pub peak_rss_kb: u64,
    /// Bytes that a store takes on disk afterwards; 0 for what is none.
    pub disk_bytes: u64,
}

impl WriterLine {
    /// The median of the samples.
    #[must_use]
    pub fn median_ns(&self) -> f64 {
        Percentiles::of(&mut self.samples_ns.clone()).p50
    }
}

impl WriterRecord {
    /// An empty record of the current schema.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self {
            schema: SCHEMA,
            kind: KIND.to_owned(),
            command: Vec::new(),
            started_unix: 0.0,
            machine,
            engines: Vec::new(),
            runs: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether the file says that it is a writer record. Says nothing about the rest of it.
    #[must_use]
    pub fn is_in(path: &Path) -> bool {
        record_file::kind(path).is_some_and(|kind| kind == KIND)
    }

    /// Writes the record to `path` as indented JSON, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        record_file::write(self, WRITER_RECORD, path)
    }

    /// Reads the record in `path`.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        record_file::read(path, WRITER_RECORD, SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> WriterRecord {
        let mut record = WriterRecord::new(Machine::default());
        let engine = || "alloy".to_owned();
        record.engines.push(WriterEngine { name: engine(), ..WriterEngine::default() });
        let samples_ns = vec![3.0, 0.1 + 0.2, 2.0];
        let line = WriterLine { engine: engine(), samples_ns, ..WriterLine::default() };
        record.runs.push(WriterRun { round: 1, line });
        record
    }

    #[test]
    fn comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("writers.json");
        record().write(&path).unwrap();
        assert_eq!(WriterRecord::read(&path).unwrap(), record());
        assert!(WriterRecord::is_in(&path) && !WriterRecord::is_in(folder.path()));
        assert_eq!(record().runs[0].line.median_ns(), 2.0);
    }

    #[test]
    fn rejects_what_is_none_and_newer_schemas() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("writers.json");
        for (text, message) in [
            (r#"{"schema":1}"#, "not a writer record: missing field `kind`"),
            (r#"{"schema":2,"kind":7}"#, "writer record of schema 2; this program reads"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = WriterRecord::read(&path).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
            assert!(!WriterRecord::is_in(&path));
        }
    }
}
