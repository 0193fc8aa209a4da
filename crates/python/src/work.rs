//! Work on a thread of its own, while the one that asked for it looks for signals.

use blockmill_pipeline::Cancel;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two looks at signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes of stack: what the first thread of the program has.
const STACK: usize = 8 << 20;

/// Begins work.
///
/// # Errors
/// The system has no thread left.
pub fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    thread::Builder::new().name("blockmill".into()).stack_size(STACK).spawn(work)
}

/// Waits a moment for what `from` receives, without the lock of the interpreter.
pub fn wait<T: Send>(
    py: Python<'_>,
    from: Receiver<T>,
) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    py.detach(move || {
        let received = from.recv_timeout(LOOK_EVERY);
        (from, received)
    })
}

/// What `work` returns. Where a signal raises an exception meanwhile (Ctrl-C), the work is asked to
/// stop, and the exception is raised when it has.
///
/// # Errors
/// That exception; or the work panicked.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let (done, mut ended) = sync_channel::<()>(1);
    let own = cancel.clone();
    let worker = begin(move || {
        // dropped when the work is over, however it ends
        let _done = done;
        work(&own)
    })?;
    let mut raised = None;
    loop {
        let waited;
        (ended, waited) = wait(py, ended);
        if waited != Err(RecvTimeoutError::Timeout) {
            break;
        }
        if raised.is_none() {
            raised = py.check_signals().err();
        }
        if raised.is_some() {
            cancel.cancel();
        }
    }
    let value = py.detach(|| worker.join());
    match raised {
        Some(error) => Err(error),
        None => value.map_err(|panic| panicked(&*panic)),
    }
}

/// A fault of blockmill itself.
pub fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    PyRuntimeError::new_err(format!("a fault of blockmill itself: {text}"))
}
