//! `windrow run FILE` on a data directory: an engine in this process executes the run.

use std::path::PathBuf;

use windrow_jobfile::{LoadedJob, job_file};
use windrow_model::SessionId;
use windrow_model::record::Run;

use crate::app::actor::Actor;
use crate::app::analytics::Relaying;
use crate::app::audit::Change;
use crate::app::resolve_run::{self, RunExecutor, RunIntent};
use crate::app::{App, forecast, lookup, submit};
use crate::cli::run::execute::{self, Ending};
use crate::cli::run::{self, Args, Started, dry_run, preview, scheduled};
use crate::cli::view::output;
use crate::cli::view::progress::Progress;
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    // A data directory is created only for a valid file, but an existing one may have its dataset.
    let existing = App::open_if_there(options).await?;
    let job = job(options, &args, existing.as_ref()).await?;
    if args.dry_run && job.kind == windrow_operation::KIND {
        let plan = preview::here(options, existing.as_ref(), &job, preview::SHOWN).await?;
        return Ok(preview::show(&plan, &args.file, args.json));
    }
    if args.dry_run {
        return Box::pin(dry_run::perform(options, existing.as_ref(), &job, args.how.new, args.json)).await;
    }
    if let Some(worker) = &job.worker {
        let what = format!("{} needs a remote worker with capability `{worker}`", args.file.display());
        return Err(Error::new(
            what,
            "send it to a server with such a worker: `windrow --server URL run …` (docs/workers.md)",
        ));
    }
    if args.scheduled && job.schedule.is_none() {
        let remedy = "add one: schedule: \"0 6 * * *\" (daily at 6:00 UTC)";
        return Err(Error::new(format!("{} has no `schedule`", args.file.display()), remedy));
    }
    let mut app = match existing {
        Some(app) => app,
        None => App::create(options).await?,
    };
    let sending = app.trace(&args.traces)?;
    let name = job.name.clone();
    let relaying = Relaying::start(&app, SessionId::mint(app.now(), fastrand::u64(..)))?;
    let quiet = args.quiet;
    let run = |change| run_job(&app, change, job, args);
    let exit = app.act_until(&Actor::local(), "run", &name, run, |exit: &Exit| exit.code()).await;
    if let Some(relaying) = relaying
        && !relaying.finish().await
        && !quiet
    {
        output::say("note: ClickHouse does not have all results yet; the next run or server sends the rest");
    }
    if let Some(sending) = sending {
        sending.finish().await;
    }
    exit
}

async fn run_job(app: &App, change: Change, job: LoadedJob, args: Args) -> Result<Exit> {
    if let Some(baseline) = &args.baseline {
        // Now, not after hours of work.
        lookup::run(app, &change.actor, baseline).await?;
    }
    confirm_new(app, &job, &args).await?;
    submit::check_dataset(&job, args.how.intent().mode())?;
    if !args.confirmation.yes && matches!(args.how.intent(), RunIntent::Run | RunIntent::RunFresh | RunIntent::Append) {
        forecast::check_budget(app, &job, args.how.new).await?;
    }
    let resolved = resolve_run::resolve(app, &change, &job, args.how.intent(), &ThisProcess).await?;
    if !args.quiet {
        resolved.notes.iter().for_each(|note| output::say(note));
    }
    let (run, change) = (resolved.run.to_string(), Some(change));
    let started = Started { name: job.name, run, resumed: resolved.resumed, rows: job.rows, change };
    let api = Api::local(app.clone());
    let exit = run::finish(&api, &started, &args).await?;
    if !args.scheduled || exit == Exit::Interrupted {
        return Ok(exit);
    }
    scheduled::keep(&api, app, resolved.job, exit, args.json, args.quiet).await
}

/// `--new` cancels an unfinished run. One that another process executes is rejected later.
async fn confirm_new(app: &App, job: &LoadedJob, args: &Args) -> Result<()> {
    if !args.how.new {
        return Ok(());
    }
    let Some(found) = app.store.find_job(&job.workspace, &job.name).await? else { return Ok(()) };
    let run = app.store.run(found.latest_run).await?;
    if run.state.is_final() || app.coordinator_of(&run).await?.is_some() {
        return Ok(());
    }
    args.confirm_new(&job.name, run.no, (run.counters.settled(), run.counters.total))
}

/// The job as it is to be run; prints its warnings.
pub async fn job(options: &GlobalOptions, args: &Args, app: Option<&App>) -> Result<LoadedJob> {
    let mut job = load(options, args.file.clone(), app).await?;
    if let Some(flag) = args.unfit_for(job.kind) {
        let what = format!("`{flag}` works only for experiments; {} is of kind {}", args.file.display(), job.kind);
        return Err(Error::new(what, "leave it out").ending_with(Exit::Usage));
    }
    if let Some(rows) = args.first {
        job = windrow_experiment::first_rows(job, rows)
            .map_err(|error| Error::new(format!("cannot use `--first` with this file: {error}"), "leave it out"))?;
    }
    if let Some(name) = &args.column {
        let unknown = |(what, help): (String, String)| Error::new(what, help).ending_with(Exit::Usage);
        job = windrow_experiment::only_column(job, name).map_err(unknown)?;
    }
    job.limits = args.budget.applied_to(job.limits);
    job.limits.keep_going = args.keep_going;
    if windrow_experiment::callback(&job.spec).is_some() && !args.dry_run {
        output::say("warning: `callback` is served by a server; this process sends nothing (use --server)");
    }
    for warning in &job.warnings {
        output::say(&format!("warning: {warning}"));
    }
    Ok(job)
}

/// Reads the whole dataset once to check it, so it must not block the runtime.
pub async fn load(options: &GlobalOptions, file: PathBuf, app: Option<&App>) -> Result<LoadedJob> {
    let environment = app.map_or_else(|| options.environment(), App::environment);
    let library = app.map(App::library);
    let load = move || job_file::load_with(&file, &environment, library.as_ref(), crate::app::kinds::KINDS);
    let loaded = tokio::task::spawn_blocking(load).await;
    loaded
        .map_err(|panic| Error::new(format!("reading the job file failed: {panic}"), "please report this"))?
        .map_err(Error::from)
}

/// Nothing runs in this process before the run has been chosen.
struct ThisProcess;

impl RunExecutor for ThisProcess {
    fn is(&self, _: SessionId) -> bool {
        false
    }

    async fn end(&self, app: &App, run: &Run) -> Result<()> {
        match execute::to_end(app, run.id, Progress::new("", 0, true)).await? {
            Ending::Settled { .. } => Ok(()),
            Ending::Interrupted { .. } | Ending::Spent { .. } | Ending::Halted { .. } => {
                let what = format!("interrupted while run {} was being cancelled", run.no);
                Err(Error::new(what, "run the same command again").ending_with(Exit::Interrupted))
            }
        }
    }
}
