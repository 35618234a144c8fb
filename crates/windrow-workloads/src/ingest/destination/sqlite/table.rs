//! One table: its columns as they are found, added and widened, and the statement that writes a record.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde_json::Value;

use crate::ingest::destination::column::Column;
use crate::ingest::record::{Record, Rejected};

/// Columns of one table; SQLite itself ends at 2,000.
const MOST: usize = 1_000;

pub struct Table {
    name: String,
    key: Vec<String>,
    columns: Vec<(String, Column)>,
    /// By name in lower case, as SQLite compares names.
    places: HashMap<String, usize>,
    insert: String,
}

#[derive(Default)]
pub struct Written {
    pub rows: i64,
    pub bytes: i64,
    pub rejected: Vec<Rejected>,
}

impl Table {
    /// As it is in the database; it may not be there yet.
    pub fn open(tx: &Connection, name: &str, key: &[String]) -> rusqlite::Result<Self> {
        let mut stmt = tx.prepare("SELECT name, type FROM pragma_table_info(?1)")?;
        let columns: Vec<(String, Column)> = stmt
            .query_map([name], |row| Ok((row.get(0)?, column_of(&row.get::<_, String>(1)?))))?
            .collect::<rusqlite::Result<_>>()?;
        let mut table =
            Self { name: name.to_owned(), key: key.to_vec(), columns, places: HashMap::new(), insert: String::new() };
        if !table.columns.is_empty() {
            table.create_index(tx)?;
        }
        table.prepare();
        Ok(table)
    }

    pub fn write(&mut self, tx: &Connection, records: Vec<Record>) -> rusqlite::Result<Written> {
        let mut written = Written::default();
        self.fit(tx, &records, &mut written.rejected)?;
        if self.columns.is_empty() {
            return Ok(written);
        }
        let mut stmt = tx.prepare_cached(&self.insert)?;
        for record in records {
            if self.clash(&record).is_some() {
                continue;
            }
            stmt.clear_bindings();
            let mut expected = 0;
            for (name, value) in &record {
                let Some(place) = self.place(name, expected) else { continue };
                expected = place + 1;
                let bound = bind(self.columns[place].1, value);
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

    /// Fields mostly come in the same order as the columns.
    fn place(&self, name: &str, expected: usize) -> Option<usize> {
        match self.columns.get(expected) {
            Some((column, _)) if column == name => Some(expected),
            _ => self.places.get(&name.to_lowercase()).copied(),
        }
    }

    /// Why a record cannot be a row: the names of columns do not tell upper case from lower.
    fn clash(&self, record: &Record) -> Option<String> {
        let mut expected = 0;
        for name in record.keys() {
            match self.place(name, expected) {
                Some(place) if self.columns[place].0 != *name && record.contains_key(&self.columns[place].0) => {
                    return Some(format!("the fields {name:?} and {:?} would be one column", self.columns[place].0));
                }
                Some(place) => expected = place + 1,
                // Not a column: its value is null, or there are too many.
                None if record[name].is_null() => {}
                None => return Some(format!("there is no place for a column {name:?}: a table has at most {MOST}")),
            }
        }
        None
    }

    /// Adds and widens columns until every record fits, and names those that cannot.
    fn fit(&mut self, tx: &Connection, records: &[Record], rejected: &mut Vec<Rejected>) -> rusqlite::Result<()> {
        let (mut added, mut widened): (Vec<usize>, BTreeMap<usize, Column>) = Default::default();
        for record in records {
            let mut expected = 0;
            for (name, value) in record {
                let Some(column) = Column::of(value) else { continue };
                match self.place(name, expected) {
                    Some(place) => {
                        expected = place + 1;
                        let now = self.columns[place].1;
                        if !now.holds(value) {
                            widened.insert(place, now.widened(value));
                            self.columns[place].1 = now.widened(value);
                        }
                    }
                    None if self.columns.len() < MOST => {
                        added.push(self.columns.len());
                        self.places.insert(name.to_lowercase(), self.columns.len());
                        self.columns.push((name.clone(), column));
                    }
                    None => {}
                }
            }
        }
        if !added.is_empty() || !widened.is_empty() {
            self.alter(tx, &added, widened)?;
        }
        let unfit = records.iter().filter_map(|record| Some((record, self.clash(record)?)));
        rejected.extend(unfit.map(|(record, reason)| Rejected {
            table: self.name.clone(),
            record: Value::Object(record.clone()),
            reason,
        }));
        Ok(())
    }

    fn alter(&mut self, tx: &Connection, added: &[usize], widened: BTreeMap<usize, Column>) -> rusqlite::Result<()> {
        let table = quoted(&self.name);
        if added.len() == self.columns.len() {
            let columns: Vec<String> = self.columns.iter().map(declared).collect();
            tx.execute_batch(&format!("CREATE TABLE {table} ({})", columns.join(", ")))?;
        } else {
            for place in added {
                let column = declared(&self.columns[*place]);
                tx.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
            }
            let old = widened.into_iter().filter(|(place, _)| !added.contains(place));
            for (place, column) in old {
                self.widen(tx, place, column)?;
            }
        }
        self.create_index(tx)?;
        // Widening moves a column to the end.
        *self = Self::open(tx, &self.name, &self.key)?;
        Ok(())
    }

    /// SQLite cannot change the type of a column, so the values move into a new one.
    fn widen(&self, tx: &Connection, place: usize, column: Column) -> rusqlite::Result<()> {
        let (table, name) = (quoted(&self.name), quoted(&self.columns[place].0));
        let wide = quoted(&format!("_windrow_wide_{}", self.columns[place].0));
        let value = match column {
            Column::Real => format!("CAST({name} AS REAL)"),
            _ => format!(
                "CASE (SELECT upper(type) FROM pragma_table_info({0}) WHERE name = {1}) WHEN 'BOOLEAN' \
                 THEN CASE {name} WHEN 0 THEN 'false' WHEN 1 THEN 'true' END ELSE CAST({name} AS TEXT) END",
                literal(&self.name),
                literal(&self.columns[place].0)
            ),
        };
        tx.execute_batch(&format!(
            "DROP INDEX IF EXISTS {index}; ALTER TABLE {table} ADD COLUMN {wide} {kind}; \
             UPDATE {table} SET {wide} = {value}; ALTER TABLE {table} DROP COLUMN {name}; \
             ALTER TABLE {table} RENAME COLUMN {wide} TO {name}",
            index = self.index(),
            kind = kind_of(column),
        ))
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

    fn prepare(&mut self) {
        let name = |(no, (name, _)): (usize, &(String, Column))| (name.to_lowercase(), no);
        self.places = self.columns.iter().enumerate().map(name).collect();
        let names: Vec<String> = self.columns.iter().map(|(name, _)| quoted(name)).collect();
        let values: Vec<String> = (1..=names.len()).map(|no| format!("?{no}")).collect();
        let key: Vec<String> = self.key.iter().map(|name| quoted(name)).collect();
        let set: Vec<String> =
            names.iter().filter(|name| !key.contains(name)).map(|name| format!("{name} = excluded.{name}")).collect();
        let conflict = match (key.is_empty(), set.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(" ON CONFLICT ({}) DO NOTHING", key.join(", ")),
            (false, false) => format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", ")),
        };
        self.insert = format!(
            "INSERT INTO {} ({}) VALUES ({}){conflict}",
            quoted(&self.name),
            names.join(", "),
            values.join(", ")
        );
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
        Column::Text => "TEXT",
        Column::Json => "JSON TEXT",
    }
}

fn column_of(declared: &str) -> Column {
    let declared = declared.to_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    match () {
        () if declared.starts_with("JSON") => Column::Json,
        () if has(&["BOOL"]) => Column::Boolean,
        () if has(&["INT"]) => Column::Integer,
        () if has(&["REAL", "FLOA", "DOUB"]) => Column::Real,
        () => Column::Text,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
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
        table.write(&db, records(first)).unwrap();
        let second = json!([{ "id": 2, "n": 8.5, "ok": "maybe", "tags": ["a"] }, { "id": "x-3", "n": 9, "ok": null }]);
        assert_eq!(table.write(&db, records(second)).unwrap().rows, 2);
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
        again.write(&db, records(json!([{ "id": "1", "n": 1 }]))).unwrap();
        assert_eq!(rows(&db, "SELECT json_array(n, ok) FROM t WHERE id = '1'"), [r#"[1.0,null]"#]);
    }

    #[test]
    fn a_text_of_digits_stays_what_it_is() {
        let db = Connection::open_in_memory().unwrap();
        let mut table = Table::open(&db, "t", &[]).unwrap();
        table.write(&db, records(json!([{ "zip": "00420", "raw": { "n": 1 } }, { "zip": 12, "raw": 5 }]))).unwrap();
        let all = "SELECT json_array(zip, raw, typeof(raw)) FROM t ORDER BY rowid";
        assert_eq!(rows(&db, all), [r#"["00420","{\"n\":1}","text"]"#, r#"["12","5","text"]"#]);
    }

    #[test]
    fn a_record_with_two_fields_for_one_column_is_put_aside() {
        let db = Connection::open_in_memory().unwrap();
        let mut table = Table::open(&db, "t", &[]).unwrap();
        let written = table.write(&db, records(json!([{ "id": 1 }, { "id": 2, "ID": 3 }]))).unwrap();
        assert_eq!((written.rows, written.rejected.len()), (1, 1));
        assert!(written.rejected[0].reason.contains("one column"), "{:?}", written.rejected);
    }
}
