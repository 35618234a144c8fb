//! `windrow datasets add`

use windrow_wire::{AddRowsRequest, RowsAdded};

use crate::cli::results::table::numbered;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Add rows of a job to a dataset
///
/// Makes a new version: the rows of the newest one, and those selected rows that it does not have.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the dataset; created if it does not exist
    name: String,
    /// Job whose rows are added; `#N` selects the results of one run
    #[arg(long, value_name = "JOB[#RUN]")]
    from: String,
    /// Only rows that match, e.g. `outcome = fail`
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let (from, run) = numbered(&args.from);
    let request = AddRowsRequest { from, run, r#where: args.condition };
    output::show(&api.add_rows(args.workspace.as_deref(), &args.name, request).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for RowsAdded {
    fn text(&self) -> String {
        let (version, rows) = (&self.imported.version, text::plural(self.added, "row"));
        let name = format!("{}@{}", self.imported.name, version.version);
        match self.imported.unchanged {
            true => format!("{name} has these rows already."),
            false => format!("{rows} of {} selected added: {name} has {}.", self.selected, text::count(version.rows)),
        }
    }
}
