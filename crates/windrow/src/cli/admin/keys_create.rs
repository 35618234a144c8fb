//! `windrow keys create`

use windrow_model::access::Role;
use windrow_wire::CreatedKey;
use windrow_wire::request::NewKey;

use crate::app::keys;
use crate::cli::Context;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Create an API key; it is printed once
///
/// The key is the only line on stdout. Once a key exists, every request needs one. A running server applies the
/// change within a second.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the key, recorded as the actor in logs
    name: String,
    /// Role: viewer reads; operator also runs jobs and imports data; admin also manages keys and secrets
    #[arg(long, value_parser = role)]
    role: Role,
    /// Restrict the key to this workspace [default: all]
    #[arg(long)]
    workspace: Option<String>,
    /// Lifetime, e.g. 90d, 2w, 12h [default: unlimited]
    #[arg(long, value_name = "DURATION", value_parser = keys::lifetime_ms)]
    expires: Option<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(context: Context, args: Args) -> Result<Exit> {
    let api = Api::create(&context.options, context.remote).await?;
    let expires_in = args.expires.map(|ms| format!("{ms}ms"));
    let wish = NewKey { name: args.name, role: args.role, workspace: args.workspace, expires_in };
    let created = api.create_key(wish).await?;
    if args.json {
        output::print_json(&created);
        return Ok(Exit::Passed);
    }
    let CreatedKey { secret, key } = created;
    output::print(&secret);
    let workspace = key.workspace.as_deref().map_or("all workspaces".to_owned(), |name| format!("workspace {name}"));
    let end = key.expires_at.map_or(String::new(), |at| format!(", until {at}"));
    output::say(&format!(
        "Created API key {:?} ({}, {workspace}{end}). Copy it now; it is not shown again.",
        key.name, key.role
    ));
    Ok(Exit::Passed)
}

fn role(text: &str) -> std::result::Result<Role, String> {
    text.parse().map_err(|_| "must be viewer, operator or admin".to_owned())
}
