//! Conformance of the port for named datasets.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use windrow_model::dataset::*;
use windrow_model::step::ContentKey;
use windrow_model::store::StoreError;
use windrow_model::{DatasetId, DatasetVersionId, Json};
use windrow_store::MemoryStore;

use crate::databases;
use crate::fixture::T0;

cases![
    a_version_is_visible_when_complete,
    the_same_rows_in_another_order_are_the_same_version,
    another_schema_is_another_version,
    a_new_import_replaces_a_killed_one,
    a_batch_sent_twice_is_stored_once,
    rows_are_paged_in_their_order_and_by_size,
    differences_count_repeated_rows,
    a_dropped_version_disappears_and_its_number_is_not_reused,
    sweeping_keeps_rows_of_other_versions,
    the_same_name_in_two_workspaces_is_two_datasets,
];

fn row(n: u64) -> NewRow {
    NewRow { key: ContentKey::of(&[&n.to_le_bytes()]), body: Json::of(&serde_json::json!({ "n": n })) }
}

fn import(n: i64, name: &str) -> NewImport {
    NewImport {
        dataset: DatasetId(n),
        version: DatasetVersionId(n),
        workspace: "w".into(),
        name: name.into(),
        schema: None,
        source: format!("file {n}"),
        actor: "ann".into(),
    }
}

fn profile() -> Json {
    Json::from_text(r#"{"fields":{}}"#)
}

async fn imported(store: &dyn DatasetStore, n: i64, name: &str, rows: &[u64]) -> Imported {
    store.begin_import(import(n, name), T0 + n).await.unwrap();
    store.import_rows(DatasetVersionId(n), 0, rows.iter().map(|n| row(*n)).collect()).await.unwrap();
    store.finish_import(DatasetVersionId(n), profile(), T0 + n).await.unwrap()
}

async fn rows_of(store: &dyn DatasetStore, version: DatasetVersionId) -> Vec<i64> {
    let rows = store.dataset_rows(version, 0, 1000, usize::MAX).await.unwrap();
    rows.iter().map(|row| row.body.value()["n"].as_i64().unwrap()).collect()
}

async fn sweep(store: &dyn DatasetStore) -> i64 {
    let mut swept = 0;
    loop {
        match store.sweep_datasets(2).await.unwrap() {
            0 => return swept,
            n => swept += n,
        }
    }
}

async fn a_version_is_visible_when_complete(store: &dyn DatasetStore) {
    let id = DatasetVersionId(1);
    store.begin_import(NewImport { schema: Some(Json::from_text("true")), ..import(1, "a") }, T0).await.unwrap();
    store.import_rows(id, 0, vec![row(1), row(2)]).await.unwrap();
    assert_eq!(store.find_dataset("w", "a").await.unwrap(), None);
    assert_eq!(store.datasets("w").await.unwrap(), []);
    assert!(matches!(store.dataset_rows(id, 0, 9, 99).await, Err(StoreError::NotFound { .. })));
    store.import_rows(id, 2, vec![row(1)]).await.unwrap();
    let imported = store.finish_import(id, profile(), T0 + 5).await.unwrap();
    let mut digest = Digest::default();
    [1, 2, 1].iter().for_each(|n| digest.add(&row(*n).key));
    let version = DatasetVersion {
        id,
        dataset: DatasetId(1),
        version: 1,
        rows: 3,
        bytes: 21,
        digest,
        schema: Some(Json::from_text("true")),
        profile: profile(),
        source: "file 1".into(),
        actor: "ann".into(),
        created_at: T0 + 5,
    };
    assert_eq!(imported, Imported { version: version.clone(), unchanged: false });
    let dataset = Dataset { id: DatasetId(1), workspace: "w".into(), name: "a".into(), created_at: T0 };
    assert_eq!(store.find_dataset("w", "a").await.unwrap(), Some(dataset.clone()));
    assert_eq!(store.dataset_versions(dataset.id).await.unwrap(), std::slice::from_ref(&version));
    assert_eq!(store.datasets("w").await.unwrap(), [DatasetListing { dataset, newest: version, versions: 1 }]);
    assert_eq!(rows_of(store, id).await, [1, 2, 1]);
    let late = store.import_rows(id, 3, vec![row(4)]).await;
    assert_eq!(late, Err(StoreError::StaleImport), "a version is immutable");
}

async fn the_same_rows_in_another_order_are_the_same_version(store: &dyn DatasetStore) {
    imported(store, 1, "a", &[1, 2, 2, 3]).await;
    let again = imported(store, 2, "a", &[2, 3, 1, 2]).await;
    assert_eq!((again.unchanged, again.version.version, again.version.id), (true, 1, DatasetVersionId(1)));
    let other = imported(store, 3, "a", &[1, 2, 3, 3]).await;
    assert_eq!((other.unchanged, other.version.version), (false, 2));
    let back = imported(store, 4, "a", &[1, 2, 2, 3]).await;
    assert_eq!((back.unchanged, back.version.version), (false, 3), "what was imported last is the newest");
    let versions = store.dataset_versions(DatasetId(1)).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [3, 2, 1]);
}

async fn another_schema_is_another_version(store: &dyn DatasetStore) {
    imported(store, 1, "a", &[1]).await;
    store.begin_import(NewImport { schema: Some(Json::from_text("{}")), ..import(2, "a") }, T0).await.unwrap();
    store.import_rows(DatasetVersionId(2), 0, vec![row(1)]).await.unwrap();
    let imported = store.finish_import(DatasetVersionId(2), profile(), T0).await.unwrap();
    assert_eq!((imported.unchanged, imported.version.version), (false, 2));
}

async fn a_new_import_replaces_a_killed_one(store: &dyn DatasetStore) {
    store.begin_import(import(1, "a"), T0).await.unwrap();
    store.import_rows(DatasetVersionId(1), 0, vec![row(1), row(2), row(3)]).await.unwrap();
    let second = imported(store, 2, "a", &[1, 5]).await;
    assert_eq!(second.version.version, 1);
    let stale = store.import_rows(DatasetVersionId(1), 3, vec![row(4)]).await;
    assert_eq!(stale, Err(StoreError::StaleImport));
    assert_eq!(store.finish_import(DatasetVersionId(1), profile(), T0).await, Err(StoreError::StaleImport));
    assert_eq!(sweep(store).await, 4, "three rows and the import itself");
    assert_eq!(rows_of(store, DatasetVersionId(2)).await, [1, 5]);
}

async fn a_batch_sent_twice_is_stored_once(store: &dyn DatasetStore) {
    let id = DatasetVersionId(1);
    store.begin_import(import(1, "a"), T0).await.unwrap();
    for _ in 0..2 {
        store.import_rows(id, 0, vec![row(1), row(2)]).await.unwrap();
    }
    assert_eq!(store.import_rows(id, 3, vec![row(9)]).await, Err(StoreError::StaleImport), "a gap");
    store.import_rows(id, 2, vec![row(3)]).await.unwrap();
    assert_eq!(store.finish_import(id, profile(), T0).await.unwrap().version.rows, 3);
    assert_eq!(rows_of(store, id).await, [1, 2, 3]);
}

async fn rows_are_paged_in_their_order_and_by_size(store: &dyn DatasetStore) {
    let id = imported(store, 1, "a", &[5, 3, 9, 3, 1]).await.version.id;
    let ordinals = |rows: Vec<DatasetRow>| rows.iter().map(|row| row.ordinal).collect::<Vec<_>>();
    assert_eq!(ordinals(store.dataset_rows(id, 0, 2, usize::MAX).await.unwrap()), [0, 1]);
    assert_eq!(ordinals(store.dataset_rows(id, 3, 9, usize::MAX).await.unwrap()), [3, 4]);
    assert_eq!(ordinals(store.dataset_rows(id, 1, 9, 14).await.unwrap()), [1, 2], "seven bytes each");
    assert_eq!(ordinals(store.dataset_rows(id, 1, 9, 1).await.unwrap()), [1], "one at least");
    assert_eq!(store.dataset_rows(id, 5, 9, 99).await.unwrap(), []);
}

async fn differences_count_repeated_rows(store: &dyn DatasetStore) {
    let old = imported(store, 1, "a", &[1, 2, 2, 3]).await.version.id;
    let new = imported(store, 2, "a", &[4, 3, 2, 4]).await.version.id;
    let found = store.dataset_differences((old, new), 0, 99).await.unwrap();
    let changes: Vec<_> = found.iter().map(|found| (found.body.value()["n"].as_i64().unwrap(), found.change)).collect();
    assert_eq!(changes, [(1, -1), (2, -1), (4, 2)]);
    let first = store.dataset_differences((old, new), 0, 2).await.unwrap();
    assert_eq!(first, found[..2]);
    assert_eq!(store.dataset_differences((old, new), first[1].cursor, 2).await.unwrap(), found[2..]);
    assert_eq!(store.dataset_differences((new, new), 0, 9).await.unwrap(), []);
}

async fn a_dropped_version_disappears_and_its_number_is_not_reused(store: &dyn DatasetStore) {
    imported(store, 1, "a", &[1]).await;
    let second = imported(store, 2, "a", &[2]).await.version.id;
    store.drop_version(second).await.unwrap();
    assert!(matches!(store.dataset_rows(second, 0, 9, 99).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(store.drop_version(second).await, Err(StoreError::NotFound { .. })));
    assert_eq!(store.dataset_versions(DatasetId(1)).await.unwrap().len(), 1);
    sweep(store).await;
    assert_eq!(imported(store, 3, "a", &[2]).await.version.version, 3);
    for version in [1, 3] {
        store.drop_version(DatasetVersionId(version)).await.unwrap();
    }
    assert_eq!(store.find_dataset("w", "a").await.unwrap(), None);
    let anew = imported(store, 4, "a", &[7]).await.version;
    assert_eq!((anew.version, anew.dataset), (1, DatasetId(4)), "a dataset of its own");
}

async fn sweeping_keeps_rows_of_other_versions(store: &dyn DatasetStore) {
    let old = imported(store, 1, "a", &[1, 2, 3, 4, 5, 1]).await.version.id;
    let kept = imported(store, 2, "a", &[5, 6, 1]).await.version.id;
    assert_eq!(sweep(store).await, 0);
    store.drop_version(old).await.unwrap();
    assert_eq!(sweep(store).await, 7);
    assert_eq!(rows_of(store, kept).await, [5, 6, 1]);
}

async fn the_same_name_in_two_workspaces_is_two_datasets(store: &dyn DatasetStore) {
    imported(store, 1, "a", &[1]).await;
    store.begin_import(NewImport { workspace: "v".into(), ..import(2, "a") }, T0).await.unwrap();
    store.import_rows(DatasetVersionId(2), 0, vec![row(1)]).await.unwrap();
    let other = store.finish_import(DatasetVersionId(2), profile(), T0).await.unwrap();
    assert_eq!((other.version.version, other.unchanged), (1, false));
    store.drop_version(DatasetVersionId(2)).await.unwrap();
    sweep(store).await;
    assert_eq!(rows_of(store, DatasetVersionId(1)).await, [1]);
    assert_eq!(store.datasets("w").await.unwrap().len(), 1);
    assert_eq!(store.datasets("v").await.unwrap().len(), 0);
}

/// Any history of imports and deletions leaves all adapters with the same datasets.
#[test]
fn all_adapters_agree_on_any_history() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (postgres, mariadb) = runtime.block_on(async { (databases::postgres().await, databases::mariadb().await) });
    let step = (prop::collection::vec(0..6_u64, 1..8), any::<bool>(), 0..4_i64);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let told = TestRunner::new(config).run(&prop::collection::vec(step, 1..10), |history| {
        postgres.empty();
        mariadb.empty();
        runtime.block_on(async {
            let (memory, sqlite) = (MemoryStore::new(), databases::sqlite().await);
            let others: [(&str, &dyn DatasetStore); 3] =
                [("SQLite", &*sqlite.store), ("PostgreSQL", &*postgres.store), ("MariaDB", &*mariadb.store)];
            for (no, step) in history.iter().enumerate() {
                let n = no as i64 + 1;
                let expected = story(&memory, n, step).await;
                for (name, store) in others {
                    assert_eq!(expected, story(store, n, step).await, "{name} after step {n}");
                }
            }
        });
        Ok(())
    });
    told.unwrap();
}

/// The store's result for this step, and its whole content afterwards.
async fn story(store: &dyn DatasetStore, n: i64, (rows, finish, dropped): &(Vec<u64>, bool, i64)) -> String {
    store.begin_import(import(n, "a"), T0 + n).await.unwrap();
    store.import_rows(DatasetVersionId(n), 0, rows.iter().map(|n| row(*n)).collect()).await.unwrap();
    let finished = match finish {
        true => Some(store.finish_import(DatasetVersionId(n), profile(), T0 + n).await),
        false => None,
    };
    let gone = store.drop_version(DatasetVersionId(n - dropped)).await;
    let swept = store.sweep_datasets(3).await;
    let listed = store.datasets("w").await.unwrap();
    let mut contents = Vec::new();
    for listing in &listed {
        for version in store.dataset_versions(listing.dataset.id).await.unwrap() {
            let rows = store.dataset_rows(version.id, 0, 99, usize::MAX).await.unwrap();
            let differences = store.dataset_differences((version.id, listing.newest.id), 0, 99).await.unwrap();
            let mut differences: Vec<_> = differences.into_iter().map(|found| (found.key, found.change)).collect();
            differences.sort();
            contents.push((version, rows, differences));
        }
    }
    format!("{:#?}", (finished, gone, swept, listed, contents))
}
