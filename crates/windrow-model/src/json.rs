//! JSON as text. Stores and engine carry payloads without parsing them; code that needs the content
//! parses it once.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json(Box<str>);

impl Json {
    /// Takes text known to be JSON (it was written by us or has just been parsed).
    pub fn from_text(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        // Serialising our own types fails only for maps with non-text keys, which none has.
        Self(serde_json::to_string(value).expect("value serialises to JSON").into())
    }

    pub fn null() -> Self {
        Self("null".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(&self.0)
    }

    pub fn value(&self) -> serde_json::Value {
        self.parse().unwrap_or(serde_json::Value::Null)
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(s)
    }
}

/// Any JSON at all.
impl utoipa::PartialSchema for Json {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::empty().into()
    }
}

impl utoipa::ToSchema for Json {}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(d)?;
        Ok(Self(raw.get().into()))
    }
}
