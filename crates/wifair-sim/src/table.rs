//! Result tables as plain columns: declared as a row, exported by column.

use std::sync::Arc;

/// The values of one column. The binding turns it into an Arrow array of the matching type.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Floating-point numbers; `None` if undefined (the mean of no values).
    Float(Vec<Option<f64>>),
    /// Counts.
    Count(Vec<u64>),
    /// Counts; `None` if undefined.
    OptionalCount(Vec<Option<u64>>),
    /// Text.
    Text(Vec<String>),
    /// Names that many rows share.
    Name(Vec<Arc<str>>),
    /// Words of a fixed vocabulary.
    Word(Vec<&'static str>),
}

impl Column {
    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        match self {
            Column::Float(values) => values.is_empty(),
            Column::Count(values) => values.is_empty(),
            Column::OptionalCount(values) => values.is_empty(),
            Column::Text(values) => values.is_empty(),
            Column::Name(values) => values.is_empty(),
            Column::Word(values) => values.is_empty(),
        }
    }
}

/// A type that can form a column.
pub trait ColumnValue: Sized {
    /// The column of `values`.
    fn column(values: impl Iterator<Item = Self>) -> Column;
}

impl ColumnValue for f64 {
    fn column(values: impl Iterator<Item = f64>) -> Column {
        Column::Float(values.map(Some).collect())
    }
}

impl ColumnValue for Option<f64> {
    fn column(values: impl Iterator<Item = Option<f64>>) -> Column {
        Column::Float(values.collect())
    }
}

impl ColumnValue for u64 {
    fn column(values: impl Iterator<Item = u64>) -> Column {
        Column::Count(values.collect())
    }
}

impl ColumnValue for u32 {
    fn column(values: impl Iterator<Item = u32>) -> Column {
        Column::Count(values.map(u64::from).collect())
    }
}

impl ColumnValue for String {
    fn column(values: impl Iterator<Item = String>) -> Column {
        Column::Text(values.collect())
    }
}

impl ColumnValue for Option<u64> {
    fn column(values: impl Iterator<Item = Option<u64>>) -> Column {
        Column::OptionalCount(values.collect())
    }
}

impl ColumnValue for Arc<str> {
    fn column(values: impl Iterator<Item = Arc<str>>) -> Column {
        Column::Name(values.collect())
    }
}

impl ColumnValue for &'static str {
    fn column(values: impl Iterator<Item = &'static str>) -> Column {
        Column::Word(values.collect())
    }
}

/// A row of a result table.
pub trait TableRow {
    /// Name of the table.
    const TABLE: &'static str;
    /// The table's columns, in the order of the row's fields.
    fn columns<'a>(rows: impl Iterator<Item = &'a Self> + Clone) -> Vec<(&'static str, Column)>
    where
        Self: 'a;
}

/// Declares a row: a struct with documented fields, and its columns.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident in $table:literal { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $crate::table::TableRow for $name {
            const TABLE: &'static str = $table;

            fn columns<'a>(
                rows: impl Iterator<Item = &'a Self> + Clone,
            ) -> Vec<(&'static str, $crate::table::Column)> {
                vec![$((
                    stringify!($field),
                    <$type as $crate::table::ColumnValue>::column(rows.clone().map(|row| row.$field.clone())),
                ),)*]
            }
        }
    };
}
pub(crate) use row;
