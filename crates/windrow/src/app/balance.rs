//! The balance of a workspace (E4): what its runs may cost together. The cost of every run of its jobs is counted as it
//! is recorded; a workspace that has used up its balance starts no further run.

use windrow_model::store::JobFilter;

use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::text;

const PAGE: usize = 500;

/// Rejects a new run of a workspace that has used up its balance.
pub async fn check(app: &App, workspace: &str) -> Result<()> {
    let Some(balance) = app.balance_of(workspace) else { return Ok(()) };
    let spent = spent(app, workspace).await?;
    if spent < balance {
        return Ok(());
    }
    let (spent, balance) = (text::dollars(spent), text::dollars(balance));
    let what = format!("the balance of workspace {workspace:?} is used up: {spent} of {balance} spent");
    let remedy = "raise it with `--balance` or `balance` in the config file of the server (WINDROW_BALANCE)";
    Err(Error::new(what, remedy).coded(Code::BudgetSpent).about("balance"))
}

/// Of all runs of the workspace's jobs.
async fn spent(app: &App, workspace: &str) -> Result<i64> {
    let (mut spent, mut before) = (0, None);
    loop {
        let filter = JobFilter {
            workspace: Some(workspace.to_owned()),
            kind: Some(windrow_experiment::KIND.to_owned()),
            before,
            limit: PAGE,
            ..JobFilter::default()
        };
        let page = app.store.jobs(filter).await?;
        for (job, _) in &page {
            spent += app.store.runs(job.id).await?.iter().map(|run| run.spent.cost_nanos).sum::<i64>();
        }
        match page.last().filter(|_| page.len() == PAGE) {
            Some((job, _)) => before = Some(job.id),
            None => return Ok(spent),
        }
    }
}
