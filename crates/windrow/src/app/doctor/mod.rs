//! Diagnoses the installation and suggests fixes. One file per check; nothing is repaired here.

mod check;
mod clickhouse;
mod clock;
mod credentials;
mod data_folder;
mod database;
mod health;
mod limits;
mod master_key;
mod prices;
mod redis;
mod server;
mod shared_database;
mod tables;
mod work;

use std::time::{SystemTime, UNIX_EPOCH};

use windrow_model::Time;

use crate::app::App;
use crate::error::Error;
use crate::node::config;
use crate::node::data_dir::DataDir;
use crate::node::options::GlobalOptions;

pub use check::{Check, Grade};

/// What the checks read.
pub struct Patient<'a> {
    pub options: &'a GlobalOptions,
    pub now: Time,
    /// Where a server would listen.
    pub listen: String,
}

/// All checks, in the order of their dependencies. `config` is the error of the config file, if any.
pub async fn examine(options: &GlobalOptions, listen: String, config: Option<&Error>) -> Vec<Check> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let patient = Patient { options, now: Time(now), listen };
    let mut checks = vec![config_file(options, config)];
    checks.extend(data_folder::check(options));
    checks.extend([limits::open_files(), prices::check(&patient)]);
    if let Some(url) = &options.database {
        checks.extend(shared_database::checks(url, &patient).await);
        checks.extend(redis::check(options).await);
        checks.extend(clickhouse::check(options).await);
        checks.push(server::check(&patient).await);
        return checks;
    }
    let found = match DataDir::existing(&options.data) {
        Ok(data) => database::examine(&data, &patient),
        Err(_) => Err(Check::ok("database", "none yet; created by the first run")),
    };
    match found {
        Err(check) => checks.extend([clock::check(&patient, None), master_key::check(&patient, &[]), check]),
        Ok(found) => {
            checks.push(clock::check(&patient, found.newest));
            checks.push(master_key::check(&patient, &found.secret_keys));
            checks.extend(database::judge(&found, &patient));
            if found.is_current() && found.damage.is_empty() {
                checks.extend(work::checks(&found, &patient));
                checks.extend(inside(&patient).await);
            }
        }
    }
    checks.extend(redis::check(options).await);
    checks.extend(clickhouse::check(options).await);
    checks.push(server::check(&patient).await);
    checks
}

/// Checks that need the open database.
async fn inside(patient: &Patient<'_>) -> Vec<Check> {
    let unreadable = |name, error: Error| Check::failure(name, error.what(), "fix the database first");
    let app = match App::open(patient.options).await {
        Ok(app) => app,
        Err(error) => return vec![unreadable("jobs", error)],
    };
    inside_of(&app, patient).await
}

async fn inside_of(app: &App, patient: &Patient<'_>) -> Vec<Check> {
    let unreadable = |name, error: Error| Check::failure(name, error.what(), "fix the database first");
    let health = health::check(app, patient.now).await.unwrap_or_else(|error| unreadable("health", error));
    let jobs = credentials::check(app).await.unwrap_or_else(|error| unreadable("jobs", error));
    let tables = tables::check(app).await.unwrap_or_else(|error| unreadable("result tables", error));
    vec![health, jobs, tables]
}

fn config_file(options: &GlobalOptions, trouble: Option<&Error>) -> Check {
    let named = options.config.clone().unwrap_or_else(|| config::USUAL.into());
    match trouble {
        None if named.is_file() => Check::ok("config", format!("{} is valid", named.display())),
        None => Check::ok("config", "no file, using defaults"),
        Some(error) => Check::failure(
            "config",
            error.render().trim(),
            "correct the file; `windrow config show` lists the settings",
        ),
    }
}
