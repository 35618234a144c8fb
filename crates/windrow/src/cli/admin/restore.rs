//! `windrow restore FILE`

use std::path::{Path, PathBuf};

use serde::Serialize;
use windrow_model::Time;
use windrow_store::sqlite;

use crate::app::App;
use crate::cli::confirm::Confirmation;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::backup;
use crate::node::data_dir::DataDir;
use crate::node::options::GlobalOptions;
use crate::text;

/// Restore a backup into an empty data directory
///
/// The data directory (--data) must be empty or missing: existing data is never overwritten. The backup and its
/// database are verified before the directory appears. With --database, the backup is restored into an empty shared
/// database; it may come from another kind of database. Runs that were unfinished resume with the next
/// `windrow serve`.
///
/// Do not keep the original running: both would execute the same runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Backup file written by `windrow backup`
    file: PathBuf,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    data: PathBuf,
    made_at: String,
    made_by: String,
    files: usize,
    bytes: u64,
    unfinished_runs: usize,
    secrets: i64,
    /// Whether the secrets can be decrypted with the current master key.
    secrets_open: bool,
}

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    let into = match &options.database {
        Some(_) => "the shared database".to_owned(),
        None => options.data.display().to_string(),
    };
    if options.database.is_none() {
        refuse_taken(&options.data)?;
    }
    let question = format!(
        "Restore {} into {into}? Stop the original first: both would execute the same runs.",
        args.file.display()
    );
    args.confirmation.ask(&question, "restore")?;
    let failed = |error: std::io::Error| {
        let what = format!("cannot create directory {}: {error}", options.data.display());
        Error::new(what, "choose another with --data DIR; no files were left")
    };
    let whole = std::path::absolute(&options.data).map_err(failed)?;
    let parent = whole.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(failed)?;
    // In a temporary directory next to the final one, so that it appears in one step and is removed after an error.
    let stage = tempfile::Builder::new().prefix(".windrow-restore-").tempdir_in(parent).map_err(failed)?;
    let (archive, folder) = (args.file.clone(), stage.path().to_owned());
    let unpacking = tokio::task::spawn_blocking(move || unpack(&archive, &folder)).await;
    let manifest = unpacking.map_err(|panic| Error::new(format!("it failed: {panic}"), "run it again"))??;

    let staged = GlobalOptions { data: stage.path().to_owned(), database: None, ..options.clone() };
    DataDir::create(&staged.data)?;
    // Opened once, as any command would: brought up to date, and the work of those who are not here freed.
    let app = App::open(&staged).await?;
    let found = sqlite::examine(&app.data().database(), app.now(), Time(0))?;
    let key = staged.key_source().read().ok().flatten().map(|key| key.id());
    drop(app);
    let answer = Answer {
        data: options.data.clone(),
        made_at: manifest.made_at.clone(),
        made_by: manifest.windrow.clone(),
        files: manifest.files.len(),
        bytes: manifest.bytes(),
        unfinished_runs: found.orphans.len(),
        secrets: found.secret_keys.iter().map(|(_, count)| count).sum(),
        secrets_open: found.secret_keys.iter().all(|(id, _)| Some(id) == key.as_ref()),
    };
    match &options.database {
        Some(url) => into_server(url, stage.path(), &whole).await?,
        // Takes the place of an empty folder, and of nothing else.
        None => std::fs::rename(stage.path(), &whole).map_err(failed)?,
    }
    output::show(&answer, args.json);
    Ok(Exit::Passed)
}

/// Copies the rows into an empty database, and the files into the data directory of this node, where it has none.
async fn into_server(url: &str, stage: &Path, data: &Path) -> Result<()> {
    let (file, url) = (stage.join("windrow.db"), url.to_owned());
    let moving = tokio::task::spawn_blocking(move || windrow_store::transfer(&file, &url, &mut |_, _| {})).await;
    moving.map_err(|panic| Error::new(format!("it failed: {panic}"), "run it again"))??;
    DataDir::create(data)?;
    for name in backup::FOLDERS.iter().chain([&backup::MASTER_KEY]) {
        let (from, to) = (stage.join(name), data.join(name));
        if !from.exists() {
            continue;
        }
        if to.exists() {
            output::say(&format!("note: {} exists and was kept; the backup has another one", to.display()));
            continue;
        }
        std::fs::rename(&from, &to).map_err(|error| {
            Error::new(format!("the database is restored, but cannot write {}: {error}", to.display()), "")
        })?;
    }
    Ok(())
}

fn refuse_taken(data: &Path) -> Result<()> {
    let taken = std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some()) || data.is_file();
    match taken {
        false => Ok(()),
        true => Err(Error::new(
            format!("data directory {} is not empty", data.display()),
            "restore into a new directory: windrow --data NEW restore FILE. To replace the old one, stop the server \
             and move its directory first",
        )),
    }
}

fn unpack(archive: &Path, folder: &Path) -> Result<backup::Manifest> {
    let manifest = backup::unpack(archive, folder)?;
    let found = sqlite::examine(&folder.join("windrow.db"), Time(0), Time(0))?;
    if !found.damage.is_empty() {
        let what = format!("the database in the backup is damaged: {}", found.damage.join("; "));
        return Err(Error::new(what, "nothing was changed; use another backup"));
    }
    if found.version > found.known {
        return Err(Error::new("the backup is from a newer windrow", "restore it with that one"));
    }
    Ok(manifest)
}

impl Show for Answer {
    fn text(&self) -> String {
        let secrets = match (self.secrets, self.secrets_open) {
            (0, _) => "none".to_owned(),
            (n, true) => format!("{}, and the master key matches", text::count(n)),
            (n, false) => format!(
                "{}, which need the master key: copy it to {}/master.key, or set \
                WINDROW_MASTER_KEY_FILE",
                text::count(n),
                self.data.display()
            ),
        };
        let runs = match self.unfinished_runs {
            0 => "none".to_owned(),
            n => format!("{n}; resume them with: windrow --data {} serve", self.data.display()),
        };
        output::facts(&[
            ("restored", self.data.display().to_string()),
            ("backup of", format!("{} (windrow {})", self.made_at, self.made_by)),
            ("files", text::count(self.files as i64)),
            ("secrets", secrets),
            ("unfinished runs", runs),
        ])
    }
}
