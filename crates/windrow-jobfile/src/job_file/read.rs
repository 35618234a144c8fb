//! Reads typed values from a [`Node`] through serde, so that one derived structure describes a
//! section of the job file, and errors keep the place and the field they are about.

use std::fmt::Display;
use std::ops::Range;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor};

use crate::yaml::{Content, Key, Node};

#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    Unknown { field: String, expected: &'static [&'static str] },
    Missing { field: &'static str },
    Type { expected: String, found: String },
    Value { message: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReadError {
    pub wrong: Wrong,
    pub span: Option<Range<usize>>,
    /// The section's own field it happened in or under.
    pub field: Option<String>,
}

impl ReadError {
    fn new(wrong: Wrong) -> Self {
        Self { wrong, span: None, field: None }
    }

    fn at(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.wrong {
            Wrong::Unknown { field, .. } => write!(f, "unknown field `{field}`"),
            Wrong::Missing { field } => write!(f, "the field `{field}` is missing"),
            Wrong::Type { expected, found } => write!(f, "must be {expected}, found {found}"),
            Wrong::Value { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Wrong::Value { message: message.to_string() })
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Wrong::Unknown { field: field.to_owned(), expected })
    }
    fn missing_field(field: &'static str) -> Self {
        Self::new(Wrong::Missing { field })
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        mismatch(found, expected)
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        mismatch(found, expected)
    }
}

/// In words for people who do not know Rust's types.
fn mismatch(found: Unexpected<'_>, expected: &dyn Expected) -> ReadError {
    let expected = expected.to_string();
    let expected = match expected.as_str() {
        "a string" => "text",
        "a boolean" => "true or false",
        "f32" | "f64" => "a number",
        "i8" | "i16" | "i32" | "i64" => "an integer",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a non-negative integer",
        name if name.starts_with("a nonzero ") => "a positive integer",
        name if name.starts_with("struct ") => "a map of fields",
        other => other,
    };
    let found = match found {
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Map => "a map".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Unit => "nothing".to_owned(),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        other => other.to_string(),
    };
    ReadError::new(Wrong::Type { expected: expected.to_owned(), found })
}

/// A node as a serde source.
#[derive(Clone, Copy)]
pub struct Reader<'n>(pub &'n Node);

impl<'n> Reader<'n> {
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.content {
            Content::Null => visitor.visit_unit(),
            Content::Bool(value) => visitor.visit_bool(*value),
            Content::Int(value) => visitor.visit_i64(*value),
            Content::Uint(value) => visitor.visit_u64(*value),
            Content::Float(value) => visitor.visit_f64(*value),
            Content::Text(value) => visitor.visit_str(value),
            Content::List(nodes) => visitor.visit_seq(SeqDeserializer::new(nodes.iter().map(Reader))),
            Content::Map(entries) => visitor.visit_map(Fields { rest: entries.iter(), value: None }),
        }
        .map_err(|error| error.at(&self.0.span))
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.content {
            Content::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// `recorded:` with nothing after it is a map without fields, so that the missing ones are named.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0.content {
            Content::Null => {
                let none: [(&str, &str); 0] = [];
                visitor
                    .visit_map(MapDeserializer::new(none.into_iter()))
                    .map_err(|error: ReadError| error.at(&self.0.span))
            }
            _ => self.any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.0.content {
            Content::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            _ => Err(de::Error::custom(format!("expected one word, found {}", self.0.describe()))),
        }
        .map_err(|error: ReadError| error.at(&self.0.span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for Reader<'_> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

struct Fields<'n> {
    rest: std::slice::Iter<'n, (Key, Node)>,
    value: Option<(&'n Key, &'n Node)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((key, node)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key, node));
        let name: StrDeserializer<'_, ReadError> = key.name.as_str().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|error| in_field(error.at(&key.span), key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, node) = self.value.take().expect("a value is asked for after its key");
        seed.deserialize(Reader(node)).map_err(|error| in_field(error.at(&key.span), key))
    }
}

/// The outermost field is the last to be written.
fn in_field(mut error: ReadError, key: &Key) -> ReadError {
    error.field = Some(key.name.clone());
    error
}
