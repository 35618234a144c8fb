//! An item that is sent to a worker.

use windrow_model::state::Mode;
use windrow_model::step::ContentKey;
use windrow_model::store::Claimed;

use super::bad::{Bad, parsed};
use super::{lease, v1};

/// The fields of an item that `windrow worker` uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub claimed: Claimed,
    pub workspace: String,
    pub kind: String,
    pub definition: String,
    pub mode: Mode,
    pub fresh: bool,
    pub unproven: bool,
}

impl TryFrom<v1::Item> for Assignment {
    type Error = Bad;

    fn try_from(item: v1::Item) -> Result<Self, Bad> {
        let claimed = Claimed {
            lease: lease(item.lease)?,
            ordinal: item.ordinal,
            key: super::step::key(&item.key)?,
            input: super::bad::json("input_json", item.input_json)?,
            retries: item.retries,
            losses: item.losses,
            throttled: item.throttled,
            has_history: item.has_history,
        };
        let mode = parsed("mode", &item.mode)?;
        Ok(Self {
            claimed,
            workspace: item.workspace,
            kind: item.kind,
            definition: item.definition,
            mode,
            fresh: item.fresh,
            unproven: item.unproven,
        })
    }
}

impl From<Claimed> for v1::Item {
    fn from(claimed: Claimed) -> Self {
        let Claimed { lease, ordinal, key: ContentKey(key), input, retries, losses, throttled, has_history } = claimed;
        Self {
            item: lease.attempt.item().0,
            lease: Some(lease.into()),
            ordinal,
            key: key.to_vec(),
            input_json: input.as_str().to_owned(),
            retries,
            losses,
            throttled,
            has_history,
            ..Self::default()
        }
    }
}
