//! Result tables exported by the Arrow PyCapsule protocol: no copy, no pyarrow.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wifair_sim::table::Column;

/// A table of results; any consumer of Arrow's PyCapsule stream protocol can read it.
#[pyclass(module = "wifair._native", frozen)]
pub struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// See the Arrow PyCapsule interface. A requested schema is only a request and is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Converts tables, keeping their names.
pub fn tables(
    tables: &[(&'static str, Vec<(&'static str, Column)>)],
) -> Result<Vec<(&'static str, Table)>, ArrowError> {
    tables.iter().map(|(name, columns)| Ok((*name, table(columns)?))).collect()
}

/// Converts a table.
pub fn table(columns: &[(&'static str, Column)]) -> Result<Table, ArrowError> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for (name, column) in columns {
        let (data_type, array): (DataType, ArrayRef) = match column {
            Column::Float(values) => {
                (DataType::Float64, Arc::new(Float64Array::from_iter(values.iter().copied())))
            }
            Column::Count(values) => {
                (DataType::UInt64, Arc::new(UInt64Array::from_iter_values(values.iter().copied())))
            }
            Column::OptionalCount(values) => {
                (DataType::UInt64, Arc::new(UInt64Array::from_iter(values.iter().copied())))
            }
            Column::Name(values) => (DataType::Utf8, Arc::new(StringArray::from_iter_values(values))),
            Column::Text(values) => (DataType::Utf8, Arc::new(StringArray::from_iter_values(values))),
            Column::Word(values) => (DataType::Utf8, Arc::new(StringArray::from_iter_values(values))),
        };
        fields.push(Field::new(
            *name,
            data_type,
            matches!(column, Column::Float(_) | Column::OptionalCount(_)),
        ));
        arrays.push(array);
    }
    Ok(Table(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?))
}
