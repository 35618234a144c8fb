//! `windrow run FILE --server URL`: the file and its rows are sent, the server does the work, and this process
//! follows it. Leaving changes nothing there.

use windrow_wire::Submitted;
use windrow_wire::request::Submit;

use crate::app::resolve_run::RunIntent;
use crate::app::results::Options;
use crate::cli::run::dry_run;
use crate::cli::run::job_text;
use crate::cli::run::local;
use crate::cli::run::upload::Local;
use crate::cli::run::{self, Args, Started};
use crate::client::api::Api;
use crate::client::remote::Remote;
use crate::error::{Code, Error, Exit, Result};
use crate::node::options::GlobalOptions;

pub async fn perform(remote: &Remote, options: &GlobalOptions, args: Args) -> Result<Exit> {
    let text = job_text::read(&args.file)?;
    let local = Local::of(&args.file, &text);
    if args.dry_run {
        return forecast(options, &args, local).await;
    }
    if args.scheduled {
        let what = "the server itself starts a job at the times of its `schedule`";
        return Err(Error::new(what, "leave out `--scheduled`").ending_with(Exit::Usage));
    }
    let api = Api::Remote(remote.clone());
    if let Some(baseline) = &args.baseline {
        // Now, not after hours of work.
        let _found = api.result(baseline, &Options::default()).await?;
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
        dataset,
        resume: true,
    };
    let submitted: Submitted =
        remote.post(&["jobs"], &wish).await.map_err(|error| job_text::placed(error, &args.file, text))?;
    submitted.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    if !args.quiet {
        submitted.notes.iter().for_each(|note| eprintln!("{note}"));
    }
    let started =
        Started { name: submitted.name, run: submitted.run, resumed: submitted.resumed, rows: 0, change: None };
    run::finish(&api, &started, &args).await
}

/// Made here, from rows that are here: the server stores nothing for it.
async fn forecast(options: &GlobalOptions, args: &Args, local: Option<Local>) -> Result<Exit> {
    if local.is_none() {
        let what = "a dry run is made where the rows are, and this file's rows are at the server";
        let remedy = "export them with `windrow datasets export`, or make it there";
        return Err(Error::new(what, remedy).coded(Code::Conflict).ending_with(Exit::Usage));
    }
    let job = local::job(options, args, None).await?;
    Box::pin(dry_run::perform(options, None, &job, args.how.new, args.json)).await
}
