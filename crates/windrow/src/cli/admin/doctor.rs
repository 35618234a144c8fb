//! `windrow doctor`

use std::ffi::OsString;

use clap::CommandFactory;
use serde::Serialize;

use crate::app::doctor::{self, Check, Grade};
use crate::cli::Cli;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::config;
use crate::node::config::ConfigFile;
use crate::node::options::GlobalOptions;

/// Check everything that has to be right, and say what to do about what is not.
///
/// Looks at the config file, the data folder, the database, the clock, the master key, the limits of the
/// system, unfinished work, what jobs need, prices, and the server. Repairs nothing but what every
/// command does when it opens the data. Ends with 1 if something does not work.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    grade: Grade,
    checks: Vec<Check>,
}

/// `config`: what is wrong with the config file.
pub async fn perform(options: &GlobalOptions, args: Args, config: Option<&Error>) -> Result<Exit> {
    let listen = listen_address().unwrap_or_default();
    let checks = doctor::examine(options, listen, config).await;
    let grade = checks.iter().map(|check| check.grade).max().unwrap_or(Grade::Ok);
    output::show(&Answer { grade, checks }, args.json);
    Ok(if grade == Grade::Failure { Exit::Error } else { Exit::Passed })
}

/// Where `windrow serve` would listen if it were started now.
fn listen_address() -> Option<String> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let file = ConfigFile::find(&arguments, &Cli::command()).ok().flatten();
    let command = config::settled(Cli::command(), file.as_ref());
    let started = command.try_get_matches_from(["windrow", "serve"]).ok()?;
    let listen = started.subcommand_matches("serve")?.get_raw("listen")?.next()?;
    Some(listen.to_string_lossy().into_owned())
}

impl Show for Answer {
    fn text(&self) -> String {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        let line = |check: &Check| {
            let remedy = check.remedy.as_ref().map(|remedy| format!("{:10}do: {remedy}\n", "")).unwrap_or_default();
            format!("{:<9} {:<width$}  {}\n{remedy}", check.grade, check.name, check.finding)
        };
        let all: String = self.checks.iter().map(line).collect();
        let count = |grade| self.checks.iter().filter(|check| check.grade == grade).count();
        match (count(Grade::Failure), count(Grade::Warning)) {
            (0, 0) => format!("{all}\nall is well"),
            (failures, warnings) => format!("{all}\n{failures} failure(s), {warnings} warning(s)"),
        }
    }
}
