//! Locates the databases of `scripts/services`. A test fails if one is missing; it is never skipped.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
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
