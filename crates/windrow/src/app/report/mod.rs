//! Reports of finished runs for CI, pull requests and programs, in three formats. They are streamed, so that a run of any
//! size needs the memory of one page.

mod junit;
mod markdown;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use windrow_model::store::StoreError;

use crate::app::App;
use crate::app::results::Assessment;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JUnit XML: one suite per evaluator, and one for the gates
    Junit,
    /// Markdown, fit for a comment on a pull request
    Markdown,
    /// The object that `windrow run --json` prints
    Json,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the report cannot be written: {0}")]
    Written(#[from] std::io::Error),
}

pub type Result<T> = std::result::Result<T, ReportError>;
pub type Out<'a> = &'a mut (dyn AsyncWrite + Send + Unpin);

pub async fn write(app: &App, assessed: &Assessment, format: Format, out: Out<'_>) -> Result<()> {
    match format {
        Format::Junit => junit::write(app, assessed, out).await?,
        Format::Markdown => put(out, &markdown::page(assessed)).await?,
        Format::Json => {
            let text = serde_json::to_string_pretty(&assessed.result(false)).expect("answers serialise to JSON");
            put(out, &format!("{text}\n")).await?;
        }
    }
    Ok(out.flush().await?)
}

async fn put(out: Out<'_>, text: &str) -> Result<()> {
    Ok(out.write_all(text.as_bytes()).await?)
}
