//! `windrow config show`

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use serde::Serialize;

use crate::cli::Cli;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::config;
use crate::node::config::{ConfigFile, Setting, settings};

/// Show every setting, its value and its source
///
/// A flag takes precedence over a variable, a variable over the config file, the file over the default. The config
/// file is the one given by --config or WINDROW_CONFIG, or windrow.toml in the current directory.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    file: Option<String>,
    settings: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    setting: String,
    /// `None` where nothing is set.
    value: Option<String>,
    source: Source,
    from: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Flag,
    Variable,
    File,
    Default,
}

pub fn perform(args: Args) -> Result<Exit> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let file = ConfigFile::find(&arguments, &Cli::command())?;
    let command = config::settled(Cli::command(), file.as_ref());
    let unreadable = |error: clap::Error| Error::new(error.to_string(), "").ending_with(Exit::Usage);
    let given = command.clone().try_get_matches_from(&arguments).map_err(unreadable)?;
    let mut rows = Vec::new();
    for setting in settings(&command) {
        let matches = match setting.section {
            None => given.clone(),
            // As this command would find them if it were started now.
            Some(section) => {
                let started = command.clone().try_get_matches_from(["windrow", section]).map_err(unreadable)?;
                started.subcommand_matches(section).cloned().unwrap_or_default()
            }
        };
        rows.push(row(&setting, &matches, file.as_ref()));
    }
    let file = file.map(|file| file.path.display().to_string());
    output::show(&Answer { file, settings: rows }, args.json);
    Ok(Exit::Passed)
}

fn row(setting: &Setting, matches: &ArgMatches, file: Option<&ConfigFile>) -> Row {
    let id = setting.arg.get_id().as_str();
    let in_file = file.and_then(|file| Some((file.path.display().to_string(), file.get(setting)?.1)));
    let (source, from) = match (matches.value_source(id), in_file) {
        (Some(ValueSource::CommandLine), _) => (Source::Flag, format!("--{}", setting.key.replace('_', "-"))),
        (Some(ValueSource::EnvVariable), _) => (Source::Variable, setting.variable.clone()),
        (_, Some((path, line))) => (Source::File, format!("{path}:{line}")),
        (_, None) => (Source::Default, "default".to_owned()),
    };
    let values = matches.get_raw(id).map(|values| values.map(|value| value.to_string_lossy()).collect::<Vec<_>>());
    let value = values.filter(|values| !values.is_empty()).map(|values| values.join(", "));
    let value = value.map(|value| if setting.is_secret() { "(hidden)".to_owned() } else { value });
    Row { setting: setting.path(), value, source, from }
}

impl Show for Answer {
    fn text(&self) -> String {
        let rows = self.settings.iter().map(|row| {
            vec![row.setting.clone(), row.value.clone().unwrap_or_else(|| "-".to_owned()), row.from.clone()]
        });
        let table = output::table(&["SETTING", "VALUE", "FROM"], rows.collect());
        match &self.file {
            Some(file) => format!("config file: {file}\n\n{table}"),
            None => format!("config file: none (windrow.toml here, or --config FILE)\n\n{table}"),
        }
    }
}
