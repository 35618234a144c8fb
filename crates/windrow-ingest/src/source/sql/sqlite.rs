//! Rows of an SQLite file, which is only read.

use std::path::Path;

use base64::Engine;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::{Map, Number, Value};
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};

use super::Reader;
use super::page::{Dialect, Question};

const BUSY: std::time::Duration = std::time::Duration::from_secs(30);

pub struct Sqlite {
    connection: Connection,
    question: Question,
}

impl Sqlite {
    pub fn open(file: &Path, question: Question) -> Result<Self, Failure> {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|error| invalid_request(format!("{}: {error}", file.display())))?;
        connection.busy_timeout(BUSY).map_err(failure)?;
        Ok(Self { connection, question })
    }
}

impl Reader for Sqlite {
    fn page(&mut self, after: Option<&[Value]>) -> Result<Vec<Value>, Failure> {
        let dialect = Dialect { quote: '"', parameter: &|no, _| format!("?{no}") };
        let (sql, values) = dialect.page(&self.question, "q.*", after);
        let mut stmt = self.connection.prepare_cached(&sql).map_err(failure)?;
        let names: Vec<String> = stmt.column_names().map(str::to_owned).collect();
        let values: Vec<rusqlite::types::Value> = values.iter().map(bound).collect();
        let mut rows = stmt.query(params_from_iter(values)).map_err(failure)?;
        let mut records = Vec::new();
        while let Some(row) = rows.next().map_err(failure)? {
            let mut record = Map::new();
            for (no, name) in names.iter().enumerate() {
                record.insert(name.clone(), found(row.get_ref(no).map_err(failure)?));
            }
            records.push(Value::Object(record));
        }
        Ok(records)
    }
}

fn bound(value: &Value) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        Value::Bool(yes) => i64::from(*yes).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

fn found(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => base64::prelude::BASE64_STANDARD.encode(bytes).into(),
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    let class = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => ErrorClass::Timeout,
        Some(rusqlite::ErrorCode::SystemIoFailure) => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    };
    Failure::new(class, format!("SQLite: {error}"))
}
