//! A statement about one row, made into one about a set. The values of the rows come as one array per place, with
//! the types that the server found for the statement about one row.

use postgres::types::Type;

use crate::backend::{Cell, Place};

/// As an insert, an update or a deletion of every row of the set.
pub(super) fn change(sql: &str, types: &[Type]) -> String {
    let (set, sql) = (source(types, ""), of_set(sql));
    if sql.starts_with("INSERT") {
        let (head, values) = sql.split_once(" VALUES (").expect("a row is inserted by its values");
        let end = closing(values);
        let (values, tail) = (&values[..end], &values[end + 1..]);
        return format!("{head} SELECT {values} FROM {set}{tail}");
    }
    let word = if sql.starts_with("DELETE") { "USING" } else { "FROM" };
    let (head, condition) = sql.split_once(" WHERE ").expect("one row is meant");
    format!("{head} {word} {set} WHERE {condition}")
}

/// As a question about every row of the set; the number of the row comes last. Answers of one row stay in their order.
pub(super) fn question(sql: &str, types: &[Type]) -> String {
    let set = source(types, " WITH ORDINALITY");
    format!("SELECT found.*, u.n FROM {set} CROSS JOIN LATERAL ({}) AS found", of_set(sql))
}

fn source(types: &[Type], numbered: &str) -> String {
    let arrays: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("${}::{}[]", i + 1, ty.name())).collect();
    let mut names: Vec<String> = (1..=types.len()).map(|i| format!("p{i}")).collect();
    if !numbered.is_empty() {
        names.push("n".to_owned());
    }
    format!("UNNEST({}){numbered} AS u({})", arrays.join(", "), names.join(", "))
}

/// `$1` is `u.p1`. No statement about one row has a `$` in its text.
fn of_set(sql: &str) -> String {
    sql.replace('$', "u.p")
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

/// The values of one place, over all rows.
pub(super) enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<&'a str>>),
    Blobs(Vec<Option<&'a [u8]>>),
}

impl<'a> Column<'a> {
    pub fn gather<const N: usize>(ty: &Type, place: &Place, rows: &'a [[Cell<'a>; N]]) -> Self {
        let cells = rows.iter().map(|row| match place {
            Place::Number(n) => row.get(n - 1).copied().unwrap_or(Cell::Null),
            Place::Name(_) => Cell::Null,
        });
        match *ty {
            Type::FLOAT8 => Column::Reals(cells.map(real).collect()),
            Type::BYTEA => Column::Blobs(cells.map(blob).collect()),
            Type::INT2 | Type::INT4 | Type::INT8 => Column::Ints(cells.map(int).collect()),
            _ => Column::Texts(cells.map(text).collect()),
        }
    }

    pub fn cell(&self) -> Cell<'_> {
        match self {
            Column::Ints(ints) => Cell::Ints(ints),
            Column::Reals(reals) => Cell::Reals(reals),
            Column::Texts(texts) => Cell::Texts(texts),
            Column::Blobs(blobs) => Cell::Blobs(blobs),
        }
    }
}

fn int(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Int(int) => Some(int),
        _ => None,
    }
}

fn real(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Real(real) => Some(real),
        Cell::Int(int) => Some(int as f64),
        _ => None,
    }
}

fn text(cell: Cell<'_>) -> Option<&str> {
    match cell {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn blob(cell: Cell<'_>) -> Option<&[u8]> {
    match cell {
        Cell::Blob(blob) => Some(blob),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_a_set() {
        let types = [Type::INT8, Type::TEXT];
        assert_eq!(
            change("INSERT INTO t (a, b, c) VALUES ($1, lower($2), 0) ON CONFLICT (a) DO NOTHING", &types),
            "INSERT INTO t (a, b, c) SELECT u.p1, lower(u.p2), 0 FROM UNNEST($1::int8[], $2::text[]) AS u(p1, p2) \
             ON CONFLICT (a) DO NOTHING"
        );
        assert_eq!(
            change("UPDATE t SET b = $2 WHERE a = $1 AND c IN (1,2)", &types),
            "UPDATE t SET b = u.p2 FROM UNNEST($1::int8[], $2::text[]) AS u(p1, p2) WHERE a = u.p1 AND c IN (1,2)"
        );
        assert_eq!(
            question("SELECT b FROM t WHERE a = $1", &types[..1]),
            "SELECT found.*, u.n FROM UNNEST($1::int8[]) WITH ORDINALITY AS u(p1, n) CROSS JOIN LATERAL \
             (SELECT b FROM t WHERE a = u.p1) AS found"
        );
    }
}
