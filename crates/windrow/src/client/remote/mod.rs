//! A Windrow server over HTTP, as given by `--server URL`. Responses have the shapes of `windrow-wire`; errors become
//! the [`Error`] that the command would give on a data directory.

mod address;
mod events;
mod import;
mod refused;
mod unreachable;

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windrow_wire::VERSION_HEADER;

use crate::error::{Code, Error, Result};

pub use address::ServerArgs;
pub use events::{Events, Happened};
pub use import::Upload;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// For a request; streams have no timeout. The server itself gives up after 60 s.
const TIMEOUT: Duration = Duration::from_secs(90);

/// No query.
pub const NOTHING: &[(&str, &str)] = &[];

#[derive(Debug, Clone)]
pub struct Remote {
    client: reqwest::Client,
    url: Url,
    key: Option<HeaderValue>,
    /// The URL came from the environment, so commands that are shown need not repeat it.
    by_environment: bool,
}

impl Remote {
    pub fn url(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// A command line for this same server, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        match self.by_environment {
            true => format!("windrow {arguments}"),
            false => format!("windrow --server {} {arguments}", self.url()),
        }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &(impl Serialize + ?Sized)) -> Result<T> {
        self.ask(self.request(Method::GET, path, query)).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T> {
        let body = serde_json::to_vec(body).expect("requests serialise to JSON");
        self.ask(self.request(Method::POST, path, NOTHING).header(CONTENT_TYPE, JSON).body(body)).await
    }

    /// As [`post`](Self::post), with a query.
    pub async fn post_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &(impl Serialize + ?Sized),
        body: &impl Serialize,
    ) -> Result<T> {
        let body = serde_json::to_vec(body).expect("requests serialise to JSON");
        self.ask(self.request(Method::POST, path, query).header(CONTENT_TYPE, JSON).body(body)).await
    }

    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &(impl Serialize + ?Sized),
        body: &impl Serialize,
    ) -> Result<T> {
        let body = serde_json::to_vec(body).expect("requests serialise to JSON");
        self.ask(self.request(Method::PUT, path, query).header(CONTENT_TYPE, JSON).body(body)).await
    }

    pub async fn patch<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T> {
        let body = serde_json::to_vec(body).expect("requests serialise to JSON");
        self.ask(self.request(Method::PATCH, path, NOTHING).header(CONTENT_TYPE, JSON).body(body)).await
    }

    /// One JSON object per line.
    pub async fn post_lines<T: DeserializeOwned>(&self, path: &[&str], lines: String) -> Result<T> {
        self.ask(self.request(Method::POST, path, NOTHING).header(CONTENT_TYPE, LINES).body(lines)).await
    }

    /// A body of any size.
    async fn upload<T: DeserializeOwned>(&self, path: &[&str], query: &impl Serialize, body: Body) -> Result<T> {
        let request = self.request(Method::POST, path, query).header(CONTENT_TYPE, BYTES).body(body);
        self.read(self.send(request).await?).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &[&str], query: &(impl Serialize + ?Sized)) -> Result<T> {
        self.ask(self.request(Method::DELETE, path, query)).await
    }

    /// Without a response body.
    pub async fn put_silently(&self, path: &[&str]) -> Result<()> {
        self.send(self.request(Method::PUT, path, NOTHING).timeout(TIMEOUT)).await.map(drop)
    }

    pub async fn delete_silently(&self, path: &[&str], query: &(impl Serialize + ?Sized)) -> Result<()> {
        self.send(self.request(Method::DELETE, path, query).timeout(TIMEOUT)).await.map(drop)
    }

    /// A streamed response.
    pub async fn open(&self, path: &[&str], query: &(impl Serialize + ?Sized)) -> Result<Response> {
        self.send(self.request(Method::GET, path, query)).await
    }

    /// Its next chunk.
    pub async fn piece(&self, answer: &mut Response) -> Result<Option<impl AsRef<[u8]> + use<>>> {
        answer.chunk().await.map_err(|error| unreachable::broken(self, error))
    }

    fn request(&self, method: Method, path: &[&str], query: &(impl Serialize + ?Sized)) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        let query = serde_urlencoded::to_string(query).expect("queries are plain fields");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        let request = self.client.request(method, url).header(ACCEPT, "application/json, */*");
        match &self.key {
            Some(key) => request.header(reqwest::header::AUTHORIZATION, key.clone()),
            None => request,
        }
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T> {
        self.read(self.send(request.timeout(TIMEOUT)).await?).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let answer = request.send().await.map_err(|error| unreachable::broken(self, error))?;
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(refused::error(self, answer).await),
        }
    }

    async fn read<T: DeserializeOwned>(&self, answer: Response) -> Result<T> {
        let version = version_of(&answer);
        let body = answer.bytes().await.map_err(|error| unreachable::broken(self, error))?;
        serde_json::from_slice(&body).map_err(|error| {
            let what = format!("invalid response of {}: {error}", self.url());
            let own = env!("CARGO_PKG_VERSION");
            let remedy = match version.as_deref() {
                None => "check that a Windrow server listens at this address".to_owned(),
                Some(version) if version == own => "report this as a bug".to_owned(),
                Some(version) => format!("the server has version {version}, this is {own}: use the same on both sides"),
            };
            Error::new(what, remedy).coded(Code::Failed)
        })
    }
}

fn version_of(answer: &Response) -> Option<String> {
    Some(answer.headers().get(VERSION_HEADER)?.to_str().ok()?.to_owned())
}
