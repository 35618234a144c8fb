//! Rows into a file of any format that a table can be read back from. What is written is read back
//! equal, but in CSV, where everything becomes text.

mod parquet;

use std::io::{self, Write};

use serde_json::Value;
use windrow_model::Json;

use super::Format;
use super::profile::Profile;
use crate::template::Fields;

pub trait RowWriter: Send {
    /// A JSON object on one line.
    fn write(&mut self, row: &Json) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}

pub type Out = Box<dyn Write + Send>;

/// An error says why rows of this profile cannot be written so.
pub fn writer(format: Format, out: Out, profile: &Profile) -> Result<Box<dyn RowWriter>, String> {
    if profile.cut && matches!(format, Format::Csv | Format::Parquet) {
        let fields = profile.fields.len();
        return Err(format!("the rows have more than {fields} different fields, too many for columns; use jsonl"));
    }
    match format {
        Format::Jsonl => Ok(Box::new(JsonLines(out))),
        Format::Json => Ok(Box::new(JsonList { out, begun: false })),
        Format::Csv => CsvTable::begin(out, profile).map(|table| Box::new(table) as Box<dyn RowWriter>),
        Format::Parquet => {
            parquet::ParquetTable::begin(out, profile).map(|table| Box::new(table) as Box<dyn RowWriter>)
        }
        Format::Yaml => Err("rows are not written as YAML; use jsonl, json, csv or parquet".to_owned()),
    }
}

/// A whole Parquet file of rows that are at hand.
pub fn parquet_of(out: Out, profile: &Profile, rows: Vec<Fields>) -> io::Result<()> {
    let mut table = parquet::ParquetTable::begin(out, profile).map_err(io::Error::other)?;
    rows.into_iter().try_for_each(|row| table.push(row))?;
    Box::new(table).finish()
}

struct JsonLines(Out);

impl RowWriter for JsonLines {
    fn write(&mut self, row: &Json) -> io::Result<()> {
        self.0.write_all(row.as_str().as_bytes())?;
        self.0.write_all(b"\n")
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

struct JsonList {
    out: Out,
    begun: bool,
}

impl RowWriter for JsonList {
    fn write(&mut self, row: &Json) -> io::Result<()> {
        self.out.write_all(if self.begun { b",\n" } else { b"[\n" })?;
        self.begun = true;
        self.out.write_all(row.as_str().as_bytes())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}

struct CsvTable {
    out: csv::Writer<Out>,
    columns: Vec<String>,
}

impl CsvTable {
    fn begin(out: Out, profile: &Profile) -> Result<Self, String> {
        let columns: Vec<String> = profile.fields.keys().cloned().collect();
        let mut out = csv::Writer::from_writer(out);
        out.write_record(&columns).map_err(|error| error.to_string())?;
        Ok(Self { out, columns })
    }
}

impl RowWriter for CsvTable {
    fn write(&mut self, row: &Json) -> io::Result<()> {
        let row: Fields = row.parse()?;
        let cells = self.columns.iter().map(|column| match row.get(column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        self.out.write_record(cells).map_err(io::Error::other)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
