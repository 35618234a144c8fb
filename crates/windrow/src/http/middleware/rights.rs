//! The role that a request requires. Reads require a viewer and everything else an operator, so that no route can be
//! left open; routes that require an admin are listed here. The OpenAPI document has the role of every operation, so that
//! review sees a change of it.

use axum::http::Method;
use windrow_model::access::Role;

/// Without a key: they hold no data.
const PUBLIC: &[&str] = &["/", "/assets/{file}", "/healthz", "/readyz", "/api/docs", "/api/v1/openapi.json"];
/// All data is below these paths, or has a route.
const API: &[&str] = &["/api"];

const OF_ADMINS: &[&str] = &[
    "/api/v1/analytics",
    "/api/v1/audit",
    "/api/v1/backups",
    "/api/v1/clean-up",
    "/api/v1/deliveries",
    "/api/v1/keys",
    "/api/v1/nodes",
    "/api/v1/secrets",
    "/api/v1/webhooks",
];

/// Not for callers limited to one workspace.
const OF_ALL_WORKSPACES: &[&str] =
    &["/api/v1/analytics", "/api/v1/backups", "/api/v1/clean-up", "/api/v1/nodes", "/metrics"];

/// Tells a caller only about itself.
const OF_EVERYBODY: &[&str] = &["/api/v1/session"];

/// A read without a route is at most a page of the web UI, which holds no data.
pub fn is_public(method: &Method, route: Option<&str>, path: &str) -> bool {
    route.map_or(method.is_safe() && !is_of_api(path), |route| PUBLIC.contains(&route))
}

pub fn is_of_api(path: &str) -> bool {
    is_below(API, path)
}

/// The least role; `path` is a route or a path of one.
pub fn least_role(method: &Method, path: &str) -> Role {
    if is_below(OF_ADMINS, path) {
        return Role::Admin;
    }
    match method.is_safe() || is_below(OF_EVERYBODY, path) || is_question(path) {
        true => Role::Viewer,
        false => Role::Operator,
    }
}

/// A read whose question is too long for a URL.
pub fn is_question(path: &str) -> bool {
    path.starts_with("/api/v1/jobs/") && path.ends_with("/views")
}

pub fn is_of_all_workspaces(path: &str) -> bool {
    is_below(OF_ALL_WORKSPACES, path)
}

fn is_below(roots: &[&str], path: &str) -> bool {
    roots.iter().any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_marked_takes_a_viewer_to_read_and_an_operator_to_change() {
        assert_eq!(least_role(&Method::GET, "/api/v1/jobs"), Role::Viewer);
        assert_eq!(least_role(&Method::HEAD, "/metrics"), Role::Viewer);
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(least_role(&method, "/something/new"), Role::Operator);
        }
        for path in ["/api/v1/keys", "/api/v1/keys/{key}", "/api/v1/webhooks/{id}/deliveries"] {
            assert_eq!(least_role(&Method::GET, path), Role::Admin, "{path}");
        }
        assert_eq!(least_role(&Method::GET, "/api/v1/keystones"), Role::Viewer);
        assert_eq!(least_role(&Method::POST, "/api/v1/jobs/{job}/views"), Role::Viewer);
    }

    #[test]
    fn pages_are_open_and_what_they_show_is_not() {
        for (route, path) in [(Some("/"), "/"), (Some("/assets/{file}"), "/assets/index.js"), (None, "/nodes")] {
            assert!(is_public(&Method::GET, route, path), "{path}");
        }
        for (route, path) in [(Some("/metrics"), "/metrics"), (Some("/api/v1/nodes"), "/api/v1/nodes")] {
            assert!(!is_public(&Method::GET, route, path), "{path}");
        }
        let unrouted = |method: Method, path: &str| is_public(&method, None, path);
        assert!(unrouted(Method::GET, "/apiary") && !unrouted(Method::POST, "/apiary"));
        assert!(!unrouted(Method::GET, "/api/nothing") && !unrouted(Method::GET, "/api"));
    }
}
