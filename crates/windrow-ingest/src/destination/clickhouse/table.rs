//! One table: its columns as they are found, added and widened, and a batch as the block that is written.
//!
//! Tables are made so that a block written twice is there once: rows with a key replace each other, the newest
//! wins; rows without one are known by their batch and their place in it.

use serde::Deserialize;
use serde_json::Value;
use windrow_model::Failure;
use windrow_model::ingest::Entry;

use super::client::{Client, literal, quoted};
use crate::column::{Column, Types, plain_moment};
use crate::destination::Written;
use crate::destination::shape::{Growth, Limits, Shape};
use crate::record::{Record, Rejected};

const LIMITS: Limits = Limits { columns: 1_000, name: 1_000 };
/// Writers that change a table at the same time agree sooner.
const TRIES: usize = 5;
const AT: &str = "_windrow_at";
const BATCH: &str = "_windrow_batch";
const ROW: &str = "_windrow_row";

#[derive(Clone)]
pub struct Table {
    name: String,
    key: Vec<String>,
    shape: Shape,
    /// Those of our own columns that it has.
    own: Vec<&'static str>,
    /// Before 21.12 there is no type for truth values.
    has_bool: bool,
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    r#type: String,
}

impl Table {
    /// As it is in the database; it may not be there yet.
    pub async fn open(client: &Client, name: &str, key: &[String], has_bool: bool) -> Result<Self, Failure> {
        let sql = format!(
            "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {}",
            literal(name)
        );
        let found: Vec<Declared> = client.rows(&sql).await?;
        let own = [AT, BATCH, ROW].into_iter().filter(|name| found.iter().any(|column| column.name == *name)).collect();
        let columns = found.into_iter().filter(|column| !column.name.starts_with("_windrow_"));
        let columns = columns.map(|column| (column.name, column_of(&column.r#type))).collect();
        Ok(Self { name: name.to_owned(), key: key.to_vec(), shape: Shape::new(columns, LIMITS), own, has_bool })
    }

    /// Makes room for the records, and takes out those that cannot be rows.
    pub async fn fit(
        &mut self,
        client: &Client,
        mut records: Vec<Record>,
        types: &Types,
        written: &mut Written,
    ) -> Result<Vec<Record>, Failure> {
        let mut widened = Vec::new();
        for _ in 0..TRIES {
            let fitted = self.shape.adapt(&self.name, records, types);
            if fitted.stopped.is_some() {
                written.stopped = fitted.stopped;
                return Ok(Vec::new());
            }
            written.rejected.extend(fitted.rejected);
            written.changes.extend(fitted.refused);
            let (growth, kept) = self.keep_keys(fitted.growth, fitted.records, &mut written.rejected);
            records = kept;
            let is_key = |name: &String| self.key.contains(name);
            widened.extend(fitted.widened.into_iter().filter(|(name, _, _)| !is_key(name)));
            if growth.is_none() {
                break;
            }
            match self.alter(client, growth).await {
                // Another writer has made it in the meantime; what is missing still is added.
                Err(failure) if !failure.message.contains("already exists") => return Err(failure),
                _ => *self = Self::open(client, &self.name, &self.key, self.has_bool).await?,
            }
        }
        written.changes.extend(self.shape.widened(&self.name, &widened));
        Ok(self.shape.sift(&self.name, records, &mut written.rejected))
    }

    /// The type of a key cannot change any more: records that would need it are taken out.
    fn keep_keys(
        &mut self,
        mut growth: Growth,
        mut records: Vec<Record>,
        rejected: &mut Vec<Rejected>,
    ) -> (Growth, Vec<Record>) {
        let is_key = |place: &usize| self.key.contains(&self.shape.columns()[*place].0);
        let keys: Vec<usize> = growth.widened.keys().copied().filter(is_key).collect();
        for place in keys {
            let was = growth.widened.remove(&place).expect("it was just found");
            let name = self.shape.columns()[place].0.clone();
            self.shape.set(place, was);
            records = self.without(records, &name, was, rejected);
        }
        (growth, records)
    }

    fn without(&self, records: Vec<Record>, name: &str, column: Column, rejected: &mut Vec<Rejected>) -> Vec<Record> {
        let holds = |record: &Record| record.get(name).is_none_or(|value| column.holds(value));
        let (kept, odd): (Vec<Record>, Vec<Record>) = records.into_iter().partition(holds);
        let reason = format!("its key {name:?} is of another type than the table's, which cannot change in ClickHouse");
        rejected.extend(odd.into_iter().map(|record| Rejected {
            table: self.name.clone(),
            record: Value::Object(record),
            reason: reason.clone(),
        }));
        kept
    }

    async fn alter(&mut self, client: &Client, growth: Growth) -> Result<(), Failure> {
        let (table, columns) = (quoted(&self.name), self.shape.columns());
        if growth.added.len() == columns.len() {
            let declared: Vec<String> = (0..columns.len()).map(|place| self.declared(place)).collect();
            let (own, engine) = self.engine();
            let sql = format!("CREATE TABLE IF NOT EXISTS {table} ({}, {own}) ENGINE = {engine}", declared.join(", "));
            client.perform(sql).await?;
        } else {
            let add = |place: &usize| format!("ADD COLUMN {}", self.declared(*place));
            let mut changes: Vec<String> = growth.added.iter().map(add).collect();
            for (place, was) in growth.widened {
                if (was, self.shape.columns()[place].1) == (Column::Integer, Column::Real)
                    && self.has_beyond(client, place).await?
                {
                    self.shape.set(place, Column::Text);
                }
                changes.push(format!("MODIFY COLUMN {}", self.declared(place)));
            }
            client.perform(format!("ALTER TABLE {table} {}", changes.join(", "))).await?;
        }
        Ok(())
    }

    /// Whole numbers beyond 2^53 are not exact as a real; they are kept as texts.
    async fn has_beyond(&self, client: &Client, place: usize) -> Result<bool, Failure> {
        let (table, name, most) = (quoted(&self.name), quoted(&self.shape.columns()[place].0), Column::EXACT);
        let sql = format!("SELECT toString(count()) FROM {table} WHERE {name} < -{most} OR {name} > {most}");
        Ok(client.perform(sql).await?.trim() != "0")
    }

    fn engine(&self) -> (String, String) {
        if self.key.is_empty() {
            let own = format!("{BATCH} String, {ROW} UInt32");
            return (own, format!("ReplacingMergeTree ORDER BY ({BATCH}, {ROW})"));
        }
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        (format!("{AT} UInt64"), format!("ReplacingMergeTree({AT}) ORDER BY ({})", key.join(", ")))
    }

    fn declared(&self, place: usize) -> String {
        let (name, column) = &self.shape.columns()[place];
        let kind = match column {
            Column::Boolean if self.has_bool => "Bool",
            // Its values become the same texts as those of `Bool` when it is widened.
            Column::Boolean => "Enum8('false' = 0, 'true' = 1)",
            Column::Integer => "Int64",
            Column::Real => "Float64",
            Column::Decimal => "Decimal(38, 10)",
            Column::Timestamp => "DateTime64(6, 'UTC')",
            Column::Text | Column::Json => "String",
        };
        match self.key.contains(name) {
            true => format!("{} {kind}", quoted(name)),
            false => format!("{} Nullable({kind})", quoted(name)),
        }
    }

    pub fn insert_sql(&self) -> String {
        format!("INSERT INTO {} FORMAT JSONEachRow", quoted(&self.name))
    }

    /// One line per record.
    pub fn block(&self, records: &[Record], entry: &Entry) -> String {
        let mut block = String::with_capacity(records.len() * 256);
        for (row, record) in records.iter().enumerate() {
            let mut expected = 0;
            block.push('{');
            for (name, value) in record {
                let Some(place) = self.shape.place(name, expected) else { continue };
                expected = place + 1;
                let (column_name, column) = &self.shape.columns()[place];
                let name = Value::from(column_name.as_str());
                block.push_str(&format!("{name}:{},", self.cell(*column, value)));
            }
            for own in &self.own {
                match *own {
                    AT => block.push_str(&format!("\"{AT}\":{},", entry.at.0)),
                    BATCH => block.push_str(&format!("\"{BATCH}\":\"{}\",", entry.key)),
                    _ => block.push_str(&format!("\"{ROW}\":{row},")),
                }
            }
            if block.ends_with(',') {
                block.pop();
            }
            block.push_str("}\n");
        }
        block
    }

    fn cell(&self, column: Column, value: &Value) -> Value {
        match (column, value) {
            (_, Value::Null) => Value::Null,
            (Column::Boolean, Value::Bool(yes)) if !self.has_bool => yes.to_string().into(),
            (Column::Boolean | Column::Integer | Column::Real, value) => value.clone(),
            (Column::Timestamp, value) => plain_moment(value).map_or(Value::Null, Value::String),
            (column, value) => column.text(value).map_or(Value::Null, |text| text.into_owned().into()),
        }
    }
}

fn column_of(declared: &str) -> Column {
    let inner = declared.strip_prefix("LowCardinality(").unwrap_or(declared);
    let inner = inner.strip_prefix("Nullable(").unwrap_or(inner).trim_end_matches(')');
    match inner {
        "Bool" => Column::Boolean,
        _ if inner.starts_with("Enum8('false' = 0, 'true' = 1") => Column::Boolean,
        "Int64" | "Int32" | "Int16" | "Int8" => Column::Integer,
        "Float64" | "Float32" => Column::Real,
        _ if inner.starts_with("Decimal(38, 10") => Column::Decimal,
        _ if inner.starts_with("DateTime64(6, 'UTC'") => Column::Timestamp,
        _ => Column::Text,
    }
}
