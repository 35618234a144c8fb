//! How one page leads to the next. A position is what the source itself calls it: a token, a URL, a key or
//! a number of a page.

use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde_json::Value;
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};

use super::config::{Pagination, rooted};
use crate::source::path::Path;

pub enum Paging {
    Whole,
    Token { param: String, next: Next },
    Link,
    Keyset { param: String, field: Path, size: Option<usize> },
    Page { param: String, start: i64, size: Option<usize> },
}

pub enum Next {
    Body(Path),
    Header(String),
}

impl Paging {
    pub fn of(config: &Pagination) -> Result<Self, Failure> {
        let path = |text: &str| Path::parse(&rooted(text)).map_err(invalid_request);
        if let Some(token) = &config.token {
            let next = match (&token.next, &token.header) {
                (Some(next), _) => Next::Body(path(next)?),
                (None, Some(header)) => Next::Header(header.clone()),
                (None, None) => return Err(invalid_request("`pagination.token` does not say where the next token is")),
            };
            return Ok(Self::Token { param: token.param.clone(), next });
        }
        if let Some(keyset) = &config.keyset {
            let field = path(&keyset.field)?;
            return Ok(Self::Keyset { param: keyset.param.clone(), field, size: keyset.size });
        }
        if let Some(page) = &config.page {
            return Ok(Self::Page { param: page.param.clone(), start: page.start, size: page.size });
        }
        Ok(if config.link == Some(true) { Self::Link } else { Self::Whole })
    }

    pub fn is_by_token(&self) -> bool {
        matches!(self, Self::Token { .. })
    }

    /// What the request for this position has in addition.
    pub fn param(&self, position: Option<&Value>) -> Option<(&str, String)> {
        match (self, position) {
            (Self::Token { param, .. } | Self::Keyset { param, .. }, Some(at)) => Some((param, text_of(at))),
            (Self::Page { param, .. }, Some(at)) => Some((param, text_of(at))),
            (Self::Page { param, start, .. }, None) => Some((param, start.to_string())),
            _ => None,
        }
    }

    /// A `Link` is a whole URL. One that leads to another host would be sent our credentials.
    pub fn url(&self, first: &Url, position: Option<&Value>) -> Result<Option<Url>, Failure> {
        let (Self::Link, Some(at)) = (self, position) else { return Ok(None) };
        let odd = |why: String| Failure::new(ErrorClass::InvalidOutput, why);
        let text = at.as_str().unwrap_or_default();
        let url = first.join(text).map_err(|error| odd(format!("the Link header names no URL: {error}")))?;
        match url.origin() == first.origin() {
            true => Ok(Some(url)),
            false => Err(odd(format!("the Link header leads to another host: {text}"))),
        }
    }

    /// Where the next page begins; `None` after the last one.
    pub fn next(&self, at: Option<&Value>, headers: &HeaderMap, answer: &Value, records: &[Value]) -> Option<Value> {
        let is_short = |size: &Option<usize>| records.is_empty() || size.is_some_and(|size| records.len() < size);
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        match self {
            Self::Whole => None,
            Self::Token { next: Next::Body(path), .. } => Some(path.value(answer)).filter(is_token),
            Self::Token { next: Next::Header(name), .. } => header(name).map(Value::String).filter(is_token),
            Self::Link => {
                let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
                links.flat_map(|links| links.split(',')).find_map(next_link).map(Value::String)
            }
            Self::Keyset { size, .. } if is_short(size) => None,
            Self::Keyset { field, .. } => records.last().map(|last| field.value(last)).filter(is_token),
            Self::Page { size, .. } if is_short(size) => None,
            Self::Page { start, .. } => Some((at.and_then(Value::as_i64).unwrap_or(*start) + 1).into()),
        }
    }
}

fn is_token(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

fn next_link(link: &str) -> Option<String> {
    let (url, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = rest.split(';').any(|part| {
        let part = part.trim().replace('"', "");
        part.strip_prefix("rel=").is_some_and(|rels| rels.split_whitespace().any(|rel| rel == "next"))
    });
    is_next.then(|| url.to_owned())
}

pub fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paging(config: Value) -> Paging {
        Paging::of(&serde_json::from_value(config).unwrap()).unwrap()
    }

    #[test]
    fn every_way_ends() {
        let none = HeaderMap::new();
        let token = paging(json!({ "token": { "param": "t", "next": "$.next" } }));
        assert_eq!(token.next(None, &none, &json!({ "next": "b" }), &[]), Some(json!("b")));
        for end in [json!({ "next": null }), json!({ "next": "" }), json!({})] {
            assert_eq!(token.next(Some(&json!("b")), &none, &end, &[json!({})]), None);
        }
        let keyset = paging(json!({ "keyset": { "param": "after", "field": "id", "size": 2 } }));
        let rows = [json!({ "id": 8 }), json!({ "id": 9 })];
        assert_eq!(keyset.next(None, &none, &Value::Null, &rows), Some(json!(9)));
        assert_eq!(keyset.next(None, &none, &Value::Null, &rows[..1]), None);
        let page = paging(json!({ "page": { "param": "p", "start": 0 } }));
        assert_eq!(page.param(None), Some(("p", "0".to_owned())));
        assert_eq!(page.next(None, &none, &Value::Null, &rows), Some(json!(1)));
        assert_eq!(page.next(Some(&json!(4)), &none, &Value::Null, &rows), Some(json!(5)));
        assert_eq!(page.next(Some(&json!(4)), &none, &Value::Null, &[]), None);
    }

    #[test]
    fn a_link_is_followed_on_its_own_host_only() {
        let link = paging(json!({ "link": true }));
        let mut headers = HeaderMap::new();
        headers.insert(LINK, r#"<https://a.example/x?p=1>; rel="prev", </x?p=3>; rel="next last""#.parse().unwrap());
        let next = link.next(None, &headers, &Value::Null, &[]).unwrap();
        let first: Url = "https://a.example/x".parse().unwrap();
        assert_eq!(link.url(&first, Some(&next)).unwrap().unwrap().as_str(), "https://a.example/x?p=3");
        assert!(link.url(&first, Some(&json!("https://b.example/x"))).is_err());
    }
}
