//! What holds for every command: where the data lies, and what of the machine jobs may use.

use std::path::PathBuf;

use windrow_workloads::{Environment, forbidden, prices};

use crate::data_dir;
use crate::secrets::KeySource;

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub struct Site {
    /// Folder of the embedded database
    #[arg(long, global = true, value_name = "DIR", env = "WINDROW_DATA", default_value = data_dir::DEFAULT)]
    pub data: PathBuf,
    /// Runs of one workspace at work at the same time; all of them if not given
    #[arg(long, global = true, value_name = "N", env = "WINDROW_QUOTA", value_parser = at_least_one, hide_short_help = true)]
    pub quota: Option<usize>,
    /// File of prices of models (YAML), before our own table
    #[arg(long, global = true, value_name = "FILE", env = prices::VARIABLE, hide_short_help = true)]
    pub prices: Option<PathBuf>,
    /// File of words that no job file and no row may hold
    #[arg(long, global = true, value_name = "FILE", env = forbidden::VARIABLE, hide_short_help = true)]
    pub forbidden: Option<PathBuf>,
    /// File of the key that opens the secrets; `master.key` in the data folder if not given
    #[arg(long, global = true, value_name = "FILE", env = "WINDROW_MASTER_KEY_FILE", hide_short_help = true)]
    pub master_key_file: Option<PathBuf>,
    /// What is logged on stderr: error, warn, info, debug or trace, or a filter such as `windrow=debug`
    #[arg(
        long,
        global = true,
        value_name = "FILTER",
        env = "WINDROW_LOG",
        default_value = "error",
        hide_short_help = true
    )]
    pub log: String,
}

impl Site {
    /// Variables as jobs see them; without secrets.
    pub fn environment(&self) -> Environment {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let given = [(prices::VARIABLE, file(&self.prices)), (forbidden::VARIABLE, file(&self.forbidden))];
        let given = given.into_iter().filter_map(|(name, path)| Some((name, path?)));
        Environment::process().with_variables(given.collect())
    }

    pub fn key_source(&self) -> KeySource {
        KeySource::of(self.master_key_file.as_deref(), &self.data)
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}
