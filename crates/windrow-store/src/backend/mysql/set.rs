//! The rows of a set as MySQL and MariaDB take them: one JSON text that the server reads as a table, because that is the
//! only table of values that both write in the same way. New rows are listed in the statement instead.

use crate::backend::{Cell, Place};

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

/// The value of this number. In JSON a blob is written in hexadecimal digits.
pub(crate) fn column(kinds: &[Kind], place: &Place) -> String {
    match place {
        Place::Number(n) if kinds[n - 1] == Kind::Blob => format!("UNHEX(u.p{n})"),
        Place::Number(n) => format!("u.p{n}"),
        Place::Name(name) => unreachable!("rows have no names: {name}"),
    }
}

pub(crate) fn source(kinds: &[Kind]) -> String {
    let columns = kinds.iter().enumerate().map(|(i, kind)| {
        let ty = match kind {
            Kind::Int => "BIGINT",
            Kind::Real => "DOUBLE",
            Kind::Text | Kind::Blob => "LONGTEXT CHARACTER SET utf8mb4",
        };
        format!(", p{} {ty} PATH '$[{i}]'", i + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_rows_are_sent_in_portions() {
        let large = "x".repeat(PORTION_BYTES - 100);
        let rows = [Cell::Text("a"), Cell::Text(&large), Cell::Text(&large), Cell::Text("b")].map(|cell| [cell]);
        assert_eq!(portions(&rows).map(<[_]>::len).collect::<Vec<_>>(), [2, 2]);
        let larger = "x".repeat(PORTION_BYTES + 1);
        assert_eq!(portions(&[[Cell::Text(&larger)], [Cell::Null]]).count(), 2);
    }

    #[test]
    fn rows_are_a_document() {
        let rows = [[Cell::Null, Cell::Blob(&[0, 255])], [Cell::Int(2), Cell::Null]];
        assert_eq!(document(&rows), r#"[[null,"00ff"],[2,null]]"#);
        assert_eq!(kinds(&rows), [Kind::Int, Kind::Blob]);
    }
}
