//! The health check between two waves: a call, and what its answer must be.

use std::time::Duration;

use minijinja::value::Serde;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::http_client::failure::shorten;
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::template::Template;
use windrow_model::{ErrorClass, Failure};

use super::command::{self, Run};
use super::config::{CallConfig, condition};
use crate::handler::{Trouble, thaw};
use crate::web::Web;

const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeConfig {
    pub call: CallConfig,
    /// Holds when all is well; over `now`, the answer. Without it, any good answer will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

pub struct Probe {
    config: ProbeConfig,
    expect: Option<Template>,
    web: Web,
    refs: ResolvedRefs,
}

impl Probe {
    pub fn new(config: Value, environment: &Environment) -> Result<Self, Failure> {
        let refs = ResolvedRefs::of(&config, environment)?;
        let config: ProbeConfig = thaw(config)?;
        let base_url = if let CallConfig::Http(http) = &config.call { http.url.as_str() } else { "" };
        let bad =
            |error: windrow_jobfile::template::TemplateError| Failure::new(ErrorClass::InvalidRequest, error.message);
        let expect = config.expect.as_ref().map(|text| Template::new(&condition(text))).transpose().map_err(bad)?;
        Ok(Self { expect, web: Web::new(base_url, TIMEOUT, refs.clone())?, refs, config })
    }

    pub async fn check(&self) -> Result<(), Failure> {
        let answer = match &self.config.call {
            CallConfig::Http(http) => {
                let method = http.method.clone().unwrap_or_else(|| "GET".to_owned());
                let request = Request {
                    headers: http.headers.clone(),
                    ..Request::new(&method, http.url.clone(), http.body.clone())
                };
                self.web.send(&request, None).await.map_err(|miss| miss.failure())?
            }
            CallConfig::Command(call) => {
                let env = call.env.clone().into_iter().collect();
                let run = Run { run: call.run.clone(), env, folder: call.folder.clone(), input: Value::Null };
                command::run(&run, &self.refs).await.map_err(Trouble::failure)?
            }
        };
        let Some(expect) = &self.expect else { return Ok(()) };
        let seen = json!({ "now": answer });
        let held = expect.render(&minijinja::Value::from(Serde(&seen)));
        let held = held.map_err(|error| Failure::new(ErrorClass::InvalidOutput, error.message))?;
        if held.trim() == "true" {
            return Ok(());
        }
        let expected = self.config.expect.as_deref().unwrap_or_default();
        Err(Failure::new(
            ErrorClass::InvalidOutput,
            format!("`{expected}` does not hold for {}", shorten(&answer.to_string(), 300)),
        ))
    }
}
