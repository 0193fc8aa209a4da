//! Records on disk: written whole or not at all, read with the schema checked first.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::disk;
use crate::record::{RunRecord, SCHEMA};

/// The name of a [`RunRecord`] in messages.
const RUN_RECORD: &str = "run record";

/// Why a record could not be read or written.
#[derive(Debug)]
pub enum RecordError {
    /// The file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not such a record.
    Json {
        /// The file.
        path: PathBuf,
        /// The expected kind: a run record or a record of a bench.
        expected: &'static str,
        /// The error, with line and column.
        source: serde_json::Error,
    },
    /// The file is another document of this program.
    Other {
        /// The file.
        path: PathBuf,
        /// The expected kind: a run record or a record of a bench.
        expected: &'static str,
        /// What the file is.
        found: &'static str,
    },
    /// The record has a schema that this program does not know.
    Schema {
        /// The file.
        path: PathBuf,
        /// The kind: a run record or a record of a bench.
        record: &'static str,
        /// The schema that this program reads.
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
            Self::Other { path, expected, found } => {
                write!(f, "{}: not a {expected}: it is {found}", path.display())
            }
            Self::Schema { path, record, expected, found } => write!(
                f,
                "{}: {record} of schema {found}; this program reads schema {expected}: measure \
                 again",
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
            Self::Other { .. } | Self::Schema { .. } => None,
        }
    }
}

impl RunRecord {
    /// Writes the record to `path` as indented JSON. A temporary file is written in the same folder
    /// and then renamed, so a reader never sees half a record and an older one survives a crash.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        write_json(serde_json::to_vec_pretty(self), RUN_RECORD, path)
    }

    /// Reads the record in `path`.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        read_json(path, RUN_RECORD, SCHEMA)
    }
}

/// Writes a record as `text`, which is called `name` in messages, to `path`, whole or not at all.
pub fn write_json(
    text: serde_json::Result<Vec<u8>>,
    name: &'static str,
    path: &Path,
) -> Result<(), RecordError> {
    let wrong = |source| RecordError::Json { path: path.to_owned(), expected: name, source };
    let mut text = text.map_err(wrong)?;
    text.push(b'\n');
    disk::replace_file(path, &text)
        .map_err(|source| RecordError::Io { path: path.to_owned(), source })
}

/// Reads the record in `path`, which is called `name` in messages and has the schema `expected`.
pub fn read_json<T: DeserializeOwned>(
    path: &Path,
    name: &'static str,
    expected: u32,
) -> Result<T, RecordError> {
    let text = fs::read(path).map_err(|source| RecordError::Io { path: path.into(), source })?;
    parse(path, &text, name, expected)
}

fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &[u8],
    record: &'static str,
    expected: u32,
) -> Result<T, RecordError> {
    /// Checks the schema number first: it explains a record of another version better than the
    /// first field that does not fit. The other fields are those of other documents.
    #[derive(Deserialize)]
    struct SchemaOnly {
        schema: u32,
        exit_code: Option<IgnoredAny>,
        asked: Option<IgnoredAny>,
        document: Option<IgnoredAny>,
    }
    let wrong = |source| RecordError::Json { path: path.into(), expected: record, source };
    let head = serde_json::from_slice::<SchemaOnly>(text).map_err(wrong)?;
    let other = match head {
        SchemaOnly { exit_code: Some(_), .. } => Some("the answer of a command with --json"),
        SchemaOnly { asked: Some(_), .. } | SchemaOnly { document: Some(_), .. } => {
            Some("a summary of shards (verify --shard)")
        }
        _ => None,
    };
    if let Some(found) = other {
        return Err(RecordError::Other { path: path.into(), expected: record, found });
    }
    let found = head.schema;
    if found != expected {
        return Err(RecordError::Schema { path: path.into(), record, expected, found });
    }
    serde_json::from_slice(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BlockRef, CHECK_VERIFY, ChunkTimes, Program, Series, Stage, WRITE};

    fn record() -> RunRecord {
        let mut record = RunRecord::new(Program::default(), "mod<5>");
        record.data.blocks = 4096;
        record.took(2.0);
        record.settings.insert("seal".into(), "1/100".into());
        record.stages.push(Stage { name: "read".into(), busy_s: 0.1 + 0.2, ..Stage::default() });
        record.options.insert("write".into(), "batch".into());
        record.result.anchor = Some(BlockRef { number: 7, hash: "0xab".into() });
        let chunk = |at: u32| ChunkTimes {
            first: u64::from(at) * 2048,
            blocks: 2048,
            busy_s: vec![0.0, f64::from(at) + 0.5, 0.25],
            ..ChunkTimes::default()
        };
        record
            .series
            .push(Series::of_chunks(&[chunk(0), chunk(1)], &["read", CHECK_VERIFY, WRITE]));
        record
    }

    fn parse(text: &str) -> Result<RunRecord, RecordError> {
        super::parse(Path::new("run.json"), text.as_bytes(), RUN_RECORD, SCHEMA)
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
        let times: Vec<f64> = (0..1000).map(|at| 0.001 + f64::from(at).sin().abs() / 1e3).collect();
        record.series.push(Series::new("sample").measured("time_ns", "ns", times));
        let text = serde_json::to_string(&record).unwrap();
        assert!(parse(&text).unwrap() == record);
    }

    #[test]
    fn sums_up_chunks() {
        let record = record();
        assert_eq!((record.busy_s(CHECK_VERIFY), record.busy_s(WRITE)), (2.0, 0.5));
        assert_eq!(record.busy_s("connect"), 0.0, "it has no such phase");
        assert_eq!(record.phases(), ["read", CHECK_VERIFY, WRITE]);
        assert_eq!(record.facts.value("blocks_per_s"), 2048.0);
    }

    #[test]
    fn has_a_finite_rate_when_no_time_has_passed() {
        let mut record = record();
        record.took(0.0);
        assert_eq!(record.facts.value("blocks_per_s"), 0.0);
    }

    #[test]
    fn answers_are_the_last_block_and_what_else_was_found() {
        let mut record = record();
        assert!(record.answers().is_empty());
        record.answer.insert("coins".into(), "7".into());
        record.result.tip_hash = "0x01".into();
        let found: Vec<_> = record.answers().into_iter().collect();
        let expected = [("coins", "7"), ("tip_hash", "0x01"), ("tip_number", "0")];
        assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn reads_a_record_with_only_the_required_fields() {
        let text = r#"{"schema":4,"label":"least","facts":{"wall_s":1.5}}"#;
        let record = parse(text).unwrap();
        assert_eq!((record.label.as_str(), record.wall_s()), ("least", 1.5));
        assert_eq!((record.data.blocks, record.series.len()), (0, 0));
    }

    #[test]
    fn ignores_fields_that_it_does_not_know() {
        let text = r#"{"schema":4,"label":"x","data":{"new":[1]},"facts":{},"later":{"a":1}}"#;
        assert_eq!(parse(text).unwrap().label, "x");
    }

    #[test]
    fn other_schemas_are_refused_by_their_number() {
        for schema in [0, 1, SCHEMA - 1, SCHEMA + 1] {
            let error = parse(&format!("{{\"schema\":{schema},\"label\":7}}")).unwrap_err();
            assert!(matches!(error, RecordError::Schema { found, .. } if found == schema));
            let expected = format!("run record of schema {schema}; this program reads schema 4");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }

    #[test]
    fn other_documents_are_named() {
        for (text, found) in [
            (r#"{"schema":1,"command":"import","exit_code":0}"#, "the answer of a command"),
            (r#"{"schema":2,"status":"verified","asked":{}}"#, "a summary of shards"),
            (r#"{"document":"headers","schema":2}"#, "a summary of shards"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            let expected = format!("run.json: not a run record: it is {found}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn rejects_other_json_and_says_where() {
        for text in ["", "{}", "[4]", "{\"schema\":4}", "{\"schema\":4,\"label\":\"x\""] {
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
