//! Parquet with one column per field. A field of one simple type has a column of that type; any other
//! is JSON text, marked as such, and read back as what it was.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;
use windrow_model::Json;

use super::{Out, RowWriter};
use crate::dataset::profile::{FieldProfile, Kind, Profile};
use crate::template::Fields;

/// Rows, and bytes of JSON, that are written together.
const GROUP_ROWS: usize = 10_000;
const GROUP_BYTES: usize = 16 << 20;

/// What a column holds; what is not of its type is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Boolean,
    Integer,
    Number,
    Text,
    Json,
}

pub struct ParquetTable {
    file: SerializedFileWriter<Out>,
    columns: Vec<(String, Column)>,
    rows: Vec<Fields>,
    bytes: usize,
}

impl ParquetTable {
    pub fn begin(out: Out, profile: &Profile) -> Result<Self, String> {
        let of = |(name, field): (&String, &FieldProfile)| (name.clone(), Column::of(&field.types));
        Self::with(out, profile.fields.iter().map(of).collect())
    }

    pub fn with(out: Out, columns: Vec<(String, Column)>) -> Result<Self, String> {
        if columns.is_empty() {
            return Err("the rows have no fields, and Parquet needs columns; use jsonl".to_owned());
        }
        let file = open(out, &columns).map_err(|error| error.to_string())?;
        Ok(Self { file, columns, rows: Vec::new(), bytes: 0 })
    }

    pub fn push(&mut self, row: Fields) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(io::Error::other)?;
        for (name, column) in &self.columns {
            let values: Vec<Option<&Value>> =
                rows.iter().map(|row| row.get(name).filter(|value| column.takes(value))).collect();
            let mut writer = group
                .next_column()
                .map_err(io::Error::other)?
                .ok_or_else(|| io::Error::other("the table has more columns than its schema"))?;
            write_column(&mut writer, *column, &values).map_err(io::Error::other)?;
            writer.close().map_err(io::Error::other)?;
        }
        group.close().map_err(io::Error::other)?;
        Ok(())
    }
}

impl RowWriter for ParquetTable {
    fn write(&mut self, row: &Json) -> io::Result<()> {
        self.bytes += row.as_str().len();
        self.push(row.parse()?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.write_group()?;
        self.file.close().map_err(io::Error::other)?;
        Ok(())
    }
}

impl Column {
    /// The one type that all values have, else JSON.
    pub fn of(types: &BTreeSet<Kind>) -> Self {
        let mut types = types.iter();
        match (types.next(), types.next()) {
            (Some(Kind::Boolean), None) => Column::Boolean,
            (Some(Kind::Integer), None) => Column::Integer,
            (Some(Kind::Number), None) => Column::Number,
            (Some(Kind::Text), None) => Column::Text,
            _ => Column::Json,
        }
    }

    /// For tables in which null is a missing value.
    pub fn of_present(types: &BTreeSet<Kind>) -> Self {
        Self::of(&types.iter().copied().filter(|kind| *kind != Kind::Null).collect())
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Column::Boolean => value.is_boolean(),
            Column::Integer => value.is_i64(),
            Column::Number => value.is_number(),
            Column::Text => value.is_string(),
            Column::Json => true,
        }
    }
}

fn open(out: Out, columns: &[(String, Column)]) -> Result<SerializedFileWriter<Out>, ParquetError> {
    let field = |(name, column): &(String, Column)| {
        let (physical, converted) = match column {
            Column::Boolean => (Physical::BOOLEAN, ConvertedType::NONE),
            Column::Integer => (Physical::INT64, ConvertedType::NONE),
            Column::Number => (Physical::DOUBLE, ConvertedType::NONE),
            Column::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Column::Json => (Physical::BYTE_ARRAY, ConvertedType::JSON),
        };
        let builder = Type::primitive_type_builder(name, physical);
        builder.with_repetition(Repetition::OPTIONAL).with_converted_type(converted).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: Column,
    values: &[Option<&Value>],
) -> Result<usize, ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let levels = Some(levels.as_slice());
    let present = values.iter().flatten();
    match column {
        Column::Boolean => {
            let values: Vec<bool> = present.filter_map(|value| value.as_bool()).collect();
            writer.typed::<BoolType>().write_batch(&values, levels, None)
        }
        Column::Integer => {
            let values: Vec<i64> = present.filter_map(|value| value.as_i64()).collect();
            writer.typed::<Int64Type>().write_batch(&values, levels, None)
        }
        Column::Number => {
            let values: Vec<f64> = present.filter_map(|value| value.as_f64()).collect();
            writer.typed::<DoubleType>().write_batch(&values, levels, None)
        }
        Column::Text => {
            let values: Vec<ByteArray> = present.filter_map(|value| value.as_str()).map(ByteArray::from).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, levels, None)
        }
        Column::Json => {
            let values: Vec<ByteArray> = present.map(|value| ByteArray::from(value.to_string().into_bytes())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, levels, None)
        }
    }
}
