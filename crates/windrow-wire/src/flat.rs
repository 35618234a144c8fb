//! Deserializes an object that combines the fields of two types. Serde's `flatten` would parse embedded JSON and lose
//! its original text.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

pub fn read<'de, A: DeserializeOwned, B: DeserializeOwned, D: Deserializer<'de>>(d: D) -> Result<(A, B), D::Error> {
    let whole = Box::<RawValue>::deserialize(d)?;
    let first = serde_json::from_str(whole.get()).map_err(D::Error::custom)?;
    Ok((first, serde_json::from_str(whole.get()).map_err(D::Error::custom)?))
}

#[cfg(test)]
mod tests {
    use windrow_model::Json;

    #[derive(serde::Deserialize)]
    struct Head {
        id: i64,
    }

    #[derive(serde::Deserialize)]
    struct Rest {
        spec: Json,
    }

    #[test]
    fn embedded_json_keeps_its_text() {
        let text = r#"{"spec": {"z":1.0,  "a":[0.10]}, "id": 7, "other": null}"#;
        let (head, rest): (Head, Rest) = super::read(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!((head.id, rest.spec.as_str()), (7, r#"{"z":1.0,  "a":[0.10]}"#));
    }
}
