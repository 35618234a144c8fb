//! Texts of calls in flight, for one reader: what is new since it was told last, a few times a second (E30).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use windrow_engine::LiveText;
use windrow_model::{JobId, StepId};
use windrow_wire::StreamedText;

use crate::http::live::Whose;
use crate::http::server::Server;
use crate::http::tail::written::Written;

/// Between two events.
const EVERY: Duration = Duration::from_millis(250);
/// Bytes of text in one event; the rest follows in the next.
const MOST: usize = 64 << 10;
/// Characters of a preview.
const PREVIEW: usize = 200;

pub struct Texts {
    changes: watch::Receiver<u64>,
    /// Characters that the reader was told, by step.
    told: BTreeMap<StepId, usize>,
    /// Whether the reader may see the job.
    allowed: BTreeMap<JobId, bool>,
    next: Instant,
}

impl Texts {
    pub fn new(server: &Server) -> Self {
        let mut changes = server.engine().live().changes();
        changes.mark_changed();
        Self { changes, told: BTreeMap::new(), allowed: BTreeMap::new(), next: Instant::now() }
    }

    /// Waits until there is something new and it may be told. Nothing is lost when this is dropped.
    pub fn due(&self) -> impl Future<Output = ()> + use<> {
        let (mut changes, next) = (self.changes.clone(), self.next);
        async move {
            sleep_until(next).await;
            // The sender lives as long as the engine.
            let _ = changes.changed().await;
        }
    }

    /// `cursor` is the position in the stream of stored events.
    pub async fn take(&mut self, server: &Server, whose: &Whose, cursor: i64) -> Option<Arc<Written>> {
        self.changes.mark_unchanged();
        self.next = Instant::now() + EVERY;
        let texts = server.engine().live().all();
        self.told.retain(|step, _| texts.iter().any(|text| text.step == *step));
        let (mut items, mut size) = (Vec::new(), 0);
        for text in &texts {
            if !self.may_see(server, whose, text).await {
                continue;
            }
            let (from, new) = text.after(self.told.get(&text.step).copied().unwrap_or(0));
            if new.is_empty() {
                continue;
            }
            if size > 0 && size + new.len() > MOST {
                self.changes.mark_changed();
                break;
            }
            size += new.len();
            items.push(item(text, from, new));
            self.told.insert(text.step, text.length());
        }
        let body = json!({ "items": items });
        (!items.is_empty()).then(|| Arc::new(Written::texts(cursor, server.app.now(), &body)))
    }

    async fn may_see(&mut self, server: &Server, whose: &Whose, text: &LiveText) -> bool {
        let Some(job) = text.job else { return false };
        match whose {
            Whose::All => true,
            Whose::Jobs(jobs) => jobs.contains(&job),
            Whose::Workspace(workspace) => {
                if let Some(allowed) = self.allowed.get(&job) {
                    return *allowed;
                }
                let allowed = server.app.store.job(job).await.is_ok_and(|job| job.workspace == *workspace);
                self.allowed.insert(job, allowed);
                allowed
            }
        }
    }
}

fn item(text: &LiveText, from: usize, new: &str) -> Value {
    json!({
        "job": text.job.map(|job| job.to_string()),
        "run": text.run.to_string(),
        "item": text.item().to_string(),
        "column": Some(&text.name).filter(|name| !name.is_empty()),
        "turn": text.turn,
        "from": from,
        "text": new,
    })
}

/// As an item shows it.
pub fn whole(text: LiveText) -> StreamedText {
    let length = text.length();
    StreamedText { column: Some(text.name).filter(|name| !name.is_empty()), turn: text.turn, text: text.text, length }
}

/// As a row of the table shows it.
pub fn preview(text: LiveText) -> StreamedText {
    let whole = whole(text);
    let newest = whole.text.char_indices().rev().nth(PREVIEW - 1).map_or(0, |(at, _)| at);
    StreamedText { text: whole.text[newest..].to_owned(), ..whole }
}
