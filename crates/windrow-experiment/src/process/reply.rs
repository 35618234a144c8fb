//! What a process answered: JSON, in which `{"error": …}` is a failure that the code itself reports.

use serde::Deserialize;
use serde_json::Value;
use windrow_model::{ErrorClass, Failure, Json};

/// `{"error": "text"}`, or with a class and a wait: what may pass is tried again.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reported {
    Text(String),
    Classified {
        message: String,
        #[serde(default)]
        class: Option<ErrorClass>,
        #[serde(default)]
        retry_after_ms: Option<i64>,
    },
}

pub fn opened(reply: &str) -> Result<Value, Failure> {
    let value: Value = serde_json::from_str(reply.trim()).map_err(|error| {
        let message = format!("the process wrote something that is not JSON: {error}");
        Failure::new(ErrorClass::Handler, message).with_detail(Json::of(reply.trim()))
    })?;
    let Some(error) = value.get("error").filter(|error| !error.is_null()) else { return Ok(value) };
    Err(match Reported::deserialize(error) {
        Ok(Reported::Text(message)) => Failure::new(ErrorClass::Handler, message),
        Ok(Reported::Classified { message, class, retry_after_ms }) => {
            Failure::new(class.unwrap_or(ErrorClass::Handler), message).retry_after(retry_after_ms)
        }
        Err(_) => Failure::new(ErrorClass::Handler, error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_reported_keeps_its_class() {
        assert_eq!(opened(" {\"score\": 1} \n").unwrap()["score"], 1);
        let failure = opened(r#"{"error": {"message": "slow down", "class": "rate_limited", "retry_after_ms": 500}}"#);
        let failure = failure.unwrap_err();
        assert_eq!((failure.class, failure.retry_after_ms), (ErrorClass::RateLimited, Some(500)));
        assert_eq!(opened(r#"{"error": "no"}"#).unwrap_err(), Failure::new(ErrorClass::Handler, "no"));
        assert_eq!(opened("ok?").unwrap_err().class, ErrorClass::Handler);
    }
}
