use std::cmp::Ordering;

use windrow_model::item_query::{Cursor, Facts, FoundItem, ItemPage, ItemQuery, Sort};
use windrow_model::record::Item;
use windrow_model::state::ItemState;
use windrow_model::step::Score;

use super::world::World;

impl World {
    pub fn search_items(&self, query: &ItemQuery) -> ItemPage {
        match &query.sort {
            None => self.search_in_order(query),
            Some(sort) => self.search_sorted(query, sort),
        }
    }

    fn search_in_order(&self, query: &ItemQuery) -> ItemPage {
        let mut candidates = self.candidates(query).filter(|found| found.item.id > query.behind());
        let (mut items, mut looked_at) = (Vec::new(), 0);
        while items.len() < query.limit {
            let Some(found) = candidates.next() else { return ItemPage { items, next: None } };
            let (id, bounded) = (found.item.id, query.condition.is_some());
            looked_at += 1;
            if matches(query, &found) {
                items.push(found);
            }
            if bounded && looked_at == query.scan {
                return ItemPage { items, next: Some(Cursor::Item(id)) };
            }
        }
        let next = items.last().map(|last: &FoundItem| Cursor::Item(last.item.id));
        ItemPage { items, next }
    }

    fn search_sorted(&self, query: &ItemQuery, sort: &Sort) -> ItemPage {
        let mut all: Vec<(Option<f64>, FoundItem)> = self
            .candidates(query)
            .filter(|found| matches(query, found))
            .map(|found| (facts(&found).value(&sort.field), found))
            .collect();
        all.sort_by(|a, b| order(sort, key(a), key(b)));
        if let Some(Cursor::Sorted { value, ordinal, item }) = query.after {
            all.retain(|found| order(sort, key(found), (value, ordinal, item.0)) == Ordering::Greater);
        }
        all.truncate(query.limit);
        let last = all.last().filter(|_| all.len() == query.limit).map(key);
        let next =
            last.map(|(value, ordinal, item)| Cursor::Sorted { value, ordinal, item: windrow_model::ItemId(item) });
        ItemPage { items: all.into_iter().map(|(_, found)| found).collect(), next }
    }

    fn candidates<'a>(&'a self, query: &'a ItemQuery) -> impl Iterator<Item = FoundItem> + 'a {
        let spared =
            |state: ItemState| query.spares_good() && matches!(state, ItemState::Queued | ItemState::Succeeded);
        let of_job = self.items.iter().filter(move |(_, row)| row.job == query.job && !spared(row.state));
        of_job.map(|(id, row)| {
            let mut scores = row.scores.clone();
            scores.sort_by(|a: &Score, b: &Score| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
            FoundItem { item: self.item_record(*id, row), scores }
        })
    }
}

fn facts(found: &FoundItem) -> Facts<'_> {
    Facts { item: &found.item, scores: &found.scores }
}

fn matches(query: &ItemQuery, found: &FoundItem) -> bool {
    query.run.is_none_or(|run| run == found.item.run)
        && query.condition.as_ref().is_none_or(|condition| condition.holds(&facts(found)))
}

fn key((value, FoundItem { item: Item { id, ordinal, .. }, .. }): &(Option<f64>, FoundItem)) -> Key {
    (*value, *ordinal, id.0)
}

type Key = (Option<f64>, i64, i64);

/// Nulls last, ties by row and item, whatever the direction.
fn order(sort: &Sort, a: Key, b: Key) -> Ordering {
    let values = match (a.0, b.0) {
        (Some(a), Some(b)) if sort.descending => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        (a, b) => a.is_none().cmp(&b.is_none()),
    };
    values.then((a.1, a.2).cmp(&(b.1, b.2)))
}
