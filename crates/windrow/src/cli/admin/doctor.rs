//! `windrow doctor`

use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::Not;

use clap::CommandFactory;
use serde::Serialize;

use crate::app::doctor::{self, Check, Grade};
use crate::cli::Cli;
use crate::cli::view::output;
use crate::error::{Error, Exit, Result};
use crate::node::config::{self, ConfigFile};
use crate::node::options::GlobalOptions;
use crate::text::{self, style};

/// Diagnose the installation and suggest fixes
///
/// Checks the config file, the data directory, the database, the clock, the master key, system limits, unfinished
/// runs, the requirements of jobs, prices and the server. Changes nothing beyond what every command does when it
/// opens the data. The exit code is 1 if a check failed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List passed checks, too
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Passed checks shown on a terminal next to a problem.
const SHOWN: usize = 4;

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
    match args.json {
        true => output::print_json(&Answer { grade, checks }),
        false => output::print(&text(&checks, args.verbose || std::io::stdout().is_terminal().not())),
    }
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

/// Problems last; a terminal shows only the first passed checks unless all are wanted.
fn text(checks: &[Check], all: bool) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let of = |grade| checks.iter().filter(move |check| check.grade == grade);
    let passed = of(Grade::Ok).count();
    let shown = if all || passed == checks.len() { passed } else { SHOWN.min(passed) };
    let line = |check: &Check| {
        let sign = match check.grade {
            Grade::Ok => style::green(style::OK),
            Grade::Warning => style::yellow(style::WARNING),
            Grade::Failure => style::red(style::FAILED),
        };
        let help = |remedy: &String| format!("{:width$}    {} {remedy}\n", "", style::cyan("help:"));
        let help = check.remedy.as_ref().map(help).unwrap_or_default();
        format!("{sign} {:<width$}  {}\n{help}", check.name, check.finding)
    };
    let page: String =
        of(Grade::Ok).take(shown).chain(of(Grade::Warning)).chain(of(Grade::Failure)).map(line).collect();
    let hidden = match passed - shown {
        0 => String::new(),
        hidden => format!(" ({hidden} passed checks hidden; --verbose shows them)"),
    };
    let total = checks.len();
    match (of(Grade::Failure).count(), of(Grade::Warning).count()) {
        (0, 0) => format!("{page}All {total} checks passed."),
        (0, warnings) => format!("{page}{} in {total} checks{hidden}", text::plural(warnings as i64, "warning")),
        (failures, 0) => format!("{page}{failures} of {total} checks failed{hidden}"),
        (failures, warnings) => {
            let warnings = text::plural(warnings as i64, "warning");
            format!("{page}{failures} of {total} checks failed, {warnings}{hidden}")
        }
    }
}
