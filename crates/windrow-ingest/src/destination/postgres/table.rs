//! One table: its columns as they are found, added and widened, and the statement that writes a whole batch.

use std::borrow::Cow;

use postgres::types::ToSql;
use postgres::{Error, Statement, Transaction};
use serde_json::Value;

use crate::column::{Column, Types};
use crate::destination::Written;
use crate::destination::shape::{Growth, Limits, Shape};
use crate::record::{Record, Rejected};

/// PostgreSQL itself ends at 1,600 columns and 63 bytes.
const LIMITS: Limits = Limits { columns: 1_000, name: 63 };

pub struct Table {
    schema: String,
    name: String,
    key: Vec<String>,
    shape: Shape,
    /// As the columns are declared; what is not one of ours is cast to.
    types: Vec<String>,
    insert: Option<Statement>,
}

impl Table {
    /// As it is in the database; it may not be there yet.
    pub fn open(tx: &mut Transaction<'_>, schema: &str, name: &str, key: &[String]) -> Result<Self, Error> {
        let found = tx.query(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a \
             JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped \
             AND a.attgenerated = '' ORDER BY a.attnum",
            &[&schema, &name],
        )?;
        let types: Vec<String> = found.iter().map(|row| row.get(1)).collect();
        let columns = found.iter().zip(&types).map(|(row, declared)| (row.get(0), column_of(declared))).collect();
        let (schema, name, key) = (schema.to_owned(), name.to_owned(), key.to_vec());
        let table = Self { schema, name, key, shape: Shape::new(columns, LIMITS), types, insert: None };
        if !table.shape.is_empty() {
            table.create_index(tx)?;
        }
        Ok(table)
    }

    pub fn write(&mut self, tx: &mut Transaction<'_>, records: Vec<Record>, types: &Types) -> Result<Written, Error> {
        let fitted = self.shape.adapt(&self.name, records, types);
        if fitted.stopped.is_some() {
            return Ok(Written { stopped: fitted.stopped, ..Written::default() });
        }
        if !fitted.growth.is_none() {
            self.alter(tx, fitted.growth)?;
        }
        let changes = [fitted.refused, self.shape.widened(&self.name, &fitted.widened)].concat();
        let mut written = Written { rejected: fitted.rejected, changes, ..Written::default() };
        let records = self.shape.sift(&self.name, fitted.records, &mut written.rejected);
        if self.shape.is_empty() || records.is_empty() {
            return Ok(written);
        }
        let insert = match &self.insert {
            Some(known) => known.clone(),
            None => tx.prepare(&self.insert_sql())?,
        };
        self.insert = Some(insert.clone());
        let mut attempt = tx.transaction()?;
        match self.insert(&mut attempt, &insert, &records) {
            Ok((rows, bytes)) => {
                attempt.commit()?;
                (written.rows, written.bytes) = (rows, bytes);
            }
            Err(error) if is_of_a_record(&error) => {
                attempt.rollback()?;
                self.write_one_by_one(tx, &insert, records, &mut written)?;
            }
            Err(error) => return Err(error),
        }
        Ok(written)
    }

    /// Which of them it is that cannot be written.
    fn write_one_by_one(
        &self,
        tx: &mut Transaction<'_>,
        insert: &Statement,
        records: Vec<Record>,
        written: &mut Written,
    ) -> Result<(), Error> {
        for record in records {
            let mut attempt = tx.transaction()?;
            match self.insert(&mut attempt, insert, std::slice::from_ref(&record)) {
                Ok((rows, bytes)) => {
                    attempt.commit()?;
                    written.rows += rows;
                    written.bytes += bytes;
                }
                Err(error) if is_of_a_record(&error) => {
                    attempt.rollback()?;
                    let reason =
                        error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned());
                    let (table, record) = (self.name.clone(), Value::Object(record));
                    written.rejected.push(Rejected { table, record, reason });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// All of them in one statement. Returns how many, and their bytes.
    fn insert(&self, tx: &mut Transaction<'_>, sql: &Statement, records: &[Record]) -> Result<(i64, i64), Error> {
        let rows: Vec<Vec<&Value>> = records.iter().map(|record| self.shape.row(record)).collect();
        let columns = self.shape.columns().iter().enumerate();
        let cells: Vec<Cells> =
            columns.map(|(no, (_, column))| Cells::of(*column, rows.iter().map(|row| row[no]))).collect();
        let bytes = cells.iter().map(Cells::bytes).sum();
        let values: Vec<&(dyn ToSql + Sync)> = cells.iter().map(Cells::as_parameter).collect();
        tx.execute(sql, &values)?;
        Ok((records.len() as i64, bytes))
    }

    fn alter(&mut self, tx: &mut Transaction<'_>, growth: Growth) -> Result<(), Error> {
        let table = self.quoted();
        if growth.added.len() == self.shape.columns().len() {
            let columns: Vec<String> = self.shape.columns().iter().map(declared).collect();
            tx.batch_execute(&format!("CREATE TABLE {table} ({})", columns.join(", ")))?;
        } else {
            let added =
                growth.added.iter().map(|place| format!("ADD COLUMN {}", declared(&self.shape.columns()[*place])));
            let mut changes: Vec<String> = added.collect();
            for (place, was) in growth.widened {
                if self.loses_digits(tx, place, was)? {
                    self.shape.set(place, Column::Text);
                }
                let (name, column) = &self.shape.columns()[place];
                let (name, kind) = (quoted(name), type_of(*column));
                changes.push(format!("ALTER COLUMN {name} TYPE {kind} USING {name}::{kind}"));
            }
            tx.batch_execute(&format!("ALTER TABLE {table} {}", changes.join(", ")))?;
        }
        *self = Self::open(tx, &self.schema, &self.name, &self.key)?;
        Ok(())
    }

    /// Whole numbers beyond 2^53 are not exact as a real; they are kept as texts.
    fn loses_digits(&self, tx: &mut Transaction<'_>, place: usize, was: Column) -> Result<bool, Error> {
        let (name, column) = &self.shape.columns()[place];
        if (was, *column) != (Column::Integer, Column::Real) {
            return Ok(false);
        }
        let (table, name, most) = (self.quoted(), quoted(name), Column::EXACT);
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {name} NOT BETWEEN -{most} AND {most})");
        Ok(tx.query_one(&sql, &[])?.get(0))
    }

    fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    fn create_index(&self, tx: &mut Transaction<'_>) -> Result<(), Error> {
        if self.key.is_empty() {
            return Ok(());
        }
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        // Names end at 63 bytes, and a table's own may be as long.
        let index = quoted(&format!("_windrow_key_{}", &blake3::hash(self.name.as_bytes()).to_hex()[..12]));
        tx.batch_execute(&format!(
            "CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {} ({})",
            self.quoted(),
            key.join(", ")
        ))
    }

    /// One array per column: the number of parameters does not depend on that of the records.
    fn insert_sql(&self) -> String {
        let columns = self.shape.columns();
        let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
        let casts = self.types.iter().enumerate().map(|(no, declared)| format!("r.c{no}::{declared}"));
        let arrays = columns.iter().enumerate().map(|(no, (_, column))| format!("${}::{}[]", no + 1, cell_of(*column)));
        let aliases = (0..columns.len()).map(|no| format!("c{no}"));
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        let set: Vec<String> =
            names.iter().filter(|name| !key.contains(name)).map(|name| format!("{name} = excluded.{name}")).collect();
        let conflict = match (key.is_empty(), set.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(" ON CONFLICT ({}) DO NOTHING", key.join(", ")),
            (false, false) => format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", ")),
        };
        let list = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(", ");
        let (mut casts, mut arrays, mut aliases) = (casts, arrays, aliases);
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM unnest({}) AS r({}){conflict}",
            self.quoted(),
            names.join(", "),
            list(&mut casts),
            list(&mut arrays),
            list(&mut aliases)
        )
    }
}

/// The values of one column, as an array.
enum Cells<'a> {
    Boolean(Vec<Option<bool>>),
    Integer(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<Cow<'a, str>>>),
}

impl<'a> Cells<'a> {
    fn of(column: Column, values: impl Iterator<Item = &'a Value>) -> Self {
        match column {
            Column::Boolean => Self::Boolean(values.map(Value::as_bool).collect()),
            Column::Integer => Self::Integer(values.map(Value::as_i64).collect()),
            Column::Real => Self::Real(values.map(Value::as_f64).collect()),
            Column::Text | Column::Decimal | Column::Timestamp | Column::Json => {
                Self::Text(values.map(|value| column.text(value)).collect())
            }
        }
    }

    fn as_parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Boolean(values) => values,
            Self::Integer(values) => values,
            Self::Real(values) => values,
            Self::Text(values) => values,
        }
    }

    fn bytes(&self) -> i64 {
        match self {
            Self::Boolean(values) => 8 * values.iter().flatten().count() as i64,
            Self::Integer(values) => 8 * values.iter().flatten().count() as i64,
            Self::Real(values) => 8 * values.iter().flatten().count() as i64,
            Self::Text(values) => values.iter().flatten().map(|text| text.len() as i64).sum(),
        }
    }
}

/// Values that are out of range or no text, constraints that are not kept, keys that come twice or are too long
/// for an index, and what a trigger refuses.
fn is_of_a_record(error: &Error) -> bool {
    let code = error.as_db_error().map(|said| said.code().code());
    code.is_some_and(|code| ["21", "22", "23", "54", "P0"].contains(&&code[..2]))
}

fn declared((name, column): &(String, Column)) -> String {
    format!("{} {}", quoted(name), type_of(*column))
}

fn type_of(column: Column) -> &'static str {
    match column {
        Column::Boolean => "boolean",
        Column::Integer => "bigint",
        Column::Real => "double precision",
        Column::Decimal => "numeric",
        Column::Timestamp => "timestamp with time zone",
        Column::Text => "text",
        Column::Json => "jsonb",
    }
}

/// What its values travel as.
fn cell_of(column: Column) -> &'static str {
    match column {
        Column::Json | Column::Decimal | Column::Timestamp => "text",
        other => type_of(other),
    }
}

fn column_of(declared: &str) -> Column {
    match declared {
        "boolean" => Column::Boolean,
        "bigint" | "integer" | "smallint" => Column::Integer,
        "double precision" | "real" => Column::Real,
        "jsonb" | "json" => Column::Json,
        "numeric" => Column::Decimal,
        "timestamp with time zone" => Column::Timestamp,
        _ => Column::Text,
    }
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
