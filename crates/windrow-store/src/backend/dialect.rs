//! What the databases say in different words. A statement asks for these pieces where it needs them; nothing is read
//! out of its text afterwards.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

impl Dialect {
    /// After a table: read it by this index. PostgreSQL takes no hints; its hot indexes are partial, and their
    /// conditions name them.
    pub fn index(self, name: &str) -> String {
        match self {
            Dialect::Sqlite => format!(" INDEXED BY {name}"),
            Dialect::Postgres => String::new(),
            Dialect::MySql => format!(" FORCE INDEX ({name})"),
        }
    }

    /// After a table: reach its rows by the primary key. MySQL locks every index entry it reads on the way to a row, so
    /// that another index would mean another lock order.
    pub fn by_key(self) -> &'static str {
        match self {
            Dialect::Sqlite | Dialect::Postgres => "",
            Dialect::MySql => " FORCE INDEX (PRIMARY)",
        }
    }

    /// A condition on the state of a row that is reached by its key. PostgreSQL must not take it for the condition of a
    /// partial index: one that is empty when the plan is made seems cheaper than any key.
    pub fn guard(self, condition: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::MySql => condition.to_owned(),
            Dialect::Postgres => format!("0 + {condition}"),
        }
    }

    /// A join that is executed as written: for each row before it, the rows of `table` that fit. PostgreSQL would choose
    /// by statistics that are stale in tables that fill up by the minute; `OFFSET 0` keeps its planner out.
    pub fn each(self, table: &str, alias: &str, on: &str) -> String {
        self.join(table, alias, "", on)
    }

    /// The same by the primary key. MySQL prefers an index with an equality to a range of keys.
    pub fn each_by_key(self, table: &str, alias: &str, on: &str) -> String {
        self.join(table, alias, self.by_key(), on)
    }

    pub fn each_by_index(self, table: &str, alias: &str, index: &str, on: &str) -> String {
        self.join(table, alias, &self.index(index), on)
    }

    fn join(self, table: &str, alias: &str, index: &str, on: &str) -> String {
        match self {
            Dialect::Sqlite => format!("CROSS JOIN {table} {alias}{index} ON {on}"),
            Dialect::Postgres => {
                format!("CROSS JOIN LATERAL (SELECT * FROM {table} {alias} WHERE {on} OFFSET 0) AS {alias}")
            }
            Dialect::MySql => format!("STRAIGHT_JOIN {table} {alias}{index} ON {on}"),
        }
    }

    /// After the values of an insert: a row whose key exists stays as it is. MySQL's `INSERT IGNORE` would also turn
    /// other errors into warnings.
    pub fn or_ignore(self, key: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Postgres => format!(" ON CONFLICT ({key}) DO NOTHING"),
            Dialect::MySql => {
                let column = key.split(", ").next().unwrap_or(key);
                format!(" ON DUPLICATE KEY UPDATE {column} = VALUES({column})")
            }
        }
    }

    /// After the values of an insert: a row whose key exists takes these columns over.
    pub fn or_replace(self, key: &str, columns: &[&str]) -> String {
        let (head, set): (String, fn(&str) -> String) = match self {
            Dialect::Sqlite | Dialect::Postgres => {
                (format!(" ON CONFLICT ({key}) DO UPDATE SET "), |column| format!("{column} = excluded.{column}"))
            }
            Dialect::MySql => (" ON DUPLICATE KEY UPDATE ".to_owned(), |column| format!("{column} = VALUES({column})")),
        };
        head + &columns.iter().map(|column| set(column)).collect::<Vec<_>>().join(", ")
    }

    /// Equality that holds between two NULLs.
    pub fn same(self, a: &str, b: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Postgres => format!("{a} IS NOT DISTINCT FROM {b}"),
            Dialect::MySql => format!("{a} <=> {b}"),
        }
    }

    /// Where `part` begins in `text`, from 1; 0 if it does not occur.
    pub fn position(self, text: &str, part: &str) -> String {
        let function = if self == Dialect::Postgres { "strpos" } else { "instr" };
        format!("{function}({text}, {part})")
    }

    pub fn int(self, value: &str) -> String {
        let ty = if self == Dialect::MySql { "SIGNED" } else { "BIGINT" };
        format!("CAST({value} AS {ty})")
    }

    /// The type of a cast to a floating-point number.
    pub fn real(self) -> &'static str {
        if self == Dialect::MySql { "DOUBLE" } else { "DOUBLE PRECISION" }
    }
}
