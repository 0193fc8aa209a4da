//! The native part of the Python package `blockmill`: commands of the program as functions.
//!
//! Keyword arguments become the typed options of the library, and its typed answers become Python
//! objects. Nothing here holds the lock of the interpreter while blocks are verified.

#![forbid(unsafe_code)]

mod arguments;
mod capsule;
mod document;
mod remote;
mod stream;
mod work;

use arguments::{Summary, TablesAsked};
use blockmill_cli::answer::Answer;
use blockmill_cli::library::{self, VerifyOptions, answers};
use document::Documents;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList};
use pythonize::pythonize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Names of commands, as documents have them.
const VERIFY: &str = "verify";
const INSPECT: &str = "inspect";
const EXPORT: &str = "export";

/// Runs a command with these options on a thread of its own.
fn run(
    py: Python<'_>,
    command: &str,
    options: &Bound<'_, PyDict>,
    work: impl FnOnce(&VerifyOptions) -> Answer + Send + 'static,
) -> PyResult<Answer> {
    let mut options = arguments::options(command, options)?;
    work::run(py, move |cancel| {
        options.cancel = cancel.clone();
        work(&options)
    })
}

/// Verifies an archive. Returns the answer, or raises its exception.
#[pyfunction]
fn verify<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let answer = run(py, VERIFY, options, move |options| answers::verify(&paths, options))?;
    document::of_success(py, VERIFY, answer)
}

/// Describes an archive. Returns the answer, or raises its exception if there is no description.
#[pyfunction]
fn inspect(py: Python<'_>, paths: Vec<PathBuf>, deep: bool) -> PyResult<Bound<'_, PyAny>> {
    let answer = work::run(py, move |_| answers::inspect(&paths, deep))?;
    match answer.result {
        Some(_) => document::of_answer(py, INSPECT, answer),
        None => Err(document::error(py, INSPECT, answer)),
    }
}

/// Runs a command with the arguments of its command line, the name first. Returns the answer, or
/// raises its exception.
#[pyfunction]
fn command(py: Python<'_>, args: Vec<OsString>) -> PyResult<Bound<'_, PyAny>> {
    let name = args.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let answer = work::run(py, move |cancel| library::command(&args, cancel))?;
    document::of_success(py, &name, answer)
}

/// The columns of all tables.
#[pyfunction]
fn columns(py: Python<'_>, hex: bool, names: PyBackedStr) -> PyResult<Bound<'_, PyAny>> {
    let none = PyList::empty(py).into_any();
    let rows = arguments::rows(EXPORT, &(none, hex, names))?;
    Ok(pythonize(py, &answers::columns(&rows))?)
}

/// Verifies a shard. Returns its summary.
#[pyfunction]
fn verify_shard<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    after: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let after = after.map(Summary::of).transpose()?;
    let answer = run(py, VERIFY, options, move |options| {
        answers::verify_shard(&paths, after.as_deref(), options)
    })?;
    document::result_of(py, VERIFY, answer)
}

/// Merges summaries. Returns the answer. If its result is a list of documents, they are returned
/// next to it.
#[pyfunction]
fn merge<'py>(
    py: Python<'py>,
    summaries: &Bound<'py, PyAny>,
    of: Vec<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Option<Documents>)> {
    let summaries = Summary::each(summaries)?;
    let mut answer =
        run(py, VERIFY, options, move |options| answers::merge(&summaries, &of, options))?;
    if answer.result.is_none() {
        return Err(document::error(py, VERIFY, answer));
    }
    let documents = Documents::take(&mut answer);
    Ok((document::of_answer(py, VERIFY, answer)?, documents))
}

/// Verifies an archive and writes its tables. Returns the answer, or raises its exception.
#[pyfunction]
fn export<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    to: PathBuf,
    tables: TablesAsked<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let tables = arguments::tables(EXPORT, tables)?;
    let answer =
        run(py, EXPORT, options, move |options| answers::export(&paths, &to, &tables, options))?;
    document::of_success(py, EXPORT, answer)
}

/// Verifies a shard and writes its tables. Returns its summary and the files.
#[pyfunction]
fn export_shard<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    to: PathBuf,
    tables: TablesAsked<'py>,
    after: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let tables = arguments::tables(EXPORT, tables)?;
    let after = after.map(Summary::of).transpose()?;
    let answer = run(py, EXPORT, options, move |options| {
        answers::export_shard(&paths, &to, &tables, after.as_deref(), options)
    })?;
    document::result_of(py, EXPORT, answer)
}

/// The native part of `blockmill`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::document::Documents;
    #[pymodule_export]
    use super::remote::{RemoteFile, remote_files};
    #[pymodule_export]
    use super::stream::{Batch, Rows, read};
    #[pymodule_export]
    use super::{columns, command, export, export_shard, inspect, merge, verify, verify_shard};

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
