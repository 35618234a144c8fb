//! Which class an unsuccessful call belongs to. The raw answer is kept for the person who has to
//! find out.

use std::error::Error;

use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use windrow_model::{ErrorClass, Failure, Json};

pub use super::retry_after::retry_after_ms;

const KEPT_BYTES: usize = 4096;

/// Nothing, or not everything, came back.
pub fn of_transport(error: reqwest::Error, url: &Url) -> Failure {
    let class = if error.is_timeout() { ErrorClass::Timeout } else { ErrorClass::Network };
    let (url, is_connect) = (shown(url), error.is_connect());
    let what = match class {
        ErrorClass::Timeout => format!("no answer from {url} in time"),
        _ if is_connect => format!("cannot reach {url}"),
        _ => format!("the connection to {url} broke"),
    };
    let error = error.without_url();
    let causes: Vec<&(dyn Error + 'static)> =
        std::iter::successors(Error::source(&error), |error| Error::source(*error)).collect();
    let plain = causes.iter().find_map(|cause| plain_cause(*cause)).filter(|_| is_connect);
    let causes: Vec<String> =
        plain.map_or_else(|| causes.iter().map(ToString::to_string).collect(), |cause| vec![cause.to_owned()]);
    Failure::new(class, std::iter::once(what).chain(causes).collect::<Vec<_>>().join(": "))
}

/// The usual ones in a few words, without the names of the layers that passed them on.
fn plain_cause(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    let refused = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    if cause.downcast_ref::<std::io::Error>().is_some_and(refused) {
        return Some("connection refused");
    }
    cause.to_string().starts_with("dns error").then_some("unknown host")
}

/// A URL in messages: no query, which may hold a secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// The answer's failure, with where it came from: `HTTP 404 from https://…: no such model`.
pub fn naming(url: &Url, failure: Failure) -> Failure {
    let Some((status, said)) = failure.message.strip_prefix("HTTP ").and_then(|rest| rest.split_once(": ")) else {
        return failure;
    };
    Failure { message: format!("HTTP {status} from {}: {said}", shown(url)), ..failure }
}

pub fn of_status(status: u16, headers: &HeaderMap, body: &str) -> Failure {
    let error = error_of(body);
    let class = class_of(status, &error);
    let said = match message_of(&error) {
        Some(message) => shorten(message, 500).to_owned(),
        None if body.trim().is_empty() => "no explanation".to_owned(),
        None => shorten(body.trim(), 200).to_owned(),
    };
    Failure::new(class, format!("HTTP {status}: {said}"))
        .retry_after(retry_after_ms(headers).or_else(|| retry_delay_ms(&error)))
        .with_detail(raw(status, body))
}

/// An answer came, under a good status, that is not what was asked for.
pub enum Unusable {
    /// An error object, with the HTTP status it names.
    Error {
        code: Option<u16>,
    },
    Filtered(String),
    Malformed(String),
}

/// The status was good and the answer was not.
pub fn of_answer(unusable: Unusable, headers: &HeaderMap, body: &str) -> Failure {
    match unusable {
        // Some gateways report the provider's error under status 200.
        Unusable::Error { code: Some(code) } => of_status(code, headers, body),
        Unusable::Error { code: None } => {
            let error = error_of(body);
            let class = match class_of(200, &error) {
                ErrorClass::InvalidRequest => ErrorClass::InvalidOutput,
                class => class,
            };
            let said = message_of(&error).map(|said| format!(": {}", shorten(said, 500))).unwrap_or_default();
            Failure::new(class, format!("the endpoint answered with an error{said}")).with_detail(raw(200, body))
        }
        Unusable::Filtered(reason) => {
            let message = format!("the provider withheld the answer ({reason})");
            Failure::new(ErrorClass::ContentFilter, message).with_detail(raw(200, body))
        }
        Unusable::Malformed(reason) => {
            let message = format!("the answer is not what was asked for: {reason}");
            Failure::new(ErrorClass::InvalidOutput, message).with_detail(raw(200, body))
        }
    }
}

fn class_of(status: u16, error: &Value) -> ErrorClass {
    let says = |word: &str| ["code", "type", "status"].iter().any(|field| error[field].as_str() == Some(word));
    let mentions = |words: &str| message_of(error).is_some_and(|message| message.contains(words));
    if says("insufficient_quota") || says("billing_hard_limit_reached") || says("billing_error") || status == 402 {
        return ErrorClass::Quota;
    }
    // Two providers say under 400 what others have a status for.
    if mentions("credit balance is too low") {
        return ErrorClass::Quota;
    }
    if mentions("API key not valid") {
        return ErrorClass::Auth;
    }
    if says("content_filter") || says("content_policy_violation") {
        return ErrorClass::ContentFilter;
    }
    // Inside a stream an error has no HTTP status.
    if status < 400 {
        return match () {
            () if says("overloaded_error") || says("api_error") || says("server_error") => ErrorClass::Server,
            () if says("rate_limit_error") || says("rate_limit_exceeded") => ErrorClass::RateLimited,
            () => ErrorClass::InvalidRequest,
        };
    }
    match status {
        401 | 403 => ErrorClass::Auth,
        408 => ErrorClass::Timeout,
        429 => ErrorClass::RateLimited,
        500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    }
}

/// `{"error": {…}}`, also as the only element of a list; the whole body where it says more than that.
fn error_of(body: &str) -> Value {
    let body = match serde_json::from_str::<Value>(body) {
        Ok(Value::Array(mut list)) if !list.is_empty() => list.swap_remove(0),
        Ok(body) => body,
        Err(_) => Value::Null,
    };
    match body.get("error") {
        Some(error @ (Value::Object(_) | Value::String(_))) => error.clone(),
        _ => body,
    }
}

fn message_of(error: &Value) -> Option<&str> {
    let candidates = [error.as_str(), error["message"].as_str(), error["detail"].as_str()];
    candidates.into_iter().flatten().find(|message| !message.is_empty())
}

/// Gemini says in the body how long to wait: `{"retryDelay": "17s"}`.
fn retry_delay_ms(error: &Value) -> Option<i64> {
    let details = error["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Some((seconds.max(0.0) * 1000.0).ceil() as i64)
}

fn raw(status: u16, body: &str) -> Json {
    Json::of(&json!({ "status": status, "body": shorten(body, KEPT_BYTES) }))
}

pub fn shorten(text: &str, bytes: usize) -> &str {
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
        assert_eq!(class(400, r#"{"error":{"message":"Your credit balance is too low"}}"#), ErrorClass::Quota);
        assert_eq!(class(400, r#"[{"error":{"message":"API key not valid."}}]"#), ErrorClass::Auth);
    }

    #[test]
    fn the_message_is_found_in_every_form() {
        let message = |body: &str| of_status(400, &HeaderMap::new(), body).message;
        for body in [
            r#"{"error":{"message":"no"}}"#,
            r#"{"error":"no"}"#,
            r#"{"message":"no"}"#,
            r#"{"detail":"no"}"#,
            r#"[{"error":{"message":"no","code":400}}]"#,
            "no",
        ] {
            assert_eq!(message(body), "HTTP 400: no", "{body}");
        }
        let body = r#"{"error":{"message":"slow","details":[{"retryDelay":"1.5s"}]}}"#;
        assert_eq!(of_status(429, &HeaderMap::new(), body).retry_after_ms, Some(1500));
    }

    #[test]
    fn a_failed_call_names_its_url_without_the_query() {
        let url: Url = "https://api.example.com/v1/chat?key=secret-1".parse().unwrap();
        let failure = naming(&url, of_status(404, &HeaderMap::new(), "no such model"));
        assert_eq!(failure.message, "HTTP 404 from https://api.example.com/v1/chat: no such model");
        assert_eq!(naming(&url, Failure::new(ErrorClass::Network, "gone")).message, "gone");
    }

    #[test]
    fn the_raw_answer_is_kept_but_not_all_of_a_long_one() {
        let failure = of_status(500, &HeaderMap::new(), &"é".repeat(5000));
        let detail = failure.detail.unwrap().value();
        assert_eq!(detail["body"].as_str().unwrap().len(), KEPT_BYTES);
        assert_eq!(detail["status"], 500);
    }
}
