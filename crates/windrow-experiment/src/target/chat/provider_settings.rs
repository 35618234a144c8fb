//! The settings of a job file together with the provider they are for: address, key, identity, and what is wrong
//! with them.

use serde_json::json;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::environment::{BadReference, Environment, Resolved, has_reference};
use windrow_jobfile::http_client::{is_loopback, web_url};

use super::provider::Provider;
use super::settings::Settings;
use crate::definition::component::Issue;
use crate::target::account::check_limits;

impl Settings {
    pub fn base_url(&self, provider: &Provider) -> String {
        self.base_url.clone().unwrap_or_else(|| provider.base_url.to_owned())
    }

    /// Another endpoint is never sent the provider's key unasked.
    fn api_key(&self, provider: &Provider) -> Option<String> {
        match (&self.api_key, &self.base_url) {
            (None, None) if !provider.key_variable.is_empty() => Some(format!("${{env:{}}}", provider.key_variable)),
            (key, _) => key.clone(),
        }
    }

    /// The resolved key. A local endpoint may go without, since it mostly ignores it.
    pub fn key(
        &self,
        provider: &Provider,
        base_url: &str,
        environment: &Environment,
    ) -> Result<Option<Resolved>, String> {
        match self.api_key(provider).map(|key| environment.resolve_secret(&key)).transpose() {
            Ok(key) => Ok(key),
            Err(BadReference::Unset(_)) if is_loopback(base_url) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What is not in the request but shapes the answer. Neither the key nor a timeout nor a limit does.
    pub fn identity(&self, provider: &Provider) -> String {
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
        let mut identity = json!({
            "kind": provider.name,
            "model": self.model,
            "base_url": self.base_url(provider),
            "parameters": parameters,
        });
        if !self.headers.is_empty() {
            identity["headers"] = json!(self.headers);
        }
        canonical(&identity)
    }

    pub fn check(&self, provider: &Provider, environment: &Environment) -> Vec<Issue> {
        let mut issues = Vec::new();
        let base_url = self.base_url(provider);
        if base_url.is_empty() {
            let help = "for example: base_url: \"https://NAME.openai.azure.com/openai/v1\"";
            issues.push(Issue::problem("base_url", format!("`{}` needs a base_url", provider.name), help));
            return issues;
        }
        match environment.resolve(&base_url) {
            Ok(base_url) => {
                if let Err(wrong) = web_url(&base_url) {
                    issues.push(Issue::problem("base_url", wrong, "write it like http://127.0.0.1:8099/v1"));
                }
                issues.extend(self.check_key(provider, &base_url, environment));
            }
            Err(error) => {
                issues.push(Issue::problem("base_url", error.to_string(), "set it before running"));
                issues.extend(self.check_key(provider, &base_url, environment));
            }
        }
        if let Err(error) = environment.resolve(&self.model) {
            issues.push(Issue::problem("model", error.to_string(), "set it before running"));
        }
        for name in provider.dialect.reserved.iter().filter(|name| self.params.contains_key(**name)) {
            let message = format!("`{name}` cannot be set here: one plain answer per call is expected");
            issues.push(Issue::problem("params", message, "remove it"));
        }
        let set = [("seed", self.seed.is_some()), ("max_completion_tokens", self.max_completion_tokens.is_some())];
        for (name, _) in set.iter().filter(|(name, set)| *set && provider.dialect.unknown.contains(name)) {
            issues.push(Issue::problem(name, format!("`{}` has no such setting", provider.name), "remove it"));
        }
        issues.extend(self.check_headers(environment));
        issues.extend(check_limits(&self.limits));
        issues
    }

    fn check_headers(&self, environment: &Environment) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (name, value) in &self.headers {
            if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
                issues.push(Issue::problem("headers", format!("{name:?} cannot be a header's name"), "rename it"));
            }
            if let Err(error) = environment.resolve_secret(value) {
                issues.push(Issue::problem("headers", error.to_string(), "set it before running"));
            }
        }
        issues
    }

    fn check_key(&self, provider: &Provider, base_url: &str, environment: &Environment) -> Option<Issue> {
        let key = self.api_key(provider)?;
        let variable = if provider.key_variable.is_empty() { "API_KEY" } else { provider.key_variable };
        if !has_reference(&key) {
            // Elsewhere it is an error in any kind of job file.
            let warning = "api_key is written in the job file; it is stored with the run";
            return is_loopback(base_url).then(|| Issue::Warning(warning.to_owned()));
        }
        match environment.resolve_secret(&key) {
            Ok(_) => None,
            Err(BadReference::Unset(name)) if is_loopback(base_url) => {
                Some(Issue::Warning(format!("{name} is not set; calling the local endpoint without a key")))
            }
            Err(BadReference::Unset(name)) => {
                let help = format!("set it before running: export {name}=…");
                Some(Issue::problem("api_key", format!("the environment variable {name} is not set"), help))
            }
            Err(error @ BadReference::Malformed(_)) => {
                Some(Issue::problem("api_key", error.to_string(), format!("write it like ${{env:{variable}}}")))
            }
            Err(error) => Some(Issue::problem("api_key", error.to_string(), "then start it again")),
        }
    }
}
