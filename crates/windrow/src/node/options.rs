//! What holds for every command: where the data lies, and what of the machine jobs may use.

use std::path::PathBuf;

use windrow_jobfile::Environment;
use windrow_jobfile::forbidden;
use windrow_jobfile::prices;
use windrow_model::store::Quota;

use crate::error::{Error, Result};
use crate::node::config;
use crate::node::data_dir;
use crate::node::master_key::KeySource;
use crate::node::observe::LogFormat;

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub struct GlobalOptions {
    /// File of settings (TOML); windrow.toml in the current folder if not given
    #[arg(long, global = true, value_name = "FILE", env = config::VARIABLE)]
    pub config: Option<PathBuf>,
    /// Folder of the embedded database
    #[arg(long, global = true, value_name = "DIR", env = "WINDROW_DATA", default_value = data_dir::DEFAULT)]
    pub data: PathBuf,
    /// Database that nodes share, like postgres://user:password@host/name or mysql://user:password@host/name; a file in the data folder if not given
    #[arg(long, global = true, value_name = "URL", env = "WINDROW_DATABASE_URL", hide_env_values = true)]
    pub database: Option<String>,
    /// Redis beside a shared database, which makes what nodes share faster: redis://host, rediss://host for TLS
    #[arg(long, global = true, value_name = "URL", env = "WINDROW_REDIS_URL", hide_env_values = true)]
    pub redis: Option<String>,
    /// Runs of one workspace at work at the same time, like 3, or 3,team-a=10; all of them if not given
    #[arg(long, global = true, value_name = "N", env = "WINDROW_QUOTA", value_parser = quota, hide_short_help = true)]
    pub quota: Option<Quota>,
    /// File of prices of models (YAML), before our own table
    #[arg(long, global = true, value_name = "FILE", env = prices::VARIABLE, hide_short_help = true)]
    pub prices: Option<PathBuf>,
    /// File of words that no job file and no row may hold
    #[arg(long, global = true, value_name = "FILE", env = forbidden::VARIABLE, hide_short_help = true)]
    pub forbidden: Option<PathBuf>,
    /// File of the key that opens the secrets; `master.key` in the data folder if not given
    #[arg(long, global = true, value_name = "FILE", env = "WINDROW_MASTER_KEY_FILE", hide_short_help = true)]
    pub master_key_file: Option<PathBuf>,
    /// What is logged on stderr: error, warn, info, debug, trace, or a filter such as `windrow=debug`; if not
    /// given, info by a server and error by other commands
    #[arg(long, global = true, value_name = "FILTER", env = "WINDROW_LOG", hide_short_help = true)]
    pub log_filter: Option<String>,
    /// How lines of the log are written
    #[arg(long, global = true, value_name = "FORMAT", default_value = "pretty", hide_short_help = true)]
    pub log_format: LogFormat,
}

impl GlobalOptions {
    /// Variables as jobs see them; without secrets.
    pub fn environment(&self) -> Environment {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let given = [(prices::VARIABLE, file(&self.prices)), (forbidden::VARIABLE, file(&self.forbidden))];
        let given = given.into_iter().filter_map(|(name, path)| Some((name, path?)));
        Environment::process().with_variables(given.collect())
    }

    /// For what is done to the file of the embedded database.
    pub fn must_be_embedded(&self, what: &str) -> Result<()> {
        match &self.database {
            None => Ok(()),
            Some(_) => Err(Error::new(
                format!("{what} is of the embedded database, and this one is a server's"),
                "use the server's own tools (pg_dump; mysqldump or mariadb-dump), or leave --database and WINDROW_DATABASE_URL out",
            )),
        }
    }

    pub fn key_source(&self) -> KeySource {
        KeySource::of(self.master_key_file.as_deref(), &self.data)
    }
}

fn quota(text: &str) -> std::result::Result<Quota, String> {
    let wrong = || format!("{text:?} is no quota; write a number from 1 on, also of one workspace: 3,team-a=10");
    let runs = |text: &str| text.trim().parse().ok().filter(|runs| *runs > 0).ok_or_else(wrong);
    let mut quota = Quota::default();
    for part in text.split(',') {
        match part.rsplit_once('=') {
            Some((workspace, number)) => drop(quota.named.insert(workspace.trim().to_owned(), runs(number)?)),
            None => quota.each = Some(runs(part)?),
        }
    }
    Ok(quota)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_of_every_workspace_or_of_one() {
        let both = quota("3, team-a=10").unwrap();
        assert_eq!((both.of("default"), both.of("team-a")), (Some(3), Some(10)));
        assert_eq!(quota("team-a=1").unwrap().of("default"), None);
        for wrong in ["", "0", "three", "a=0", "a="] {
            assert!(quota(wrong).is_err(), "{wrong}");
        }
    }
}
