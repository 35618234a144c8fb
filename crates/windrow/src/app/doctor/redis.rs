//! The Redis that nodes may have beside their database. Nothing depends on it.

use windrow_store::redis::Link;

use crate::app::doctor::Check;
use crate::node::options::GlobalOptions;

const NAME: &str = "redis";

pub async fn check(options: &GlobalOptions) -> Option<Check> {
    let url = options.redis.as_ref()?;
    if options.database.is_none() {
        let found = "it is for nodes that share a database, and this one has its own; it is not used";
        return Some(Check::warning(NAME, found, "set --database too, or leave --redis and WINDROW_REDIS_URL out"));
    }
    let redis = match Link::open(url) {
        Ok(redis) => redis,
        Err(error) => {
            let remedy = "write --redis like redis://host:6379, or rediss://:password@host:6379 for TLS";
            return Some(Check::failure(NAME, error.to_string(), remedy));
        }
    };
    Some(match redis.ping().await {
        Ok(()) => Check::ok(NAME, format!("{} answers", redis.place())),
        Err(error) => Check::warning(
            NAME,
            format!("{} is away, and the work goes on without it, slower: {error}", redis.place()),
            "check host, password and TLS of --redis",
        ),
    })
}
