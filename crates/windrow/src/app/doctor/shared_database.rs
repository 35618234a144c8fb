//! A shared database: whether it is reachable, its schema is known, and which nodes live.

use windrow_model::Time;

use crate::app::App;
use crate::app::doctor::{Check, Patient, clock, inside_of, master_key};

const NAME: &str = "database";
/// A node beats every few seconds.
const SILENT_MS: i64 = 60_000;
/// Ours last milliseconds.
const OLD_S: i64 = 300;

pub async fn checks(url: &str, patient: &Patient<'_>) -> Vec<Check> {
    let app = match App::open(patient.options).await {
        Ok(app) => app,
        Err(error) => {
            let remedy = "check host, user, password and TLS of --database; the user must be allowed to make a schema (PostgreSQL) \
                 or the tables of the database (MySQL, MariaDB)";
            let what = error.what();
            let remedy = windrow_store::certificate_remedy(&what).unwrap_or(remedy);
            return vec![Check::failure(NAME, format!("{}: {what}", place(url)), remedy)];
        }
    };
    let mut checks = vec![Check::ok(NAME, format!("{} is reachable, its schema is up to date", place(url)))];
    match app.store.sessions().await {
        Ok(sessions) => {
            let silent = sessions.iter().filter(|session| session.beat_at < Time(patient.now.0 - SILENT_MS)).count();
            let newest = sessions.iter().map(|session| session.beat_at).max();
            checks.push(clock::check(patient, newest));
            checks.push(match silent {
                0 => Check::ok("nodes", format!("{} running", sessions.len())),
                n => Check::warning(
                    "nodes",
                    format!("{n} of {} have sent no heartbeat for a minute", sessions.len()),
                    "if they were killed, other nodes have requeued their items; otherwise see their logs",
                ),
            });
        }
        Err(error) => checks.push(Check::failure("nodes", error.to_string(), "fix the database first")),
    }
    checks.extend(transactions(&app).await);
    match app.secret_keys().await {
        Ok(keys) => checks.push(master_key::check(patient, &keys)),
        Err(error) => checks.push(Check::failure("secrets", error.what(), "fix the database first")),
    }
    checks.extend(inside_of(&app, patient).await);
    checks
}

/// Nothing that was changed since the oldest one began can be cleaned away.
async fn transactions(app: &App) -> Option<Check> {
    const NAME: &str = "transactions";
    Some(match app.oldest_transaction().await? {
        Ok(Some(old)) if old.open_s >= OLD_S => Check::warning(
            NAME,
            format!(
                "{} has had one open for {} minutes: dead rows since then cannot be vacuumed, which slows everything down",
                old.whose,
                old.open_s / 60
            ),
            format!("end it in the program that opened it, or with `{}`", old.remedy),
        ),
        Ok(_) => Check::ok(NAME, "none is old"),
        Err(error) => Check::ok(NAME, format!("not visible to this user: {error}")),
    })
}

/// Without user and password.
fn place(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split('?').next().unwrap_or(rest);
    format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, place)| place))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn nobody_reads_the_password() {
        assert_eq!(place("postgres://ann:p@ss@db:5432/w?sslmode=require"), "postgres://db:5432/w");
        assert_eq!(place("postgres://db/w"), "postgres://db/w");
        assert_eq!(place("mysql://ann:hush@db/w?sslmode=disable"), "mysql://db/w");
    }
}
