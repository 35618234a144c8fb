//! Options of every command: where the data is, and what jobs may use.

use std::path::PathBuf;

use windrow_jobfile::job_file::plain_secrets;
use windrow_jobfile::{Environment, forbidden, prices};
use windrow_model::balance::Balance;
use windrow_model::store::Quota;

use crate::node::master_key::KeySource;
use crate::node::observe::LogFormat;
use crate::node::{config, data_dir};

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub struct GlobalOptions {
    /// Config file (TOML) [default: windrow.toml in the current directory]
    #[arg(long, global = true, value_name = "FILE", env = config::VARIABLE)]
    pub config: Option<PathBuf>,
    /// Data directory
    #[arg(long, global = true, value_name = "DIR", env = "WINDROW_DATA", default_value = data_dir::DEFAULT)]
    pub data: PathBuf,
    /// Shared database, e.g. postgres://user:password@host/name or mysql://user:password@host/name [default: embedded]
    #[arg(long, global = true, value_name = "URL", env = "WINDROW_DATABASE_URL", hide_env_values = true)]
    pub database: Option<String>,
    /// Redis URL, to speed up coordination between nodes, e.g. redis://host, or rediss://host for TLS
    #[arg(long, global = true, value_name = "URL", env = "WINDROW_REDIS_URL", hide_env_values = true)]
    pub redis: Option<String>,
    /// ClickHouse for a copy of all results, e.g. http://user:password@host:8123/database
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "WINDROW_CLICKHOUSE_URL",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub clickhouse: Option<windrow_analytics::Address>,
    /// Maximum concurrent runs per workspace, e.g. `3` or `3,team-a=10` [default: unlimited]
    #[arg(long, global = true, value_name = "N", env = "WINDROW_QUOTA", value_parser = quota, hide_short_help = true)]
    pub quota: Option<Quota>,
    /// US dollars that the runs of a workspace may cost together, e.g. `20` or `20,team-a=100` [default: unlimited]
    #[arg(long, global = true, value_name = "DOLLARS", env = "WINDROW_BALANCE", hide_short_help = true)]
    pub balance: Option<Balance>,
    /// Model prices (YAML); take precedence over the built-in table
    #[arg(long, global = true, value_name = "FILE", env = prices::VARIABLE, hide_short_help = true)]
    pub prices: Option<PathBuf>,
    /// File of words that job files and rows must not contain
    #[arg(long, global = true, value_name = "FILE", env = forbidden::VARIABLE, hide_short_help = true)]
    pub forbidden: Option<PathBuf>,
    /// Accept API keys and passwords written in clear in job files, which are stored with every run
    #[arg(long, global = true, env = plain_secrets::VARIABLE, hide_short_help = true)]
    pub allow_plain_secrets: bool,
    /// Master key file for secrets [default: `master.key` in the data directory]
    #[arg(long, global = true, value_name = "FILE", env = "WINDROW_MASTER_KEY_FILE", hide_short_help = true)]
    pub master_key_file: Option<PathBuf>,
    /// URL of a trace in your tracing UI, e.g. 'https://traces.example.com/trace/{trace_id}'; item details link to it
    #[arg(long, global = true, value_name = "URL", env = "WINDROW_TRACE_URL", value_parser = trace_url, hide_short_help = true)]
    pub trace_url: Option<String>,
    /// Log filter: error, warn, info, debug, trace, or e.g. `windrow=debug` [default: info for a server, else
    /// error]
    #[arg(long, global = true, value_name = "FILTER", env = "WINDROW_LOG", hide_short_help = true)]
    pub log_filter: Option<String>,
    /// Log format
    #[arg(long, global = true, value_name = "FORMAT", default_value = "pretty", hide_short_help = true)]
    pub log_format: LogFormat,
}

impl GlobalOptions {
    /// Variables as jobs see them; without secrets.
    pub fn environment(&self) -> Environment {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let given = [
            (prices::VARIABLE, file(&self.prices)),
            (forbidden::VARIABLE, file(&self.forbidden)),
            (plain_secrets::VARIABLE, Some(self.allow_plain_secrets.to_string())),
        ];
        let given = given.into_iter().filter_map(|(name, path)| Some((name, path?)));
        Environment::process().with_variables(given.collect())
    }

    pub fn key_source(&self) -> KeySource {
        KeySource::of(self.master_key_file.as_deref(), &self.data)
    }
}

fn trace_url(text: &str) -> std::result::Result<String, String> {
    match text.contains("{trace_id}") {
        true => Ok(text.to_owned()),
        false => Err("must contain {trace_id}".to_owned()),
    }
}

fn quota(text: &str) -> std::result::Result<Quota, String> {
    let wrong = || format!("invalid quota {text:?}: use a number, or one per workspace, e.g. 3,team-a=10");
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
