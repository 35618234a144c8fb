//! Locates the databases of `scripts/services`. A test fails if they are missing; it is never skipped.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Generates every case once per server, each with the URL of its own database.
macro_rules! on_every_server {
    ($($case:ident),+ $(,)?) => {
        mod postgres {
            $( #[test] fn $case() { super::$case(crate::services::postgres()) } )+
        }
        mod mariadb {
            $( #[test] fn $case() { super::$case(crate::services::mariadb()) } )+
        }
    };
}
pub(crate) use on_every_server;

/// PostgreSQL, in a private schema.
pub fn postgres() -> String {
    format!("{}?sslmode=disable&schema={}", url("WINDROW_TEST_POSTGRES"), unique())
}

/// MariaDB, in a private database.
pub fn mariadb() -> String {
    let url = url("WINDROW_TEST_MARIADB");
    let (server, _) = url.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{}?sslmode=disable", unique())
}

fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("cli_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Shared by all tests; a node prefixes its keys.
pub fn redis() -> String {
    url("WINDROW_TEST_REDIS")
}

/// From the environment, or from the file that `scripts/services up` writes.
pub fn url(name: &str) -> String {
    let left_behind = || {
        let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").to_string_lossy().into_owned()
        });
        let urls = std::fs::read_to_string(Path::new(&target).join("services/urls")).ok()?;
        urls.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    std::env::var(name).ok().or_else(left_behind).unwrap_or_else(|| {
        panic!("{name} is not set and no services are up: run `scripts/services up`, or the tests by `make test`")
    })
}
