//! Answers as Python objects of the layout of `--json`, and as exceptions.

use blockmill_cli::answer::{Answer, Payload};
use blockmill_verdict::{FaultReport, Status};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pythonize::{Pythonizer, pythonize};
use serde_json::value::RawValue;
use std::vec;

/// An answer as a dictionary.
///
/// # Errors
/// Python has no memory left.
pub fn of_answer<'py>(
    py: Python<'py>,
    command: &str,
    mut answer: Answer,
) -> PyResult<Bound<'py, PyAny>> {
    let result = answer.result.take();
    let document = pythonize(py, &answer.document(command))?;
    if let Some(result) = result {
        document.set_item("result", of_payload(py, &result)?)?;
    }
    Ok(document)
}

/// The answer of a success.
///
/// # Errors
/// Raises the exception of an answer that is no success.
pub fn of_success<'py>(
    py: Python<'py>,
    command: &str,
    answer: Answer,
) -> PyResult<Bound<'py, PyAny>> {
    match answer.status.is_success() {
        true => of_answer(py, command, answer),
        false => Err(error(py, command, answer)),
    }
}

/// The command's own part of an answer of any status.
///
/// # Errors
/// Raises the exception of an answer without such a part.
pub fn result_of<'py>(
    py: Python<'py>,
    command: &str,
    answer: Answer,
) -> PyResult<Bound<'py, PyAny>> {
    match &answer.result {
        Some(result) => of_payload(py, result),
        None => Err(error(py, command, answer)),
    }
}

fn of_payload<'py>(py: Python<'py>, result: &Payload) -> PyResult<Bound<'py, PyAny>> {
    match result {
        Payload::Text(text) => of_text(py, text),
        Payload::Documents(texts) => {
            let list = PyList::empty(py);
            texts.iter().try_for_each(|text| list.append(of_text(py, text)?))?;
            Ok(list.into_any())
        }
        // arrays are lists and keys are texts, as in JSON
        result => Ok(pythonize(py, &serde_json::to_value(result).map_err(fault)?)?),
    }
}

/// A document of a shard. It has a checksum over its text, so the library has it as text.
fn of_text<'py>(py: Python<'py>, text: &RawValue) -> PyResult<Bound<'py, PyAny>> {
    let mut from = serde_json::Deserializer::from_str(text.get());
    Ok(serde_transcode::transcode(&mut from, Pythonizer::new(py))?)
}

/// The exception for an answer that is not a success.
pub fn error(py: Python<'_>, command: &str, answer: Answer) -> PyErr {
    let error = of_answer(py, command, answer)
        .and_then(|answer| py.import("blockmill._errors")?.call_method1("of", (answer,)));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for arguments that no run could have.
pub fn usage(py: Python<'_>, command: &str, message: String) -> PyErr {
    let report = Some(FaultReport::new(message));
    error(py, command, Answer { error: report, ..Answer::with_status(Status::Usage) })
}

fn fault(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(format!("a fault of blockmill itself: {error}"))
}

/// Documents as pairs of Python objects and text, one at a time: all as Python objects would take
/// many times the memory.
#[pyclass]
pub struct Documents(vec::IntoIter<Box<RawValue>>);

impl Documents {
    /// Takes the documents out of an answer, if its result is a list of them.
    pub fn take(answer: &mut Answer) -> Option<Self> {
        let taken = answer.result.take_if(|result| matches!(result, Payload::Documents(_)));
        match taken {
            Some(Payload::Documents(texts)) => Some(Self(texts.into_iter())),
            _ => None,
        }
    }
}

#[pymethods]
impl Documents {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, String)>> {
        let Some(text) = self.0.next() else { return Ok(None) };
        Ok(Some((of_text(py, &text)?, text.get().to_owned())))
    }
}
