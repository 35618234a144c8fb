//! The balance of a workspace (E4): what its runs may cost together. The cost of every run is counted as it is recorded,
//! also after its job was deleted. A workspace that has spent its balance starts no further run, and a first run whose
//! estimate is over what is left needs `--yes`.

use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::text;

const REMEDY: &str = "raise it with `--balance` or `balance` in the config file of the server (WINDROW_BALANCE)";

/// Rejects a new run of a workspace that has used up its balance.
pub async fn check(app: &App, workspace: &str) -> Result<()> {
    let Some(balance) = app.balance().filter(|balance| balance.of(workspace).is_some()) else { return Ok(()) };
    match balance.used_up(workspace, app.store.cost_of_workspace(workspace).await?) {
        Some(what) => Err(Error::new(what, REMEDY).coded(Code::BudgetSpent).about("balance")),
        None => Ok(()),
    }
}

/// Rejects a run that is estimated to cost more than what is left.
pub async fn check_estimate(app: &App, workspace: &str, cost_nanos: i64) -> Result<()> {
    check(app, workspace).await?;
    let Some(balance) = app.balance().and_then(|balance| balance.of(workspace)) else { return Ok(()) };
    let spent = app.store.cost_of_workspace(workspace).await?;
    if spent.saturating_add(cost_nanos) <= balance {
        return Ok(());
    }
    let [cost, spent, balance] = [cost_nanos, spent, balance].map(text::dollars);
    let what = format!(
        "over the balance of workspace {workspace:?}: the run is estimated at {cost}, and {spent} of {balance} is spent"
    );
    let remedy = format!("{REMEDY}, run fewer rows with `--first N`, or pass `--yes` (`yes` over HTTP)");
    Err(Error::new(what, remedy).coded(Code::BudgetSpent).about("balance"))
}
