//! `windrow mock-source`: the bundled API with pages, until it is stopped.

use std::io::Write;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::error::{Error, Exit, Result};
use windrow_mock::model::{Behaviour, Faults};
use windrow_mock::source::{self, Source};

const DETAILS: &str = "\
  GET  /records    token in the body: ?page_token=…, next token at $.next
  GET  /headed     token in the header x-next-token
  GET  /linked     Link header with rel=\"next\"
  GET  /keyset     ?after=ID
  GET  /pages      ?page=N from 1
  POST /oauth/token      client credentials
  GET  /_stats           how many requests, pages and records
  POST /_grow/N          there are N records from now on

Every way takes ?limit=N, ?since=ID|MOMENT (only newer ones), ?from= and ?to= (ids or moments).

Examples:
  windrow mock-source --records 100000
  windrow mock-source --faults \"503:5%,429:2%:retry_after=1s\" --latency 20ms
  windrow mock-source --rpm 600 --bearer s3cret-token
";

/// An API with pages of records on this machine, for examples and tests of ingest.
///
/// Needs no key and no network. The first line it prints is its base URL.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Where to listen on 127.0.0.1; 0 picks a free port
    #[arg(long, default_value_t = 8098)]
    port: u16,
    /// How many records there are
    #[arg(long, default_value_t = 10_000)]
    records: i64,
    /// Records of a page, unless a request says otherwise
    #[arg(long, default_value_t = 1000)]
    page_size: i64,
    /// How long a page takes
    #[arg(long, default_value = "0s", value_parser = duration)]
    latency: Duration,
    /// What goes wrong, and how often: STATUS|hang:SHARE%[:retry_after=TIME],…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Requests per minute; what is beyond is answered 429 with Retry-After
    #[arg(long, value_name = "N")]
    rpm: Option<usize>,
    /// Only requests with this bearer token are answered
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,
    /// Another seed: other faults
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub async fn perform(args: Args) -> Result<Exit> {
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await.map_err(|error| {
        let what = format!("cannot listen on 127.0.0.1:{}: {error}", args.port);
        Error::new(what, "choose another port with --port, or --port 0 for any free one")
    })?;
    let address = listener.local_addr().map_err(|error| Error::new(format!("no address: {error}"), "try again"))?;
    println!("http://{address}");
    // Whoever started this reads the line through a pipe and waits for it; a closed pipe is their choice.
    let _ = std::io::stdout().flush();
    let behaviour = Behaviour { seed: args.seed, faults: args.faults, rpm: args.rpm, ..Behaviour::default() };
    let source = Source::new(args.records, args.page_size, args.latency, args.bearer, behaviour);
    tokio::select! {
        served = source::serve(listener, source) => {
            served.map_err(|error| Error::new(format!("the source broke: {error}"), "start it again"))?;
        }
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Exit::Passed)
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<windrow_jobfile::duration::Duration>().map(|duration| duration.to_std())
}
