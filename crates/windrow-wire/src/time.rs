//! Timestamps in JSON and text.

use windrow_model::Time;

/// RFC 3339 in UTC, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp(pub Time);

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self(time)
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0.0) {
            Ok(time) => f.pad(&format!("{time:.3}")),
            // Beyond year 9999: a number is more useful than an error.
            Err(_) => f.pad(&self.0.0.to_string()),
        }
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let ms = text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_millisecond);
        ms.or_else(|error| text.parse().map_err(|_| serde::de::Error::custom(error))).map(|ms| Self(Time(ms)))
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl utoipa::ToSchema for Timestamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for ms in [1_704_067_200_050, 0, -1, i64::MAX] {
            let text = serde_json::to_string(&Timestamp(Time(ms))).unwrap();
            assert_eq!(serde_json::from_str::<Timestamp>(&text).unwrap(), Timestamp(Time(ms)), "{text}");
        }
    }

    #[test]
    fn times_are_written_in_utc_to_the_millisecond() {
        assert_eq!(Timestamp(Time(1_704_067_200_050)).to_string(), "2024-01-01T00:00:00.050Z");
        assert_eq!(Timestamp(Time(1_704_067_200_000)).to_string(), "2024-01-01T00:00:00.000Z");
    }
}
