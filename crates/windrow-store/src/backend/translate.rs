//! The verbs' SQL in the words of a database. It is written as SQLite reads it, which is nearly what the others
//! read too; what differs is replaced here, once per statement and connection. Keywords are written in capitals
//! and names in small letters, so that the two are never taken for each other.

use std::borrow::Cow;

use crate::backend::mysql;
use crate::backend::postgres;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// The same, about rows of a set that is called `u`.
    MySqlSet,
}

/// What stands in a place of the statement: the value of this number, or of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Number(usize),
    Name(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translated {
    pub sql: String,
    /// What to bind, in order.
    pub places: Vec<Place>,
}

pub(crate) fn translate(sql: &str, dialect: Dialect) -> Translated {
    let sql = match dialect {
        Dialect::Postgres => postgres::by_key(postgres::in_order(sql)),
        Dialect::MySql => mysql::joined_by_key(mysql::by_key(mysql::when_there_already(sql))),
        Dialect::MySqlSet => mysql::when_there_already(sql),
    };
    let mut out = Translated { sql: String::with_capacity(sql.len() + 16), places: Vec::new() };
    let mut rest: &str = &sql;
    let mut bare = 0;
    while let Some(at) = rest.find(['?', ':', '\'']) {
        out.words(&rest[..at], dialect);
        let (mark, tail) = rest[at..].split_at(1);
        rest = match mark {
            "'" => {
                let end = tail.find('\'').map_or(tail.len(), |end| end + 1);
                out.sql.push('\'');
                out.sql.push_str(&tail[..end]);
                &tail[end..]
            }
            "?" => {
                let (digits, tail) = split_while(tail, |c| c.is_ascii_digit());
                bare += 1;
                out.place(Place::Number(digits.parse().unwrap_or(bare)), dialect);
                tail
            }
            _ => {
                let (name, tail) = split_while(tail, |c| c.is_ascii_alphanumeric() || c == '_');
                out.place(Place::Name(format!(":{name}")), dialect);
                tail
            }
        };
    }
    out.words(rest, dialect);
    out
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// Where a table is to be read by an index of this name.
fn indexed_by(text: &str, said: impl Fn(&str) -> String) -> String {
    let mut parts = text.split(" INDEXED BY ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (index, rest) = split_while(part, |c| c.is_ascii_alphanumeric() || c == '_');
        out.push_str(&said(index));
        out.push_str(rest);
    }
    out
}

/// A cross join as it is written: the table with what it is called and its index, and everything behind `ON`.
pub(crate) struct CrossJoin<'a> {
    pub table: &'a str,
    pub rest: &'a str,
}

impl CrossJoin<'_> {
    pub fn alias(&self) -> &str {
        self.table.split(' ').nth(1).unwrap_or(self.table)
    }

    pub fn names_index(&self) -> bool {
        self.table.contains(" INDEXED BY ")
    }
}

/// The statement with every cross join said in another way.
pub(crate) fn cross_joins<'a>(sql: Cow<'a, str>, said: impl Fn(CrossJoin) -> String) -> Cow<'a, str> {
    let mut parts = sql.split("CROSS JOIN ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (table, rest) = part.split_once(" ON ").expect("a cross join says on what");
        out.push_str(&said(CrossJoin { table: table.trim_end(), rest }));
    }
    out.into()
}

impl Translated {
    fn place(&mut self, place: Place, dialect: Dialect) {
        match dialect {
            Dialect::Postgres => {
                let known = self.places.iter().position(|known| *known == place);
                let at = known.unwrap_or_else(|| {
                    self.places.push(place);
                    self.places.len() - 1
                });
                self.sql.push_str(&format!("${}", at + 1));
            }
            Dialect::MySql => {
                self.sql.push('?');
                self.places.push(place);
            }
            Dialect::MySqlSet => match place {
                Place::Number(n) => self.sql.push_str(&mysql::column(n)),
                Place::Name(name) => unreachable!("rows have no names: {name}"),
            },
        }
    }

    fn words(&mut self, text: &str, dialect: Dialect) {
        let replaced = match dialect {
            // Its indexes for what is hot are partial, and it sees by itself which one it is.
            Dialect::Postgres => {
                indexed_by(text, |_| String::new()).replace("instr(", "strpos(").replace("state > 1", "not_good")
            }
            Dialect::MySql | Dialect::MySqlSet => {
                mysql::words(&indexed_by(text, |index| format!(" FORCE INDEX ({index})")))
            }
        };
        self.sql.push_str(&replaced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_used_twice_is_bound_once() {
        let found = translate("UPDATE t SET a = ?2 WHERE id = ?1 AND a <> ?2 AND b = 'why?'", Dialect::Postgres);
        assert_eq!(found.sql, "UPDATE t SET a = $1 WHERE id = $2 AND a <> $1 AND b = 'why?'");
        assert_eq!(found.places, [Place::Number(2), Place::Number(1)]);
    }

    #[test]
    fn an_index_is_named_as_each_database_does() {
        let sql = "SELECT a.id FROM t a INDEXED BY t_hot WHERE a.x = 1";
        assert_eq!(translate(sql, Dialect::Postgres).sql, "SELECT a.id FROM t a WHERE a.x = 1");
        assert_eq!(translate(sql, Dialect::MySql).sql, "SELECT a.id FROM t a FORCE INDEX (t_hot) WHERE a.x = 1");
    }

    #[test]
    fn mysql_binds_a_value_wherever_it_stands() {
        let found = translate("UPDATE t SET rank = ?2 WHERE at = :id AND b = 'a key?' AND rank <> ?2", Dialect::MySql);
        assert_eq!(found.sql, "UPDATE t SET `rank` = ? WHERE at = ? AND b = 'a key?' AND `rank` <> ?");
        assert_eq!(found.places, [Place::Number(2), Place::Name(":id".into()), Place::Number(2)]);
    }

    #[test]
    fn names_and_bare_marks_have_their_places() {
        let found = translate("SELECT ? FROM a CROSS JOIN b ON b.x = :x AND instr(a, ?)", Dialect::Postgres);
        assert_eq!(
            found.sql,
            "SELECT $1 FROM a CROSS JOIN LATERAL (SELECT * FROM b WHERE b.x = $2 AND strpos(a, $3) OFFSET 0) AS b"
        );
        assert_eq!(found.places, [Place::Number(1), Place::Name(":x".into()), Place::Number(2)]);
    }
}
