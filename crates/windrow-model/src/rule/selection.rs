//! Which of a job's own items a run takes (fail_retry, rescore, rollback): by state, and narrowed by
//! what went wrong or by name.

use crate::failure::ErrorClass;
use crate::ids::ItemId;
use crate::state::{ItemState, Mode};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    pub states: Vec<ItemState>,
    /// Only items whose last error is of one of these classes; empty: any error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorClass>,
    /// Only items in whose snapshot one of these evaluators reads `error`; empty: any evaluator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Vec<String>>,
    /// Only these; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<i64>)]
    pub items: Vec<ItemId>,
    /// Only items let go in this wave, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<i64>,
    /// Last first, as rollback wants it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    /// Not to be started before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    pub not_before: Option<Time>,
    /// Set where the system itself retries after the end of a run: how often it has, in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_no: Option<u32>,
    /// Set where failed rows are run again before a failed gate counts: how often they were, in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_no: Option<u32>,
}

impl Selection {
    /// What the modes without a source take from the job's own items (E9).
    pub fn of(mode: Mode) -> Self {
        use ItemState::*;
        match mode {
            Mode::Rescore => Self { states: vec![Succeeded], ..Self::default() },
            // What failed or was cancelled may have been changed all the same.
            Mode::Rollback => {
                Self { states: vec![Succeeded, Failed, Cancelled, Skipped], reverse: true, ..Self::default() }
            }
            // A closed run leaves nothing queued, so this is all that did not succeed.
            _ => Self { states: vec![Failed, Cancelled], ..Self::default() },
        }
    }

    /// `errored` says whether an evaluator of that name reads `error` in the item's snapshot.
    pub fn takes<'a>(
        &self,
        (id, wave): (ItemId, i64),
        state: ItemState,
        error: Option<ErrorClass>,
        mut errored: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.states.contains(&state)
            && (self.errors.is_empty() || error.is_some_and(|class| self.errors.contains(&class)))
            && (self.items.is_empty() || self.items.contains(&id))
            && self.wave.is_none_or(|wanted| wanted == wave)
            && self
                .unjudged
                .as_ref()
                .is_none_or(|names| errored.any(|name| names.is_empty() || names.iter().any(|wanted| wanted == name)))
    }
}

/// When an item taken in reverse is due. The queue goes by time, then by id; these are times long past,
/// in the order in which the items were taken.
pub fn turn_in_reverse(created_at: Time, place: i64) -> Time {
    const LONG_PAST_MS: i64 = 1 << 33;
    Time(created_at.0 - LONG_PAST_MS + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_narrows() {
        let failed = |selection: &Selection, errored: &[&str]| {
            selection.takes((ItemId(7), 2), ItemState::Failed, Some(ErrorClass::Timeout), errored.iter().copied())
        };
        let all = Selection::of(Mode::FailRetry);
        assert!(failed(&all, &[]));
        assert!(!failed(&Selection::of(Mode::Rescore), &[]));
        assert!(failed(&Selection { errors: vec![ErrorClass::Timeout], ..all.clone() }, &[]));
        assert!(!failed(&Selection { errors: vec![ErrorClass::Server], ..all.clone() }, &[]));
        assert!(!failed(&Selection { items: vec![ItemId(8)], ..all.clone() }, &[]));
        assert!(failed(&Selection { wave: Some(2), ..all.clone() }, &[]));
        assert!(!failed(&Selection { wave: Some(1), ..all.clone() }, &[]));
        let any = Selection { unjudged: Some(Vec::new()), ..all.clone() };
        assert!(failed(&any, &["judge"]) && !failed(&any, &[]));
        let one = Selection { unjudged: Some(vec!["exact".into()]), ..all };
        assert!(!failed(&one, &["judge"]) && failed(&one, &["judge", "exact"]));
    }
}
