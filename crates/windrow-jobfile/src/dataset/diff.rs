//! What one version of a dataset has that another has not. A row that is gone and one that is new
//! with the same `id` are one row that changed. Order does not count.

use std::hash::{DefaultHasher, Hash, Hasher};

use windrow_model::dataset::{DatasetStore, Difference};
use windrow_model::store::Result;
use windrow_model::{DatasetVersionId, Json};

const PAGE: usize = 1_000;
/// Rows up to which changed ones are told from added and removed ones (17 MB).
const MAX_COMPARED: usize = 1_000_000;

#[derive(Debug, Default, PartialEq)]
pub struct Diff {
    pub added: i64,
    pub removed: i64,
    pub changed: i64,
    /// The first of each.
    pub added_rows: Vec<Json>,
    pub removed_rows: Vec<Json>,
    pub changed_rows: Vec<(Json, Json)>,
}

/// A row that is gone, by its `id`.
struct Gone {
    id: u64,
    cursor: i64,
    matched: bool,
}

pub async fn diff(
    store: &dyn DatasetStore,
    versions: (DatasetVersionId, DatasetVersionId),
    shown: usize,
) -> Result<Diff> {
    let mut diff = Diff::default();
    let mut gone: Vec<Gone> = Vec::new();
    let mut cursor = 0;
    while let Some(page) = next_page(store, versions, &mut cursor).await? {
        for found in page.iter().filter(|found| found.change < 0) {
            diff.removed -= found.change;
            if let Some(id) = id_of(&found.body).filter(|_| gone.len() < MAX_COMPARED) {
                gone.push(Gone { id, cursor: found.cursor, matched: false });
            }
        }
    }
    gone.sort_unstable_by_key(|gone| gone.id);
    let mut cursor = 0;
    while let Some(page) = next_page(store, versions, &mut cursor).await? {
        for found in page.into_iter().filter(|found| found.change > 0) {
            let mut new = found.change;
            if let Some(old) = id_of(&found.body).and_then(|id| take(&mut gone, id)) {
                new -= 1;
                diff.removed -= 1;
                diff.changed += 1;
                if diff.changed_rows.len() < shown {
                    let before = store.dataset_differences(versions, old - 1, 1).await?;
                    diff.changed_rows.extend(before.into_iter().map(|before| (before.body, found.body.clone())));
                }
            }
            diff.added += new;
            if new > 0 && diff.added_rows.len() < shown {
                diff.added_rows.push(found.body);
            }
        }
    }
    diff.removed_rows = removed_rows(store, versions, gone, shown.min(diff.removed as usize)).await?;
    Ok(diff)
}

/// The first rows that are gone for good.
async fn removed_rows(
    store: &dyn DatasetStore,
    versions: (DatasetVersionId, DatasetVersionId),
    gone: Vec<Gone>,
    shown: usize,
) -> Result<Vec<Json>> {
    let mut matched: Vec<i64> = gone.into_iter().filter(|gone| gone.matched).map(|gone| gone.cursor).collect();
    matched.sort_unstable();
    let mut rows = Vec::new();
    let mut cursor = 0;
    while rows.len() < shown {
        let Some(page) = next_page(store, versions, &mut cursor).await? else { break };
        let removed = page.into_iter().filter(|found| {
            let changed = i64::from(matched.binary_search(&found.cursor).is_ok());
            found.change + changed < 0
        });
        rows.extend(removed.map(|found| found.body));
    }
    rows.truncate(shown);
    Ok(rows)
}

async fn next_page(
    store: &dyn DatasetStore,
    versions: (DatasetVersionId, DatasetVersionId),
    cursor: &mut i64,
) -> Result<Option<Vec<Difference>>> {
    let page = store.dataset_differences(versions, *cursor, PAGE).await?;
    let Some(last) = page.last() else { return Ok(None) };
    *cursor = last.cursor;
    Ok(Some(page))
}

/// The place of a row with this id that no new one has taken yet.
fn take(gone: &mut [Gone], id: u64) -> Option<i64> {
    let first = gone.partition_point(|gone| gone.id < id);
    let found = gone[first..].iter_mut().take_while(|gone| gone.id == id).find(|gone| !gone.matched)?;
    found.matched = true;
    Some(found.cursor)
}

fn id_of(body: &Json) -> Option<u64> {
    let value = body.value();
    let id = value.get("id").filter(|id| id.is_string() || id.is_number())?;
    let mut hasher = DefaultHasher::new();
    id.to_string().hash(&mut hasher);
    Some(hasher.finish())
}
