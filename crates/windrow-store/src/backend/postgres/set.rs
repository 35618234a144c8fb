//! The rows of a set as PostgreSQL takes them: one array per placeholder, with the types that the server found for the
//! statement about one row.

use postgres::types::Type;

use crate::backend::{Cell, Place};

/// The set as a table; `n` numbers its rows.
pub(super) fn source(types: &[Type]) -> String {
    let arrays: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("${}::{}[]", i + 1, ty.name())).collect();
    let names: String = (1..=types.len()).map(|i| format!("p{i}, ")).collect();
    format!("UNNEST({}) WITH ORDINALITY AS u({names}n)", arrays.join(", "))
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
