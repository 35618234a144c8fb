//! Where a list of items continues: after an item, and in a custom order with the value that item was
//! sorted by, so that a page follows the one before even when the item has changed meanwhile.

use std::fmt;
use std::str::FromStr;

use crate::ids::ItemId;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cursor {
    /// In the order of the items.
    Item(ItemId),
    /// In another; `None`: what it is sorted by is null there.
    Sorted { value: Option<f64>, ordinal: i64, item: ItemId },
}

/// `17`, or `0.25~3~17`, or `null~3~17`.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Item(item) => write!(f, "{}", item.0),
            Cursor::Sorted { value: Some(value), ordinal, item } => write!(f, "{value}~{ordinal}~{}", item.0),
            Cursor::Sorted { value: None, ordinal, item } => write!(f, "null~{ordinal}~{}", item.0),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a place in a list")]
pub struct BadCursor(String);

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let bad = || BadCursor(text.chars().take(80).collect());
        let number = |part: &str| part.parse::<i64>().map_err(|_| bad());
        match text.split('~').collect::<Vec<_>>().as_slice() {
            [item] => Ok(Cursor::Item(ItemId(number(item)?))),
            [value, ordinal, item] => {
                let value = match *value {
                    "null" => None,
                    value => Some(value.parse::<f64>().ok().filter(|value| !value.is_nan()).ok_or_else(bad)?),
                };
                Ok(Cursor::Sorted { value, ordinal: number(ordinal)?, item: ItemId(number(item)?) })
            }
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_and_read_back() {
        for value in [Some(0.1 + 0.2), Some(-1e300), Some(0.0), None] {
            let cursor = Cursor::Sorted { value, ordinal: 7, item: ItemId(12) };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        assert_eq!("12".parse(), Ok(Cursor::Item(ItemId(12))));
        for wrong in ["", "x", "1~2", "1~2~3~4", "NaN~1~2", "1~x~2"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
