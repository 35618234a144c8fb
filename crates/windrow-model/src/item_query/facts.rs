//! An item as a condition sees it.

use super::field::{Field, place};
use crate::record::Item;
use crate::step::Score;

pub struct Facts<'a> {
    pub item: &'a Item,
    pub scores: &'a [Score],
}

impl Facts<'_> {
    pub fn value(&self, field: &Field) -> Option<f64> {
        let item = self.item;
        let usage = &item.usage;
        match field {
            Field::Id => Some(item.id.0 as f64),
            Field::Row => Some((item.ordinal + 1) as f64),
            Field::State => Some(place(item.state)),
            Field::Tries => Some(f64::from(item.tries)),
            Field::LatencyMs => item.latency_ms.map(|ms| ms as f64),
            Field::TokensIn => Some(usage.tokens_in as f64),
            Field::TokensOut => Some(usage.tokens_out as f64),
            Field::Tokens => Some((usage.tokens_in + usage.tokens_out) as f64),
            Field::Cost => Some(usage.cost_nanos as f64 / 1e9),
            Field::FinishedAt => item.finished_at.map(|at| at.0 as f64),
            Field::Error => item.error.as_ref().map(|(class, _)| place(*class)),
            Field::Score(name) => {
                let own = self.scores.iter().filter(|score| score.name == *name);
                own.filter_map(|score| score.value).reduce(f64::min)
            }
        }
    }
}
