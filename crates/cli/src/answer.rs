//! The result of a command: one status, and one document with `--json`.
//!
//! Commands print text for people while they run; only this module reports how they ended, so exit
//! code, JSON and text cannot disagree. `docs/formats/answer.md` has the fields.

use crate::absent::NotBuilt;
use crate::library::Contents;
use crate::paths::NotCreated;
use crate::{bitcoin, ethereum, neo, print, shard};
use anyhow::{Error, Result};
use blockmill_pipeline::record::RunRecord;
use blockmill_report::{error_width, wrap};
use blockmill_verdict::{FaultReport, Shortfall, Status};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::path::PathBuf;
use std::process::ExitCode;

/// Version of the document's layout.
const SCHEMA: u32 = 1;
/// The status of an error without a known kind: a message about the command line.
const OTHERWISE: Status = Status::Usage;

/// How a command ended.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// In one word.
    pub status: Status,
    /// A text for people that says more than the error does, in its place.
    pub help: Option<String>,
    /// What stopped it.
    pub error: Option<FaultReport>,
    /// What is kept of the work, in a sentence, after an end before the end.
    pub kept: Option<String>,
    /// Whether documents in lines were printed before this one: then it is a line, too.
    pub in_lines: bool,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The command's own part of the document. Commands without a type of it have one only with
    /// `--json`.
    pub result: Option<Payload>,
}

/// A command's own part of its document.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Payload {
    /// The record of a run that verifies.
    Record(Box<RunRecord>),
    /// What archives or a store contain.
    Contents(Box<Contents>),
    /// A document of a few values.
    Value(Value),
    /// A document as text: a list of a million rows takes many times its bytes as values.
    Text(Box<RawValue>),
    /// A list of documents, each as text.
    Documents(Vec<Box<RawValue>>),
}

/// An answer as `--json` has it.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    command: &'a str,
    status: Status,
    exit_code: u8,
    error: &'a Option<FaultReport>,
    kept: &'a Option<String>,
    shortfalls: &'a [Shortfall],
    notes: &'a [String],
    result: &'a Option<Payload>,
}

impl Answer {
    /// A command that did what it was asked for.
    pub fn ok() -> Self {
        Self::default()
    }

    /// A command that ended so.
    pub fn with_status(status: Status) -> Self {
        Self { status, ..Self::default() }
    }

    /// With the command's own part of the document, as text.
    pub fn with(self, result: impl Serialize) -> Result<Self> {
        Ok(Self { result: Some(Payload::Text(to_raw_value(&result)?)), ..self })
    }

    /// With what archives or a store contain.
    pub fn with_contents(self, contents: Contents) -> Self {
        Self { result: Some(Payload::Contents(Box::new(contents))), ..self }
    }

    /// A command that measured or drew: its records as the document, or tables and the files that
    /// were written.
    pub fn results(
        records: impl Serialize,
        tables: &str,
        files: &[PathBuf],
        json: bool,
    ) -> Result<Self> {
        if json {
            return Self::ok().with(records);
        }
        print!("{tables}");
        files.iter().for_each(|file| println!("wrote {}", file.display()));
        Ok(Self::ok())
    }

    /// A command that an error ended.
    pub fn failed(error: &Error) -> Self {
        let report = FaultReport { message: message(error), ..parts(error) };
        let shortfalls = error.chain().find_map(shortfall).into_iter().collect();
        Self { status: status_of(error), error: Some(report), shortfalls, ..Self::default() }
    }

    /// The document of `--json` for a serializer.
    pub fn whole<'a>(&'a self, command: &'a str) -> impl Serialize + 'a {
        let Self { status, error, kept, shortfalls, notes, result, .. } = self;
        let (status, exit_code) = (*status, status.exit_code());
        Document {
            schema: SCHEMA,
            command,
            status,
            exit_code,
            error,
            kept,
            shortfalls,
            notes,
            result,
        }
    }

    /// The document of `--json`.
    pub fn document(&self, command: &str) -> Value {
        // only maps with keys that are no strings cannot be encoded
        serde_json::to_value(self.whole(command)).unwrap_or_default()
    }

    /// The JSON document in one line.
    pub fn text(&self, command: &str) -> String {
        serde_json::to_string(&self.whole(command)).unwrap_or_default()
    }

    /// Tells the end: as a document on standard output, or what went wrong on standard error.
    pub fn tell(&self, command: &str, json: bool) {
        if json {
            match self.in_lines {
                true => print::raw(format_args!("{}\n", self.text(command))),
                false => print::raw(format_args!("{:#}\n", self.document(command))),
            }
            return;
        }
        let wrapped = |text: String, indent| wrap(&text, error_width(), indent);
        if let Some(help) = &self.help {
            eprintln!("{help}");
        } else if let Some(error) = &self.error {
            eprintln!("{}", wrapped(format!("error: {}", error.message), "       "));
            if let Some(hint) = &error.hint {
                eprintln!("{}", wrapped(format!("hint: {hint}"), "      "));
            }
        }
        if let Some(kept) = &self.kept {
            eprintln!("{}", wrapped(kept.clone(), ""));
        }
    }
}

impl From<&Answer> for ExitCode {
    fn from(answer: &Answer) -> Self {
        Self::from(answer.status.exit_code())
    }
}

/// The error with its causes, each once: the text of many errors includes their cause.
fn message(error: &Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.is_empty() {
            true => cause,
            false if text.contains(&cause) => text,
            false => format!("{text}: {cause}"),
        }
    })
}

/// The first cause of a known kind.
fn status_of(error: &Error) -> Status {
    error.chain().find_map(status_of_cause).unwrap_or(OTHERWISE)
}

fn status_of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Status> {
    let of_chain = ethereum::status_of(cause)
        .or_else(|| bitcoin::status_of(cause))
        .or_else(|| neo::status_of(cause));
    if of_chain.is_some() {
        return of_chain;
    }
    #[cfg(feature = "export")]
    if let Some(error) = cause.downcast_ref::<blockmill_export::Error>() {
        return Some(error.status());
    }
    if let Some(error) = cause.downcast_ref::<blockmill_archive::Error>() {
        return Some(error.status());
    }
    if let Some(error) = cause.downcast_ref::<blockmill_store::Error>() {
        return Some(error.status());
    }
    if cause.is::<shard::Changed>() {
        return Some(Status::Corrupt);
    }
    if cause.is::<NotCreated>() {
        return Some(Status::Environment);
    }
    if cause.is::<NotBuilt>() {
        return Some(Status::Usage);
    }
    cause.downcast_ref::<std::io::Error>().map(Status::of_io)
}

/// What the archive lacks, if that is the cause.
fn shortfall(cause: &(dyn std::error::Error + 'static)) -> Option<Shortfall> {
    if let Some(shortfall) = ethereum::shortfall_of(cause) {
        return Some(shortfall);
    }
    let error = cause.downcast_ref::<blockmill_archive::Error>()?;
    (error.status() == Status::Incomplete).then(|| error.into())
}

/// The block and the location that the causes name.
fn parts(error: &Error) -> FaultReport {
    let known = error.chain().find_map(|cause| {
        let of_chain = ethereum::report_of(cause)
            .or_else(|| bitcoin::report_of(cause))
            .or_else(|| neo::report_of(cause));
        if of_chain.is_some() {
            return of_chain;
        }
        if let Some(error) = cause.downcast_ref::<blockmill_store::Error>() {
            return Some(error.report());
        }
        if let Some(error) = cause.downcast_ref::<shard::Changed>() {
            return Some(error.report());
        }
        let location = cause.downcast_ref::<blockmill_archive::Error>()?.location()?;
        let (file, offset) = (Some(location.file.clone()), Some(location.offset));
        Some(FaultReport { file, offset, ..FaultReport::default() })
    });
    known.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};
    use std::io;

    #[test]
    fn a_cause_that_the_error_names_itself_is_said_once() {
        let path = std::path::PathBuf::from("/no/such/file");
        let error = blockmill_archive::Archive::open(&[path]).unwrap_err();
        let answer = Answer::failed(&Error::new(error).context("--chain"));
        let text = answer.error.unwrap().message;
        assert_eq!(text.matches("No such file").count(), 1, "{text}");
        assert!(text.starts_with("--chain: "), "{text}");
    }

    #[test]
    fn an_error_has_the_status_of_its_cause() {
        let of = |error: Error| Answer::failed(&error).status;
        let full = || Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(of(full().context("cannot write").unwrap_err()), Status::Environment);
        let missing = || Err::<(), _>(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(of(missing().context("cannot open").unwrap_err()), Status::Usage);
        assert_eq!(of(anyhow!("--from: expected less")), Status::Usage);
        assert_eq!(of(blockmill_bitcoin::Error::Corrupt("coins".into()).into()), Status::Corrupt);
        assert_eq!(of(blockmill_ethereum::error::Error::Empty.into()), Status::Unrecognised);
    }

    #[test]
    fn the_document_has_every_field_whatever_the_end() {
        let ended =
            [Answer::ok(), Answer::failed(&anyhow!("no")), Answer::with_status(Status::Partial)];
        for answer in ended {
            let document = answer.document("verify");
            let mut names: Vec<_> = document.as_object().unwrap().keys().cloned().collect();
            names.sort();
            let expected = [
                "command",
                "error",
                "exit_code",
                "kept",
                "notes",
                "result",
                "schema",
                "shortfalls",
                "status",
            ];
            assert_eq!(names, expected);
            assert_eq!(document["exit_code"], answer.status.exit_code());
        }
    }
}
