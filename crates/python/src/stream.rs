//! Rows as they are verified, for whoever reads Arrow: a thread verifies and gives batches through
//! a bounded queue, so that it waits for a slow reader and ends without one.

use crate::capsule;
use crate::work;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use blockmill_cli::library;
use blockmill_pipeline::Cancel;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Batches that wait to be read; each has at most about 32 MB.
const WAITING: usize = 4;

/// What the verifying thread has to say when it is over.
type End = Arc<Mutex<Option<String>>>;

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

/// Begins to verify an archive for the rows of one table: `args` are those of `export` without
/// `--to`. Where that cannot begin, the document that says why.
#[pyfunction]
pub fn read(py: Python<'_>, args: Vec<OsString>) -> PyResult<(Option<Rows>, Option<String>)> {
    let (sender, mut batches) = sync_channel(WAITING);
    let (cancel, end) = (Cancel::new(), End::default());
    let worker = begin(args, sender, cancel.clone(), end.clone())?;
    loop {
        let first;
        (batches, first) = work::wait(py, batches);
        match first {
            Ok(columns) => {
                let schema = columns.schema();
                let worker = Some(worker);
                let feed =
                    Feed { batches, schema: schema.clone(), end: end.clone(), worker, cancel };
                return Ok((Some(Rows { schema, feed: Mutex::new(Some(feed)), end }), None));
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| cancel.cancel())?
            }
            Err(RecvTimeoutError::Disconnected) => {
                py.detach(|| worker.join()).map_err(|panic| work::panicked(&*panic))?;
                return Ok((None, held(&end).clone()));
            }
        }
    }
}

fn begin(
    args: Vec<OsString>,
    batches: SyncSender<RecordBatch>,
    cancel: Cancel,
    end: End,
) -> std::io::Result<JoinHandle<()>> {
    work::begin(move || {
        // kept open until the document is stored
        let open = batches.clone();
        let document = library::read(&args, batches, &cancel);
        *held(&end) = Some(document);
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

    /// The document of the verdict; none before the last rows were read.
    fn end(&self) -> Option<String> {
        held(&self.end).clone()
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
        let message = failure(held(&self.end).as_deref())?;
        Some(Err(ArrowError::ExternalError(message.into())))
    }
}

impl RecordBatchReader for Feed {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The error text for a consumer of the stream; `None` if the command succeeded.
fn failure(document: Option<&str>) -> Option<String> {
    let Some(document) = document else { return Some("a fault of blockmill itself".into()) };
    let answer: Value = serde_json::from_str(document).ok()?;
    if answer["exit_code"] == 0 {
        return None;
    }
    let shortfalls = answer["shortfalls"].as_array().into_iter().flatten();
    let mut texts = shortfalls.filter_map(|shortfall| shortfall["text"].as_str());
    let message = answer["error"]["message"].as_str().or_else(|| texts.next());
    Some(message.or(answer["status"].as_str()).unwrap_or_default().to_owned())
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
