//! `windrow migrate-store`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use windrow_store::Moved;

use crate::app::App;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;

/// Copy the embedded database to PostgreSQL, MySQL or MariaDB, and verify it
///
/// Copies all data with the same ids into an empty database, then reads and compares both sides. No node can use the new
/// database until it is verified. Then the source is renamed to `windrow.db.moved`, so that no job continues on it. After
/// an interruption, run the command again; it restarts from the beginning.
///
/// Stop all processes that use the source first. Copy the directory `files/` and the master key to the nodes
/// separately.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Source: a path or sqlite://PATH [default: the database of the data directory]
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// Destination: postgres://…, mysql://… or mariadb://…
    #[arg(long, value_name = "URL", env = "WINDROW_MIGRATE_TO", hide_env_values = true)]
    to: String,
    /// Count the rows and connect to the destination, and copy nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    tables: Vec<TableMoved>,
    rows: u64,
    verified: bool,
}

#[derive(Serialize)]
struct TableMoved {
    table: String,
    rows: u64,
}

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    let from = file(options, args.from.as_deref());
    if !from.is_file() {
        let what = format!("database not found: {}", from.display());
        return Err(Error::new(what, "pass the file with --from, or its directory with --data"));
    }
    refuse_at_work(options, &from).await?;
    let (to, old) = (args.to, from.clone());
    let moving = tokio::task::spawn_blocking(move || match args.dry_run {
        true => windrow_store::survey(&from, &to),
        false => windrow_store::transfer(&from, &to, &mut say_now_and_then()),
    });
    let moved = moving.await.map_err(|panic| {
        Error::new(format!("it failed: {panic}"), "run it again; if it fails again, report it as a bug")
    })??;
    if !args.dry_run {
        close(&old)?;
    }
    let rows = moved.iter().map(|moved| moved.rows).sum();
    let tables = moved.into_iter().map(|Moved { table, rows }| TableMoved { table, rows }).collect();
    output::show(&Answer { tables, rows, verified: !args.dry_run }, args.json);
    Ok(Exit::Passed)
}

/// Renames the old database and its log, so that no job continues on it.
fn close(old: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{suffix}", old.display()));
        let moved = PathBuf::from(format!("{}.moved{suffix}", old.display()));
        if file.exists() {
            std::fs::rename(&file, &moved).map_err(|error| {
                let what = format!("copied and verified, but cannot rename {}: {error}", file.display());
                Error::new(what, format!("rename it to {}", moved.display()))
            })?;
        }
    }
    output::say(&format!("Renamed {} to {}.moved", old.display(), old.display()));
    Ok(())
}

fn file(options: &GlobalOptions, given: Option<&str>) -> PathBuf {
    match given {
        Some(given) => PathBuf::from(given.strip_prefix("sqlite://").unwrap_or(given)),
        None => options.data.join("windrow.db"),
    }
}

/// What a process writes after we have read would stay behind.
async fn refuse_at_work(options: &GlobalOptions, from: &std::path::Path) -> Result<()> {
    let folder = from.parent().map(PathBuf::from).unwrap_or_default();
    let app = App::open(&GlobalOptions { data: folder, database: None, ..options.clone() }).await?;
    let Some(session) = app.store.sessions().await?.into_iter().find(|session| session.remote.is_none()) else {
        return Ok(());
    };
    let what = format!("process {} on {} is using {}", session.pid, session.host, from.display());
    Err(Error::new(what, "stop it first (SIGTERM or Ctrl-C); unfinished runs resume later"))
}

fn say_now_and_then() -> impl FnMut(&str, u64) {
    let mut said = Instant::now();
    move |table, rows| {
        if said.elapsed() > Duration::from_secs(1) {
            output::say(&format!("{table}: {rows} rows"));
            said = Instant::now();
        }
    }
}

impl Show for Answer {
    fn text(&self) -> String {
        let rows = self.tables.iter().filter(|table| table.rows > 0);
        let table = output::table(
            &["TABLE", ">ROWS"],
            rows.map(|table| vec![table.table.clone(), table.rows.to_string()]).collect(),
        );
        let rows = crate::text::plural(self.rows as i64, "row");
        match self.verified {
            true => format!("{table}\nCopied and verified {rows}."),
            false => format!("{table}\nWould copy and verify {rows}.\nDry run: nothing was changed."),
        }
    }
}
