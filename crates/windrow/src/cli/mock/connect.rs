//! `windrow mock-connect`: the bundled stand-in for Kafka Connect, until it is stopped.

use std::io::Write;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::cli::mock::model::{duration, share};
use crate::error::{Error, Exit, Result};
use windrow_mock::connect::{self, Behaviour, Faults};

const DETAILS: &str = "\
Every cluster lies under a path of its own: /east holds the connectors orders-0000, orders-0001 …, and
any other, such as /west, is empty. GET /_stats says what was changed how often, and which connectors
were ever at work in two clusters.

Examples:
  windrow mock-connect --connectors 200
  windrow mock-connect --faults \"409:2%,500:1%,after:1%,timeout:1%\" --broken 3%
";

/// A stand-in for Kafka Connect on this machine, for examples and tests.
///
/// States are applied with a delay, a rebalance answers 409, offsets change only while a connector is
/// stopped, and on demand calls are answered 500 although they took effect. The first line it prints is
/// the URL of its first cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Where to listen on 127.0.0.1; 0 picks a free port
    #[arg(long, default_value_t = 8083)]
    port: u16,
    /// How many connectors there are at first
    #[arg(long, value_name = "N", default_value_t = 50)]
    connectors: usize,
    /// How long it takes until what was asked for is so
    #[arg(long, default_value = "200ms", value_parser = duration)]
    delay: Duration,
    /// What goes wrong, and how often: 409|500|after|timeout:SHARE%,…
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// How long a call hangs before it is answered 500 (timeout)
    #[arg(long, default_value = "3s", value_parser = duration)]
    hang: Duration,
    /// Share of the connectors whose tasks fail when their configuration changes: 0.03 is 3%
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    broken: f64,
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
    println!("http://{address}/east");
    let _ = std::io::stdout().flush();
    let Args { connectors, delay, hang, faults, broken, seed, .. } = args;
    let behaviour = Behaviour { connectors, delay, hang, faults, broken, seed };
    let served = connect::serve(listener, behaviour).await;
    served.map_err(|error| Error::new(format!("the stand-in failed: {error}"), "start it again"))?;
    Ok(Exit::Passed)
}
