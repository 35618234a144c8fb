//! Which role a request takes. Reading takes a viewer and everything else an operator, so that a route
//! cannot be forgotten; what takes an admin is marked here, with all that lies below it. The role of every
//! operation is written into the OpenAPI document, where a change of it is seen in review.

use axum::http::Method;
use windrow_model::access::Role;

/// Open to everybody: they tell nothing about anybody's work.
const PUBLIC: &[&str] = &["/", "/assets/{file}", "/healthz", "/readyz", "/api/docs", "/api/v1/openapi.json"];
/// All that has to do with somebody's work is in here, or is a route.
const API: &[&str] = &["/api"];

const OF_ADMINS: &[&str] = &[
    "/api/v1/audit",
    "/api/v1/clean-up",
    "/api/v1/deliveries",
    "/api/v1/keys",
    "/api/v1/nodes",
    "/api/v1/secrets",
    "/api/v1/webhooks",
];

/// What reaches beyond one workspace, and is not for a caller of one.
const OF_ALL_WORKSPACES: &[&str] = &["/api/v1/clean-up", "/api/v1/nodes", "/metrics"];

/// Says nothing but who one is.
const OF_EVERYBODY: &[&str] = &["/api/v1/session"];

/// What is read where no route is, is at most a page of the app, which is the same for everybody.
pub fn is_public(method: &Method, route: Option<&str>, path: &str) -> bool {
    route.map_or(method.is_safe() && !is_of_api(path), |route| PUBLIC.contains(&route))
}

pub fn is_of_api(path: &str) -> bool {
    is_below(API, path)
}

/// The least role; `path` is a route or an address of one.
pub fn least_role(method: &Method, path: &str) -> Role {
    if is_below(OF_ADMINS, path) {
        return Role::Admin;
    }
    match method.is_safe() || is_below(OF_EVERYBODY, path) {
        true => Role::Viewer,
        false => Role::Operator,
    }
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
