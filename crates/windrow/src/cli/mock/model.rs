//! `windrow mock-model`: the bundled model endpoint, until it is stopped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::error::{Error, Exit, Result};
use windrow_mock::model::{self, Behaviour, Faults, Log, Phases, Script};

const DETAILS: &str = "\
It knows capitals, sums (\"What is 12 + 30?\"), a shop's orders, and `Say: …`; calls tools, writes JSON of
a schema, grades answers, compares two, plays a user with a goal, and errs now and then on purpose.

  POST /v1/chat/completions    OpenAI and everything compatible, also streamed
  POST /v1/embeddings          texts with words in common are near each other
  POST /v1/messages            Anthropic
  POST /v1beta/models/MODEL:generateContent   Gemini
  POST /api/chat               Ollama
  GET  /_stats                 what came in and how it was answered; ?bodies=all for every request

Examples:
  windrow mock-model
  windrow mock-model --faults \"429:20%:retry_after=1s,500:5%,hang:1%,reset:1%\"
  windrow mock-model --phases \"10s:429,5s:500,5s:hang\" --rpm 600
  windrow mock-model --script replies.yaml    a list of { match: REGEX, reply: TEMPLATE }
";

/// A deterministic model endpoint on this machine, for examples and tests.
///
/// Needs no key and no network. The same question always gets the same answer. The first line it
/// prints is its base URL.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Where to listen on 127.0.0.1; 0 picks a free port
    #[arg(long, default_value_t = 8099)]
    port: u16,
    /// How long an answer takes
    #[arg(long, default_value = "50ms", value_parser = duration)]
    latency: Duration,
    /// How much the latency differs from question to question: 0.3 is 30% either way
    #[arg(long, default_value_t = 0.3, value_parser = share)]
    jitter: f64,
    /// What goes wrong, and how often: STATUS|hang|reset:SHARE%[:retry_after=TIME],…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// What goes wrong for how long, one after the other, from the first request on
    #[arg(long, value_name = "SPEC", default_value = "")]
    phases: Phases,
    /// Requests per minute; what is beyond is answered 429 with Retry-After
    #[arg(long, value_name = "N")]
    rpm: Option<usize>,
    /// Another seed: other mistakes, other faults, other latencies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Replies of your own, which come first (YAML)
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Append one line of JSON per request
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

pub async fn perform(args: Args) -> Result<Exit> {
    let script = args.script.as_deref().map(read_script).transpose()?.unwrap_or_default();
    let log = match &args.log {
        Some(path) => Log::to(path).map_err(|error| unreadable(path, &error.to_string()))?,
        None => Log::default(),
    };
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await.map_err(|error| {
        let what = format!("cannot listen on 127.0.0.1:{}: {error}", args.port);
        Error::new(what, "choose another port with --port, or --port 0 for any free one")
    })?;
    let address = listener.local_addr().map_err(|error| Error::new(format!("no address: {error}"), "try again"))?;
    println!("http://{address}/v1");
    // Whoever started this reads the line through a pipe and waits for it; a closed pipe is their choice.
    let _ = std::io::stdout().flush();
    let behaviour = Behaviour {
        latency: args.latency,
        jitter: args.jitter,
        seed: args.seed,
        faults: args.faults,
        phases: args.phases,
        rpm: args.rpm,
        script,
    };
    tokio::select! {
        served = model::serve(listener, behaviour, log) => {
            served.map_err(|error| Error::new(format!("the endpoint broke: {error}"), "start it again"))?;
        }
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Exit::Passed)
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

pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<windrow_jobfile::duration::Duration>().map(|duration| duration.to_std())
}

pub fn share(text: &str) -> std::result::Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "write a number from 0 to 1".to_owned())?;
    (0.0..=1.0).contains(&share).then_some(share).ok_or_else(|| "write a number from 0 to 1".to_owned())
}
