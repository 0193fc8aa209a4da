//! The signature record: what verifying signatures in batches costs, each variant beside the
//! scalar library.
//!
//! One record holds everything that was measured in one sitting; tables and charts are made from
//! it alone. The fields are specified in `docs/formats/signature-record.md`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::record::RecordError;
use crate::record_file;

/// The schema version that this program writes, and the newest one that it reads.
pub const SCHEMA: u32 = 1;
/// What every signature record has in `kind`, and no other record.
pub const KIND: &str = "signatures";
/// What a [`SignatureRecord`] is called in messages.
const SIGNATURE_RECORD: &str = "signature record";
/// The variant that the others are compared with.
pub const SCALAR: &str = "scalar";
/// [`SignatureRun::input`] of signatures that are what they should be.
pub const GOOD: &str = "good";
/// Of signatures that no lane can decide.
pub const UNDECIDED: &str = "undecided";
/// Of both, in turn.
pub const HALF_UNDECIDED: &str = "half-undecided";

/// Everything that was measured in one sitting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignatureRecord {
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
    /// The operations, in the order of the tables.
    pub operations: Vec<SignatureOperation>,
    /// The variants that the machine has, the slowest first.
    pub variants: Vec<String>,
    /// What was measured, in the order of time.
    pub runs: Vec<SignatureRun>,
}

/// What is done with signatures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SignatureOperation {
    /// Its name in [`SignatureRun::operation`].
    pub name: String,
    /// What it is called in tables and charts.
    pub label: String,
    /// The library that is its [`SCALAR`] variant.
    pub library: String,
}

/// One measurement: some threads that begin at the same time do the same work, each on signatures
/// of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SignatureRun {
    /// The round, counted from 1. In each round every variant is measured twice, the second time
    /// in reversed order.
    pub round: u32,
    /// Name of the operation.
    pub operation: String,
    /// [`GOOD`], [`UNDECIDED`] or [`HALF_UNDECIDED`].
    pub input: String,
    /// Signatures in a batch.
    pub batch: u64,
    /// Threads.
    pub threads: u32,
    /// Name of the variant.
    pub variant: String,
    /// Signatures of all threads together.
    pub signatures: u64,
    /// From the first thread's begin to the last one's end, in nanoseconds.
    pub wall_ns: u64,
}

impl SignatureRecord {
    /// An empty record of the current schema.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self {
            schema: SCHEMA,
            kind: KIND.to_owned(),
            command: Vec::new(),
            started_unix: 0.0,
            machine,
            operations: Vec::new(),
            variants: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Whether the file says that it is a signature record. Says nothing about the rest of it.
    #[must_use]
    pub fn is_in(path: &Path) -> bool {
        record_file::kind(path).is_some_and(|kind| kind == KIND)
    }

    /// Writes the record to `path` as indented JSON, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        record_file::write(self, SIGNATURE_RECORD, path)
    }

    /// Reads the record in `path`.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        record_file::read(path, SIGNATURE_RECORD, SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was_written() {
        let mut record = SignatureRecord::new(Machine::default());
        record.variants.push(SCALAR.to_owned());
        let wall_ns = u64::MAX;
        record.runs.push(SignatureRun { round: 1, wall_ns, ..SignatureRun::default() });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signatures.json");
        record.write(&path).unwrap();
        assert_eq!(SignatureRecord::read(&path).unwrap(), record);
        assert!(SignatureRecord::is_in(&path) && !SignatureRecord::is_in(folder.path()));
    }

    #[test]
    fn rejects_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signatures.json");
        for (text, message) in [
            (r#"{"schema":1}"#, "not a signature record: missing field `kind`"),
            (r#"{"schema":2,"kind":7}"#, "signature record of schema 2; this program reads"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = SignatureRecord::read(&path).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
            assert!(!SignatureRecord::is_in(&path));
        }
    }
}
