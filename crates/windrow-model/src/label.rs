//! What people said about an item (E19): a verdict or a value that corrects an evaluator, or a note. A label belongs to
//! the item, so it survives retries and rescores; it names the output that was reviewed, so that a changed output is
//! not taken for a reviewed one. Labels are only added: the newest under a name counts, the others are its history.

use std::collections::BTreeMap;

use crate::ids::{ItemId, JobId};
use crate::step::{ContentKey, Verdict};
use crate::time::Time;

/// The name of free text about an item.
pub const NOTE: &str = "note";
/// The name of a verdict about the item as a whole.
pub const OUTCOME: &str = "outcome";

#[derive(Debug, Clone, PartialEq)]
pub struct NewLabel {
    pub item: ItemId,
    /// An evaluator, [`OUTCOME`], [`NOTE`], or a name of the team's own.
    pub name: String,
    /// `pass` or `fail`.
    pub verdict: Option<Verdict>,
    pub value: Option<f64>,
    pub note: Option<String>,
    pub reason: String,
    /// The output that was reviewed.
    pub output: Option<ContentKey>,
}

impl NewLabel {
    /// Takes back what was said under the name.
    pub fn is_clear(&self) -> bool {
        self.verdict.is_none() && self.value.is_none() && self.note.is_none()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Ascending in the order in which labels were given.
    pub id: i64,
    pub job: JobId,
    pub what: NewLabel,
    pub author: String,
    pub at: Time,
}

impl Label {
    /// Whether the author says what counts already: a request whose answer was lost, sent again.
    pub fn is_repeated_by(&self, new: &NewLabel, author: &str) -> bool {
        self.what == *new && self.author == author
    }
}

/// The newest under each name, unless it was cleared. The history is in its order.
pub fn current(history: &[Label]) -> BTreeMap<&str, &Label> {
    let mut newest: BTreeMap<&str, &Label> = BTreeMap::new();
    for label in history {
        newest.insert(&label.what.name, label);
    }
    newest.retain(|_, label| !label.what.is_clear());
    newest
}

/// Which of these change something, given the history of their items: neither repeats what counts, nor clears what was
/// not said.
pub fn changes(history: &[Label], new: Vec<NewLabel>, author: &str) -> Vec<NewLabel> {
    let mut known: BTreeMap<(ItemId, &str), &Label> = BTreeMap::new();
    for label in history {
        known.insert((label.what.item, label.what.name.as_str()), label);
    }
    let mut said: BTreeMap<(ItemId, String), NewLabel> = BTreeMap::new();
    new.into_iter()
        .filter(|new| {
            let key = (new.item, new.name.clone());
            if let Some(earlier) = said.insert(key, new.clone()) {
                return earlier != *new;
            }
            match known.get(&(new.item, new.name.as_str())) {
                Some(label) if new.is_clear() => !label.what.is_clear(),
                Some(label) => !label.is_repeated_by(new, author),
                None => !new.is_clear(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(item: i64, name: &str, verdict: Option<Verdict>) -> NewLabel {
        let (name, reason) = (name.to_owned(), String::new());
        NewLabel { item: ItemId(item), name, verdict, value: None, note: None, reason, output: None }
    }

    fn history(labels: Vec<NewLabel>) -> Vec<Label> {
        let label = |(id, what)| Label { id: id as i64, job: JobId(1), what, author: "ann".into(), at: Time(0) };
        labels.into_iter().enumerate().map(label).collect()
    }

    #[test]
    fn the_newest_counts_until_it_is_cleared() {
        let (pass, fail) = (Some(Verdict::Pass), Some(Verdict::Fail));
        let said =
            history(vec![new(1, "exact", pass), new(1, "judge", fail), new(1, "exact", fail), new(1, "judge", None)]);
        let found: Vec<_> = current(&said).into_iter().map(|(name, label)| (name, label.what.verdict)).collect();
        assert_eq!(found, [("exact", fail)]);
    }

    #[test]
    fn repetitions_change_nothing() {
        let (pass, fail) = (Some(Verdict::Pass), Some(Verdict::Fail));
        let said = history(vec![new(1, "exact", pass)]);
        let changed = |new, author| changes(&said, vec![new], author).len();
        assert_eq!(changed(new(1, "exact", pass), "ann"), 0);
        assert_eq!(changed(new(1, "exact", pass), "bob"), 1, "another person confirms it");
        assert_eq!(changed(new(1, "exact", fail), "ann"), 1);
        assert_eq!((changed(new(2, "exact", None), "ann"), changed(new(1, "exact", None), "ann")), (0, 1));
    }
}
