//! `windrow mock source`: the bundled paginated API, until it is stopped.

use std::time::Duration;

use windrow_mock::model::{Behaviour, Faults};
use windrow_mock::source::{self, Source};

use crate::cli::mock::{listen, serve};
use crate::cli::serve::duration;
use crate::error::{Exit, Result};

const DETAILS: &str = "\
  GET  /records    token in the body: ?page_token=…, next token at $.next
  GET  /headed     token in the header x-next-token
  GET  /linked     Link header with rel=\"next\"
  GET  /keyset     ?after=ID
  GET  /pages      ?page=N from 1
  POST /oauth/token      client credentials
  GET  /_stats           number of requests, pages and records
  POST /_grow/N          set the number of records to N

All endpoints accept ?limit=N, ?since=ID|TIME (newer records only), ?from= and ?to= (ids or times).
";

/// Start a mock paginated API for ingest
///
/// Needs no API key and no network. The first line on stdout is the base URL.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, default_value_t = 8098)]
    port: u16,
    /// Number of records
    #[arg(long, default_value_t = 10_000)]
    records: i64,
    /// Default number of records per page
    #[arg(long, default_value_t = 1000)]
    page_size: i64,
    /// Latency of a page
    #[arg(long, default_value = "0s", value_parser = duration)]
    latency: Duration,
    /// Faults to inject: STATUS|hang:PERCENT%[:retry_after=TIME],…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Rate limit in requests per minute; further requests get 429 with Retry-After
    #[arg(long, value_name = "N")]
    rpm: Option<usize>,
    /// Require this bearer token
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,
    /// Seed of the faults
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub async fn perform(args: Args) -> Result<Exit> {
    let listener = listen(args.port, "").await?;
    let behaviour = Behaviour { seed: args.seed, faults: args.faults, rpm: args.rpm, ..Behaviour::default() };
    let source = Source::new(args.records, args.page_size, args.latency, args.bearer, behaviour);
    serve(source::serve(listener, source)).await
}
