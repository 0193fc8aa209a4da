//! Python's arguments as options of the library.

use crate::document;
use blockmill_cli::library::{self, ExportNames, VerifyOptions, answers};
use blockmill_verdict::Level;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};
use pythonize::Depythonizer;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::PathBuf;

/// The options of a verification. Options that are None keep their defaults.
///
/// # Errors
/// Raises `TypeError` for an unknown option or a value of another type, and `UsageError` for a
/// value that no run could have. The library checks the other limits.
pub fn options(command: &str, given: &Bound<'_, PyDict>) -> PyResult<VerifyOptions> {
    let mut options = VerifyOptions::default();
    for (name, value) in given {
        let name: PyBackedStr = name.extract()?;
        let error = match set(command, &mut options, &name, &value) {
            Ok(true) => continue,
            Ok(false) => {
                let text = format!("unexpected option '{name}'; blockmill.Options lists all");
                return Err(PyTypeError::new_err(text));
            }
            Err(error) => error,
        };
        let py = given.py();
        return Err(if error.is_instance_of::<PyOverflowError>(py) {
            let text = format!("--{}: expected 0 to 2^64 - 1, found {value}", flag(&name));
            document::usage(py, command, text)
        } else if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(format!("{name}: {}", error.value(py)))
        } else {
            error
        });
    }
    Ok(options)
}

/// The flag of the program for an option of this name.
fn flag(name: &str) -> String {
    name.trim_end_matches('_').replace('_', "-")
}

/// Sets an option. Returns whether there is one of this name.
fn set(
    command: &str,
    options: &mut VerifyOptions,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    match name {
        "level" => options.level = level(command, value)?,
        "chain" => options.chain = name_or_path(value)?,
        "seal" => options.seal = value.extract()?,
        "seal_seed" => options.seal_seed = value.extract()?,
        "now" => options.now = value.extract()?,
        "ethash_cache" => options.ethash_cache = value.extract()?,
        "from_" => options.from = value.extract()?,
        "until" => options.until = value.extract()?,
        "partial" => replace(&mut options.partial, value.extract()?),
        "trust" => options.trust = texts(value)?,
        "beacon_roots" => options.beacon_roots = value.extract()?,
        "with_" => options.with = settings(value)?,
        "threads" => options.threads = value.extract()?,
        "chunk" => replace(&mut options.chunk, value.extract()?),
        "assume_valid" => options.assume_valid = value.extract()?,
        "cache" => replace(&mut options.cache_mib, value.extract()?),
        "commit_every" => replace(&mut options.commit_every_s, value.extract()?),
        "label" => options.label = value.extract()?,
        "record" => options.record = value.extract()?,
        "cache_dir" => options.cache_dir = value.extract()?,
        "manifest" => options.manifest = value.extract()?,
        "force" => replace(&mut options.force, value.extract()?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn replace<T>(option: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *option = value;
    }
}

fn level(command: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Level>> {
    let Some(name) = value.extract::<Option<PyBackedStr>>()? else { return Ok(None) };
    let level = Level::named(&name).ok_or_else(|| {
        let expected = Level::ALL.map(Level::name).join(", ");
        document::usage(value.py(), command, format!("--level: expected {expected}, found {name}"))
    })?;
    Ok(Some(level))
}

/// The name of a network, or a path.
fn name_or_path(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Some(text) = value.extract::<Option<PathBuf>>()? else { return Ok(None) };
    let text = OsString::from(text).into_string();
    let text = text.map_err(|text| {
        PyValueError::new_err(format!("chain: expected UTF-8, found {}", text.display()))
    })?;
    Ok(Some(text))
}

/// One text or several.
fn texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_none() {
        return Ok(vec![]);
    }
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?]);
    }
    value.try_iter()?.map(|text| text?.extract()).collect()
}

/// Settings of the engine: `NAME=VALUE`, several of these, or a mapping from names to values.
fn settings(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let Ok(mapping) = value.cast::<PyMapping>() else { return texts(value) };
    let mut settings = vec![];
    for item in mapping.items()? {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        settings.push(format!("{name}={value}"));
    }
    Ok(settings)
}

/// Names of tables, whether bytes are text, and the naming scheme of columns.
pub type RowsAsked<'py> = (Bound<'py, PyAny>, bool, PyBackedStr);

/// Which rows are asked for, and how they look.
///
/// # Errors
/// Raises `UsageError` for an unknown naming scheme, and `TypeError` for tables that are no texts.
pub fn rows(command: &str, asked: &RowsAsked<'_>) -> PyResult<library::Rows> {
    let (tables, hex, names) = asked;
    let names = ExportNames::named(names).ok_or_else(|| {
        let text = format!("--names: expected etl or cryo, found {names}");
        document::usage(tables.py(), command, text)
    })?;
    let tables = texts(tables)?;
    let tables = tables.iter().flat_map(|names| names.split(',')).map(str::to_owned).collect();
    Ok(library::Rows { tables, hex: *hex, names })
}

/// Rows, how blocks are divided into folders, and whether an export is continued.
pub type TablesAsked<'py> = (RowsAsked<'py>, Option<String>, bool);

/// What an export writes.
///
/// # Errors
/// See [`rows`].
pub fn tables(command: &str, asked: TablesAsked<'_>) -> PyResult<answers::Tables> {
    let (rows_asked, partition, append) = asked;
    Ok(answers::Tables { rows: rows(command, &rows_asked)?, partition, append })
}

/// The text of documents of shards.
pub enum Summary {
    /// The text of a Python string, which is not copied.
    Shared(PyBackedStr),
    /// A text of our own.
    Own(String),
}

impl Deref for Summary {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Shared(text) => text,
            Self::Own(text) => text,
        }
    }
}

impl Summary {
    /// Takes a text, bytes, or a document as Python objects.
    ///
    /// # Errors
    /// Raises `ValueError` for bytes that are no text, and `TypeError` for objects that no
    /// document has.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            return Ok(Self::Shared(value.extract()?));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            let text = std::str::from_utf8(bytes.as_bytes());
            let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
            return Ok(Self::Own(text.into()));
        }
        let mut text = vec![];
        let mut to = serde_json::Serializer::new(&mut text);
        serde_transcode::transcode(&mut Depythonizer::from_object(value), &mut to)
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let text = String::from_utf8(text);
        text.map(Self::Own).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The text of each of these summaries. A generator may compute them one by one.
    ///
    /// # Errors
    /// See [`of`](Self::of); and raises what the iterator raises.
    pub fn each(values: &Bound<'_, PyAny>) -> PyResult<Vec<Self>> {
        values.try_iter()?.map(|value| Self::of(&value?)).collect()
    }
}
