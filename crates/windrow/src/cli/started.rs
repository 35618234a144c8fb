//! Reading the command line, with the config file behind it.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};

use super::Cli;
use super::Command;
use crate::error::{Error, Result};
use crate::node::config;
use crate::node::config::ConfigFile;
use crate::node::observe::LogFormat;

pub struct Started {
    pub cli: Cli,
    /// What is wrong with the config file, for the one command that works all the same.
    pub config_trouble: Option<Error>,
}

impl Started {
    /// Ends the program where the command line is wrong or asks for help.
    pub fn read() -> Result<Self> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let (file, config_trouble) = match ConfigFile::find(&arguments, &Cli::command()) {
            Ok(file) => (file, None),
            Err(error) => (None, Some(error)),
        };
        let matches = config::settled(Cli::command(), file.as_ref()).get_matches_from(arguments);
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        match config_trouble {
            Some(error) if !matches!(cli.command, Command::Doctor(_)) => Err(error),
            config_trouble => Ok(Self { cli, config_trouble }),
        }
    }

    /// What is logged, and how. Unless told otherwise a server tells what it does, a command its errors.
    pub fn log(&self) -> (LogFormat, &str) {
        let usual = if matches!(self.cli.command, Command::Serve(_)) { "info" } else { "error" };
        (self.cli.options.log_format, self.cli.options.log_filter.as_deref().unwrap_or(usual))
    }
}
