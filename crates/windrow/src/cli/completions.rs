//! `windrow completions SHELL`

use clap_complete::Shell;

use crate::cli::help;
use crate::cli::view::output;
use crate::error::{Exit, Result};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

pub fn perform(args: Args) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "windrow", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Passed)
}
