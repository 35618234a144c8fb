//! Rows of PostgreSQL. Numbers, truth values and JSON stay what they are; everything else comes as the text that
//! the database writes for it, so that no digit is lost.

use postgres::Row;
use postgres::types::{ToSql, Type};
use serde_json::{Map, Number, Value};
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;

use super::Reader;
use super::page::{Dialect, Question};
use crate::sql::postgres::{Session, connect, failure};

pub struct Postgres {
    client: Session,
    question: Question,
    columns: Vec<(String, Type)>,
}

const NAMES: Dialect<'static> = Dialect { quote: '"', parameter: &|no, _| format!("${no}") };

impl Postgres {
    pub fn open(url: &str, question: Question) -> Result<Self, Failure> {
        let mut client = connect(url)?;
        let found = client
            .batch_execute("SET default_transaction_read_only = on")
            .and_then(|()| client.prepare(&format!("SELECT q.* FROM {}", NAMES.from(&question))));
        let found = found.map_err(|error| failure(&error))?;
        let columns: Vec<(String, Type)> =
            found.columns().iter().map(|column| (column.name().to_owned(), column.type_().clone())).collect();
        let asked = question.order.iter().chain(question.bounds.iter().map(|bound| &bound.column));
        if let Some(missing) = asked.into_iter().find(|name| !columns.iter().any(|(known, _)| known == *name)) {
            return Err(invalid_request(format!("column {missing:?} not found")));
        }
        Ok(Self { client, question, columns })
    }
}

impl Reader for Postgres {
    fn page(&mut self, after: Option<&[Value]>) -> Result<Vec<Value>, Failure> {
        let fields: Vec<String> = self.columns.iter().map(|(name, kind)| field(name, kind)).collect();
        // Values are bound as texts, and become what their column is.
        let kind_of = |column: &str| self.columns.iter().find(|(name, _)| name == column).map(|(_, kind)| kind.name());
        let parameter = |no: usize, column: &str| format!("${no}::text::{}", kind_of(column).unwrap_or("text"));
        let dialect = Dialect { parameter: &parameter, ..NAMES };
        let (sql, values) = dialect.page(&self.question, &fields.join(", "), after);
        let texts: Vec<Option<String>> = values.iter().map(text_of).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = texts.iter().map(|text| text as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&sql, &parameters).map_err(|error| failure(&error))?;
        rows.iter().map(|row| self.record(row)).collect()
    }
}

impl Postgres {
    fn record(&self, row: &Row) -> Result<Value, Failure> {
        let mut record = Map::new();
        for (no, (name, kind)) in self.columns.iter().enumerate() {
            record.insert(name.clone(), cell(row, no, kind).map_err(|error| failure(&error))?);
        }
        Ok(Value::Object(record))
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn is_json(kind: &Type) -> bool {
    // The names of arrays begin with an underscore.
    matches!(*kind, Type::JSON | Type::JSONB) || kind.name().starts_with('_')
}

fn field(name: &str, kind: &Type) -> String {
    let column = NAMES.column(name);
    match *kind {
        Type::BOOL => column,
        Type::INT2 | Type::INT4 | Type::INT8 => format!("{column}::int8"),
        Type::FLOAT4 | Type::FLOAT8 => format!("{column}::float8"),
        // As ISO 8601 writes them.
        Type::DATE | Type::TIME | Type::TIMESTAMP | Type::TIMESTAMPTZ => format!("to_json({column}) #>> '{{}}'"),
        Type::BYTEA => format!("encode({column}, 'base64')"),
        _ if is_json(kind) => format!("to_json({column})::text"),
        _ => format!("{column}::text"),
    }
}

fn cell(row: &Row, no: usize, kind: &Type) -> Result<Value, postgres::Error> {
    Ok(match *kind {
        Type::BOOL => row.try_get::<_, Option<bool>>(no)?.map_or(Value::Null, Value::Bool),
        Type::INT2 | Type::INT4 | Type::INT8 => row.try_get::<_, Option<i64>>(no)?.map_or(Value::Null, Value::from),
        Type::FLOAT4 | Type::FLOAT8 => match row.try_get::<_, Option<f64>>(no)? {
            None => Value::Null,
            Some(number) => Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number),
        },
        _ => match row.try_get::<_, Option<String>>(no)? {
            None => Value::Null,
            Some(text) if is_json(kind) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Some(text) => Value::String(text),
        },
    })
}
