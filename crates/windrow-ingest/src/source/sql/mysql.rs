//! Rows of MySQL or MariaDB. Decimals come as texts, so that no digit is lost; moments as ISO 8601 writes them.

use base64::Engine;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Params, Row, Value as Cell};
use serde_json::{Map, Number, Value};
use windrow_model::Failure;

use super::Reader;
use super::page::{Dialect, Question};
use crate::sql::mysql::{connect, failure};

pub struct MySql {
    conn: Conn,
    question: Question,
}

impl MySql {
    pub fn open(url: &str, question: Question) -> Result<Self, Failure> {
        let mut conn = connect(url)?;
        conn.query_drop("SET SESSION TRANSACTION READ ONLY").map_err(|error| failure(&error))?;
        Ok(Self { conn, question })
    }
}

impl Reader for MySql {
    fn page(&mut self, after: Option<&[Value]>) -> Result<Vec<Value>, Failure> {
        let dialect = Dialect { quote: '`', parameter: &|_, _| "?".to_owned() };
        let (sql, values) = dialect.page(&self.question, "q.*", after);
        let values: Vec<Cell> = values.iter().map(bound).collect();
        let values = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
        let rows: Vec<Row> = self.conn.exec(&sql, values).map_err(|error| failure(&error))?;
        Ok(rows.into_iter().map(record).collect())
    }
}

fn bound(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::NULL,
        Value::Bool(yes) => Cell::Int(i64::from(*yes)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Cell::Int(whole),
            (None, Some(whole)) => Cell::UInt(whole),
            (None, None) => Cell::Double(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Cell::Bytes(text.clone().into_bytes()),
        other => Cell::Bytes(other.to_string().into_bytes()),
    }
}

fn record(row: Row) -> Value {
    let columns = row.columns();
    let cells = row.unwrap();
    let fields = columns.iter().zip(cells).map(|(column, cell)| (column.name_str().into_owned(), found(column, cell)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn found(column: &Column, cell: Cell) -> Value {
    match cell {
        Cell::NULL => Value::Null,
        Cell::Int(number) => number.into(),
        Cell::UInt(number) => number.into(),
        Cell::Float(number) => real(f64::from(number)),
        Cell::Double(number) => real(number),
        Cell::Date(year, month, day, ..) if column.column_type() == ColumnType::MYSQL_TYPE_DATE => {
            format!("{year:04}-{month:02}-{day:02}").into()
        }
        Cell::Date(year, month, day, hour, minute, second, micros) => {
            let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}").into()
        }
        Cell::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if is_negative { "-" } else { "" };
            let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
            format!("{sign}{:02}:{minutes:02}:{seconds:02}{fraction}", days * 24 + u32::from(hours)).into()
        }
        Cell::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) if column.column_type() == ColumnType::MYSQL_TYPE_JSON => {
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
            Ok(text) => Value::String(text),
            Err(bytes) => base64::prelude::BASE64_STANDARD.encode(bytes.into_bytes()).into(),
        },
    }
}

fn real(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}
