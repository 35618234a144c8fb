//! Cells as MySQL and MariaDB send and take them.

use mysql::consts::ColumnType;
use mysql::{Row, Value};

use crate::backend::{Cell, Error, Result};

/// The number of the character set that is none.
const BINARY: u16 = 63;

pub(super) fn value(cell: Cell) -> Result<Value> {
    Ok(match cell {
        Cell::Null => Value::NULL,
        Cell::Int(int) => Value::Int(int),
        Cell::Real(real) => Value::Double(real),
        Cell::Text(text) => Value::Bytes(text.as_bytes().to_vec()),
        Cell::Blob(blob) => Value::Bytes(blob.to_vec()),
        Cell::Ints(_) | Cell::Reals(_) | Cell::Texts(_) | Cell::Blobs(_) => {
            return Err(Error::Decode { column: 0, why: "MySQL takes no arrays".into() });
        }
    })
}

pub(crate) fn cell(row: &Row, column: usize) -> Result<Cell<'_>> {
    let decode_error = |why: String| Error::Decode { column, why };
    let (Some(value), Some(described)) = (row.as_ref(column), row.columns_ref().get(column)) else {
        return Err(decode_error("column not found".into()));
    };
    let utf8 = |bytes| std::str::from_utf8(bytes).map_err(|error| decode_error(error.to_string()));
    Ok(match value {
        Value::NULL => Cell::Null,
        Value::Int(int) => Cell::Int(*int),
        Value::UInt(int) => Cell::Int(i64::try_from(*int).map_err(|error| decode_error(error.to_string()))?),
        Value::Float(real) => Cell::Real(f64::from(*real)),
        Value::Double(real) => Cell::Real(*real),
        // The sum of a column of integers is a decimal number.
        Value::Bytes(bytes) if described.column_type() == ColumnType::MYSQL_TYPE_NEWDECIMAL => {
            Cell::Int(utf8(bytes)?.parse().map_err(|error: std::num::ParseIntError| decode_error(error.to_string()))?)
        }
        Value::Bytes(bytes) if described.character_set() == BINARY => Cell::Blob(bytes),
        Value::Bytes(bytes) => Cell::Text(utf8(bytes)?),
        other => return Err(decode_error(format!("{other:?} is of no type of ours"))),
    })
}
