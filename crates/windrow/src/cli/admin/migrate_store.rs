//! `windrow migrate-store`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use windrow_store::Moved;

use crate::app::App;
use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;

/// Move everything from the file of the embedded database into an empty database of a server, and verify it.
///
/// Jobs, runs, items, results, history, datasets, sealed secrets, keys, webhooks, the audit log: all of it, with the
/// same ids. The file is only read. Both sides are read and compared at the end; until then no node works on the new
/// database. If it is interrupted, run it again: it begins anew.
///
/// Stop the processes that work on the file first. The folder `files/` and the master key are not in any database:
/// copy them to where the nodes look for them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  windrow migrate-store --from sqlite://.windrow/windrow.db --to postgres://windrow:secret@db/windrow
  WINDROW_DATABASE_URL=postgres://windrow:secret@db/windrow windrow serve")]
pub struct Args {
    /// The file, as a path or as sqlite://PATH; that of the data folder if not given
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// The server's database: postgres://…, mysql://… or mariadb://…
    #[arg(long, value_name = "URL", env = "WINDROW_MIGRATE_TO", hide_env_values = true)]
    to: String,
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
        let what = format!("there is no database {}", from.display());
        return Err(Error::new(what, "name the file with --from, or its folder with --data"));
    }
    refuse_at_work(options, &from).await?;
    let to = args.to;
    let moving = tokio::task::spawn_blocking(move || windrow_store::transfer(&from, &to, &mut say_now_and_then()));
    let moved = moving.await.map_err(|panic| Error::new(format!("it failed: {panic}"), "please report this"))??;
    let rows = moved.iter().map(|moved| moved.rows).sum();
    let tables = moved.into_iter().map(|Moved { table, rows }| TableMoved { table, rows }).collect();
    output::show(&Answer { tables, rows, verified: true }, args.json);
    Ok(Exit::Passed)
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
    let what = format!("process {} on {} works on {}", session.pid, session.host, from.display());
    Err(Error::new(what, "stop it first (SIGTERM or Ctrl-C); nothing of its work is lost"))
}

fn say_now_and_then() -> impl FnMut(&str, u64) {
    let mut said = Instant::now();
    move |table, rows| {
        if said.elapsed() > Duration::from_secs(1) {
            eprintln!("{table}: {rows} rows");
            said = Instant::now();
        }
    }
}

impl Show for Answer {
    fn text(&self) -> String {
        let rows = self.tables.iter().filter(|table| table.rows > 0);
        let table = output::table(
            &["TABLE", "ROWS"],
            rows.map(|table| vec![table.table.clone(), table.rows.to_string()]).collect(),
        );
        format!("{table}\n{} rows moved; both databases were read again and are equal", self.rows)
    }
}
