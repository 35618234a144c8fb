//! A statement about one row, made into one about many. New rows are listed in the statement; for a change or a question
//! the rows come as one JSON text that the server reads as a table, because that is the only table of values that MySQL and
//! MariaDB write in the same way.

use crate::backend::{Cell, Dialect, Place, Translated, translate};

/// What is in a column of the rows, as far as the server must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Int,
    Real,
    Text,
    /// In JSON it is written in hexadecimal digits.
    Blob,
}

/// A column without any value may be of any kind.
pub(crate) fn kinds<const N: usize>(rows: &[[Cell; N]]) -> [Kind; N] {
    std::array::from_fn(|i| rows.iter().find_map(|row| kind(row[i])).unwrap_or(Kind::Int))
}

fn kind(cell: Cell) -> Option<Kind> {
    match cell {
        Cell::Int(_) => Some(Kind::Int),
        Cell::Real(_) => Some(Kind::Real),
        Cell::Text(_) => Some(Kind::Text),
        Cell::Blob(_) => Some(Kind::Blob),
        _ => None,
    }
}

/// An insert of so many rows, and the places of one of them. Nothing is bound outside of the list of values.
pub(crate) fn insert(sql: &str, rows: usize) -> (String, Vec<Place>) {
    let Translated { sql, places } = translate(sql, Dialect::MySql);
    let (head, values) = sql.split_once(" VALUES (").expect("a row is inserted by its values");
    let end = closing(values);
    let (one, tail) = (&values[..end], &values[end + 1..]);
    let list = vec![format!("({one})"); rows].join(", ");
    (format!("{head} VALUES {list}{tail}"), places)
}

/// An update or a deletion of the rows of the set. An update must reach them by their key: rows that it reads on the
/// way would be locked.
pub(crate) fn change(sql: &str, kinds: &[Kind]) -> String {
    let sql = of_set(sql, kinds);
    if let Some((table, condition)) = sql.strip_prefix("DELETE FROM ").and_then(|sql| sql.split_once(" WHERE ")) {
        return format!("DELETE {table} FROM {} STRAIGHT_JOIN {table} WHERE {condition}", source(kinds));
    }
    let (table, rest) = sql.strip_prefix("UPDATE ").and_then(|sql| sql.split_once(" SET ")).expect("an update");
    format!("UPDATE {} STRAIGHT_JOIN {table} FORCE INDEX (PRIMARY) SET {rest}", source(kinds))
}

/// As a question about every row of the set; the number of the row comes last. Answers of one row stay in their order.
pub(crate) fn question(sql: &str, kinds: &[Kind]) -> String {
    let sql = of_set(sql, kinds);
    let (columns, rest) = sql.strip_prefix("SELECT ").and_then(|sql| sql.split_once(" FROM ")).expect("a question");
    let (tables, condition) = rest.split_once(" WHERE ").expect("one row is meant");
    let (condition, order) = match condition.split_once(" ORDER BY ") {
        Some((condition, order)) => (condition, format!(", {order}")),
        None => (condition, String::new()),
    };
    let set = source(kinds);
    format!("SELECT {columns}, u.n FROM {set} STRAIGHT_JOIN {tables} WHERE {condition} ORDER BY u.n{order}")
}

fn of_set(sql: &str, kinds: &[Kind]) -> String {
    let mut sql = translate(sql, Dialect::MySqlSet).sql;
    for (i, _) in kinds.iter().enumerate().filter(|(_, kind)| **kind == Kind::Blob) {
        let name = column(i + 1);
        sql = sql.replace(&name, &format!("UNHEX({name})"));
    }
    sql
}

/// What stands for the value of this number. No name is the beginning of another.
pub(crate) fn column(number: usize) -> String {
    format!("u.p{number:02}")
}

fn source(kinds: &[Kind]) -> String {
    let columns = kinds.iter().enumerate().map(|(i, kind)| {
        let ty = match kind {
            Kind::Int => "BIGINT",
            Kind::Real => "DOUBLE",
            Kind::Text | Kind::Blob => "LONGTEXT CHARACTER SET utf8mb4",
        };
        format!(", p{:02} {ty} PATH '$[{i}]'", i + 1)
    });
    format!("JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY{})) AS u", columns.collect::<String>())
}

/// What the servers take at once by default is four times as much; a row is never divided.
const PORTION_BYTES: usize = 4 << 20;

/// The rows in as many parts as their size demands.
pub(crate) fn portions<'r, 'c, const N: usize>(
    mut rows: &'r [[Cell<'c>; N]],
) -> impl Iterator<Item = &'r [[Cell<'c>; N]]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rows.iter().take_while(|row| {
            bytes += row.iter().map(bytes_of).sum::<usize>();
            bytes <= PORTION_BYTES
        });
        let (portion, rest) = rows.split_at(fits.count().max(1).min(rows.len()));
        rows = rest;
        (!portion.is_empty()).then_some(portion)
    })
}

fn bytes_of(cell: &Cell) -> usize {
    match cell {
        Cell::Text(text) => text.len(),
        Cell::Blob(blob) => 2 * blob.len(),
        _ => 8,
    }
}

/// The rows as the table reads them.
pub(crate) fn document<const N: usize>(rows: &[[Cell; N]]) -> String {
    let mut json = String::with_capacity(rows.len() * N * 16);
    for (n, row) in rows.iter().enumerate() {
        json.push_str(if n == 0 { "[[" } else { ",[" });
        for (i, cell) in row.iter().enumerate() {
            if i > 0 {
                json.push(',');
            }
            write_cell(&mut json, *cell);
        }
        json.push(']');
    }
    json.push(']');
    json
}

fn write_cell(json: &mut String, cell: Cell) {
    match cell {
        Cell::Int(int) => json.push_str(&int.to_string()),
        Cell::Real(real) => json.push_str(&serde_json::Value::from(real).to_string()),
        Cell::Text(text) => json.push_str(&serde_json::Value::from(text).to_string()),
        Cell::Blob(blob) => {
            json.push('"');
            blob.iter().for_each(|byte| json.push_str(&format!("{byte:02x}")));
            json.push('"');
        }
        _ => json.push_str("null"),
    }
}

/// The end of a list whose opening bracket has been read.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_rows_are_listed() {
        let (sql, places) = insert("INSERT INTO t (a, b) VALUES (?1, lower(?2)) ON CONFLICT (a) DO NOTHING", 2);
        assert_eq!(sql, "INSERT IGNORE INTO t (a, b) VALUES (?, lower(?)), (?, lower(?)) ");
        assert_eq!(places, [Place::Number(1), Place::Number(2)]);
    }

    #[test]
    fn large_rows_are_sent_in_portions() {
        let large = "x".repeat(PORTION_BYTES - 100);
        let rows = [Cell::Text("a"), Cell::Text(&large), Cell::Text(&large), Cell::Text("b")].map(|cell| [cell]);
        assert_eq!(portions(&rows).map(<[_]>::len).collect::<Vec<_>>(), [2, 2]);
        let larger = "x".repeat(PORTION_BYTES + 1);
        assert_eq!(portions(&[[Cell::Text(&larger)], [Cell::Null]]).count(), 2);
    }

    #[test]
    fn a_change_and_a_question_are_joined_with_their_rows() {
        let rows = [[Cell::Null, Cell::Blob(&[0, 255])], [Cell::Int(2), Cell::Null]];
        let kinds = kinds(&rows);
        assert_eq!(document(&rows), r#"[[null,"00ff"],[2,null]]"#);
        let set = "JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY, p01 BIGINT PATH '$[0]', \
                   p02 LONGTEXT CHARACTER SET utf8mb4 PATH '$[1]')) AS u";
        assert_eq!(
            change("UPDATE t SET b = ?2 WHERE id = ?1", &kinds),
            format!("UPDATE {set} STRAIGHT_JOIN t FORCE INDEX (PRIMARY) SET b = UNHEX(u.p02) WHERE id = u.p01")
        );
        assert_eq!(
            change("DELETE FROM t WHERE id = ?1", &kinds),
            format!("DELETE t FROM {set} STRAIGHT_JOIN t WHERE id = u.p01")
        );
        assert_eq!(
            question("SELECT b FROM t WHERE id = ?1 AND key = ?2 ORDER BY b", &kinds),
            format!(
                "SELECT b, u.n FROM {set} STRAIGHT_JOIN t WHERE id = u.p01 AND `key` = UNHEX(u.p02) ORDER BY u.n, b"
            )
        );
    }
}
