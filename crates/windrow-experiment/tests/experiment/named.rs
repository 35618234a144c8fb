//! Datasets of the store as the source of an experiment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_experiment::{ExperimentWorkload, FILE_KIND};
use windrow_jobfile::dataset::import::{ImportError, ImportFile, Progress, import};
use windrow_jobfile::dataset::{DatasetFile, Format, Library, export};
use windrow_jobfile::job_file::load_with;
use windrow_jobfile::{LoadedJob, Report};
use windrow_model::dataset::{DatasetStore, Imported, NewImport};
use windrow_model::workload::{Program, Workload};
use windrow_model::{DatasetId, DatasetVersionId, Time};
use windrow_store::MemoryStore;

use crate::fixture::{Folder, environment};
use crate::paging::pages;

const JOB: &str = "kind: experiment\nname: quiz\ndataset: { name: quiz }\ntarget: { recorded: { field: q } }\n\
                   evaluators:\n  - exact: { expect: \"{{ expected }}\" }\n";

struct Home {
    folder: Folder,
    store: Arc<MemoryStore>,
}

impl Home {
    fn new() -> Self {
        Self { folder: Folder::new(&[("job.yaml", JOB)]), store: Arc::default() }
    }

    async fn import(&self, n: i64, rows: &str) -> Result<Imported, ImportError> {
        self.folder.write("rows.jsonl", rows);
        let file = DatasetFile::named(self.folder.path("rows.jsonl"), None, None).unwrap();
        let file = Arc::new(ImportFile { file, shown: "rows.jsonl".into(), schema: None });
        let progress = Arc::new(Progress::default());
        let checked = file.clone().check(progress.clone()).await?;
        let new = NewImport {
            dataset: DatasetId(n),
            version: DatasetVersionId(n),
            workspace: "default".into(),
            name: "quiz".into(),
            schema: None,
            source: "rows.jsonl".into(),
            actor: "ann".into(),
        };
        let imported = import(&*self.store, file, checked, new, &progress, || Time(n)).await?;
        assert_eq!(progress.stored.load(Ordering::Relaxed), progress.checked.load(Ordering::Relaxed));
        Ok(imported)
    }

    fn library(&self) -> Library {
        Library::new(self.store.clone())
    }

    async fn load(&self) -> Result<LoadedJob, Report> {
        let (path, library) = (self.folder.path("job.yaml"), self.library());
        let load = move || load_with(&path, &environment(), Some(&library), &[FILE_KIND]);
        tokio::task::spawn_blocking(load).await.unwrap()
    }

    async fn program(&self) -> Arc<dyn Program> {
        let job = self.load().await.unwrap_or_else(|report| panic!("{}", report.render()));
        let workload = ExperimentWorkload::new(environment()).with_library(self.library());
        workload.prepare(&job.workspace, &job.spec).await.unwrap()
    }
}

fn rows(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|n| format!("{{\"q\": \"q{n}\", \"input\": {n}, \"target\": \"q{n}\"}}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_paged_like_a_file() {
    let home = Home::new();
    home.import(1, &rows(0..2500)).await.unwrap();
    let program = home.program().await;
    let whole = program.page(None, 9999).await.unwrap();
    assert_eq!((whole.items.len(), whole.done), (2500, true));
    for limit in [700, 1000, 2500] {
        let joined: Vec<_> = pages(&*program, limit).await.into_iter().flat_map(|page| page.items).collect();
        assert_eq!(joined, whole.items, "limit {limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_frozen_when_the_file_is_loaded() {
    let home = Home::new();
    home.import(1, &rows(0..3)).await.unwrap();
    let program = home.program().await;
    home.import(2, &rows(0..9)).await.unwrap();
    assert_eq!(program.page(None, 99).await.unwrap().items.len(), 3);
    assert_eq!(home.program().await.page(None, 99).await.unwrap().items.len(), 9);
    home.store.drop_version(DatasetVersionId(1)).await.unwrap();
    let failure = program.page(None, 99).await.unwrap_err();
    assert!(failure.message.contains("quiz@1 has been deleted"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_do_not_fit_are_named_by_their_number() {
    let home = Home::new();
    home.import(1, &(rows(0..3) + "{\"input\": 1, \"target\": \"a\"}\n")).await.unwrap();
    let report = home.load().await.unwrap_err().problems[0].to_string();
    assert!(report.contains("quiz@1:4: this row has no field `q`"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_are_reported_and_nothing_is_stored() {
    let home = Home::new();
    let Err(ImportError::Report(report)) = home.import(1, &(rows(0..2) + "[]\n")).await else { panic!("refused") };
    let text = crate::fixture::lines(&report);
    assert!(text.contains("has 1 error. Nothing was stored."), "{text}");
    assert!(text.contains("rows.jsonl:3: this row is JSON, but not an object"), "{text}");
    assert_eq!(home.store.datasets("default").await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_what_was_imported() {
    let home = Home::new();
    let text = rows(0..2500);
    let version = home.import(1, &text).await.unwrap().version;
    let out = std::fs::File::create(home.folder.path("out.jsonl")).unwrap();
    let written = AtomicU64::new(0);
    export::export(&*home.store, &version, Format::Jsonl, Box::new(out), &written).await.unwrap();
    assert_eq!(std::fs::read_to_string(home.folder.path("out.jsonl")).unwrap(), text, "byte for byte");
    assert_eq!(written.into_inner(), 2500);
}
