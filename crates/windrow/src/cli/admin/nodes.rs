//! `windrow nodes list` and `windrow nodes drain`

use windrow_model::SessionId;
use windrow_wire::{NodeList, NodeView};

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging::Paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// List the nodes that share this database
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    paging: Paging,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Drain a node: finish running items, hand its runs to other nodes and stop it
///
/// The node is notified by its next heartbeat, after at most five seconds. Running items get the --grace period of
/// that node to finish; other nodes continue the rest.
#[derive(Debug, clap::Args)]
pub struct DrainArgs {
    /// Node id, from `windrow nodes list`
    pub node: SessionId,
}

pub async fn list(api: &Api, args: ListArgs) -> Result<Exit> {
    let list = api.nodes().await?;
    args.paging.show(list, |list| &mut list.nodes, |node| node.id.clone(), args.json)?;
    Ok(Exit::Passed)
}

pub async fn drain(api: &Api, args: DrainArgs) -> Result<Exit> {
    api.drain_node(args.node).await?;
    output::print(&format!("Draining {}", args.node));
    output::hint(&[api.command("nodes list")]);
    Ok(Exit::Passed)
}

impl Show for NodeList {
    fn text(&self) -> String {
        if self.nodes.is_empty() {
            return "No node is running. Start one with: windrow serve".into();
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
                text::moment(node.beat_at),
            ]
        });
        output::table(
            &["NODE", "STATE", "ROLES", ">RUNNING", "PROCESS", "ADDRESS", "VERSION", "HEARTBEAT"],
            rows.collect(),
        )
    }
}
