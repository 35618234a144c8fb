//! `windrow mock model`: the bundled model endpoint, until it is stopped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windrow_mock::model::{self, Behaviour, Faults, Log, Phases, Script};

use crate::cli::mock::{listen, serve};
use crate::cli::serve::duration;
use crate::error::{Error, Exit, Result};

const DETAILS: &str = "\
Answers questions about capitals, sums (\"What is 12 + 30?\"), orders of a shop, and `Say: …`. Calls tools, returns \
JSON for a schema, grades and compares answers, simulates a user with a goal, and makes deliberate mistakes.

  POST /v1/chat/completions    OpenAI and compatible APIs, also streamed
  POST /v1/embeddings          texts that share words are similar
  POST /v1/messages            Anthropic
  POST /v1beta/models/MODEL:generateContent   Gemini
  POST /api/chat               Ollama
  GET  /_stats                 requests and responses; ?bodies=all includes every request
";

/// Start a mock model API
///
/// Deterministic: the same question gets the same answer. Needs no API key and no network. The first line on
/// stdout is the base URL.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, default_value_t = 8099)]
    port: u16,
    /// Latency of a response
    #[arg(long, default_value = "50ms", value_parser = duration)]
    latency: Duration,
    /// Variation of the latency between questions, e.g. 30% or 0.3
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = share)]
    jitter: f64,
    /// Faults to inject: STATUS|hang|reset:PERCENT%[:retry_after=TIME],…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Faults in sequence, from the first request: DURATION:STATUS|hang,…
    #[arg(long, value_name = "SPEC", default_value = "")]
    phases: Phases,
    /// Rate limit in requests per minute; further requests get 429 with Retry-After
    #[arg(long, value_name = "N")]
    rpm: Option<usize>,
    /// Seed of mistakes, faults and latencies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// YAML file with custom replies, a list of { match: REGEX, reply: TEMPLATE }
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Append one JSON line per request to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

pub async fn perform(args: Args) -> Result<Exit> {
    let script = args.script.as_deref().map(read_script).transpose()?.unwrap_or_default();
    let log = match &args.log {
        Some(path) => Log::to(path).map_err(|error| unreadable(path, &error.to_string()))?,
        None => Log::default(),
    };
    let listener = listen(args.port, "/v1").await?;
    let behaviour = Behaviour {
        latency: args.latency,
        jitter: args.jitter,
        seed: args.seed,
        faults: args.faults,
        phases: args.phases,
        rpm: args.rpm,
        script,
    };
    serve(model::serve(listener, behaviour, log)).await
}

fn read_script(path: &Path) -> Result<Script> {
    let yaml = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))?;
    Script::parse(&yaml).map_err(|wrong| {
        let remedy = "write a list of { match: REGEX, reply: TEMPLATE }";
        Error::new(format!("{}: {wrong}", path.display()), remedy)
    })
}

fn unreadable(path: &Path, error: &str) -> Error {
    Error::new(format!("{}: {error}", path.display()), "check the path and its permissions")
}

/// `3%` or `0.03`
pub fn share(text: &str) -> std::result::Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be between 0% and 100%, e.g. 3% or 0.03".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!([share("3%"), share("0.03"), share("100 %")], [Ok(0.03), Ok(0.03), Ok(1.0)]);
        assert!(share("101%").is_err() && share("3").is_err() && share("few").is_err());
    }
}
