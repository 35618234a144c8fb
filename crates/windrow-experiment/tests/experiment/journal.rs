//! A journal in memory that remembers the order of what it was told.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use windrow_model::limit::{Demand, Permit};
use windrow_model::step::{ContentKey, OnUnknown, Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Done, Journal, StepNo, Stopped};
use windrow_model::{AttemptId, ItemId, Json, StepId};

#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Begin(StepIntent),
    Finish(u32, StepResult),
    Whole(StepIntent, StepResult),
    Reuse(StepIntent, StepId),
    Partial(Done),
}

#[derive(Default)]
pub struct MemoryJournal {
    earlier: HashMap<ContentKey, Recalled>,
    /// What other items have done.
    pub shared: HashMap<ContentKey, Recalled>,
    told: Mutex<Vec<Told>>,
    demands: Mutex<Vec<Demand>>,
    /// How long each step without an intent took.
    pub took_ms: Mutex<Vec<i64>>,
    /// What is handed in should the rest fail.
    pub kept: Mutex<Done>,
    pub stopping: AtomicBool,
}

impl MemoryJournal {
    /// The journal of the next attempt: it recalls every good step of this one, and an intent
    /// without a result as unknown.
    pub fn next_attempt(&self) -> Self {
        let mut earlier = self.earlier.clone();
        let mut begun = HashMap::new();
        for (no, told) in self.told().into_iter().enumerate() {
            let from = StepId::new(AttemptId::new(ItemId(1), 1), no as u32);
            match told {
                Told::Begin(intent) => {
                    begun.insert(no as u32, intent.key);
                    earlier.insert(intent.key, Recalled::Unknown { from, on_unknown: intent.on_unknown });
                }
                Told::Finish(begin, StepResult::Done { output, usage }) => {
                    earlier.insert(begun[&begin], Recalled::Done { from, output, usage });
                }
                Told::Finish(begin, StepResult::Failed { .. }) => {
                    earlier.remove(&begun[&begin]);
                }
                Told::Whole(intent, StepResult::Done { output, usage }) => {
                    earlier.insert(intent.key, Recalled::Done { from, output, usage });
                }
                _ => {}
            }
        }
        Self { earlier, ..Self::default() }
    }

    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// What leave was asked for, call by call.
    pub fn demands(&self) -> Vec<Demand> {
        self.demands.lock().unwrap().clone()
    }

    /// `begin target`, `finish`, `whole exact` …
    pub fn story(&self) -> Vec<String> {
        let name = |intent: &StepIntent| format!("{} {}", intent.kind, intent.name).trim().to_owned();
        let told = self.told();
        let word = |told: &Told| match told {
            Told::Begin(intent) => {
                assert_eq!(intent.on_unknown, OnUnknown::Repeat);
                format!("begin {}", name(intent))
            }
            Told::Finish(_, StepResult::Done { .. }) => "done".to_owned(),
            Told::Finish(_, StepResult::Failed { failure }) => format!("failed {}", failure.class),
            Told::Whole(intent, _) => format!("whole {}", name(intent)),
            Told::Reuse(intent, _) => format!("reuse {}", name(intent)),
            Told::Partial(done) => format!("partial {}", done.scores.len()),
        };
        told.iter().map(word).collect()
    }

    fn tell(&self, told: Told) -> u32 {
        let mut all = self.told.lock().unwrap();
        all.push(told);
        all.len() as u32 - 1
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn recall(&self, key: &ContentKey) -> Option<Recalled> {
        self.earlier.get(key).cloned()
    }
    async fn look_up(&self, key: &ContentKey) -> Option<Recalled> {
        self.shared.get(key).cloned()
    }
    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped> {
        self.demands.lock().unwrap().push(demand);
        Ok(Permit::free())
    }
    async fn wait_out(&self, _endpoint: &str, pause: std::time::Duration) -> Result<(), Stopped> {
        tokio::time::sleep(pause).await;
        Ok(())
    }
    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        let shared = intent.shared;
        Ok(StepNo { no: self.tell(Told::Begin(intent)), shared })
    }
    fn finish(&self, no: StepNo, result: StepResult) {
        self.tell(Told::Finish(no.no, result));
    }
    fn whole(&self, intent: StepIntent, result: StepResult, took_ms: i64) {
        self.took_ms.lock().unwrap().push(took_ms);
        self.tell(Told::Whole(intent, result));
    }
    fn reuse(&self, intent: StepIntent, from: StepId, _taken: Option<(Json, Usage)>) {
        self.tell(Told::Reuse(intent, from));
    }
    fn keep(&self, done: Done) {
        *self.kept.lock().unwrap() = done;
    }
    async fn hand_in_partial(&self, done: Done) -> Result<(), Stopped> {
        self.tell(Told::Partial(done));
        Ok(())
    }
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
