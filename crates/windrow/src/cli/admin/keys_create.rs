//! `windrow keys create`

use windrow_model::access::Role;
use windrow_wire::CreatedKey;
use windrow_wire::request::NewKey;

use crate::app::keys;
use crate::cli::Context;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Make a key for the server. Its secret is shown only this once: it goes to stdout, alone.
///
/// From the first key on, every request needs one. A running server notices within a second.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Who acts with it, in every log
    name: String,
    /// viewer reads; operator also starts and steers jobs, sends rows, imports; admin also keeps keys and secrets
    #[arg(long, value_parser = role)]
    role: Role,
    /// The only workspace it may use; all without it
    #[arg(long)]
    workspace: Option<String>,
    /// How long it lets somebody in: 90d, 2w, 12h; for ever without it
    #[arg(long, value_name = "DURATION", value_parser = keys::lifetime_ms)]
    expires: Option<i64>,
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
    eprintln!("made {} ({}, {workspace}{end}); it is not shown again", key.name, key.role);
    eprintln!("use it: curl -H \"Authorization: Bearer $KEY\" …");
    Ok(Exit::Passed)
}

fn role(text: &str) -> std::result::Result<Role, String> {
    text.parse().map_err(|_| "write viewer, operator or admin".to_owned())
}
