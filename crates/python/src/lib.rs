//! The native part of the Python package `blockmill`: commands of the program as functions.
//!
//! Arguments are those of the command line and answers are the documents of `--json`, as texts;
//! `python/blockmill` makes Python objects of them. Nothing here holds the lock of the interpreter
//! while blocks are verified.

#![forbid(unsafe_code)]

mod capsule;
mod stream;
mod work;

use blockmill_cli::library;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::ffi::OsString;

/// What `blockmill ARGS --json` prints.
#[pyfunction]
fn answer(py: Python<'_>, args: Vec<OsString>) -> PyResult<String> {
    work::run(py, move |cancel| library::answer(&args, cancel))
}

/// What `blockmill verify --shard ARGS --json` prints. `after` is the summary of all earlier
/// shards.
#[pyfunction]
fn verify_shard(py: Python<'_>, args: Vec<OsString>, after: Option<String>) -> PyResult<String> {
    work::run(py, move |cancel| library::verify_shard(&args, after.as_deref(), cancel))
}

/// What `blockmill verify --merge ARGS --json` prints for these summaries.
#[pyfunction]
fn merge(py: Python<'_>, summaries: Vec<PyBackedStr>, args: Vec<OsString>) -> PyResult<String> {
    work::run(py, move |cancel| library::merge(&summaries, &args, cancel))
}

/// Exports the tables of a shard. `args` are those of `blockmill export`; `after` is the summary of
/// all earlier shards.
#[pyfunction]
fn export_shard(py: Python<'_>, args: Vec<OsString>, after: Option<String>) -> PyResult<String> {
    work::run(py, move |cancel| library::export_shard(&args, after.as_deref(), cancel))
}

/// The native part of `blockmill`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::stream::{Batch, Rows, read};
    #[pymodule_export]
    use super::{answer, export_shard, merge, verify_shard};

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
