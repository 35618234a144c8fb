//! `windrow backup FILE`

use std::path::PathBuf;

use serde::Serialize;

use crate::app::App;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text;

/// Write a backup file while the server keeps running
///
/// Contains a consistent snapshot of the database and the directory `files/`: jobs, results, datasets, schedules
/// and encrypted secrets. The file is verified before it gets its final name. A shared database (--database) is copied
/// row by row and compared; `restore` brings it back into an empty database or a data directory.
///
/// The master key is NOT included, so a stolen backup does not expose the secrets. Store the key separately, or
/// include it with --with-master-key.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Backup file, e.g. windrow-monday.tar.zst; must not exist
    file: PathBuf,
    /// Include the master key; the backup then exposes the secrets
    #[arg(long)]
    with_master_key: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    file: PathBuf,
    bytes: u64,
    files: usize,
    /// Of all that is in it, before it was compressed.
    content_bytes: u64,
    master_key: bool,
    /// Encrypted secrets in it.
    secrets: i64,
}

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    let app = App::open(options).await?;
    let secrets = app.sealed_secrets().await?;
    let key = match args.with_master_key {
        true => Some(key_file(options)?),
        false => None,
    };
    let made = app.back_up(args.file.clone(), key).await?;
    let answer = Answer {
        file: args.file,
        bytes: made.bytes,
        files: made.manifest.files.len(),
        content_bytes: made.manifest.bytes(),
        master_key: args.with_master_key,
        secrets,
    };
    output::show(&answer, args.json);
    Ok(Exit::Passed)
}

fn key_file(options: &GlobalOptions) -> Result<PathBuf> {
    let source = options.key_source();
    match source.path().filter(|path| path.is_file()) {
        Some(path) => Ok(path.to_owned()),
        None => Err(Error::new(
            format!("master key file not found: {}", source.describe()),
            "leave out --with-master-key, and keep the key where you have it",
        )),
    }
}

impl Show for Answer {
    fn text(&self) -> String {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let size = format!("{} ({} before compression)", mib(self.bytes), mib(self.content_bytes));
        let key = match (self.master_key, self.secrets) {
            (true, _) => "master key included: protect this file like the secrets themselves".to_owned(),
            (false, 0) => "none".to_owned(),
            (false, n) => {
                format!("{}, encrypted; the master key is not in it, so store it separately", text::plural(n, "secret"))
            }
        };
        output::facts(&[
            ("backup", self.file.display().to_string()),
            ("size", size),
            ("files", text::count(self.files as i64)),
            ("secrets", key),
            ("restore", format!("windrow --data NEW restore {}", self.file.display())),
        ])
    }
}
