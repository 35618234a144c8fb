//! One table: its columns as they are found, added and widened, and the statement that writes many records.

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Params, Transaction, Value as Cell};
use serde_json::Value;

use crate::column::{Column, Types, plain_moment};
use crate::destination::Written;
use crate::destination::shape::{Growth, Limits, Shape};
use crate::record::{Record, Rejected};

/// A row of InnoDB ends at 1,017 columns.
const LIMITS: Limits = Limits { columns: 500, name: 64 };
/// A statement has at most 65,535 values.
const VALUES: usize = 60_000;
const ROWS: usize = 1_000;

pub struct Table {
    name: String,
    key: Vec<String>,
    shape: Shape,
    is_mariadb: bool,
}

impl Table {
    /// As it is in the database; it may not be there yet.
    pub fn open(conn: &mut Conn, name: &str, key: &[String]) -> Result<Self, Error> {
        let columns: Vec<(String, Column)> = conn.exec_map(
            "SELECT column_name, column_type FROM information_schema.columns \
             WHERE table_schema = database() AND table_name = ? AND extra NOT LIKE '%GENERATED%' ORDER BY ordinal_position",
            (name,),
            |(name, declared): (String, String)| (name, column_of(&declared)),
        )?;
        let version: String = conn.query_first("SELECT version()")?.unwrap_or_default();
        let (shape, is_mariadb) = (Shape::new(columns, LIMITS), version.contains("MariaDB"));
        let table = Self { name: name.to_owned(), key: key.to_vec(), shape, is_mariadb };
        if !table.shape.is_empty() && !table.key.is_empty() {
            table.create_index(conn)?;
        }
        Ok(table)
    }

    /// Makes room for the records, and takes out those that cannot be rows.
    pub fn fit(
        &mut self,
        conn: &mut Conn,
        records: Vec<Record>,
        types: &Types,
        written: &mut Written,
    ) -> Result<Vec<Record>, Error> {
        let fitted = self.shape.adapt(&self.name, records, types);
        if fitted.stopped.is_some() {
            written.stopped = fitted.stopped;
            return Ok(Vec::new());
        }
        if !fitted.growth.is_none() {
            self.alter(conn, fitted.growth)?;
        }
        let changes = [fitted.refused, self.shape.widened(&self.name, &fitted.widened)].concat();
        for change in &changes {
            // The table has changed, whatever becomes of the batch.
            tracing::warn!(table = %change.table, column = %change.column, "{change}");
        }
        written.changes.extend(changes);
        written.rejected.extend(fitted.rejected);
        Ok(self.shape.sift(&self.name, fitted.records, &mut written.rejected))
    }

    pub fn write(&self, tx: &mut Transaction<'_>, records: Vec<Record>, written: &mut Written) -> Result<(), Error> {
        if self.shape.is_empty() {
            return Ok(());
        }
        let at_once = (VALUES / self.shape.columns().len()).clamp(1, ROWS);
        for chunk in records.chunks(at_once) {
            tx.query_drop("SAVEPOINT chunk")?;
            match self.insert(tx, chunk) {
                Ok(bytes) => {
                    written.rows += chunk.len() as i64;
                    written.bytes += bytes;
                }
                Err(error) if is_of_a_record(&error) => {
                    tx.query_drop("ROLLBACK TO SAVEPOINT chunk")?;
                    self.write_one_by_one(tx, chunk, written)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Which of them it is that cannot be written. A statement that fails changes nothing.
    fn write_one_by_one(
        &self,
        tx: &mut Transaction<'_>,
        records: &[Record],
        written: &mut Written,
    ) -> Result<(), Error> {
        for record in records {
            match self.insert(tx, std::slice::from_ref(record)) {
                Ok(bytes) => {
                    written.rows += 1;
                    written.bytes += bytes;
                }
                Err(error) if is_of_a_record(&error) => {
                    let (table, record) = (self.name.clone(), Value::Object(record.clone()));
                    written.rejected.push(Rejected { table, record, reason: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn insert(&self, tx: &mut Transaction<'_>, records: &[Record]) -> Result<i64, Error> {
        let mut values = Vec::with_capacity(records.len() * self.shape.columns().len());
        for record in records {
            let row = self.shape.row(record);
            values.extend(row.into_iter().zip(self.shape.columns()).map(|(value, (_, column))| cell(*column, value)));
        }
        let bytes = values.iter().map(size_of).sum();
        tx.exec_drop(self.insert_sql(records.len()), Params::Positional(values))?;
        Ok(bytes)
    }

    fn alter(&mut self, conn: &mut Conn, growth: Growth) -> Result<(), Error> {
        let table = quoted(&self.name);
        if growth.added.len() == self.shape.columns().len() {
            let columns: Vec<String> = (0..growth.added.len()).map(|place| self.declared(place)).collect();
            let sql = format!("CREATE TABLE IF NOT EXISTS {table} ({}) ENGINE = InnoDB", columns.join(", "));
            conn.query_drop(format!("{sql} CHARACTER SET utf8mb4"))?;
        }
        // Another writer may have made some of it in the meantime; what is missing still is added.
        let there: Vec<String> =
            Self::open(conn, &self.name, &[])?.shape.columns().iter().map(|(name, _)| name.to_lowercase()).collect();
        let is_missing = |place: &&usize| !there.contains(&self.shape.columns()[**place].0.to_lowercase());
        for place in growth.added.iter().filter(is_missing) {
            conn.query_drop(format!("ALTER TABLE {table} ADD COLUMN {}", self.declared(*place)))?;
        }
        for (place, was) in growth.widened {
            self.widen(conn, place, was)?;
        }
        *self = Self::open(conn, &self.name, &self.key)?;
        Ok(())
    }

    fn widen(&mut self, conn: &mut Conn, place: usize, was: Column) -> Result<(), Error> {
        let (table, name) = (quoted(&self.name), quoted(&self.shape.columns()[place].0));
        if (was, self.shape.columns()[place].1) == (Column::Integer, Column::Real) {
            let most = Column::EXACT;
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {name} NOT BETWEEN -{most} AND {most})");
            // Whole numbers beyond 2^53 are not exact as a real; they are kept as texts.
            if conn.query_first::<i64, _>(sql)? == Some(1) {
                self.shape.set(place, Column::Text);
            }
        }
        let wider = self.type_of(place);
        if was != Column::Boolean {
            return conn.query_drop(format!("ALTER TABLE {table} MODIFY COLUMN {name} {wider}"));
        }
        // A boolean is a number here, and would become '1' and '0'.
        let wide = quoted(&format!("_windrow_wide_{place}"));
        conn.query_drop(format!("ALTER TABLE {table} DROP COLUMN IF EXISTS {wide}")).or_else(|error| match &error {
            // MySQL has no IF EXISTS here; it is only there after a crash.
            Error::MySqlError(said) if said.code == 1064 => Ok(()),
            _ => Err(error),
        })?;
        conn.query_drop(format!("ALTER TABLE {table} ADD COLUMN {wide} {wider}"))?;
        conn.query_drop(format!("UPDATE {table} SET {wide} = CASE {name} WHEN 0 THEN 'false' WHEN 1 THEN 'true' END"))?;
        conn.query_drop(format!("ALTER TABLE {table} DROP COLUMN {name}, CHANGE COLUMN {wide} {name} {wider}"))
    }

    fn is_key(&self, place: usize) -> bool {
        self.key.contains(&self.shape.columns()[place].0)
    }

    fn declared(&self, place: usize) -> String {
        format!("{} {}", quoted(&self.shape.columns()[place].0), self.type_of(place))
    }

    fn type_of(&self, place: usize) -> String {
        // Under these no two different texts are equal.
        let collation = if self.is_mariadb { "utf8mb4_nopad_bin" } else { "utf8mb4_0900_bin" };
        match self.shape.columns()[place].1 {
            Column::Boolean => "BOOLEAN".to_owned(),
            Column::Integer => "BIGINT".to_owned(),
            Column::Real => "DOUBLE".to_owned(),
            Column::Decimal => "DECIMAL(38,10)".to_owned(),
            Column::Timestamp => "DATETIME(6)".to_owned(),
            // An index needs to know how long its keys are.
            Column::Text | Column::Json if self.is_key(place) => {
                format!("VARCHAR(250) CHARACTER SET utf8mb4 COLLATE {collation}")
            }
            // MariaDB's JSON is a text that is checked.
            Column::Json if !self.is_mariadb => "JSON".to_owned(),
            Column::Text | Column::Json => format!("LONGTEXT CHARACTER SET utf8mb4 COLLATE {collation}"),
        }
    }

    fn create_index(&self, conn: &mut Conn) -> Result<(), Error> {
        let known: Option<i64> = conn.exec_first(
            "SELECT 1 FROM information_schema.statistics WHERE table_schema = database() AND table_name = ? \
             AND index_name = '_windrow_key'",
            (&self.name,),
        )?;
        if known.is_some() {
            return Ok(());
        }
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        conn.query_drop(format!("CREATE UNIQUE INDEX _windrow_key ON {} ({})", quoted(&self.name), key.join(", ")))
    }

    fn insert_sql(&self, rows: usize) -> String {
        let names: Vec<String> = self.shape.columns().iter().map(|(name, _)| quoted(name)).collect();
        let row = format!("({})", vec!["?"; names.len()].join(","));
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        let set: Vec<String> =
            names.iter().filter(|name| !key.contains(name)).map(|name| format!("{name} = VALUES({name})")).collect();
        let conflict = match (key.first(), set.is_empty()) {
            (None, _) => String::new(),
            (Some(first), true) => format!(" ON DUPLICATE KEY UPDATE {first} = {first}"),
            (Some(_), false) => format!(" ON DUPLICATE KEY UPDATE {}", set.join(", ")),
        };
        let values = vec![row.as_str(); rows].join(",");
        format!("INSERT INTO {} ({}) VALUES {values}{conflict}", quoted(&self.name), names.join(", "))
    }
}

fn cell(column: Column, value: &Value) -> Cell {
    match (column, value) {
        (_, Value::Null) => Cell::NULL,
        (Column::Boolean, Value::Bool(yes)) => Cell::Int(i64::from(*yes)),
        (Column::Integer, Value::Number(number)) => Cell::Int(number.as_i64().unwrap_or_default()),
        (Column::Real, Value::Number(number)) => Cell::Double(number.as_f64().unwrap_or_default()),
        (Column::Timestamp, value) => plain_moment(value).map_or(Cell::NULL, |text| Cell::Bytes(text.into_bytes())),
        (column, value) => column.text(value).map_or(Cell::NULL, |text| Cell::Bytes(text.into_owned().into_bytes())),
    }
}

fn size_of(cell: &Cell) -> i64 {
    match cell {
        Cell::NULL => 0,
        Cell::Bytes(text) => text.len() as i64,
        _ => 8,
    }
}

/// Values that are too long, out of range or no JSON, and constraints that are not kept.
fn is_of_a_record(error: &Error) -> bool {
    let Error::MySqlError(said) = error else { return false };
    matches!(
        said.code,
        1048 | 1062 | 1216 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1451 | 1452 | 1644 | 3140 | 3819 | 4025
    )
}

fn column_of(declared: &str) -> Column {
    let declared = declared.to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| declared.starts_with(word));
    match () {
        () if declared == "tinyint(1)" => Column::Boolean,
        () if begins(&["bigint", "int", "mediumint", "smallint", "tinyint"]) && !declared.contains("unsigned") => {
            Column::Integer
        }
        () if begins(&["double", "float"]) => Column::Real,
        () if begins(&["json"]) => Column::Json,
        () if declared == "decimal(38,10)" => Column::Decimal,
        () if declared == "datetime(6)" => Column::Timestamp,
        () => Column::Text,
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
