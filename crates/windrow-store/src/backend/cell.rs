//! One value on its way to or from the database.

use crate::backend::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
    /// Columns of a set, which only the servers take.
    Ints(&'a [Option<i64>]),
    Reals(&'a [Option<f64>]),
    Texts(&'a [Option<&'a str>]),
    Blobs(&'a [Option<&'a [u8]>]),
}

/// A value that is kept, where a statement is put together before it is run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

pub(crate) trait ToCell {
    fn cell(&self) -> Cell<'_>;
}

pub(crate) trait FromCell: Sized {
    /// `None` if it is something else.
    fn from_cell(cell: Cell) -> Option<Self>;
}

pub(super) fn read<T: FromCell>(cell: Cell, column: usize) -> Result<T> {
    let decode_error = || Error::Decode { column, why: format!("{cell:?} is not a {}", std::any::type_name::<T>()) };
    T::from_cell(cell).ok_or_else(decode_error)
}

macro_rules! integers {
    ($($int:ty),+) => {$(
        impl ToCell for $int {
            fn cell(&self) -> Cell<'_> {
                Cell::Int(i64::from(*self))
            }
        }
        impl FromCell for $int {
            fn from_cell(cell: Cell) -> Option<Self> {
                match cell {
                    Cell::Int(int) => <$int>::try_from(int).ok(),
                    _ => None,
                }
            }
        }
    )+};
}
integers!(i64, i32, u32, u16, u8);

impl ToCell for Cell<'_> {
    fn cell(&self) -> Cell<'_> {
        *self
    }
}

impl ToCell for bool {
    fn cell(&self) -> Cell<'_> {
        Cell::Int(i64::from(*self))
    }
}

impl FromCell for bool {
    fn from_cell(cell: Cell) -> Option<Self> {
        i64::from_cell(cell).map(|int| int != 0)
    }
}

impl ToCell for f64 {
    fn cell(&self) -> Cell<'_> {
        Cell::Real(*self)
    }
}

impl FromCell for f64 {
    fn from_cell(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Real(real) => Some(real),
            Cell::Int(int) => Some(int as f64),
            _ => None,
        }
    }
}

impl ToCell for str {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl ToCell for String {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl ToCell for std::borrow::Cow<'_, str> {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }
}

impl FromCell for String {
    fn from_cell(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl<const N: usize> ToCell for [u8; N] {
    fn cell(&self) -> Cell<'_> {
        Cell::Blob(self)
    }
}

impl<const N: usize> FromCell for [u8; N] {
    fn from_cell(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Blob(blob) => blob.try_into().ok(),
            _ => None,
        }
    }
}

impl ToCell for Vec<u8> {
    fn cell(&self) -> Cell<'_> {
        Cell::Blob(self)
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Blob(blob) => Some(blob.to_owned()),
            _ => None,
        }
    }
}

impl<T: ToCell> ToCell for Option<T> {
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, T::cell)
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::from_cell(cell).map(Some),
        }
    }
}

impl<T: ToCell + ?Sized> ToCell for &T {
    fn cell(&self) -> Cell<'_> {
        (**self).cell()
    }
}

impl ToCell for Value {
    fn cell(&self) -> Cell<'_> {
        match self {
            Value::Null => Cell::Null,
            Value::Integer(int) => Cell::Int(*int),
            Value::Real(real) => Cell::Real(*real),
            Value::Text(text) => Cell::Text(text),
            Value::Blob(blob) => Cell::Blob(blob),
        }
    }
}

impl From<Cell<'_>> for Value {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null => Value::Null,
            Cell::Int(int) => Value::Integer(int),
            Cell::Real(real) => Value::Real(real),
            Cell::Text(text) => Value::Text(text.to_owned()),
            Cell::Blob(blob) => Value::Blob(blob.to_owned()),
            Cell::Ints(_) | Cell::Reals(_) | Cell::Texts(_) | Cell::Blobs(_) => unreachable!("no column holds a set"),
        }
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Value::Integer(int)
    }
}

impl From<f64> for Value {
    fn from(real: f64) -> Self {
        Value::Real(real)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}
