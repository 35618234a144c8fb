//! The text of calls in flight, while it arrives (E30). Nothing of it is stored: it is gone when the call ends, and what
//! the call returned is then on record.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use windrow_model::workload::Shown;
use windrow_model::{ItemId, JobId, RunId, StepId};

/// Bytes kept of one text, the newest.
const KEPT: usize = 16 << 10;

/// All texts of one process; each belongs to a worker slot.
#[derive(Debug, Default)]
pub struct LiveTexts {
    texts: Mutex<BTreeMap<StepId, LiveText>>,
    changed: watch::Sender<u64>,
}

/// One of them, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText {
    /// Unknown to a remote worker.
    pub job: Option<JobId>,
    pub run: RunId,
    pub step: StepId,
    /// The column; empty for the only target.
    pub name: String,
    pub turn: u32,
    /// The newest part.
    pub text: String,
    /// Characters before that part.
    pub skipped: usize,
}

impl LiveText {
    pub fn item(&self) -> ItemId {
        self.step.attempt().item()
    }

    /// Characters so far.
    pub fn length(&self) -> usize {
        self.skipped + self.text.chars().count()
    }

    /// What came after that many characters, and where it begins: later where more is gone by now.
    pub fn after(&self, seen: usize) -> (usize, &str) {
        let from = seen.max(self.skipped);
        let start = self.text.char_indices().nth(from - self.skipped).map_or(self.text.len(), |(at, _)| at);
        (from, &self.text[start..])
    }
}

impl LiveTexts {
    /// Until the handle is dropped, a text stands for this step.
    pub fn begin(self: &Arc<Self>, text: LiveText) -> Arc<dyn Shown> {
        let step = text.step;
        self.lock().insert(step, text);
        Arc::new(Handle { texts: self.clone(), step })
    }

    pub fn of_item(&self, item: ItemId) -> Option<LiveText> {
        self.lock().values().rev().find(|text| text.item() == item && !text.text.is_empty()).cloned()
    }

    pub fn all(&self) -> Vec<LiveText> {
        self.lock().values().filter(|text| !text.text.is_empty()).cloned().collect()
    }

    /// Changes whenever a text does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<StepId, LiveText>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Handle {
    texts: Arc<LiveTexts>,
    step: StepId,
}

impl Shown for Handle {
    fn show(&self, so_far: &str) {
        let mut start = so_far.len().saturating_sub(KEPT);
        while !so_far.is_char_boundary(start) {
            start += 1;
        }
        if let Some(text) = self.texts.lock().get_mut(&self.step) {
            text.skipped = so_far[..start].chars().count();
            so_far[start..].clone_into(&mut text.text);
        }
        self.texts.changed.send_modify(|changes| *changes += 1);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.texts.lock().remove(&self.step);
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::AttemptId;

    use super::*;

    fn begun(texts: &Arc<LiveTexts>) -> Arc<dyn Shown> {
        let step = AttemptId::new(ItemId(7), 1).first_step();
        let (name, text) = (String::new(), String::new());
        texts.begin(LiveText { job: None, run: RunId(1), step, name, turn: 0, text, skipped: 0 })
    }

    #[test]
    fn a_text_lives_as_long_as_its_call_and_is_bounded() {
        let texts = Arc::new(LiveTexts::default());
        let handle = begun(&texts);
        assert_eq!(texts.of_item(ItemId(7)), None, "nothing has come yet");
        handle.show("grün");
        let text = texts.of_item(ItemId(7)).unwrap();
        assert_eq!((text.length(), text.after(0), text.after(3)), (4, (0, "grün"), (3, "n")));
        assert_eq!(text.after(9), (9, ""));
        handle.show(&"ü".repeat(KEPT));
        let text = texts.of_item(ItemId(7)).unwrap();
        assert_eq!((text.text.len(), text.skipped, text.length()), (KEPT, KEPT / 2, KEPT));
        assert_eq!(text.after(4).0, KEPT / 2, "what is gone is left out");
        drop(handle);
        assert_eq!(texts.all(), []);
    }
}
