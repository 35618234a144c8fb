//! `http:` in a job file.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;

use windrow_model::limit::Limits;

use super::GIVEN;
use crate::definition::component::{Config, Issue, condition_template};
use crate::target::account::check_limits;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::{BadReference, Environment, has_reference};
use windrow_jobfile::http_client::web_url;
use windrow_jobfile::template::Template;
use windrow_jobfile::templated::{Templated, texts};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    /// A template. It may begin with a reference: `${env:SERVICE_URL}/ask`.
    pub url: String,
    /// POST where there is a body, GET otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Templates, or references to the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A template, or JSON with templates in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Where in the answer the output is; all of it where this is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Something there means that the call failed, whatever the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsagePaths>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<PollConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackConfig>,
    /// Shared with whatever else sends the same secret headers to the same host.
    #[serde(default, skip_serializing_if = "Limits::are_none")]
    pub limits: Limits,
    /// For one exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsagePaths {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// In dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PollConfig {
    /// A template that sees the first answer as `response`, and `headers.location`.
    pub url: String,
    /// An expression over `response` and `status`.
    pub until: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// From handing in to the result.
    #[serde(default = "default_patience")]
    pub timeout: Duration,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackConfig {
    /// Where this process listens while it runs.
    pub listen: SocketAddr,
    /// How the service reaches it; a template that sees `token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    #[serde(default = "default_patience")]
    pub timeout: Duration,
}

fn default_interval() -> Duration {
    Duration::from_secs(1)
}

fn default_patience() -> Duration {
    Duration::from_secs(600)
}

impl HttpConfig {
    pub fn method(&self) -> Result<reqwest::Method, String> {
        let given = self.method.as_deref().map(str::to_uppercase);
        let name = given.unwrap_or_else(|| if self.body.is_some() { "POST" } else { "GET" }.to_owned());
        name.parse().map_err(|_| format!("{name:?} is not a method"))
    }

    /// The reference it begins with, and the rest.
    pub fn split_url(&self) -> (&str, &str) {
        match self.url.starts_with("${env:").then(|| self.url.find('}')).flatten() {
            Some(end) => self.url.split_at(end + 1),
            None => ("", &self.url),
        }
    }

    fn paths(&self) -> Vec<(&'static str, &str)> {
        let usage = self.usage.iter().flat_map(|usage| [&usage.input, &usage.output, &usage.cost]);
        let usage = usage.map(|path| ("usage", path));
        let own = [("output", &self.output), ("error", &self.error), ("tool_calls", &self.tool_calls)];
        own.into_iter().chain(usage).filter_map(|(field, path)| Some((field, path.as_deref()?))).collect()
    }

    fn check_url(&self, environment: &Environment) -> Vec<Issue> {
        let (prefix, rest) = self.split_url();
        if prefix.is_empty() && self.url.contains("${secret:") {
            let help = "send the secret in a header";
            return vec![Issue::problem("url", BadReference::Misplaced.to_string(), help)];
        }
        if has_reference(rest) {
            let help = "begin with the reference, or send the secret in a header";
            return vec![Issue::problem("url", "a reference may stand only at the beginning", help)];
        }
        let resolved = match environment.resolve(prefix) {
            Ok(resolved) => resolved,
            Err(error) => return vec![Issue::problem("url", error.to_string(), "set it before running")],
        };
        // What a template will make of it is not known yet; its beginning is.
        let fixed = format!("{resolved}{}", rest.split("{{").next().unwrap_or_default());
        let wrong = web_url(&fixed).err().filter(|_| !fixed.is_empty());
        wrong.map(|wrong| Issue::problem("url", wrong, "write it like http://127.0.0.1:8080/ask")).into_iter().collect()
    }

    fn check_headers(&self, environment: &Environment) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (name, value) in &self.headers {
            if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
                issues.push(Issue::problem("headers", format!("{name:?} cannot be a header's name"), "rename it"));
            }
            if has_reference(value) && value.contains("{{") {
                let message = format!("the header {name} has a reference and a template");
                issues.push(Issue::problem("headers", message, "use one of them: a secret is not mixed with a row"));
            }
            if let Err(error) = environment.resolve_secret(value) {
                issues.push(Issue::problem("headers", error.to_string(), "set it before running"));
            }
        }
        issues
    }

    fn check_later(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        if self.poll.is_some() && self.callback.is_some() {
            issues.push(Issue::problem("callback", "a service is polled or calls back, not both", "keep one"));
        }
        if self.callback.as_ref().is_some_and(|callback| callback.listen.port() == 0) {
            let message = "`listen` needs a port that is the same after a restart";
            issues.push(Issue::problem("callback", message, "for example: listen: \"127.0.0.1:8787\""));
        }
        let poll = self.poll.iter().flat_map(|poll| [("poll", Some(&poll.until)), ("poll", poll.failed.as_ref())]);
        let callback = self.callback.iter().map(|callback| ("callback", callback.failed.as_ref()));
        for (field, condition) in poll.chain(callback) {
            let Some(condition) = condition else { continue };
            if let Err(error) = Template::new(&condition_template(condition)) {
                let message = format!("`{condition}` is not an expression: {}", error.message);
                issues.push(Issue::problem(field, message, "for example: response.status == \"done\""));
            }
        }
        let urls = self.poll.iter().map(|poll| ("poll", &poll.url));
        let urls = urls.chain(self.callback.iter().filter_map(|callback| Some(("callback", callback.url.as_ref()?))));
        for (field, url) in urls {
            if let Err(error) = Template::new(url) {
                issues.push(Issue::problem(
                    field,
                    format!("its url: {}", error.message),
                    "variables are written {{ name }}",
                ));
            }
        }
        issues
    }
}

impl Config for HttpConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        let headers =
            self.headers.values().filter(|value| !has_reference(value)).map(|value| ("headers", value.as_str()));
        let body = self.body.iter().flat_map(texts).map(|text| ("body", text));
        std::iter::once(("url", self.split_url().1)).chain(headers).chain(body).collect()
    }

    fn given(&self) -> &'static [&'static str] {
        GIVEN
    }

    fn check(&self, environment: &Environment) -> Vec<Issue> {
        let mut issues = self.check_url(environment);
        issues.extend(self.check_headers(environment));
        issues.extend(self.check_later());
        issues.extend(check_limits(&self.limits));
        issues.extend(self.method().err().map(|wrong| Issue::problem("method", wrong, "for example: POST")));
        for (field, path) in self.paths() {
            if let Err(error) = JsonPath::parse(path) {
                let help = "the syntax is that of RFC 9535, for example: $.answer.text";
                issues.push(Issue::problem(field, format!("{path:?} is not a JSONPath query: {error}"), help));
            }
        }
        if let Some(body) = &self.body {
            if texts(body).any(has_reference) {
                let help = "send the secret in a header: headers: { authorization: \"Bearer ${secret:NAME}\" }";
                issues.push(Issue::problem("body", "a body is recorded and must hold no secret", help));
            }
            // A template that is wrong is reported with the others; here only what they do not see.
            if texts(body).all(|text| Template::new(text).is_ok())
                && let Err(error) = Templated::new(body)
            {
                issues.push(Issue::problem("body", error.message, "correct the template"));
            }
        }
        issues
    }
}
