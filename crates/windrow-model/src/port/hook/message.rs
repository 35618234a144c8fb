//! What a webhook is told of events of the outbox: which of them it wants, under which topic, and results
//! gathered into batches.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::event;
use crate::json::Json;
use crate::port::hook::Hook;
use crate::port::hook::topics::{GAP, ITEMS_ARCHIVED};
use crate::record::OutboxEvent;

/// What a delivery is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    pub data: Json,
}

/// Something to tell that is in no outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// `alert.raised`, `alert.cleared`.
    pub topic: String,
    /// Whose business it is; `None`: the server's, told to webhooks of all workspaces only.
    pub workspace: Option<String>,
    pub data: Json,
}

impl Announcement {
    pub fn concerns(&self, hook: &Hook) -> bool {
        let own = hook.workspace.is_none() || hook.workspace == self.workspace;
        own && hook.job.is_none() && hook.topics.include(&self.topic)
    }
}

#[derive(Serialize)]
struct Data<'a> {
    job: String,
    name: &'a str,
    workspace: &'a str,
    run: String,
    /// The event's place in the streams.
    event: i64,
    #[serde(flatten)]
    body: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Results<'a> {
    job: String,
    name: &'a str,
    workspace: &'a str,
    run: String,
    event: i64,
    items: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Archived {
    items: Vec<Box<RawValue>>,
    counts: Option<Box<RawValue>>,
}

/// What the webhook is to be told of these events, each with the name of its job, in their order. Results of one run that follow each
/// other share deliveries, up to the webhook's batch.
pub fn messages(hook: &Hook, events: &[(OutboxEvent, String)]) -> Vec<Message> {
    let wanted = |(event, _): &&(OutboxEvent, String)| concerns(hook, event);
    let mut told = Vec::new();
    let mut gathered: Option<Gathered> = None;
    for (event, name) in events.iter().filter(wanted) {
        let topic = topic(event);
        let archived = (topic == ITEMS_ARCHIVED).then(|| event.body.parse::<Archived>().ok()).flatten();
        let Some(archived) = archived else {
            told.extend(gathered.take().into_iter().flat_map(|results| results.told(hook.batch)));
            told.push(Message { data: data(event, name), topic });
            continue;
        };
        match &mut gathered {
            Some(results) if results.event.run == event.run => results.add(event, archived),
            other => {
                let before = other.replace(Gathered { event, name, items: archived.items, counts: archived.counts });
                told.extend(before.into_iter().flat_map(|results| results.told(hook.batch)));
            }
        }
    }
    told.extend(gathered.into_iter().flat_map(|results| results.told(hook.batch)));
    told
}

/// Events up to this one were forgotten before they were read.
pub fn gap(from: i64, to: i64) -> Message {
    let remedy = "read the items again; events were deleted before this webhook received them";
    let data = serde_json::json!({ "from": from, "to": to, "remedy": remedy });
    Message { topic: GAP.to_owned(), data: Json::of(&data) }
}

/// Results of one run that wait for more of them.
struct Gathered<'a> {
    /// The last of them.
    event: &'a OutboxEvent,
    name: &'a str,
    items: Vec<Box<RawValue>>,
    counts: Option<Box<RawValue>>,
}

impl<'a> Gathered<'a> {
    fn add(&mut self, event: &'a OutboxEvent, archived: Archived) {
        self.event = event;
        self.items.extend(archived.items);
        self.counts = archived.counts.or(self.counts.take());
    }

    fn told(&self, batch: usize) -> Vec<Message> {
        let results = |items| Results {
            job: self.event.job.to_string(),
            name: self.name,
            workspace: &self.event.workspace,
            run: self.event.run.to_string(),
            event: self.event.id,
            items,
            counts: self.counts.as_deref(),
        };
        let message = |items| Message { topic: ITEMS_ARCHIVED.to_owned(), data: Json::of(&results(items)) };
        self.items.chunks(batch.max(1)).map(message).collect()
    }
}

fn concerns(hook: &Hook, event: &OutboxEvent) -> bool {
    hook.job.is_none_or(|only| only == event.job)
        && hook.workspace.as_ref().is_none_or(|only| *only == event.workspace)
        && hook.topics.include(&topic(event))
}

fn topic(told: &OutboxEvent) -> String {
    match told.kind.as_str() {
        event::RUN_STATE => format!("run.{}", told.body.value()["state"].as_str().unwrap_or_default()),
        other => other.replacen('_', ".", 1),
    }
}

fn data(event: &OutboxEvent, name: &str) -> Json {
    Json::of(&Data {
        job: event.job.to_string(),
        name,
        workspace: &event.workspace,
        run: event.run.to_string(),
        event: event.id,
        body: event.body.parse().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HookId, JobId, RunId};
    use crate::port::hook::{HookState, Topics};
    use crate::time::Time;

    fn hook(topics: &str, batch: usize) -> Hook {
        Hook {
            id: HookId(1),
            workspace: None,
            job: None,
            url: String::new(),
            topics: topics.parse::<Topics>().unwrap(),
            batch,
            timeout_ms: 0,
            state: HookState::Active,
            reason: None,
            secret: String::new(),
            former: None,
            cursor: 0,
            failures: 0,
            rests_until: Time(0),
            actor: String::new(),
            created_at: Time(0),
        }
    }

    fn event(id: i64, run: i64, kind: &str, body: &str) -> (OutboxEvent, String) {
        let body = Json::from_text(body);
        let workspace = format!("w{run}");
        let event =
            OutboxEvent { id, at: Time(id), workspace, job: JobId(run), run: RunId(run), kind: kind.into(), body };
        (event, format!("job-{run}"))
    }

    fn archived(id: i64, run: i64, items: &[i64]) -> (OutboxEvent, String) {
        let items: Vec<String> = items.iter().map(|id| format!(r#"{{"id":{id}}}"#)).collect();
        event(id, run, "items_archived", &format!(r#"{{"items":[{}],"counts":{{"total":{id}}}}}"#, items.join(",")))
    }

    fn told(hook: &Hook, events: &[(OutboxEvent, String)]) -> Vec<(String, Vec<i64>)> {
        let ids = |data: &Json| {
            let value = data.value();
            value["items"].as_array().into_iter().flatten().map(|item| item["id"].as_i64().unwrap()).collect()
        };
        messages(hook, events).iter().map(|message| (message.topic.clone(), ids(&message.data))).collect()
    }

    #[test]
    fn results_of_a_run_share_deliveries_up_to_the_batch_and_keep_their_order() {
        let events = [
            event(1, 7, "run_state", r#"{"state":"running"}"#),
            archived(2, 7, &[1, 2]),
            archived(3, 7, &[3]),
            archived(4, 8, &[4]),
            event(5, 7, "run_state", r#"{"state":"completed"}"#),
        ];
        let words = |told: &[(&str, &[i64])]| -> Vec<(String, Vec<i64>)> {
            told.iter().map(|(topic, ids)| ((*topic).to_owned(), ids.to_vec())).collect()
        };
        let (running, archived, completed) = ("run.running", "items.archived", "run.completed");
        assert_eq!(
            told(&hook("*", 100), &events),
            words(&[(running, &[]), (archived, &[1, 2, 3]), (archived, &[4]), (completed, &[])])
        );
        assert_eq!(
            told(&hook("items.*", 1), &events),
            words(&[(archived, &[1]), (archived, &[2]), (archived, &[3]), (archived, &[4])])
        );
    }

    #[test]
    fn a_webhook_hears_of_its_own_workspace_and_job_only() {
        let events = [event(1, 7, "run_submitted", "{}"), event(2, 8, "run_submitted", r#"{"mode":"append"}"#)];
        let of_workspace = Hook { workspace: Some("w8".into()), ..hook("*", 1) };
        let of_job = Hook { job: Some(JobId(8)), ..hook("*", 1) };
        for hook in [of_workspace, of_job] {
            let told = messages(&hook, &events);
            let data = told[0].data.value();
            assert_eq!((told.len(), told[0].topic.as_str()), (1, "run.submitted"));
            assert_eq!((&data["name"], &data["mode"], &data["event"]), (&"job-8".into(), &"append".into(), &2.into()));
        }
    }

    #[test]
    fn what_concerns_the_server_is_told_to_webhooks_of_all_workspaces() {
        let alert = |workspace: Option<&str>| Announcement {
            topic: "alert.raised".into(),
            workspace: workspace.map(Into::into),
            data: Json::null(),
        };
        let (of_all, of_one) = (hook("alert.*", 1), Hook { workspace: Some("w".into()), ..hook("alert.*", 1) });
        assert!(alert(None).concerns(&of_all) && alert(Some("w")).concerns(&of_all));
        assert!(
            alert(Some("w")).concerns(&of_one) && !alert(None).concerns(&of_one) && !alert(Some("v")).concerns(&of_one)
        );
        assert!(!alert(None).concerns(&hook("run.*", 1)));
    }
}
