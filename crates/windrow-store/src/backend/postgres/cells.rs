//! Cells as PostgreSQL sends and takes them: in binary, by the type of the column.

use std::error::Error;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::backend::Cell;

type Boxed = Box<dyn Error + Sync + Send>;

/// A cell on its way in. The type is what the server made of its place in the statement.
#[derive(Debug)]
pub(super) struct Arg<'a>(pub Cell<'a>);

impl ToSql for Arg<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        match self.0 {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Int(int) => integer(int, ty, out),
            Cell::Real(real) if *ty == Type::FLOAT8 => real.to_sql(ty, out),
            Cell::Text(text) if is_text(ty) => without_nul(text).as_ref().to_sql(ty, out),
            Cell::Blob(blob) if *ty == Type::BYTEA => blob.to_sql(ty, out),
            Cell::Ints(ints) if *ty == Type::INT8_ARRAY => ints.to_sql(ty, out),
            Cell::Ints(ints) if *ty == Type::INT4_ARRAY => {
                ints.iter().map(|int| int.map(|int| int as i32)).collect::<Vec<_>>().to_sql(ty, out)
            }
            Cell::Ints(ints) if *ty == Type::INT2_ARRAY => {
                ints.iter().map(|int| int.map(|int| int as i16)).collect::<Vec<_>>().to_sql(ty, out)
            }
            Cell::Reals(reals) => reals.to_sql(ty, out),
            Cell::Texts(texts) => texts.iter().map(|text| text.map(without_nul)).collect::<Vec<_>>().to_sql(ty, out),
            Cell::Blobs(blobs) => blobs.to_sql(ty, out),
            other => Err(format!("{other:?} does not fit {ty}").into()),
        }
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn integer(int: i64, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
    match *ty {
        Type::INT8 => int.to_sql(ty, out),
        Type::INT4 => i32::try_from(int)?.to_sql(ty, out),
        // Bounds like "before everything" are wider than the column.
        Type::INT2 => (int.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_sql(ty, out),
        Type::BOOL => (int != 0).to_sql(ty, out),
        Type::FLOAT8 => (int as f64).to_sql(ty, out),
        _ => Err(format!("{int} does not fit {ty}").into()),
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(*ty, Type::TEXT | Type::VARCHAR | Type::UNKNOWN)
}

/// The one character that PostgreSQL cannot store. It comes from other people's error messages.
fn without_nul(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text.into(),
    }
}

/// A cell on its way out.
pub(super) struct Found<'a>(pub Cell<'a>);

impl<'a> FromSql<'a> for Found<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Boxed> {
        Ok(Found(match *ty {
            Type::INT8 => Cell::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Cell::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Cell::Int(i16::from_sql(ty, raw)?.into()),
            Type::BOOL => Cell::Int(bool::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Cell::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Cell::Blob(raw),
            Type::NUMERIC => Cell::Int(whole_number(raw)?),
            _ if is_text(ty) => Cell::Text(std::str::from_utf8(raw)?),
            _ => return Err(format!("no column of ours is of type {ty}").into()),
        }))
    }

    fn from_sql_null(_ty: &Type) -> Result<Self, Boxed> {
        Ok(Found(Cell::Null))
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }
}

/// The sum of a column of integers is a decimal number: its digits to the base of 10,000 behind a header of
/// how many they are, the power of the first, the sign, and how many are shown behind the point.
fn whole_number(raw: &[u8]) -> Result<i64, Boxed> {
    let words: Vec<i16> = raw.chunks_exact(2).map(|two| i16::from_be_bytes([two[0], two[1]])).collect();
    let [_, power, sign, _, digits @ ..] = words.as_slice() else { return Err("a number without a header".into()) };
    let mut sum: i64 = 0;
    for place in 0..=i32::from(*power) {
        let digit = digits.get(place as usize).copied().unwrap_or(0);
        sum = sum.checked_mul(10_000).and_then(|sum| sum.checked_add(digit.into())).ok_or("a sum beyond 64 bits")?;
    }
    Ok(if *sign == 0x4000 { -sum } else { sum })
}
