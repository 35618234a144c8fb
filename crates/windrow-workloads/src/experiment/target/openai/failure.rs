//! Which class an unsuccessful call belongs to. The raw answer is kept for the person who has to
//! find out.

use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use windrow_model::{ErrorClass, Failure, Json};

use super::response::Unusable;
use super::retry_after::retry_after_ms;

const KEPT_BYTES: usize = 4096;

/// Nothing, or not everything, came back.
pub fn of_transport(error: reqwest::Error, url: &Url) -> Failure {
    let class = if error.is_timeout() { ErrorClass::Timeout } else { ErrorClass::Network };
    let place = format!("{}:{}", url.host_str().unwrap_or("?"), url.port_or_known_default().unwrap_or(0));
    let what = match class {
        ErrorClass::Timeout => format!("no answer from {place} in time"),
        _ if error.is_connect() => format!("cannot connect to {place}"),
        _ => format!("the connection to {place} broke"),
    };
    let mut reasons = vec![what];
    let error = error.without_url();
    let mut source = std::error::Error::source(&error);
    while let Some(reason) = source {
        reasons.push(reason.to_string());
        source = reason.source();
    }
    Failure::new(class, reasons.join(": "))
}

pub fn of_status(status: u16, headers: &HeaderMap, body: &str) -> Failure {
    let error = error_of(body);
    let class = class_of(status, &error);
    let said = match error["message"].as_str().filter(|message| !message.is_empty()) {
        Some(message) => shorten(message, 500).to_owned(),
        None if body.trim().is_empty() => "no explanation".to_owned(),
        None => shorten(body.trim(), 200).to_owned(),
    };
    Failure::new(class, format!("HTTP {status}: {said}"))
        .retry_after(retry_after_ms(headers))
        .with_detail(raw(status, body))
}

/// The status was good and the answer was not.
pub fn of_answer(unusable: Unusable, headers: &HeaderMap, body: &str) -> Failure {
    match unusable {
        // Some gateways report the provider's error under status 200.
        Unusable::Error { code: Some(code) } => of_status(code, headers, body),
        Unusable::Error { code: None } => {
            let class = match class_of(200, &error_of(body)) {
                ErrorClass::InvalidRequest => ErrorClass::InvalidOutput,
                class => class,
            };
            Failure::new(class, "the endpoint answered with an error").with_detail(raw(200, body))
        }
        Unusable::Filtered => {
            Failure::new(ErrorClass::ContentFilter, "the provider withheld the answer (content_filter)")
                .with_detail(raw(200, body))
        }
        Unusable::Malformed(reason) => {
            let message = format!("the answer is not a chat completion: {reason}");
            Failure::new(ErrorClass::InvalidOutput, message).with_detail(raw(200, body))
        }
    }
}

fn class_of(status: u16, error: &Value) -> ErrorClass {
    let says = |word: &str| error["code"].as_str() == Some(word) || error["type"].as_str() == Some(word);
    if says("insufficient_quota") || says("billing_hard_limit_reached") || status == 402 {
        return ErrorClass::Quota;
    }
    if says("content_filter") || says("content_policy_violation") {
        return ErrorClass::ContentFilter;
    }
    match status {
        401 | 403 => ErrorClass::Auth,
        408 => ErrorClass::Timeout,
        429 => ErrorClass::RateLimited,
        500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    }
}

/// `{"error": {…}}`; null where the body is something else.
fn error_of(body: &str) -> Value {
    serde_json::from_str::<Value>(body).ok().and_then(|body| body.get("error").cloned()).unwrap_or(Value::Null)
}

fn raw(status: u16, body: &str) -> Json {
    Json::of(&json!({ "status": status, "body": shorten(body, KEPT_BYTES) }))
}

fn shorten(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_class() {
        let class = |status, body: &str| of_status(status, &HeaderMap::new(), body).class;
        for (status, expected) in [
            (400, ErrorClass::InvalidRequest),
            (401, ErrorClass::Auth),
            (402, ErrorClass::Quota),
            (403, ErrorClass::Auth),
            (404, ErrorClass::InvalidRequest),
            (408, ErrorClass::Timeout),
            (422, ErrorClass::InvalidRequest),
            (429, ErrorClass::RateLimited),
            (500, ErrorClass::Server),
            (503, ErrorClass::Server),
            (529, ErrorClass::Server),
            (301, ErrorClass::InvalidRequest),
        ] {
            assert_eq!(class(status, "[]"), expected, "{status}");
        }
        assert_eq!(class(429, r#"{"error":{"code":"insufficient_quota"}}"#), ErrorClass::Quota);
        assert_eq!(class(400, r#"{"error":{"code":"content_filter"}}"#), ErrorClass::ContentFilter);
    }

    #[test]
    fn the_raw_answer_is_kept_but_not_all_of_a_long_one() {
        let failure = of_status(500, &HeaderMap::new(), &"é".repeat(5000));
        let detail = failure.detail.unwrap().value();
        assert_eq!(detail["body"].as_str().unwrap().len(), KEPT_BYTES);
        assert_eq!(detail["status"], 500);
    }
}
