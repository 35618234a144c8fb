//! Secrets written in clear: a job file is stored with every run, so a key, a password or a credential in it is rejected
//! in every kind. A loopback address needs no real secret and is left alone.

use crate::diagnostics::Problems;
use crate::environment::Environment;
use crate::http_client::is_loopback;
use crate::yaml::{Content, Node};

/// Set, it allows secrets in clear.
pub const VARIABLE: &str = "WINDROW_ALLOW_PLAIN_SECRETS";

/// Keys whose value is a secret: of components, of headers, and the last part of dotted settings.
const NAMES: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "client_secret",
    "cookie",
    "passwd",
    "password",
    "private_key",
    "proxy_authorization",
    "secret_key",
    "x_api_key",
    "x_auth_token",
    "x_goog_api_key",
];

pub fn check(root: &Node, environment: &Environment, problems: &mut Problems) {
    let allowed = environment.resolve(&format!("${{env:{VARIABLE}}}"));
    if allowed.is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false")) {
        return;
    }
    look(root, "", false, problems);
}

fn look(node: &Node, path: &str, local: bool, problems: &mut Problems) {
    match &node.content {
        Content::Map(entries) => {
            let text_of =
                |name: &str| entries.iter().find(|(key, _)| key.name == name).and_then(|(_, node)| text(node));
            let local = local || ["base_url", "url"].iter().filter_map(|name| text_of(name)).any(is_loopback);
            for (key, value) in entries {
                let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
                // The fields of a row, which are named as the row has them.
                if path == "dataset.fields" {
                    continue;
                }
                match text(value) {
                    Some(secret) if is_secret(&key.name) && !local && is_plain(secret) => {
                        let variable = key.name.to_uppercase().replace(['-', '.'], "_");
                        report(value, &path, &variable, problems);
                    }
                    _ => look(value, &path, local, problems),
                }
            }
        }
        Content::List(nodes) => nodes.iter().for_each(|node| look(node, path, local, problems)),
        Content::Text(text) if has_plain_password(text) && !is_loopback(text) => {
            report(node, path, "PASSWORD", problems);
        }
        _ => {}
    }
}

fn text(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    NAMES.contains(&name.rsplit('.').next().unwrap_or(&name))
}

/// Neither a reference nor a template over a row.
fn is_plain(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains("${") && !text.contains("{{")
}

/// `scheme://user:password@host`
fn has_plain_password(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((credentials, _)) = authority.rsplit_once('@') else { return false };
    let password = credentials.split_once(':').map(|(_, password)| password);
    is_scheme && password.is_some_and(is_plain)
}

fn report(node: &Node, path: &str, variable: &str, problems: &mut Problems) {
    let message = format!("`{path}` is a secret in clear, and a job file is stored with every run");
    let help = format!(
        "write \"${{env:{variable}}}\" and set the variable, or \"${{secret:NAME}}\" and run `windrow secrets set NAME`; \
         --allow-plain-secrets accepts it as it is"
    );
    problems.add(node.span.clone(), message, help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Excerpt;

    fn found(yaml: &str, variable: Option<&str>) -> Vec<String> {
        let mut problems = Problems::in_file(Excerpt::whole("job.yaml", yaml.to_owned()));
        let variable = variable.map(str::to_owned);
        let environment = Environment::new(move |name| variable.clone().filter(|_| name == VARIABLE));
        check(&Node::parse(yaml).unwrap(), &environment, &mut problems);
        problems.into_report().problems.iter().map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn keys_headers_and_passwords_in_clear_are_found() {
        for (yaml, path) in [
            ("target: { openai: { model: m, api_key: sk-1 } }", "target.openai.api_key"),
            ("target: { http: { url: 'https://x.example', headers: { Authorization: Bearer abc } } }", "Authorization"),
            ("source: { postgres: { url: 'postgres://ann:hush@db/shop' } }", "source.postgres.url"),
            ("change: { set: { database.password: hush } }", "database.password"),
            ("steps: [{ url: 'https://ann:hush@x.example/a' }]", "steps.url"),
        ] {
            let found = found(yaml, None);
            assert!(found.len() == 1 && found[0].contains(path), "{yaml}: {found:?}");
        }
    }

    #[test]
    fn references_templates_and_loopback_addresses_are_fine() {
        for yaml in [
            "target: { openai: { model: m, api_key: '${env:KEY}' } }",
            "headers: { authorization: 'Bearer ${secret:key}', x-api-key: '{{ key }}' }",
            "target: { openai: { base_url: 'http://127.0.0.1:1/v1', api_key: any } }",
            "source: { url: 'postgres://ann:hush@localhost/shop' }",
            "source: { url: 'postgres://ann:${secret:pw}@db/shop' }",
            "dataset: { fields: { password: input.hint } }",
            "prompt: 'write to me: a@b.c, see http://x.example:80/a@b'",
        ] {
            let found = found(yaml, None);
            assert!(found.is_empty(), "{yaml}: {found:?}");
        }
    }

    #[test]
    fn they_can_be_allowed() {
        assert!(found("api_key: sk-1", Some("true")).is_empty());
        assert_eq!(found("api_key: sk-1", Some("false")).len(), 1);
    }
}
