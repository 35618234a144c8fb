//! One pass over a file before anything of it is stored: is every row readable, and does the schema
//! allow it? All problems in one report; memory does not grow with the file.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::Validator;
use serde_json::Value;
use windrow_model::Json;
use windrow_model::dataset::Digest;

use super::{BadRow, DatasetFile, Position, Profile, ReadError, Row};
use crate::diagnostics::{About, Problem, Report};

/// Bad rows shown one by one; the rest are counted.
const SHOWN: usize = 20;

/// A JSON Schema, as it is stored and ready to be asked.
pub struct RowSchema {
    pub text: Json,
    validator: Validator,
}

impl RowSchema {
    pub fn from_file(path: &Path) -> Result<Self, Report> {
        let shown = path.display();
        let wrong = |message: String, help: &str| report(vec![Problem::new(message, help)]);
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("the schema {shown} cannot be read: {error}"), "check the path"))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("the schema {shown} is not JSON: {error}"), "correct it there"))?;
        let help = "correct the schema (https://json-schema.org/understanding-json-schema); nothing is fetched, so \
                    what a `$ref` needs must stand in its `$defs`";
        Self::new(&value).map_err(|error| wrong(format!("{shown} is not a JSON Schema: {error}"), help))
    }

    /// From JSON.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        Self::new(&value).map_err(|error| format!("this is not a JSON Schema: {error}"))
    }

    pub fn stored(text: &Json) -> Result<Self, String> {
        Self::new(&text.value()).map_err(|error| format!("the dataset's schema cannot be used: {error}"))
    }

    fn new(value: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().offline().build(value).map_err(|error| error.to_string())?;
        Ok(Self { text: Json::of(value), validator })
    }

    /// The row back, or what the schema has against it.
    pub fn admit(&self, row: Row) -> Result<Row, BadRow> {
        let Row { line, fields, text } = row;
        let value = Value::Object(fields);
        let mut errors = self.validator.iter_errors(&value);
        if let Some(first) = errors.next() {
            let position = match first.instance_path().as_str() {
                "" => String::new(),
                path => format!(" at {path}"),
            };
            let more = match errors.count() {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let message = format!("the schema does not allow this row{position}: {first}{more}");
            return Err(BadRow::new(line, &text, message, "correct the row, or import it with another `--schema`"));
        }
        drop(errors);
        let Value::Object(fields) = value else { unreachable!("made from fields above") };
        Ok(Row { line, fields, text })
    }
}

pub struct Checked {
    pub rows: u64,
    pub digest: Digest,
    pub profile: Profile,
}

/// Blocks. `shown` is the file as a person would name it; `seen` counts the rows as they pass.
pub fn check(file: &DatasetFile, shown: &str, schema: Option<&RowSchema>, seen: &AtomicU64) -> Result<Checked, Report> {
    let mut checked = Checked { rows: 0, digest: Digest::default(), profile: Profile::default() };
    let (mut bad, mut bad_rows) = (Vec::new(), 0_usize);
    let mut add = |row: BadRow| {
        bad_rows += 1;
        if bad.len() < SHOWN {
            bad.push(row.problem(shown));
        }
    };
    match file.open(Position::START) {
        Err(ReadError::Row(row)) => add(row),
        Err(ReadError::File(error)) => return Err(unreadable(shown, &error)),
        Ok(mut rows) => {
            while let Some(row) = rows.next_row() {
                let row = row.and_then(|row| match schema {
                    Some(schema) => Ok(schema.admit(row)?),
                    None => Ok(row),
                });
                match row {
                    Ok(row) => {
                        checked.rows += 1;
                        checked.profile.add(&row.fields);
                        checked.digest.add(&Row::key(row.fields));
                    }
                    Err(ReadError::Row(row)) => add(row),
                    Err(ReadError::File(error)) => return Err(unreadable(shown, &error)),
                }
                seen.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    if bad_rows > bad.len() {
        let message = format!("{} more rows of {shown} are bad", bad_rows - bad.len());
        bad.push(Problem::new(message, "correct them all"));
    }
    if bad.is_empty() && checked.rows == 0 {
        bad.push(Problem::new(format!("{shown} has no rows"), "add at least one row"));
    }
    if bad.is_empty() { Ok(checked) } else { Err(report(bad)) }
}

pub fn unreadable(shown: &str, error: &std::io::Error) -> Report {
    report(vec![Problem::new(format!("{shown} cannot be read: {error}"), "check the file and its permissions")])
}

pub fn report(problems: Vec<Problem>) -> Report {
    Report { about: About::Dataset, problems }
}
