//! Moves everything from an SQLite file into an empty database of a server, or from a server into a new file, table by
//! table, and then reads both and compares them. The source is only read. A transfer that was interrupted has marked the
//! database; the next one empties it and restarts, and no node uses it meanwhile.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::path::Path;

use windrow_model::store::{Result, StoreError};

use crate::backend::{
    self, Address, Cell, Connection, Dialect, OptionalExtension, Value, failure, params_from_iter, sqlite,
};

/// The row of `sequences` that marks a database into which something is being moved.
const MARK: &str = "transfer";
/// What goes to the server in one statement, at most.
const ROWS: usize = 500;
const VALUES: usize = 20_000;
const BYTES: usize = 4 << 20;

/// What was moved of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub table: String,
    pub rows: u64,
}

struct Table {
    name: String,
    columns: Vec<String>,
}

/// Blocks. `progress` hears of rows as they are moved: the table, and how many of it so far.
pub fn transfer(from: &Path, to: &str, progress: &mut dyn FnMut(&str, u64)) -> Result<Vec<Moved>> {
    // Brings the file's tables up to date, so that both sides have the same.
    drop(sqlite::open_writer(from)?);
    let source = Connection::Sqlite(sqlite::open_reader(from)?);
    let address = Address::parse(to)?;
    address.migrate()?;
    let target = address.connect_unlimited().map_err(failure::StoreFailure::from)?;
    let tables = tables(&source)?;
    // One moment of the file, whatever is written to it meanwhile.
    source.perform("BEGIN").map_err(failure::StoreFailure::from)?;
    Ok(run(&source, &target, &tables, progress)?)
}

/// The other way: everything of a server's database into a new file, as it was at one moment, and verified.
pub fn dump(from: &str, to: &Path, progress: &mut dyn FnMut(&str, u64)) -> Result<Vec<Moved>> {
    let address = Address::parse(from)?;
    make_ready(&address)?;
    let source = address.connect_unlimited().map_err(failure::StoreFailure::from)?;
    let target = Connection::Sqlite(sqlite::open_writer(to)?);
    Ok(dump_into(&source, &target, progress)?)
}

fn dump_into(
    source: &Connection,
    target: &Connection,
    progress: &mut dyn FnMut(&str, u64),
) -> failure::Result<Vec<Moved>> {
    match source {
        Connection::Postgres(_) => source.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?,
        _ => {
            source.perform("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
            source.perform("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        }
    }
    // The file has the tables of this version, and a server has them too.
    let tables = tables(target)?;
    target.perform("BEGIN IMMEDIATE")?;
    let moved = run(source, target, &tables, progress)?;
    target.perform("COMMIT")?;
    Ok(moved)
}

/// What [`transfer`] would move; the destination must answer.
pub fn survey(from: &Path, to: &str) -> Result<Vec<Moved>> {
    let source = Connection::Sqlite(sqlite::open_reader(from)?);
    match Address::parse(to)?.connect_reader() {
        // The transfer creates it.
        Err(error) if error.is_unknown_database() => {}
        reached => drop(reached.map_err(failure::StoreFailure::from)?),
    }
    let count = |table: Table| -> failure::Result<Moved> {
        let rows: i64 = source.query_row(&format!("SELECT count(*) FROM {}", table.name), (), |row| row.get(0))?;
        Ok(Moved { table: table.name, rows: rows as u64 })
    };
    Ok(tables(&source)?.into_iter().map(count).collect::<failure::Result<_>>()?)
}

/// Brings the schema up to date. Rejects a database that `migrate-store` has not filled completely.
pub(crate) fn make_ready(address: &Address) -> Result<()> {
    address.migrate()?;
    let conn = address.connect_reader().map_err(failure::StoreFailure::from)?;
    match is_marked(&conn)? {
        false => Ok(()),
        true => Err(StoreError::Unavailable(
            "`windrow migrate-store` is moving data into it, or was interrupted; wait for it, or run it again".into(),
        )),
    }
}

fn is_marked(conn: &Connection) -> failure::Result<bool> {
    let found = conn.prepare_cached("SELECT last FROM sequences WHERE name = ?1")?.query_row([MARK], |_| Ok(()));
    Ok(found.optional()?.is_some())
}

/// The source is in a transaction.
fn run(
    source: &Connection,
    target: &Connection,
    tables: &[Table],
    progress: &mut dyn FnMut(&str, u64),
) -> failure::Result<Vec<Moved>> {
    make_room(target, tables)?;
    let mut moved = Vec::new();
    for table in tables {
        let (rows, sent) = copy(source, target, table, progress)?;
        let found = digest(target, table)?;
        if found != (rows, sent) {
            return Err(StoreError::Corrupt(format!(
                "table {}: {rows} rows were sent, and {} came back{}; nothing of it is used, the file is as it was",
                table.name,
                found.0,
                if found.0 == rows { " with other values" } else { "" }
            ))
            .into());
        }
        moved.push(Moved { table: table.name.clone(), rows });
    }
    number_on(target)?;
    target.prepare_cached("DELETE FROM sequences WHERE name = ?1")?.execute([MARK])?;
    source.perform("COMMIT")?;
    Ok(moved)
}

fn tables(source: &Connection) -> failure::Result<Vec<Table>> {
    let mut stmt = source.prepare_cached(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'result~_%' ESCAPE '~' ORDER BY rowid",
    )?;
    let names: Vec<String> = stmt.query_map((), |row| row.get(0))?.collect::<backend::Result<_>>()?;
    let table = |name: String| {
        let mut stmt = source.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
        let columns = stmt.query_map([name.as_str()], |row| row.get(0))?.collect::<backend::Result<_>>()?;
        Ok(Table { name, columns })
    };
    names.into_iter().map(table).collect()
}

/// Leaves a mark; the database must be empty, but for what an interrupted transfer left.
fn make_room(target: &Connection, tables: &[Table]) -> failure::Result<()> {
    let ours = is_marked(target)?;
    for Table { name, .. } in tables {
        if name == "sequences" {
            continue;
        }
        if ours {
            target.prepare_cached(&format!("DELETE FROM {name}"))?.execute(())?;
            continue;
        }
        let sql = format!("SELECT count(*) FROM {name}");
        let rows: i64 = target.query_row(&sql, (), |row| row.get(0))?;
        if rows > 0 {
            return Err(StoreError::Unavailable(format!(
                "its table {name} has {rows} rows already; use an empty database or schema"
            ))
            .into());
        }
    }
    if !ours {
        target.prepare_cached("INSERT INTO sequences (name, last) VALUES (?1, 1)")?.execute([MARK])?;
    }
    Ok(())
}

impl Table {
    fn read(&self) -> String {
        let condition = if self.name == "sequences" { format!(" WHERE name <> '{MARK}'") } else { String::new() };
        format!("SELECT {} FROM {}{condition}", self.columns.join(", "), self.name)
    }

    fn write(&self, dialect: Dialect, rows: usize) -> String {
        let width = self.columns.len();
        let row = |n: usize| {
            let places: Vec<String> = (1..=width).map(|column| format!("?{}", n * width + column)).collect();
            format!("({})", places.join(", "))
        };
        let values: Vec<String> = (0..rows).map(row).collect();
        // The numbers go on where they were; their rows are there already.
        let or = if self.name == "sequences" { dialect.or_replace("name", &["last"]) } else { String::new() };
        format!("INSERT INTO {} ({}) VALUES {}{or}", self.name, self.columns.join(", "), values.join(", "))
    }
}

/// Rows and a sum over them that does not depend on their order.
type Digest = (u64, u64);

fn copy(
    source: &Connection,
    target: &Connection,
    table: &Table,
    progress: &mut dyn FnMut(&str, u64),
) -> failure::Result<Digest> {
    let width = table.columns.len();
    let most = if table.name == "sequences" { 1 } else { ROWS.min(VALUES / width) };
    let (mut values, mut bytes, mut all) = (Vec::with_capacity(most * width), 0, (0_u64, 0_u64));
    let send = |values: &mut Vec<Value>| -> failure::Result<()> {
        if !values.is_empty() {
            let sql = table.write(target.dialect(), values.len() / width);
            target.prepare_cached(&sql)?.execute(params_from_iter(values))?;
            values.clear();
        }
        Ok(())
    };
    source.prepare_cached(&table.read())?.walk((), |row| -> failure::Result<_> {
        let cells: Vec<Cell> = (0..width).map(|column| row.cell(column)).collect::<backend::Result<_>>()?;
        all = (all.0 + 1, all.1.wrapping_add(hash(&cells)));
        bytes += cells.iter().map(size).sum::<usize>();
        values.extend(cells.into_iter().map(Value::from));
        if values.len() == most * width || bytes > BYTES {
            send(&mut values)?;
            bytes = 0;
            progress(&table.name, all.0);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    send(&mut values)?;
    progress(&table.name, all.0);
    Ok(all)
}

fn digest(conn: &Connection, table: &Table) -> failure::Result<Digest> {
    let mut all = (0_u64, 0_u64);
    conn.prepare_cached(&table.read())?.walk((), |row| -> failure::Result<_> {
        let cells: Vec<Cell> =
            (0..table.columns.len()).map(|column| row.cell(column)).collect::<backend::Result<_>>()?;
        all = (all.0 + 1, all.1.wrapping_add(hash(&cells)));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

fn hash(cells: &[Cell]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for cell in cells {
        match cell {
            Cell::Null => 0_u8.hash(&mut hasher),
            Cell::Int(int) => (1_u8, int).hash(&mut hasher),
            Cell::Real(real) => (2_u8, real.to_bits()).hash(&mut hasher),
            Cell::Text(text) => (3_u8, text).hash(&mut hasher),
            Cell::Blob(blob) => (4_u8, blob).hash(&mut hasher),
            Cell::Ints(_) | Cell::Reals(_) | Cell::Texts(_) | Cell::Blobs(_) => unreachable!("no column holds a set"),
        }
    }
    hasher.finish()
}

fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Text(text) => text.len(),
        Cell::Blob(blob) => blob.len(),
        _ => 8,
    }
}

/// Rows that PostgreSQL numbers itself go on behind those that came with their numbers; others do so by themselves.
fn number_on(target: &Connection) -> failure::Result<()> {
    if !matches!(target, Connection::Postgres(_)) {
        return Ok(());
    }
    let numbered = "SELECT CAST(table_name AS TEXT) FROM information_schema.columns \
                    WHERE table_schema = current_schema() AND is_identity = 'YES'";
    let tables: Vec<String> =
        target.prepare_cached(numbered)?.query_map((), |row| row.get(0))?.collect::<backend::Result<_>>()?;
    for table in tables {
        target.perform(&format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'), coalesce(max(id), 0) + 1, false) FROM {table}"
        ))?;
    }
    Ok(())
}
