//! `windrow jobs why`

use windrow_model::why::Explanation;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::style;

const FACTS: [&str; 5] = ["items", "done", "queued", "spent", "most common error"];

/// Explain why a job is not progressing
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.why(&args.job).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for Explanation {
    fn text(&self) -> String {
        // `items: 178 of 500 done` is a fact, `api.openai.com is failing` a note.
        let fact = |detail: &str| {
            let (label, value) = detail.split_once(": ")?;
            FACTS.contains(&label).then(|| (label.to_owned(), value.to_owned()))
        };
        let facts: Vec<(String, String)> = self.details.iter().filter_map(|detail| fact(detail)).collect();
        let facts: Vec<(&str, String)> = facts.iter().map(|(label, value)| (label.as_str(), value.clone())).collect();
        let notes = self.details.iter().filter(|detail| fact(detail).is_none());
        let mut details = output::facts(&facts);
        notes.for_each(|note| details += &format!("{note}\n"));
        let gap = if details.is_empty() { "" } else { "\n" };
        let remedy = self
            .remedy
            .as_ref()
            .map(|remedy| format!("\n{} {}\n", style::dim("next:"), style::cyan(remedy)))
            .unwrap_or_default();
        format!("{}\n{gap}{details}{remedy}", style::bold(&self.headline))
    }
}
