//! Records on disk: written whole or not at all, read with the schema checked first.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::record::{RunRecord, SCHEMA};
use crate::record_schema_1::Schema1;

/// What a [`RunRecord`] is called in messages.
const RUN_RECORD: &str = "run record";

/// Why a record could not be read or written.
#[derive(Debug)]
pub enum RecordError {
    /// The file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not such a record.
    Json {
        /// The file.
        path: PathBuf,
        /// What it should be: a run record, a writer record or a signature record.
        expected: &'static str,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The record has a schema that this program does not know.
    Schema {
        /// The file.
        path: PathBuf,
        /// What it is: a run record, a writer record or a signature record.
        record: &'static str,
        /// The newest schema that this program reads.
        expected: u32,
        /// The schema of the file.
        found: u32,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Json { path, expected, source } => {
                write!(f, "{}: not a {expected}: {source}", path.display())
            }
            Self::Schema { path, record, expected, found } => write!(
                f,
                "{}: {record} of schema {found}; this program reads schemas 1 to {expected}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Json { source, .. } => Some(source),
            Self::Schema { .. } => None,
        }
    }
}

impl RunRecord {
    /// Writes the record to `path` as indented JSON. The file is written beside `path` and then
    /// renamed, so a reader never sees half a record and an older one survives a crash.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        write(self, RUN_RECORD, path)
    }

    /// Reads the record in `path`.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        Self::parse(path, &load(path)?)
    }

    fn parse(path: &Path, text: &[u8]) -> Result<Self, RecordError> {
        let mut record: Self = parse(path, text, RUN_RECORD, SCHEMA)?;
        if record.schema == 1 {
            parse::<Schema1>(path, text, RUN_RECORD, SCHEMA)?.fill(&mut record);
        }
        Ok(record)
    }
}

/// Writes `record`, which is called `name` in messages, to `path`.
pub(crate) fn write(
    record: &impl Serialize,
    name: &'static str,
    path: &Path,
) -> Result<(), RecordError> {
    let wrong = |source| RecordError::Json { path: path.to_owned(), expected: name, source };
    let mut text = serde_json::to_vec_pretty(record).map_err(wrong)?;
    text.push(b'\n');
    disk::replace_file(path, &text)
        .map_err(|source| RecordError::Io { path: path.to_owned(), source })
}

/// What the file says in `kind`; none when it says nothing there. The rest may be anything.
pub(crate) fn kind(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct KindOnly {
        kind: String,
    }
    let text = fs::read(path).ok()?;
    serde_json::from_slice(&text).ok().map(|KindOnly { kind }| kind)
}

/// Reads the record in `path`, which is called `name` in messages and has a schema up to `newest`.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    name: &'static str,
    newest: u32,
) -> Result<T, RecordError> {
    parse(path, &load(path)?, name, newest)
}

fn load(path: &Path) -> Result<Vec<u8>, RecordError> {
    fs::read(path).map_err(|source| RecordError::Io { path: path.to_owned(), source })
}

fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &[u8],
    name: &'static str,
    newest: u32,
) -> Result<T, RecordError> {
    /// A newer record may not fit our fields; its schema says so better than the first misfit.
    #[derive(Deserialize)]
    struct SchemaOnly {
        schema: u32,
    }
    let wrong = |source| RecordError::Json { path: path.to_owned(), expected: name, source };
    let found = serde_json::from_slice::<SchemaOnly>(text).map_err(wrong)?.schema;
    if !(1..=newest).contains(&found) {
        let path = path.to_owned();
        return Err(RecordError::Schema { path, record: name, expected: newest, found });
    }
    serde_json::from_slice(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BlockRef, ChunkTimes, Program, Seal, Stage, VALIDATION, WRITE};

    fn record() -> RunRecord {
        let mut record = RunRecord::new(Program::default(), "mod<5>");
        record.data.blocks = 4096;
        record.totals.wall_s = 2.0;
        record.seal = Some(Seal { mode: "1/100".into(), seed: u64::MAX, checked: 41 });
        record.stages.push(Stage { name: "read".into(), busy_s: 0.1 + 0.2, ..Stage::default() });
        record.variants.insert("write".into(), "batch".into());
        record.result.anchor = Some(BlockRef { number: 7, hash: "0xab".into() });
        record.phases = ["read", "decode", VALIDATION, WRITE].map(String::from).to_vec();
        for chunk in 0..2u32 {
            record.chunks.push(ChunkTimes {
                first: u64::from(chunk) * 2048,
                blocks: 2048,
                busy_s: vec![0.0, 0.0, f64::from(chunk) + 0.5, 0.25],
                ..ChunkTimes::default()
            });
        }
        record.sum_up();
        record
    }

    fn parse(text: &str) -> Result<RunRecord, RecordError> {
        RunRecord::parse(Path::new("run.json"), text.as_bytes())
    }

    #[test]
    fn comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        record().write(&path).unwrap();
        record().write(&path).unwrap();
        assert_eq!(RunRecord::read(&path).unwrap(), record());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn every_digit_of_a_time_comes_back() {
        let mut record = record();
        record.chunks.resize(1000, ChunkTimes::default());
        for (at, chunk) in record.chunks.iter_mut().enumerate() {
            chunk.busy_s = vec![0.001 + (at as f64).sin().abs() / 1000.0];
        }
        record.sum_up();
        let text = serde_json::to_string(&record).unwrap();
        assert!(parse(&text).unwrap() == record);
    }

    #[test]
    fn sums_up_chunks() {
        let record = record();
        assert_eq!((record.busy_s(VALIDATION), record.busy_s(WRITE)), (2.0, 0.5));
        assert_eq!(record.totals.busy_s, [0.0, 0.0, 2.0, 0.5]);
        assert_eq!(record.busy_s("connect"), 0.0, "it has no such phase");
        assert_eq!(record.totals.blocks_per_s, 2048.0);
        let validation = record.percentiles[record.phase(VALIDATION).unwrap()];
        assert_eq!((validation.p50, validation.max), (0.5, 1.5));
    }

    #[test]
    fn has_a_finite_rate_when_no_time_has_passed() {
        let mut record = record();
        record.totals.wall_s = 0.0;
        record.sum_up();
        assert_eq!(record.totals.blocks_per_s, 0.0);
    }

    #[test]
    fn reads_a_record_with_only_the_required_fields() {
        let text = r#"{"schema":1,"label":"old","data":{"blocks":3},"totals":{"wall_s":1.5}}"#;
        let record = parse(text).unwrap();
        assert_eq!((record.label.as_str(), record.data.blocks), ("old", 3));
        assert_eq!(record.totals.wall_s, 1.5);
        assert_eq!((record.seal, record.chunks.len()), (None, 0));
    }

    #[test]
    fn times_of_schema_1_get_the_names_that_they_were_shown_under() {
        let four = |read, decode, validate, write| {
            let (a, b) = (r#""read_s":"#, r#","decode_s":"#);
            let (c, d) = (r#","validate_s":"#, r#","write_s":"#);
            format!("{a}{read}{b}{decode}{c}{validate}{d}{write}")
        };
        let (one, two, all) = (four(1, 2, 3, 4), four(0, 0, 5, 0), four(1, 2, 8, 4));
        let old = |reindex: &str| {
            format!(
                r#"{{"schema":1,"label":"old","data":{{}},{reindex}
                "chunks":[{{"first":0,"blocks":2,{one}}},{{"first":2,"blocks":2,{two}}}],
                "totals":{{"wall_s":9,"setup_s":7,{all}}},
                "percentiles":{{"validate":{{"p50":3,"max":5}}}}}}"#
            )
        };
        let headers = parse(&old("")).unwrap();
        assert_eq!(headers.schema, SCHEMA);
        assert_eq!(headers.phases, ["read", "decode", "validation", "write"]);
        assert_eq!(headers.totals.busy_s, [1.0, 2.0, 8.0, 4.0]);
        assert_eq!(headers.chunks[0].busy_s, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(headers.percentiles[2].max, 5.0);
        assert_eq!((headers.totals.wall_s, headers.totals.setup_s), (9.0, 7.0));
        let reindex = parse(&old(r#""reindex":{"index_s":7},"#)).unwrap();
        assert_eq!(reindex.phases, ["read", "bodies", "scripts", "coins"]);
        assert_eq!(reindex.totals.busy_s, headers.totals.busy_s);
        assert_eq!(reindex.totals.setup_s, 0.0, "that was the index");
    }

    #[test]
    fn ignores_fields_that_it_does_not_know() {
        let text = r#"{"schema":1,"label":"x","data":{"new":[1]},"totals":{},"later":{"a":1}}"#;
        assert_eq!(parse(text).unwrap().label, "x");
    }

    #[test]
    fn rejects_a_newer_schema_by_its_number() {
        for schema in [0, SCHEMA + 1] {
            let error = parse(&format!("{{\"schema\":{schema},\"label\":7}}")).unwrap_err();
            assert!(matches!(error, RecordError::Schema { found, .. } if found == schema));
        }
    }

    #[test]
    fn rejects_other_json_and_says_where() {
        for text in ["", "{}", "[1]", "{\"schema\":1}", "{\"schema\":1,\"label\":\"x\""] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, RecordError::Json { .. }), "{text}");
            assert!(error.to_string().starts_with("run.json: not a run record: "), "{error}");
        }
    }

    #[test]
    fn names_the_file_that_cannot_be_written_or_read() {
        let path = Path::new("/no/such/folder/run.json");
        assert!(record().write(path).unwrap_err().to_string().starts_with("/no/such/folder/run"));
        assert!(RunRecord::read(path).unwrap_err().to_string().starts_with("/no/such/folder/run"));
    }
}
