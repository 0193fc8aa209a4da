//! Arrow's C structures in capsules: the PyCapsule interface of Arrow. A capsule that nobody takes
//! releases what it has.

use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The columns of a table.
pub fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(error)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// The columns and the rows of a batch.
pub fn of_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let rows = StructArray::from(batch.clone());
    let (array, _) = to_ffi(&rows.to_data()).map_err(error)?;
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    Ok((of_schema(py, &batch.schema())?, array))
}

/// A stream of rows.
pub fn of_stream(
    py: Python<'_>,
    rows: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(rows));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
