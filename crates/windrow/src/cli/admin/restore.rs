//! `windrow restore FILE`

use std::path::{Path, PathBuf};

use serde::Serialize;
use windrow_model::Time;
use windrow_store::sqlite;

use crate::app::App;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::backup;
use crate::node::data_dir::DataDir;
use crate::node::options::GlobalOptions;
use crate::text;

/// Make a data folder from a backup.
///
/// The folder (--data) must not exist or be empty: nothing is ever overwritten. The backup is verified,
/// the database checked, and only then the folder is there, whole. What was running when the backup was
/// made goes on with the next `windrow serve`.
///
/// Do not let the original go on as well: both would do the same work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What `windrow backup` wrote
    file: PathBuf,
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
    /// Whether the secrets can be opened with the key that is there now.
    secrets_open: bool,
}

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    options.must_be_embedded("a backup")?;
    refuse_taken(&options.data)?;
    let failed = |error: std::io::Error| {
        let what = format!("the folder {} cannot be made: {error}", options.data.display());
        Error::new(what, "choose another with --data DIR; nothing was left behind")
    };
    let whole = std::path::absolute(&options.data).map_err(failed)?;
    let parent = whole.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(failed)?;
    // Beside its place, so that it appears there in one step; gone again if anything is wrong.
    let stage = tempfile::Builder::new().prefix(".windrow-restore-").tempdir_in(parent).map_err(failed)?;
    let (archive, folder) = (args.file.clone(), stage.path().to_owned());
    let unpacking = tokio::task::spawn_blocking(move || unpack(&archive, &folder)).await;
    let manifest = unpacking.map_err(|panic| Error::new(format!("it failed: {panic}"), "please report this"))??;

    let staged = GlobalOptions { data: stage.path().to_owned(), ..options.clone() };
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
    // Takes the place of an empty folder, and of nothing else.
    std::fs::rename(stage.path(), &whole).map_err(failed)?;
    output::show(&answer, args.json);
    Ok(Exit::Passed)
}

fn refuse_taken(data: &Path) -> Result<()> {
    let taken = std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some()) || data.is_file();
    match taken {
        false => Ok(()),
        true => Err(Error::new(
            format!("there is something in {} already", data.display()),
            "restore into a new folder: windrow --data NEW restore FILE. To take the old one's place, stop what runs \
             on it and move it away first",
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
            (n, true) => format!("{}, and the master key fits", text::count(n)),
            (n, false) => format!(
                "{}, which need the master key: put it into {}/master.key, or name it with \
                WINDROW_MASTER_KEY_FILE",
                text::count(n),
                self.data.display()
            ),
        };
        let runs = match self.unfinished_runs {
            0 => "none".to_owned(),
            n => format!("{n}; they go on with: windrow --data {} serve", self.data.display()),
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
