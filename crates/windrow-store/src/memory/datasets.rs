//! Named datasets on plain maps. Rows are shared between the versions of a dataset by key.

use std::collections::BTreeMap;

use async_trait::async_trait;
use windrow_model::dataset::*;
use windrow_model::step::ContentKey;
use windrow_model::store::{Result, StoreError};
use windrow_model::{DatasetId, DatasetVersionId, Json, Time};

use super::MemoryStore;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Draft,
    Ready,
    Dropped,
}

struct VersionRow {
    stage: Stage,
    version: DatasetVersion,
    rows: Vec<ContentKey>,
}

#[derive(Default)]
pub(super) struct Shelf {
    datasets: BTreeMap<DatasetId, (Dataset, i64)>,
    versions: BTreeMap<DatasetVersionId, VersionRow>,
    /// Numbered in the order in which they came, which is the order of differences.
    rows: BTreeMap<(DatasetId, ContentKey), (i64, Json)>,
    next_row: i64,
}

impl Shelf {
    fn of(&self, dataset: DatasetId, stage: Stage) -> impl Iterator<Item = &VersionRow> {
        self.versions.values().filter(move |row| row.version.dataset == dataset && row.stage == stage)
    }

    fn newest(&self, dataset: DatasetId) -> Option<&DatasetVersion> {
        self.of(dataset, Stage::Ready).map(|row| &row.version).max_by_key(|version| version.version)
    }

    fn by_name(&self, workspace: &str, name: &str) -> Option<&Dataset> {
        let mut all = self.datasets.values().map(|(dataset, _)| dataset);
        all.find(|dataset| dataset.workspace == workspace && dataset.name == name)
    }

    fn draft(&mut self, id: DatasetVersionId) -> Result<&mut VersionRow> {
        self.versions.get_mut(&id).filter(|row| row.stage == Stage::Draft).ok_or(StoreError::StaleImport)
    }

    fn ready(&self, id: DatasetVersionId) -> Result<&VersionRow> {
        self.versions.get(&id).filter(|row| row.stage == Stage::Ready).ok_or_else(|| not_found(id))
    }

    fn begin(&mut self, import: NewImport, now: Time) {
        let dataset = self.by_name(&import.workspace, &import.name).map(|dataset| dataset.id);
        let dataset = dataset.unwrap_or_else(|| {
            let NewImport { dataset: id, workspace, name, .. } = import.clone();
            self.datasets.insert(id, (Dataset { id, workspace, name, created_at: now }, 0));
            id
        });
        for row in self.versions.values_mut() {
            if row.version.dataset == dataset && row.stage == Stage::Draft {
                row.stage = Stage::Dropped;
            }
        }
        let version = DatasetVersion {
            id: import.version,
            dataset,
            version: 0,
            rows: 0,
            bytes: 0,
            digest: Digest::default(),
            schema: import.schema,
            profile: Json::from_text("{}"),
            source: import.source,
            actor: import.actor,
            created_at: now,
        };
        self.versions.insert(import.version, VersionRow { stage: Stage::Draft, version, rows: Vec::new() });
    }

    fn add(&mut self, id: DatasetVersionId, from: i64, rows: Vec<NewRow>) -> Result<()> {
        let draft = self.draft(id)?;
        if from != draft.version.rows {
            let known = from + rows.len() as i64 <= draft.version.rows;
            return if known { Ok(()) } else { Err(StoreError::StaleImport) };
        }
        let dataset = draft.version.dataset;
        for row in &rows {
            draft.version.rows += 1;
            draft.version.bytes += row.body.as_str().len() as i64;
            draft.version.digest.add(&row.key);
            draft.rows.push(row.key);
        }
        for NewRow { key, body } in rows {
            let next = self.next_row + 1;
            self.rows.entry((dataset, key)).or_insert((next, body));
            self.next_row = next;
        }
        Ok(())
    }

    fn finish(&mut self, id: DatasetVersionId, profile: Json, now: Time) -> Result<Imported> {
        let draft = self.draft(id)?.version.clone();
        let same = self
            .newest(draft.dataset)
            .filter(|newest| (newest.rows, newest.digest, &newest.schema) == (draft.rows, draft.digest, &draft.schema));
        if let Some(version) = same.cloned() {
            self.draft(id)?.stage = Stage::Dropped;
            return Ok(Imported { version, unchanged: true });
        }
        let (_, last) = self.datasets.get_mut(&draft.dataset).expect("a draft's dataset exists");
        *last += 1;
        let version = DatasetVersion { version: *last, profile, created_at: now, ..draft };
        let row = self.draft(id)?;
        (row.stage, row.version) = (Stage::Ready, version.clone());
        Ok(Imported { version, unchanged: false })
    }

    fn drop_version(&mut self, id: DatasetVersionId) -> Result<()> {
        let row = self.versions.get_mut(&id).filter(|row| row.stage != Stage::Dropped).ok_or_else(|| not_found(id))?;
        row.stage = Stage::Dropped;
        let dataset = row.version.dataset;
        if self.of(dataset, Stage::Ready).chain(self.of(dataset, Stage::Draft)).next().is_none() {
            self.datasets.remove(&dataset);
        }
        Ok(())
    }

    fn sweep(&mut self, limit: usize) -> i64 {
        let Some((id, row)) = self.versions.iter_mut().find(|(_, row)| row.stage == Stage::Dropped) else { return 0 };
        let (id, dataset) = (*id, row.version.dataset);
        let swept: Vec<ContentKey> = row.rows.drain(..limit.min(row.rows.len())).collect();
        for key in &swept {
            let mut others = self.versions.values().filter(|other| other.version.dataset == dataset);
            if !others.any(|other| other.rows.contains(key)) {
                self.rows.remove(&(dataset, *key));
            }
        }
        if swept.len() < limit {
            self.versions.remove(&id);
            return swept.len() as i64 + 1;
        }
        swept.len() as i64
    }

    fn page(&self, id: DatasetVersionId, from: i64, limit: usize, bytes: usize) -> Result<Vec<DatasetRow>> {
        let row = self.ready(id)?;
        let mut size = 0;
        let all = row.rows.iter().enumerate().skip(from.max(0) as usize).take(limit);
        let rows = all.map(|(no, key)| {
            let body = self.rows[&(row.version.dataset, *key)].1.clone();
            DatasetRow { ordinal: no as i64, key: *key, body }
        });
        let fits = rows.take_while(|row| {
            let first = size == 0;
            size += row.body.as_str().len();
            first || size <= bytes
        });
        Ok(fits.collect())
    }

    fn differences(
        &self,
        (old, new): (DatasetVersionId, DatasetVersionId),
        after: i64,
        limit: usize,
    ) -> Result<Vec<Difference>> {
        let mut changes: BTreeMap<i64, Difference> = BTreeMap::new();
        for (row, sign) in [(self.ready(old)?, -1), (self.ready(new)?, 1)] {
            for key in &row.rows {
                let (cursor, body) = &self.rows[&(row.version.dataset, *key)];
                let none = || Difference { cursor: *cursor, key: *key, body: body.clone(), change: 0 };
                changes.entry(*cursor).or_insert_with(none).change += sign;
            }
        }
        let changed = changes.into_values().filter(|found| found.change != 0 && found.cursor > after);
        Ok(changed.take(limit).collect())
    }
}

fn not_found(id: DatasetVersionId) -> StoreError {
    StoreError::NotFound { what: "dataset version", id: id.to_string() }
}

#[async_trait]
impl DatasetStore for MemoryStore {
    async fn begin_import(&self, import: NewImport, now: Time) -> Result<()> {
        self.shelf().begin(import, now);
        Ok(())
    }
    async fn import_rows(&self, version: DatasetVersionId, from: i64, rows: Vec<NewRow>) -> Result<()> {
        self.shelf().add(version, from, rows)
    }
    async fn finish_import(&self, version: DatasetVersionId, profile: Json, now: Time) -> Result<Imported> {
        self.shelf().finish(version, profile, now)
    }
    async fn drop_version(&self, version: DatasetVersionId) -> Result<()> {
        self.shelf().drop_version(version)
    }
    async fn sweep_datasets(&self, limit: usize) -> Result<i64> {
        Ok(self.shelf().sweep(limit))
    }
    async fn datasets(&self, workspace: &str) -> Result<Vec<DatasetListing>> {
        let shelf = self.shelf();
        let mut listed: Vec<DatasetListing> = Vec::new();
        for (dataset, _) in shelf.datasets.values().filter(|(dataset, _)| dataset.workspace == workspace) {
            let Some(newest) = shelf.newest(dataset.id).cloned() else { continue };
            let versions = shelf.of(dataset.id, Stage::Ready).count() as i64;
            listed.push(DatasetListing { dataset: dataset.clone(), newest, versions });
        }
        listed.sort_by(|a, b| a.dataset.name.cmp(&b.dataset.name));
        Ok(listed)
    }
    async fn find_dataset(&self, workspace: &str, name: &str) -> Result<Option<Dataset>> {
        let shelf = self.shelf();
        let found = shelf.by_name(workspace, name).filter(|dataset| shelf.newest(dataset.id).is_some());
        Ok(found.cloned())
    }
    async fn dataset_versions(&self, dataset: DatasetId) -> Result<Vec<DatasetVersion>> {
        let shelf = self.shelf();
        let mut found: Vec<_> = shelf.of(dataset, Stage::Ready).map(|row| row.version.clone()).collect();
        found.sort_by_key(|version| std::cmp::Reverse(version.version));
        Ok(found)
    }
    async fn dataset_rows(
        &self,
        version: DatasetVersionId,
        from: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<DatasetRow>> {
        self.shelf().page(version, from, limit, bytes)
    }
    async fn dataset_differences(
        &self,
        versions: (DatasetVersionId, DatasetVersionId),
        after: i64,
        limit: usize,
    ) -> Result<Vec<Difference>> {
        self.shelf().differences(versions, after, limit)
    }
}
