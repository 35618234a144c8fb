//! One item while it is executed: what it has said, used up and found so far, and where its calls are recorded.

use windrow_model::workload::{Done, Halt, Journal, WorkItem};

use crate::calls::Calls;
use crate::conversation::Conversation;
use crate::definition::message::Message;
use crate::target::Answer;

pub struct ItemExecution<'a> {
    pub item: &'a WorkItem,
    pub journal: &'a dyn Journal,
    pub conversation: Conversation,
    pub trial: u32,
    /// Results of other items may be reused.
    pub cache: bool,
    pub history: Vec<Message>,
    /// All answers together, for what looks at the whole conversation.
    pub whole: Answer,
    pub done: Done,
}

impl<'a> ItemExecution<'a> {
    pub fn new(
        item: &'a WorkItem,
        journal: &'a dyn Journal,
        conversation: Conversation,
        (trial, cache): (u32, bool),
    ) -> Self {
        let (history, whole, done) = (Vec::new(), Answer::default(), Done::default());
        Self { item, journal, conversation, trial, cache, history, whole, done }
    }

    pub fn keep(&self) {
        self.journal.keep(self.done.clone());
    }

    /// Calls are paid for, whatever their outcome; what failed is kept at once, because the item fails with it.
    pub fn spent<T>(&mut self, calls: &Calls<'_>, made: &Result<T, Halt>) {
        self.done.usage += calls.used();
        if made.is_err() {
            self.keep();
        }
    }

    pub fn calls<'b>(&self, caller: &'b str, turn: usize) -> Calls<'b>
    where
        'a: 'b,
    {
        Calls::new(self.journal, caller, turn, self.trial).cached(self.cache).in_retry(self.item.retry_from)
    }
}
