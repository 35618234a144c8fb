//! `openai:` in a job file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::canonical::canonical;
use crate::duration::Duration;
use crate::environment::{BadReference, Environment, has_reference};
use crate::experiment::component::{Config, Finding};

const OFFICIAL_URL: &str = "https://api.openai.com/v1";
const OFFICIAL_KEY: &str = "${env:OPENAI_API_KEY}";
/// Parameters that have their own field or would change the form of the answer.
const NOT_PARAMETERS: &[&str] = &["model", "messages", "stream", "n"];

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiConfig {
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A reference such as `${env:OPENAI_API_KEY}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// For one call; the item's own limit where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Any other parameter of the API.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
}

impl OpenAiConfig {
    pub fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(OFFICIAL_URL)
    }

    fn api_key(&self) -> Option<&str> {
        match (&self.api_key, &self.base_url) {
            (None, None) => Some(OFFICIAL_KEY),
            (key, _) => key.as_deref(),
        }
    }

    /// The resolved key. A local endpoint may go without, since it mostly ignores it.
    pub fn key(&self, base_url: &str, environment: &Environment) -> Result<Option<String>, String> {
        match self.api_key().map(|key| environment.resolve(key)).transpose() {
            Ok(key) => Ok(key),
            Err(BadReference::Unset(_)) if is_loopback(base_url) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    pub fn parameters(&self) -> Map<String, Value> {
        let mut parameters = self.params.clone();
        let own = [
            ("temperature", json!(self.temperature)),
            ("top_p", json!(self.top_p)),
            ("max_tokens", json!(self.max_tokens)),
            ("max_completion_tokens", json!(self.max_completion_tokens)),
            ("seed", json!(self.seed)),
            ("stop", json!(self.stop)),
        ];
        parameters.extend(own.into_iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.to_owned(), v)));
        parameters
    }

    /// Neither the key nor a timeout changes what the model says.
    pub fn identity(&self) -> String {
        canonical(&json!({
            "kind": "openai",
            "model": self.model,
            "base_url": self.base_url(),
            "parameters": self.parameters(),
        }))
    }

    fn check_key(&self, base_url: &str, environment: &Environment) -> Option<Finding> {
        let key = self.api_key()?;
        if !has_reference(key) {
            let help = "put the key in an environment variable and write \"${env:OPENAI_API_KEY}\"";
            return Some(match is_loopback(base_url) {
                true => Finding::Warning("api_key is written in the job file; it is stored with the run".to_owned()),
                false => Finding::problem("api_key", "a key must not stand in the job file, which is stored", help),
            });
        }
        match environment.resolve(key) {
            Ok(_) => None,
            Err(BadReference::Unset(name)) if is_loopback(base_url) => {
                Some(Finding::Warning(format!("{name} is not set; calling the local endpoint without a key")))
            }
            Err(BadReference::Unset(name)) => {
                let help = format!("set it before running: export {name}=…");
                Some(Finding::problem("api_key", format!("the environment variable {name} is not set"), help))
            }
            Err(error) => Some(Finding::problem("api_key", error.to_string(), "write it like ${env:OPENAI_API_KEY}")),
        }
    }
}

impl Config for OpenAiConfig {
    fn check(&self, environment: &Environment) -> Vec<Finding> {
        let mut findings = Vec::new();
        match environment.resolve(self.base_url()) {
            Ok(base_url) => {
                if let Err(wrong) = chat_url(&base_url) {
                    findings.push(Finding::problem("base_url", wrong, "write it like http://127.0.0.1:8099/v1"));
                }
                findings.extend(self.check_key(&base_url, environment));
            }
            Err(error) => findings.push(Finding::problem("base_url", error.to_string(), "set it before running")),
        }
        if let Err(error) = environment.resolve(&self.model) {
            findings.push(Finding::problem("model", error.to_string(), "set it before running"));
        }
        for name in NOT_PARAMETERS.iter().filter(|name| self.params.contains_key(**name)) {
            let message = format!("`{name}` cannot be set here: one plain answer per call is expected");
            findings.push(Finding::problem("params", message, "remove it"));
        }
        findings
    }
}

pub fn chat_url(base_url: &str) -> Result<reqwest::Url, String> {
    let url: reqwest::Url = format!("{}/chat/completions", base_url.trim_end_matches('/'))
        .parse()
        .map_err(|error| format!("{base_url:?} is not a URL: {error}"))?;
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err("a URL with a password in it would be stored; use api_key".to_owned())
        }
        "http" | "https" => Ok(url),
        other => Err(format!("a URL must begin with http:// or https://, not {other}:")),
    }
}

pub fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = base_url.parse::<reqwest::Url>() else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
