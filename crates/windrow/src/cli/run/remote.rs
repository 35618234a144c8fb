//! `windrow run FILE --server URL`: the file and its rows are sent, the server does the work, and this process
//! follows it. Leaving changes nothing there.

use windrow_wire::Submitted;
use windrow_wire::request::Submit;

use crate::app::resolve_run::RunIntent;
use crate::app::results::Options;
use crate::cli::run::upload::{self, Local};
use crate::cli::run::{self, Args, Started, dry_run, job_text, local, preview};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::client::remote::Remote;
use crate::error::{Code, Error, Exit, Result};
use crate::node::options::GlobalOptions;

pub async fn perform(remote: &Remote, options: &GlobalOptions, args: Args) -> Result<Exit> {
    let text = job_text::read(&args.file)?;
    let local = Local::of(&args.file, &text);
    if args.dry_run && text.lines().any(|line| line.starts_with("kind:") && line.contains(windrow_operation::KIND)) {
        let plan = preview::at(remote, &args.file, preview::SHOWN).await?;
        return Ok(preview::show(&plan, &args.file, args.json));
    }
    if args.dry_run {
        return forecast(options, &args, local).await;
    }
    if args.scheduled {
        let what = "`--scheduled` works only on the local data directory; the server starts scheduled jobs";
        return Err(Error::new(what, "leave out `--scheduled`").ending_with(Exit::Usage));
    }
    let api = Api::Remote(remote.clone());
    if let Some(baseline) = &args.baseline {
        // Now, not after hours of work.
        let _found = api.result(baseline, &Options::default()).await?;
    }
    if args.how.new {
        confirm_new(&api, &args, &text).await?;
    }
    let dataset = match local {
        Some(local) => Some(local.send(remote, args.quiet).await?),
        None => None,
    };
    let intent = args.how.intent();
    let wish = Submit {
        file: text.clone(),
        mode: Some(intent.mode()),
        fresh: intent == RunIntent::RunFresh,
        budget: args.budget.wanted().into(),
        first: args.first,
        column: args.column.clone(),
        dataset,
        resume: true,
        keep_going: args.keep_going,
        yes: args.confirmation.yes,
        paused: false,
    };
    let submitted: Submitted =
        remote.post(&["jobs"], &wish).await.map_err(|error| job_text::placed(error, &args.file, text))?;
    submitted.warnings.iter().for_each(|warning| output::say(&format!("warning: {warning}")));
    if !args.quiet {
        submitted.notes.iter().for_each(|note| output::say(note));
    }
    let started =
        Started { name: submitted.name, run: submitted.run, resumed: submitted.resumed, rows: 0, change: None };
    run::finish(&api, &started, &args).await
}

/// `--new` cancels an unfinished run.
async fn confirm_new(api: &Api, args: &Args, text: &str) -> Result<()> {
    let Some(name) = upload::job_name(text) else { return Ok(()) };
    match api.job(&name).await {
        Ok(detail) if !detail.job.latest_run.state.is_final() => {
            let run = &detail.job.latest_run;
            args.confirm_new(&name, run.no, (run.items.settled(), run.items.total))
        }
        // A new job, or an error that the submission reports.
        _ => Ok(()),
    }
}

/// Made here, from rows that are here: the server stores nothing for it.
async fn forecast(options: &GlobalOptions, args: &Args, local: Option<Local>) -> Result<Exit> {
    if local.is_none() {
        let what = "a dry run needs the rows locally, and the dataset of this file is on the server";
        let remedy = "export it with `windrow datasets export`, or run the command on the server";
        return Err(Error::new(what, remedy).coded(Code::Conflict).ending_with(Exit::Usage));
    }
    let job = local::job(options, args, None).await?;
    Box::pin(dry_run::perform(options, None, &job, args.how.new, args.json)).await
}
