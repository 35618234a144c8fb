//! Apache Parquet. Columns are decoded a batch of records at a time, so memory does not grow with
//! the file. A column without a value is a field the row does not have.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use parquet::basic::ConvertedType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::{ReaderIter, TreeBuilder};
use serde_json::Value;

use super::{Position, ReadError, Row, Rows};
use crate::template::Fields;

pub struct ParquetRows {
    file: SerializedFileReader<File>,
    /// Columns of JSON text, which become what the text says.
    json: BTreeSet<String>,
    next_group: usize,
    records: Option<ReaderIter>,
    /// Rows before the next one.
    passed: u64,
    total: u64,
}

impl ParquetRows {
    pub fn new(file: File, position: Position) -> Result<Self, ReadError> {
        let file = SerializedFileReader::new(file).map_err(unreadable)?;
        let metadata = file.metadata().file_metadata();
        let columns = metadata.schema_descr().root_schema().get_fields();
        let is_json =
            |column: &&parquet::schema::types::TypePtr| column.get_basic_info().converted_type() == ConvertedType::JSON;
        let json = columns.iter().filter(is_json).map(|column| column.name().to_owned()).collect();
        let total = metadata.num_rows().max(0) as u64;
        let mut rows = Self { file, json, next_group: 0, records: None, passed: 0, total };
        rows.pass_to(position.offset.min(total))?;
        Ok(rows)
    }

    /// Whole row groups are passed over unread; inside one, records have to be decoded.
    fn pass_to(&mut self, wanted: u64) -> Result<(), ReadError> {
        while self.next_group < self.file.num_row_groups() {
            let in_group = self.file.metadata().row_group(self.next_group).num_rows().max(0) as u64;
            if self.passed + in_group > wanted {
                break;
            }
            self.passed += in_group;
            self.next_group += 1;
        }
        while self.passed < wanted {
            self.next_record()?;
        }
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<parquet::record::Row>, ReadError> {
        loop {
            if let Some(record) = self.records.as_mut().and_then(Iterator::next) {
                self.passed += 1;
                return Ok(Some(record.map_err(unreadable)?));
            }
            if self.next_group >= self.file.num_row_groups() {
                return Ok(None);
            }
            let group = self.file.get_row_group(self.next_group).map_err(unreadable)?;
            let schema = self.file.metadata().file_metadata().schema_descr_ptr();
            self.records = Some(TreeBuilder::new().as_iter(schema, &*group).map_err(unreadable)?);
            self.next_group += 1;
        }
    }

    fn row(&self, record: &parquet::record::Row) -> Row {
        let mut fields = Fields::new();
        for (name, field) in record.get_column_iter() {
            let value = match (value_of(field), self.json.contains(name)) {
                (Value::Null, _) => continue,
                (Value::String(text), true) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                (value, _) => value,
            };
            fields.insert(name.clone(), value);
        }
        Row::of(self.passed, fields)
    }
}

impl Rows for ParquetRows {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        let record = self.next_record().transpose()?;
        Some(record.map(|record| self.row(&record)))
    }

    fn position(&self) -> Position {
        Position { offset: self.passed, line: self.passed + 1 }
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.passed >= self.total)
    }
}

fn value_of(field: &Field) -> Value {
    match field {
        // Many writers do not say that their bytes are text.
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => field.to_json_value(),
        },
        Field::Group(row) => {
            let present = row.get_column_iter().map(|(name, field)| (name.clone(), value_of(field)));
            Value::Object(present.filter(|(_, value)| !value.is_null()).collect())
        }
        Field::ListInternal(list) => Value::Array(list.elements().iter().map(value_of).collect()),
        Field::MapInternal(map) => {
            let entry = |(key, value): &(Field, Field)| match value_of(key) {
                Value::String(name) => (name, value_of(value)),
                other => (other.to_string(), value_of(value)),
            };
            Value::Object(map.entries().iter().map(entry).collect())
        }
        other => other.to_json_value(),
    }
}

fn unreadable(error: ParquetError) -> ReadError {
    ReadError::File(io::Error::other(format!("as Parquet: {error}")))
}
