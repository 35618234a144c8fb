//! Rows into a file of any format that a table can be read back from. What is written is read back
//! equal, but in CSV, where everything becomes text.

mod parquet;

use std::io::{self, Write};

use serde_json::Value;
use windrow_model::Json;

use super::Format;
use super::profile::Profile;
use crate::template::Fields;

pub use parquet::Column;

pub trait RowWriter: Send {
    /// A JSON object on one line.
    fn write(&mut self, row: &Json) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}

pub type Out = Box<dyn Write + Send>;

/// A table with these columns, in this order. A text that a spreadsheet would run as a formula gets an apostrophe in CSV.
pub fn table(format: Format, out: Out, columns: Vec<(String, Column)>) -> Result<Box<dyn RowWriter>, String> {
    match format {
        Format::Jsonl => Ok(Box::new(JsonLines(out))),
        Format::Csv => {
            let names = columns.into_iter().map(|(name, _)| name).collect();
            CsvTable::begin(out, names, true).map(|table| Box::new(table) as Box<dyn RowWriter>)
        }
        Format::Parquet => parquet::ParquetTable::with(out, columns).map(|table| Box::new(table) as Box<dyn RowWriter>),
        Format::Json | Format::Yaml => Err(format!("tables are not written as {format}; use jsonl, csv or parquet")),
    }
}

/// An error says why rows of this profile cannot be written so.
pub fn writer(format: Format, out: Out, profile: &Profile) -> Result<Box<dyn RowWriter>, String> {
    if profile.cut && matches!(format, Format::Csv | Format::Parquet) {
        let fields = profile.fields.len();
        return Err(format!("the rows have more than {fields} different fields, too many for columns; use jsonl"));
    }
    match format {
        Format::Jsonl => Ok(Box::new(JsonLines(out))),
        Format::Json => Ok(Box::new(JsonList { out, begun: false })),
        Format::Csv => {
            let names = profile.fields.keys().cloned().collect();
            CsvTable::begin(out, names, false).map(|table| Box::new(table) as Box<dyn RowWriter>)
        }
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
    defuses: bool,
}

impl CsvTable {
    fn begin(out: Out, columns: Vec<String>, defuses: bool) -> Result<Self, String> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(&columns).map_err(|error| error.to_string())?;
        Ok(Self { out, columns, defuses })
    }
}

impl RowWriter for CsvTable {
    fn write(&mut self, row: &Json) -> io::Result<()> {
        let row: Fields = row.parse()?;
        let cells = self.columns.iter().map(|column| match row.get(column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) if self.defuses => defused(text.clone()),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        self.out.write_record(cells).map_err(io::Error::other)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

/// A spreadsheet would run a text that begins like a formula.
pub fn defused(text: String) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_does_not_run_formulas() {
        for formula in ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"] {
            assert!(defused(formula.to_owned()).starts_with('\''), "{formula}");
        }
        assert_eq!(defused("plain".to_owned()), "plain");
    }
}
