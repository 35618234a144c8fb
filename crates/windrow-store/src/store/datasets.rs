//! The port of named datasets, carried to the writer or a reader.

use async_trait::async_trait;
use windrow_model::dataset::*;
use windrow_model::store::Result;
use windrow_model::{DatasetId, DatasetVersionId, Json, Time};

use crate::sql::admin::{dataset_drop, dataset_import, dataset_read};
use crate::store::SqlStore;

#[async_trait]
impl DatasetStore for SqlStore {
    async fn begin_import(&self, import: NewImport, now: Time) -> Result<()> {
        self.write("begin_import", move |tx| dataset_import::begin_import(tx, &import, now)).await
    }

    async fn import_rows(&self, version: DatasetVersionId, from: i64, rows: Vec<NewRow>) -> Result<()> {
        self.write("import_rows", move |tx| dataset_import::import_rows(tx, version, from, &rows)).await
    }

    async fn finish_import(&self, version: DatasetVersionId, profile: Json, now: Time) -> Result<Imported> {
        self.write("finish_import", move |tx| dataset_import::finish_import(tx, version, &profile, now)).await
    }

    async fn drop_version(&self, version: DatasetVersionId) -> Result<()> {
        self.write("drop_version", move |tx| dataset_drop::drop_version(tx, version)).await
    }

    async fn sweep_datasets(&self, limit: usize) -> Result<i64> {
        self.write("sweep_datasets", move |tx| dataset_drop::sweep(tx, limit)).await
    }

    async fn datasets(&self, workspace: &str) -> Result<Vec<DatasetListing>> {
        let workspace = workspace.to_owned();
        self.read("datasets", move |conn| dataset_read::datasets(conn, &workspace)).await
    }

    async fn find_dataset(&self, workspace: &str, name: &str) -> Result<Option<Dataset>> {
        let (workspace, name) = (workspace.to_owned(), name.to_owned());
        self.read("find_dataset", move |conn| dataset_read::find(conn, &workspace, &name)).await
    }

    async fn dataset_versions(&self, dataset: DatasetId) -> Result<Vec<DatasetVersion>> {
        self.read("dataset_versions", move |conn| dataset_read::versions(conn, dataset, i64::MAX)).await
    }

    async fn dataset_rows(
        &self,
        version: DatasetVersionId,
        from: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<DatasetRow>> {
        self.read("dataset_rows", move |conn| dataset_read::rows(conn, version, from, limit, bytes)).await
    }

    async fn dataset_differences(
        &self,
        versions: (DatasetVersionId, DatasetVersionId),
        after: i64,
        limit: usize,
    ) -> Result<Vec<Difference>> {
        self.read("dataset_differences", move |conn| dataset_read::differences(conn, versions, after, limit)).await
    }
}
