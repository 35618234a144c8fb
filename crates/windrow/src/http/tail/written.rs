//! An event as text, made once: the frame of a server-sent event, whose data is also the message of a
//! WebSocket. Cloning it copies nothing.

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use windrow_model::event::{ITEMS_ARCHIVED, RUN_PLANNED};
use windrow_model::record::OutboxEvent;
use windrow_model::{JobId, Json, RunId, Time};
use windrow_wire::Event;

/// How long a client waits before it connects again.
const RETRY_MS: u64 = 1000;

#[derive(Debug, Clone)]
pub struct Written {
    pub id: i64,
    /// None of an event that is about the stream itself.
    pub of: Option<Of>,
    frame: Bytes,
    data: std::ops::Range<usize>,
}

/// Whose event it is.
#[derive(Debug, Clone)]
pub struct Of {
    pub workspace: String,
    pub job: JobId,
    pub run: RunId,
    /// Of the run's items, where the event says only how far they are once the items are left out.
    pub progress: Option<Box<RawValue>>,
    pub is_of_items: bool,
}

#[derive(Deserialize)]
struct Counted {
    counts: Option<Box<RawValue>>,
}

impl Written {
    pub fn new(event: &OutboxEvent) -> Self {
        let is_of_items = event.kind.starts_with("items_");
        let tells_progress = matches!(event.kind.as_str(), ITEMS_ARCHIVED | RUN_PLANNED);
        let counted = tells_progress.then(|| event.body.parse::<Counted>().ok()).flatten();
        let progress = counted.and_then(|counted| counted.counts);
        let workspace = event.workspace.clone();
        let of = Of { workspace, job: event.job, run: event.run, progress, is_of_items };
        Self::frame(&Event::from(event), Some(of))
    }

    /// How far a run is, without its items.
    pub fn progress(id: i64, at: Time, of: &Of, counts: &RawValue) -> Self {
        let body = Json::from_text(format!("{{\"counts\":{}}}", counts.get()));
        let (job, run) = (Some(of.job.to_string()), Some(of.run.to_string()));
        Self::frame(&Event { id, at: at.into(), job, run, kind: "run_progress".into(), body }, Some(of.clone()))
    }

    /// Texts of calls in flight.
    pub fn texts(id: i64, at: Time, body: &serde_json::Value) -> Self {
        let body = Json::of(body);
        Self::frame(&Event { id, at: at.into(), job: None, run: None, kind: "item_text".into(), body }, None)
    }

    /// Events were forgotten before this reader came to them.
    pub fn gap(from: i64, to: i64, at: Time) -> Self {
        let remedy = "events were deleted before they were read: read the items again, then continue from here";
        let body = Json::of(&serde_json::json!({ "from": from, "to": to, "remedy": remedy }));
        Self::frame(&Event { id: to, at: at.into(), job: None, run: None, kind: "gap".into(), body }, None)
    }

    fn frame(event: &Event, of: Option<Of>) -> Self {
        let data = serde_json::to_string(event).expect("an event serialises to JSON");
        let head = format!("id: {}\nevent: {}\nretry: {RETRY_MS}\ndata: ", event.id, event.kind);
        let range = head.len()..head.len() + data.len();
        Self { id: event.id, of, frame: Bytes::from(head + &data + "\n\n"), data: range }
    }

    pub fn server_sent(&self) -> Bytes {
        self.frame.clone()
    }

    pub fn json(&self) -> Bytes {
        self.frame.slice(self.data.clone())
    }

    pub fn size(&self) -> usize {
        self.frame.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_serves_both_kinds_of_streams() {
        let body = Json::from_text(r#"{"counts":{"total":2},"items":[{"id":1}]}"#);
        let (job, run, kind) = (JobId(5), RunId(6), ITEMS_ARCHIVED.to_owned());
        let written = Written::new(&OutboxEvent { id: 7, at: Time(0), workspace: "w".into(), job, run, kind, body });
        let frame = String::from_utf8(written.server_sent().to_vec()).unwrap();
        let json = String::from_utf8(written.json().to_vec()).unwrap();
        assert_eq!(frame, format!("id: 7\nevent: items_archived\nretry: 1000\ndata: {json}\n\n"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["body"]["items"][0]["id"], 1);
        assert_eq!(written.of.unwrap().progress.unwrap().get(), r#"{"total":2}"#);
    }
}
