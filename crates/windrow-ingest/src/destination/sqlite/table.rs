//! One table: its columns as they are found, added and widened, and the statement that writes a record.

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde_json::Value;

use crate::column::{Column, Types};
use crate::destination::Written;
use crate::destination::shape::{Growth, Limits, Shape};
use crate::record::{Record, Rejected};

/// SQLite itself ends at 2,000 columns, and at no length.
const LIMITS: Limits = Limits { columns: 1_000, name: 1_000 };

pub struct Table {
    name: String,
    key: Vec<String>,
    shape: Shape,
    insert: String,
}

impl Table {
    /// As it is in the database; it may not be there yet.
    pub fn open(tx: &Connection, name: &str, key: &[String]) -> rusqlite::Result<Self> {
        let mut stmt = tx.prepare("SELECT name, type FROM pragma_table_info(?1)")?;
        let columns: Vec<(String, Column)> = stmt
            .query_map([name], |row| Ok((row.get(0)?, column_of(&row.get::<_, String>(1)?))))?
            .collect::<rusqlite::Result<_>>()?;
        let shape = Shape::new(columns, LIMITS);
        let mut table = Self { name: name.to_owned(), key: key.to_vec(), shape, insert: String::new() };
        if !table.shape.is_empty() {
            table.create_index(tx)?;
        }
        table.insert = table.insert_sql();
        Ok(table)
    }

    pub fn write(&mut self, tx: &Connection, records: Vec<Record>, types: &Types) -> rusqlite::Result<Written> {
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
        if self.shape.is_empty() {
            return Ok(written);
        }
        let mut stmt = tx.prepare_cached(&self.insert)?;
        for record in records {
            stmt.clear_bindings();
            let mut expected = 0;
            for (name, value) in &record {
                let Some(place) = self.shape.place(name, expected) else { continue };
                expected = place + 1;
                let bound = bind(self.shape.columns()[place].1, value);
                written.bytes += size_of(&bound);
                stmt.raw_bind_parameter(place + 1, bound)?;
            }
            match stmt.raw_execute() {
                Ok(_) => written.rows += 1,
                Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                    let reason = error.to_string();
                    written.rejected.push(Rejected { table: self.name.clone(), record: Value::Object(record), reason });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    fn alter(&mut self, tx: &Connection, growth: Growth) -> rusqlite::Result<()> {
        let (table, columns) = (quoted(&self.name), self.shape.columns());
        if growth.added.len() == columns.len() {
            let columns: Vec<String> = columns.iter().map(declared).collect();
            tx.execute_batch(&format!("CREATE TABLE {table} ({})", columns.join(", ")))?;
        } else {
            for place in growth.added {
                tx.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {}", declared(&columns[place])))?;
            }
            for (place, was) in growth.widened {
                self.widen(tx, place, was)?;
            }
        }
        // Widening moves a column to the end.
        *self = Self::open(tx, &self.name, &self.key)?;
        Ok(())
    }

    /// SQLite cannot change the type of a column, so the values move into a new one.
    fn widen(&self, tx: &Connection, place: usize, was: Column) -> rusqlite::Result<()> {
        let (plain, column) = &self.shape.columns()[place];
        let (table, name, wide) = (quoted(&self.name), quoted(plain), quoted(&format!("_windrow_wide_{plain}")));
        let column = match (was, *column) {
            // Whole numbers beyond 2^53 are not exact as a real; they are kept as texts.
            (Column::Integer, Column::Real) if self.has_beyond(tx, &name)? => Column::Text,
            (_, column) => column,
        };
        let value = match (was, column) {
            (_, Column::Real) => format!("CAST({name} AS REAL)"),
            (Column::Boolean, _) => format!("CASE {name} WHEN 0 THEN 'false' WHEN 1 THEN 'true' END"),
            _ => format!("CAST({name} AS TEXT)"),
        };
        tx.execute_batch(&format!(
            "DROP INDEX IF EXISTS {index}; ALTER TABLE {table} ADD COLUMN {wide} {kind}; \
             UPDATE {table} SET {wide} = {value}; ALTER TABLE {table} DROP COLUMN {name}; \
             ALTER TABLE {table} RENAME COLUMN {wide} TO {name}",
            index = self.index(),
            kind = kind_of(column),
        ))
    }

    fn has_beyond(&self, tx: &Connection, name: &str) -> rusqlite::Result<bool> {
        let (table, most) = (quoted(&self.name), Column::EXACT);
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {name} NOT BETWEEN -{most} AND {most})");
        tx.query_row(&sql, [], |row| row.get(0))
    }

    fn index(&self) -> String {
        quoted(&format!("_windrow_key_{}", self.name))
    }

    fn create_index(&self, tx: &Connection) -> rusqlite::Result<()> {
        if self.key.is_empty() {
            return Ok(());
        }
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        let (index, table) = (self.index(), quoted(&self.name));
        tx.execute_batch(&format!("CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {table} ({})", key.join(", ")))
    }

    fn insert_sql(&self) -> String {
        let names: Vec<String> = self.shape.columns().iter().map(|(name, _)| quoted(name)).collect();
        let values: Vec<String> = (1..=names.len()).map(|no| format!("?{no}")).collect();
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        let set: Vec<String> =
            names.iter().filter(|name| !key.contains(name)).map(|name| format!("{name} = excluded.{name}")).collect();
        let conflict = match (key.is_empty(), set.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(" ON CONFLICT ({}) DO NOTHING", key.join(", ")),
            (false, false) => format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", ")),
        };
        let table = quoted(&self.name);
        format!("INSERT INTO {table} ({}) VALUES ({}){conflict}", names.join(", "), values.join(", "))
    }
}

fn bind(column: Column, value: &Value) -> ToSqlOutput<'_> {
    match (column, value) {
        (_, Value::Null) => ToSqlOutput::Borrowed(ValueRef::Null),
        (Column::Boolean, Value::Bool(yes)) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*yes))),
        (Column::Integer, Value::Number(number)) => {
            ToSqlOutput::Borrowed(ValueRef::Integer(number.as_i64().unwrap_or_default()))
        }
        (Column::Real, Value::Number(number)) => {
            ToSqlOutput::Borrowed(ValueRef::Real(number.as_f64().unwrap_or_default()))
        }
        (Column::Text, Value::String(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        (Column::Decimal | Column::Timestamp, value) => {
            let text = column.text(value).map_or_else(|| value.to_string(), |text| text.into_owned());
            ToSqlOutput::Owned(rusqlite::types::Value::Text(text))
        }
        (_, other) => ToSqlOutput::Owned(rusqlite::types::Value::Text(other.to_string())),
    }
}

fn size_of(bound: &ToSqlOutput<'_>) -> i64 {
    match bound {
        ToSqlOutput::Borrowed(ValueRef::Text(text)) => text.len() as i64,
        ToSqlOutput::Owned(rusqlite::types::Value::Text(text)) => text.len() as i64,
        ToSqlOutput::Borrowed(ValueRef::Null) => 0,
        _ => 8,
    }
}

fn declared((name, column): &(String, Column)) -> String {
    format!("{} {}", quoted(name), kind_of(*column))
}

/// SQLite takes the affinity from the words: none of these makes a number of a text.
fn kind_of(column: Column) -> &'static str {
    match column {
        Column::Boolean => "BOOLEAN",
        Column::Integer => "INTEGER",
        Column::Real => "REAL",
        // As texts, which keep every digit.
        Column::Decimal => "DECIMAL TEXT",
        Column::Timestamp => "TIMESTAMP TEXT",
        Column::Text => "TEXT",
        Column::Json => "JSON TEXT",
    }
}

fn column_of(declared: &str) -> Column {
    let declared = declared.to_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    match () {
        () if declared.starts_with("JSON") => Column::Json,
        () if declared == "DECIMAL TEXT" => Column::Decimal,
        () if declared == "TIMESTAMP TEXT" => Column::Timestamp,
        () if has(&["BOOL"]) => Column::Boolean,
        () if has(&["INT"]) => Column::Integer,
        () if has(&["REAL", "FLOA", "DOUB"]) => Column::Real,
        () => Column::Text,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records(value: Value) -> Vec<Record> {
        serde_json::from_value(value).unwrap()
    }

    fn rows(connection: &Connection, sql: &str) -> Vec<String> {
        let mut stmt = connection.prepare(sql).unwrap();
        stmt.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn columns_are_added_and_widened_without_changing_a_value() {
        let db = Connection::open_in_memory().unwrap();
        let mut table = Table::open(&db, "t", &["id".to_owned()]).unwrap();
        let first = json!([{ "id": 1, "n": 7, "ok": true }, { "id": 2, "n": 8, "ok": false }]);
        table.write(&db, records(first), &Types::default()).unwrap();
        let second = json!([{ "id": 2, "n": 8.5, "ok": "maybe", "tags": ["a"] }, { "id": "x-3", "n": 9, "ok": null }]);
        assert_eq!(table.write(&db, records(second), &Types::default()).unwrap().rows, 2);
        let all = "SELECT json_array(id, typeof(id), n, ok, tags) FROM t ORDER BY id";
        assert_eq!(
            rows(&db, all),
            [
                r#"["1","text",7.0,"true",null]"#,
                r#"["2","text",8.5,"maybe","[\"a\"]"]"#,
                r#"["x-3","text",9.0,null,null]"#,
            ]
        );
        let mut again = Table::open(&db, "t", &["id".to_owned()]).unwrap();
        again.write(&db, records(json!([{ "id": "1", "n": 1 }])), &Types::default()).unwrap();
        assert_eq!(rows(&db, "SELECT json_array(n, ok) FROM t WHERE id = '1'"), [r#"[1.0,null]"#]);
    }

    #[test]
    fn a_text_of_digits_stays_what_it_is() {
        let db = Connection::open_in_memory().unwrap();
        let mut table = Table::open(&db, "t", &[]).unwrap();
        table
            .write(
                &db,
                records(json!([{ "zip": "00420", "raw": { "n": 1 } }, { "zip": 12, "raw": 5 }])),
                &Types::default(),
            )
            .unwrap();
        let all = "SELECT json_array(zip, raw, typeof(raw)) FROM t ORDER BY rowid";
        assert_eq!(rows(&db, all), [r#"["00420","{\"n\":1}","text"]"#, r#"["12","5","text"]"#]);
    }

    #[test]
    fn whole_numbers_that_a_real_cannot_hold_keep_their_digits() {
        let db = Connection::open_in_memory().unwrap();
        let mut table = Table::open(&db, "t", &[]).unwrap();
        table.write(&db, records(json!([{ "n": 9_007_199_254_740_993i64 }])), &Types::default()).unwrap();
        table.write(&db, records(json!([{ "n": 1.5 }])), &Types::default()).unwrap();
        assert_eq!(rows(&db, "SELECT json_array(n) FROM t ORDER BY rowid"), [r#"["9007199254740993"]"#, r#"["1.5"]"#]);
    }
}
