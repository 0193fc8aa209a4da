//! Rows as they are verified, for whoever reads Arrow: a thread verifies and gives batches through
//! a bounded queue, so that it waits for a slow reader and ends without one.

use crate::arguments::{self, RowsAsked};
use crate::{capsule, document, work};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use blockmill_cli::answer::Answer;
use blockmill_cli::library::{self, VerifyOptions, answers};
use blockmill_pipeline::Cancel;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Batches that wait to be read; each has at most about 32 MB.
const WAITING: usize = 4;

/// Name of the command in documents.
const READ: &str = "read";

/// The answer of the verifying thread, when it is over.
type End = Arc<Mutex<Option<Answer>>>;

/// The rows of one table, to be read once: batch by batch, or as a stream of Arrow.
#[pyclass(frozen)]
pub struct Rows {
    schema: SchemaRef,
    feed: Mutex<Option<Feed>>,
    end: End,
}

/// The reader's side of the queue. When it is dropped, the other side stops.
struct Feed {
    batches: Receiver<RecordBatch>,
    schema: SchemaRef,
    end: End,
    worker: Option<JoinHandle<()>>,
    cancel: Cancel,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Some rows.
#[pyclass(frozen)]
pub struct Batch(RecordBatch);

/// Begins to verify an archive for the rows of one table. Raises the exception of a run that
/// cannot begin.
#[pyfunction]
pub fn read<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    rows: RowsAsked<'py>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Rows> {
    let rows = arguments::rows(READ, &rows)?;
    let mut options = arguments::options(READ, options)?;
    let (sender, mut batches) = sync_channel(WAITING);
    let (cancel, end) = (Cancel::new(), End::default());
    options.cancel = cancel.clone();
    let worker = begin(paths, rows, options, sender, end.clone())?;
    loop {
        let first;
        (batches, first) = work::wait(py, batches);
        match first {
            Ok(columns) => {
                let schema = columns.schema();
                let worker = Some(worker);
                let feed =
                    Feed { batches, schema: schema.clone(), end: end.clone(), worker, cancel };
                return Ok(Rows { schema, feed: Mutex::new(Some(feed)), end });
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| cancel.cancel())?
            }
            Err(RecvTimeoutError::Disconnected) => {
                py.detach(|| worker.join()).map_err(|panic| work::panicked(&*panic))?;
                let answer = held(&end).take().unwrap_or_default();
                return Err(document::error(py, READ, answer));
            }
        }
    }
}

fn begin(
    paths: Vec<PathBuf>,
    rows: library::Rows,
    options: VerifyOptions,
    batches: SyncSender<RecordBatch>,
    end: End,
) -> std::io::Result<JoinHandle<()>> {
    work::begin(move || {
        // kept open until the answer is stored
        let open = batches.clone();
        let answer = answers::read(&paths, &rows, &options, batches);
        *held(&end) = Some(answer);
        drop(open);
    })
}

#[pymethods]
impl Rows {
    /// The next rows; none when there are no more.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let Some(mut feed) = held(&self.feed).take() else { return self.ended() };
        loop {
            // the queue goes to a thread without the lock and back
            let (_, unused) = sync_channel(0);
            let batches = std::mem::replace(&mut feed.batches, unused);
            let (batches, next) = work::wait(py, batches);
            feed.batches = batches;
            match next {
                Ok(batch) => {
                    *held(&self.feed) = Some(feed);
                    return Ok(Some(Batch(batch)));
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let worker = feed.worker.take().map(JoinHandle::join);
                    worker.transpose().map_err(|panic| work::panicked(&*panic))?;
                    return Ok(None);
                }
            }
        }
    }

    /// The answer of the run; none before the last rows were read.
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let answer = held(&self.end).clone();
        answer.map(|answer| document::of_answer(py, READ, answer)).transpose()
    }

    /// Raises the exception of the run, if the run has ended with one.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let answer = held(&self.end).clone();
        match answer.filter(|answer| !answer.status.is_success()) {
            Some(answer) => Err(document::error(py, READ, answer)),
            None => Ok(()),
        }
    }

    /// Stops. What was not read yet is lost.
    fn close(&self, py: Python<'_>) {
        let Some(mut feed) = held(&self.feed).take() else { return };
        let worker = feed.worker.take();
        drop(feed);
        // a panic of a reader who wants no more is no news
        let _ = py.detach(|| worker.map(JoinHandle::join));
    }

    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &self.schema)
    }

    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let feed = held(&self.feed).take();
        let feed = feed.ok_or_else(|| PyValueError::new_err("these rows were read already"))?;
        capsule::of_stream(py, feed)
    }
}

impl Rows {
    /// Nothing is left, or somebody else reads it.
    fn ended(&self) -> PyResult<Option<Batch>> {
        match *held(&self.end) {
            Some(_) => Ok(None),
            None => Err(PyRuntimeError::new_err("these rows are read elsewhere, or were closed")),
        }
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // the interface lets a producer pass over the wish
        drop(requested_schema);
        capsule::of_batch(py, &self.0)
    }
}

impl Iterator for Feed {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Ok(batch) = self.batches.recv() {
            return Some(Ok(batch));
        }
        // once
        self.worker.take()?;
        let message = failure(held(&self.end).as_ref())?;
        Some(Err(ArrowError::ExternalError(message.into())))
    }
}

impl RecordBatchReader for Feed {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The error text for a consumer of the stream; `None` if the command succeeded.
fn failure(answer: Option<&Answer>) -> Option<String> {
    let Some(answer) = answer else { return Some("a fault of blockmill itself".into()) };
    if answer.status.is_success() {
        return None;
    }
    let fault = answer.error.as_ref().map(|fault| fault.message.clone());
    let lacks = || answer.shortfalls.first().map(|shortfall| shortfall.text.clone());
    Some(fault.or_else(lacks).unwrap_or_else(|| answer.status.to_string()))
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
