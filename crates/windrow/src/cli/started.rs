//! Reading the command line, with defaults from the config file.

use std::ffi::OsString;

use clap::FromArgMatches;

use super::{Cli, Command, help};
use crate::error::{Error, Result};
use crate::node::config::{self, ConfigFile};
use crate::node::observe::LogFormat;

pub struct Started {
    pub cli: Cli,
    /// What is wrong with the config file, for the one command that works all the same.
    pub config_trouble: Option<Error>,
}

impl Started {
    /// Ends the program where the command line is invalid or asks for help.
    pub fn read() -> Result<Self> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let command = help::command();
        let (file, config_trouble) = match ConfigFile::find(&arguments, &command) {
            Ok(file) => (file, None),
            Err(error) => (None, Some(error)),
        };
        let matches = config::settled(command, file.as_ref()).get_matches_from(arguments);
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        cli.color.apply();
        match config_trouble {
            Some(error) if !matches!(cli.command, Command::Doctor(_)) => Err(error),
            config_trouble => Ok(Self { cli, config_trouble }),
        }
    }

    /// The log format and filter. By default a server logs `info`, any other command `error`.
    pub fn log(&self) -> (LogFormat, &str) {
        let usual = if matches!(self.cli.command, Command::Serve(_)) { "info" } else { "error" };
        (self.cli.options.log_format, self.cli.options.log_filter.as_deref().unwrap_or(usual))
    }
}
