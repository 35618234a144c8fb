//! Statements as values. [`Sql`] is a text that each dialect writes in its own way. [`Change`], [`NewRows`] and [`Lookup`]
//! are about one row or a set of rows: a file runs them in a loop, a server gets the rows as a set and runs one statement.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::{BindParam, Dialect, fill};

/// What can be prepared.
pub(crate) trait Text {
    fn on(&self, dialect: Dialect) -> Cow<'_, str>;

    /// Whether it changes a row whose key exists. MySQL counts such a row twice.
    fn replaces(&self) -> bool {
        false
    }

    #[cfg(test)]
    fn as_set(&self) -> Option<&dyn ForRows> {
        None
    }
}

impl Text for str {
    fn on(&self, _: Dialect) -> Cow<'_, str> {
        self.into()
    }
}

impl Text for String {
    fn on(&self, _: Dialect) -> Cow<'_, str> {
        self.into()
    }
}

impl<T: Text + ?Sized> Text for &T {
    fn on(&self, dialect: Dialect) -> Cow<'_, str> {
        (**self).on(dialect)
    }

    fn replaces(&self) -> bool {
        (**self).replaces()
    }
}

/// A statement that is written once per dialect, when it is first needed.
pub(crate) struct Sql {
    write: fn(Dialect) -> String,
    texts: [OnceLock<String>; 3],
}

impl Sql {
    pub const fn new(write: fn(Dialect) -> String) -> Self {
        Self { write, texts: [const { OnceLock::new() }; 3] }
    }

    pub fn text(&self, dialect: Dialect) -> &str {
        self.texts[dialect as usize].get_or_init(|| (self.write)(dialect))
    }
}

impl Text for Sql {
    fn on(&self, dialect: Dialect) -> Cow<'_, str> {
        self.text(dialect).into()
    }
}

/// The set of rows as a server names it.
pub(crate) struct Source<'a> {
    pub dialect: Dialect,
    /// A table `u` of the values.
    pub table: String,
    pub column: &'a dyn Fn(&BindParam) -> String,
}

impl Source<'_> {
    fn fill(&self, text: &str) -> String {
        fill(text, self.dialect, self.column)
    }
}

/// A statement about one row; the same about the rows of a set.
pub(crate) trait ForRows: Text {
    fn for_set(&self, source: &Source) -> String;

    /// The same for so many rows whose values are listed, where a server prefers that.
    fn listed(&self, _rows: usize) -> Option<String> {
        None
    }
}

/// Pieces of a statement, fixed or written per dialect.
enum Parts<const N: usize> {
    Fixed([&'static str; N]),
    Written(fn(Dialect) -> [String; N]),
}

impl<const N: usize> Parts<N> {
    fn on(&self, dialect: Dialect) -> [Cow<'static, str>; N] {
        match self {
            Parts::Fixed(parts) => parts.map(Cow::Borrowed),
            Parts::Written(write) => write(dialect).map(Cow::Owned),
        }
    }
}

/// An update or a deletion of rows.
pub(crate) struct Change {
    table: &'static str,
    deletes: bool,
    /// The condition names the primary key first, and rows are reached by it alone.
    by_key: bool,
    /// What is set, and the condition.
    parts: Parts<2>,
}

impl Change {
    pub const fn update(table: &'static str, set: &'static str, condition: &'static str) -> Self {
        Self { table, deletes: false, by_key: true, parts: Parts::Fixed([set, condition]) }
    }

    pub const fn written(table: &'static str, parts: fn(Dialect) -> [String; 2]) -> Self {
        Self { table, deletes: false, by_key: true, parts: Parts::Written(parts) }
    }

    pub const fn delete(table: &'static str, condition: &'static str) -> Self {
        Self { table, deletes: true, by_key: true, parts: Parts::Fixed(["", condition]) }
    }

    pub const fn delete_written(table: &'static str, parts: fn(Dialect) -> [String; 2]) -> Self {
        Self { table, deletes: true, by_key: true, parts: Parts::Written(parts) }
    }

    /// By another index than that of the primary key.
    pub const fn delete_where(table: &'static str, condition: &'static str) -> Self {
        Self { table, deletes: true, by_key: false, parts: Parts::Fixed(["", condition]) }
    }

    /// The table, with the index that its rows are reached by.
    fn table(&self, dialect: Dialect) -> String {
        format!("{}{}", self.table, if self.by_key { dialect.by_key() } else { "" })
    }
}

impl Text for Change {
    fn on(&self, dialect: Dialect) -> Cow<'_, str> {
        let (name, table, [set, condition]) = (self.table, self.table(dialect), self.parts.on(dialect));
        match (dialect, self.deletes) {
            // Only this form takes an index.
            (Dialect::MySql, true) => format!("DELETE {name} FROM {table} WHERE {condition}").into(),
            (_, true) => format!("DELETE FROM {table} WHERE {condition}").into(),
            (_, false) => format!("UPDATE {table} SET {set} WHERE {condition}").into(),
        }
    }

    #[cfg(test)]
    fn as_set(&self) -> Option<&dyn ForRows> {
        Some(self)
    }
}

impl ForRows for Change {
    fn for_set(&self, source: &Source) -> String {
        let (name, table, u) = (self.table, self.table(source.dialect), &source.table);
        let [set, condition] = self.parts.on(source.dialect).map(|part| source.fill(&part));
        match (source.dialect, self.deletes) {
            (Dialect::MySql, true) => format!("DELETE {name} FROM {u} STRAIGHT_JOIN {table} WHERE {condition}"),
            (Dialect::MySql, false) => format!("UPDATE {u} STRAIGHT_JOIN {table} SET {set} WHERE {condition}"),
            (_, true) => format!("DELETE FROM {table} USING {u} WHERE {condition}"),
            (_, false) => format!("UPDATE {table} SET {set} FROM {u} WHERE {condition}"),
        }
    }
}

/// An insert of rows.
pub(crate) struct NewRows {
    table: &'static str,
    columns: &'static str,
    values: Parts<1>,
    /// The key and the columns that a row takes over if its key exists. Otherwise that is an error.
    replaces: Option<(&'static str, &'static [&'static str])>,
    /// A column that grows by one whenever the row is replaced.
    counts: Option<&'static str>,
}

impl NewRows {
    pub const fn new(table: &'static str, columns: &'static str, values: &'static str) -> Self {
        Self { table, columns, values: Parts::Fixed([values]), replaces: None, counts: None }
    }

    pub const fn written(table: &'static str, columns: &'static str, values: fn(Dialect) -> [String; 1]) -> Self {
        Self { table, columns, values: Parts::Written(values), replaces: None, counts: None }
    }

    pub const fn or_replace(self, key: &'static str, columns: &'static [&'static str]) -> Self {
        let Self { table, columns: of, values, counts, .. } = self;
        Self { table, columns: of, values, replaces: Some((key, columns)), counts }
    }

    pub const fn counting(self, column: &'static str) -> Self {
        let Self { table, columns, values, replaces, .. } = self;
        Self { table, columns, values, replaces, counts: Some(column) }
    }

    fn conflict(&self, dialect: Dialect) -> String {
        let Some((key, columns)) = self.replaces else { return String::new() };
        let count = self.counts.map(|column| format!(", {column} = {}.{column} + 1", self.table));
        dialect.or_replace(key, columns) + &count.unwrap_or_default()
    }

    fn list(&self, dialect: Dialect, rows: usize) -> String {
        let [values] = self.values.on(dialect);
        let rows = vec![format!("({values})"); rows].join(", ");
        format!("INSERT INTO {} ({}) VALUES {rows}{}", self.table, self.columns, self.conflict(dialect))
    }
}

impl Text for NewRows {
    fn on(&self, dialect: Dialect) -> Cow<'_, str> {
        self.list(dialect, 1).into()
    }

    fn replaces(&self) -> bool {
        self.replaces.is_some()
    }

    #[cfg(test)]
    fn as_set(&self) -> Option<&dyn ForRows> {
        Some(self)
    }
}

impl ForRows for NewRows {
    fn for_set(&self, source: &Source) -> String {
        let [values] = self.values.on(source.dialect).map(|part| source.fill(&part));
        let conflict = self.conflict(source.dialect);
        format!("INSERT INTO {} ({}) SELECT {values} FROM {}{conflict}", self.table, self.columns, source.table)
    }

    fn listed(&self, rows: usize) -> Option<String> {
        Some(self.list(Dialect::MySql, rows))
    }
}

/// A query about each row of a set; the number of the row comes last. The answers of one row stay in their order.
pub(crate) struct Lookup {
    /// Columns, tables, condition, order.
    parts: Parts<4>,
}

impl Lookup {
    pub const fn new(
        columns: &'static str,
        tables: &'static str,
        condition: &'static str,
        order: &'static str,
    ) -> Self {
        Self { parts: Parts::Fixed([columns, tables, condition, order]) }
    }

    pub const fn written(parts: fn(Dialect) -> [String; 4]) -> Self {
        Self { parts: Parts::Written(parts) }
    }
}

fn select([columns, tables, condition, order]: &[impl AsRef<str>; 4]) -> String {
    let [columns, tables, condition, order] = [columns, tables, condition, order].map(AsRef::as_ref);
    let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
    format!("SELECT {columns} FROM {tables} WHERE {condition}{order}")
}

impl Text for Lookup {
    fn on(&self, dialect: Dialect) -> Cow<'_, str> {
        select(&self.parts.on(dialect)).into()
    }

    #[cfg(test)]
    fn as_set(&self) -> Option<&dyn ForRows> {
        Some(self)
    }
}

impl ForRows for Lookup {
    fn for_set(&self, source: &Source) -> String {
        let parts = self.parts.on(source.dialect).map(|part| source.fill(&part));
        let u = &source.table;
        if source.dialect != Dialect::MySql {
            return format!("SELECT found.*, u.n FROM {u} CROSS JOIN LATERAL ({}) AS found", select(&parts));
        }
        // MariaDB knows no lateral subqueries.
        let [columns, tables, condition, order] = parts;
        let order = if order.is_empty() { order } else { format!(", {order}") };
        format!("SELECT {columns}, u.n FROM {u} STRAIGHT_JOIN {tables} WHERE {condition} ORDER BY u.n{order}")
    }
}
