//! `windrow nodes list` and `windrow nodes drain`

use windrow_model::SessionId;
use windrow_wire::{NodeList, NodeView};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// The servers that share this database: what they do, and when they last showed that they live
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[arg(long)]
    json: bool,
}

/// Ask a server to finish what it has, hand its runs to others and end
///
/// It learns of it with its next sign of life, after five seconds at most. Nothing is lost or done twice: items
/// under way have the --grace of that server to finish, and whatever is left is taken on by the others.
#[derive(Debug, clap::Args)]
pub struct DrainArgs {
    /// Id of the node, as `windrow nodes list` shows it
    pub node: SessionId,
}

pub async fn list(api: &Api, args: ListArgs) -> Result<Exit> {
    output::show(&api.nodes().await?, args.json);
    Ok(Exit::Passed)
}

pub async fn drain(api: &Api, args: DrainArgs) -> Result<Exit> {
    api.drain_node(args.node).await?;
    println!("{} was asked to leave; see it go with `{}`", args.node, api.command("nodes list"));
    Ok(Exit::Passed)
}

impl Show for NodeList {
    fn text(&self) -> String {
        if self.nodes.is_empty() {
            return "no server is running; start one with `windrow serve`".into();
        }
        let rows = self.nodes.iter().map(|node| {
            let NodeView { id, state, address, version, host, pid, .. } = node;
            let roles: Vec<&str> = node.roles.iter().map(|role| role.as_str()).collect();
            vec![
                id.clone(),
                state.to_string(),
                roles.join(" "),
                node.at_work.to_string(),
                format!("{host} · {pid}"),
                address.clone(),
                version.clone(),
                node.beat_at.to_string(),
            ]
        });
        output::table(
            &["NODE", "STATE", "ROLES", "AT WORK", "PROCESS", "LISTENS ON", "VERSION", "LAST BEAT"],
            rows.collect(),
        )
    }
}
