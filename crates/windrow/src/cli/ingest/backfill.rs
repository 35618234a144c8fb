//! `windrow ingest backfill`

use std::collections::BTreeMap;

use windrow_model::ItemId;
use windrow_model::ingest::{Slice, Span};
use windrow_model::record::Job;
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{ItemFilter, Selection};

use crate::cli::follow;
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::App;
use crate::{find, start};

const PAGE: usize = 500;

/// Read slices again from their start, whatever their checkpoints say.
///
/// Records with a key are written over, not doubled. Without a range all slices are meant; windows and
/// ranges count where they overlap with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// From this moment (2026-01-31, 2026-01-31T06:00:00Z) or key on
    #[arg(long)]
    from: Option<String>,
    /// Up to this moment or key, not included
    #[arg(long)]
    to: Option<String>,
    /// Only the slice of this name; may be repeated
    #[arg(long)]
    slice: Vec<String>,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let app = desk.here("ingest backfill")?;
    let (job, latest) = find::job(app, &args.job).await?;
    let items = chosen(app, &job, &args).await?;
    if items.is_empty() {
        let remedy = format!("see its slices with `{}`", app.command(&format!("ingest lineage {}", job.name)));
        return Err(Error::new("no slice lies in that range", remedy));
    }
    let mut request = start::of_run(app, &job, &latest, Mode::FailRetry).await?;
    request.fresh = true;
    request.selection = Some(Selection { states: ItemState::ALL.to_vec(), items, ..Selection::default() });
    let run = start::submit(app, request).await?;
    follow::to_end(desk, &job.name, &run.to_string(), false, args.shown).await
}

/// One item per slice: the newest.
async fn chosen(app: &App, job: &Job, args: &Args) -> Result<Vec<ItemId>> {
    let (mut newest, mut after): (BTreeMap<String, ItemId>, _) = (BTreeMap::new(), None);
    loop {
        let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: PAGE };
        let items = app.store.items(filter).await?;
        for item in &items {
            let input = app.store.outline(item.id).await?.input;
            if let Ok(slice) = input.parse::<Slice>()
                && args.means(&slice)
            {
                newest.insert(slice.name, item.id);
            }
        }
        match items.last() {
            Some(last) if items.len() == PAGE => after = Some(last.id),
            _ => return Ok(newest.into_values().collect()),
        }
    }
}

impl Args {
    fn means(&self, slice: &Slice) -> bool {
        let named = self.slice.is_empty() || self.slice.contains(&slice.name);
        named
            && match &slice.span {
                // Moments in UTC sort as text.
                Span::Time { from, to, .. } => {
                    self.from.as_ref().is_none_or(|start| to > start) && self.to.as_ref().is_none_or(|end| from < end)
                }
                Span::Keys { from, to } => {
                    let key = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<i64>().ok());
                    key(&self.from).is_none_or(|start| *to > start) && key(&self.to).is_none_or(|end| *from < end)
                }
                Span::All | Span::Value(_) => self.from.is_none() && self.to.is_none(),
            }
    }
}
