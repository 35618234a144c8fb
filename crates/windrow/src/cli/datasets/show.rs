//! `windrow datasets show`

use windrow_wire::{DatasetDetail, VersionView};

use crate::app::lookup::DatasetName;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Show a dataset: versions, fields and sample rows
#[derive(Debug, clap::Args)]
pub struct Args {
    /// NAME or NAME@VERSION
    dataset: DatasetName,
    /// Number of sample rows
    #[arg(long, value_name = "N", default_value_t = 5)]
    rows: usize,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let detail = api.dataset(args.workspace.as_deref(), &args.dataset, args.rows).await?;
    output::show(&detail, args.json);
    Ok(Exit::Passed)
}

impl Show for DatasetDetail {
    fn text(&self) -> String {
        let version = &self.version;
        let mut page = format!("{}@{}: {}\n\n", self.name, version.version, text::plural(version.rows, "row"));
        page += &output::facts(&[
            ("imported", format!("{} by {}", version.created_at, version.actor)),
            ("from", version.source.clone()),
            ("schema", self.schema.as_ref().map_or("none".into(), |schema| text::line(schema.as_str(), 120))),
            ("content", version.digest.clone()),
        ]);
        page += &format!("\n{}", field_table(&self.fields));
        page += "\nSample rows\n";
        for row in &self.sample {
            page += &format!("  {}\n", text::line(row.as_str(), 160));
        }
        page + &format!("\n{}", version_table(&self.versions))
    }
}

fn field_table(fields: &serde_json::Value) -> String {
    let rows = fields.as_object().into_iter().flatten().map(|(name, field)| {
        let types = field["types"].as_array().into_iter().flatten().filter_map(|kind| kind.as_str());
        vec![name.clone(), types.collect::<Vec<_>>().join(" or "), text::count(field["rows"].as_i64().unwrap_or(0))]
    });
    output::table(&["FIELD", "TYPE", ">ROWS"], rows.collect())
}

fn version_table(versions: &[VersionView]) -> String {
    let row = |version: &VersionView| {
        vec![
            version.version.to_string(),
            text::count(version.rows),
            version.created_at.to_string(),
            version.actor.clone(),
            version.source.clone(),
        ]
    };
    output::table(&[">VERSION", ">ROWS", "IMPORTED", "BY", "FROM"], versions.iter().map(row).collect())
}
