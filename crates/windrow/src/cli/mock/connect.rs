//! `windrow mock connect`: the bundled mock of the Kafka Connect API, until it is stopped.

use std::time::Duration;

use windrow_mock::connect::{self, Behaviour, Faults};

use crate::cli::mock::model::share;
use crate::cli::mock::{listen, serve};
use crate::cli::serve::duration;
use crate::error::{Exit, Result};

const DETAILS: &str = "\
Each cluster has its own path: /east has the connectors orders-0000, orders-0001 …; any other, e.g. /west, is \
empty. GET /_stats counts the changes, and lists connectors that were ever running in two clusters. POST /_insert/N \
adds N transactions of two rows to the database that running connectors read; GET /_sent lists what they sent.";

/// Start a mock Kafka Connect API
///
/// States are applied with a delay, a rebalance returns 409, offsets can be changed only while a connector is
/// stopped, and calls can return 500 although they took effect. The first line on stdout is the URL of the first
/// cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, default_value_t = 8083)]
    port: u16,
    /// Initial number of connectors
    #[arg(long, value_name = "N", default_value_t = 50)]
    connectors: usize,
    /// Delay until a requested state is reached
    #[arg(long, default_value = "200ms", value_parser = duration)]
    delay: Duration,
    /// Faults to inject: 409|500|after|timeout:PERCENT%,…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Time before a call with the fault `timeout` returns 500
    #[arg(long, default_value = "3s", value_parser = duration)]
    hang: Duration,
    /// Share of connectors whose tasks fail after a configuration change, e.g. 3% or 0.03
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    broken: f64,
    /// Seed of the faults
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub async fn perform(args: Args) -> Result<Exit> {
    let listener = listen(args.port, "/east").await?;
    let Args { connectors, delay, hang, faults, broken, seed, .. } = args;
    let behaviour = Behaviour { connectors, delay, hang, faults, broken, seed };
    serve(connect::serve(listener, behaviour)).await
}
