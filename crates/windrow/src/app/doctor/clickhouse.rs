//! The optional ClickHouse with a copy of all results.

use windrow_analytics::Client;

use crate::app::App;
use crate::app::analytics;
use crate::app::doctor::Check;
use crate::node::options::GlobalOptions;

const NAME: &str = "clickhouse";

pub async fn check(options: &GlobalOptions) -> Option<Check> {
    let address = options.clickhouse.as_ref()?;
    let remedy = "check host, password and TLS of --clickhouse; the server sends what was missed when it is back";
    let version = match Client::new(address.clone()) {
        Ok(client) => client.perform("SELECT version()").await,
        Err(failure) => Err(failure),
    };
    let version = match version {
        Ok(version) => version.trim().to_owned(),
        Err(failure) => return Some(Check::warning(NAME, format!("{failure}; work continues without it"), remedy)),
    };
    let found = format!("{address} is ClickHouse {version}");
    let Ok(Some(app)) = App::open_if_there(options).await else { return Some(Check::ok(NAME, found)) };
    Some(match analytics::summary(&app).await {
        Some((text, true)) => Check::warning(NAME, format!("{found}; {text}"), remedy),
        Some((text, false)) if text != "ok" => Check::ok(NAME, format!("{found}; {text}")),
        _ => Check::ok(NAME, format!("{found}, up to date")),
    })
}
