//! The optional Redis of nodes that share a database.

use windrow_store::redis::Link;

use crate::app::doctor::Check;
use crate::node::options::GlobalOptions;

const NAME: &str = "redis";

pub async fn check(options: &GlobalOptions) -> Option<Check> {
    let url = options.redis.as_ref()?;
    if options.database.is_none() {
        let found = "ignored without a shared database";
        return Some(Check::warning(NAME, found, "set --database too, or leave out --redis and WINDROW_REDIS_URL"));
    }
    let redis = match Link::open(url) {
        Ok(redis) => redis,
        Err(error) => {
            let remedy = "use e.g. --redis redis://host:6379, or rediss://:password@host:6379 for TLS";
            return Some(Check::failure(NAME, error.to_string(), remedy));
        }
    };
    Some(match redis.ping().await {
        Ok(()) => Check::ok(NAME, format!("{} answers", redis.place())),
        Err(error) => Check::warning(
            NAME,
            format!("{} is unreachable; nodes work without it, slower: {error}", redis.place()),
            "check host, password and TLS of --redis",
        ),
    })
}
