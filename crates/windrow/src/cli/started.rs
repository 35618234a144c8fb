//! Reading the command line, with defaults from the config file.

use std::ffi::OsString;

use clap::FromArgMatches;
use clap::parser::ValueSource;

use super::{Cli, Command, help};
use crate::error::{Code, Error, Result};
use crate::node::config::{self, ConfigFile};
use crate::node::data_dir::{self, DataDir};
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
        let json = arguments.iter().any(|argument| argument == "--json");
        let parsed = config::settled(command, file.as_ref()).try_get_matches_from(arguments);
        let cli = match parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, is_default(&matches)))) {
            Ok((mut cli, true)) => {
                cli.options.data = std::env::current_dir().map_or(cli.options.data, |here| DataDir::find(&here));
                cli
            }
            Ok((cli, false)) => cli,
            Err(error) if json && error.use_stderr() => return Err(usage(&error)),
            Err(error) => error.exit(),
        };
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

/// Neither an option nor a variable nor the config file names the data directory.
fn is_default(matches: &clap::ArgMatches) -> bool {
    let given = matches.get_raw("data").and_then(|mut values| values.next());
    matches.value_source("data") == Some(ValueSource::DefaultValue) && given == Some(data_dir::DEFAULT.as_ref())
}

/// As clap writes it: the error, then tips and the usage.
fn usage(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let (what, help) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    Error::new(what.trim_start_matches("error: "), help).coded(Code::BadRequest)
}
