//! A folder with a job file and a dataset in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windrow_experiment::{ExperimentWorkload, FILE_KIND};
use windrow_jobfile::job_file::load_with;
use windrow_jobfile::{Environment, LoadedJob, Report};
use windrow_model::retry::Tried;
use windrow_model::store::NewItem;
use windrow_model::workload::{Program, WorkItem, Workload};
use windrow_model::{AttemptId, Failure, ItemId, Json, RunId};

pub const KEY: &str = "sk-very-secret-0123";

pub struct Folder(TempDir);

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn load(&self) -> Result<LoadedJob, Report> {
        load_with(&self.path("job.yaml"), &environment(), None, &[FILE_KIND])
    }

    pub fn report(&self) -> String {
        lines(&self.load().expect_err("the file is wrong"))
    }
}

/// One line per error and one per help.
pub fn lines(report: &Report) -> String {
    let problems = report.problems.iter().map(|problem| format!("{problem}\n  help: {}\n", problem.help));
    format!("{report}\n{}", problems.collect::<String>())
}

/// Knows one key.
pub fn environment() -> Environment {
    Environment::new(|name| (name == "TEST_KEY").then(|| KEY.to_owned()))
}

/// The job file with another endpoint and more lines.
pub fn job(base_url: &str, more: &str) -> String {
    format!(
        "kind: experiment\nname: capitals\ndataset: capitals.jsonl\ntarget:\n  openai: {{ model: any, base_url: \
         \"{base_url}\", api_key: \"${{env:TEST_KEY}}\" }}\n  prompt: \"Capital of {{{{ country }}}}?\"\nevaluators:\n  \
         - exact: {{ expect: \"{{{{ capital }}}}\" }}\n{more}"
    )
}

pub async fn prepare(job: &LoadedJob) -> Arc<dyn Program> {
    try_prepare(job, environment()).await.unwrap()
}

pub async fn try_prepare(job: &LoadedJob, environment: Environment) -> Result<Arc<dyn Program>, Failure> {
    ExperimentWorkload::new(environment).prepare(&job.workspace, &job.spec).await
}

/// A program for a job file text and the rows it runs on.
pub async fn program(yaml: &str, rows: &str) -> (Folder, Arc<dyn Program>) {
    let folder = Folder::new(&[("job.yaml", yaml), ("capitals.jsonl", rows)]);
    let loaded = folder.load().unwrap_or_else(|report| panic!("{}", report.render()));
    let program = prepare(&loaded).await;
    (folder, program)
}

pub async fn items(program: &dyn Program) -> Vec<WorkItem> {
    let page = program.page(None, 1000).await.unwrap();
    page.items.into_iter().enumerate().map(|(no, new)| work_item(no, new)).collect()
}

pub fn work_item(no: usize, new: NewItem) -> WorkItem {
    WorkItem {
        run: RunId(1),
        attempt: AttemptId::new(ItemId(no as i64 + 1), 1),
        ordinal: no as i64,
        key: new.key,
        input: new.input,
        tried: Tried::default(),
        first_try: 1,
        rescore: false,
        retry_from: None,
        fresh: false,
        proven: true,
        rollback: false,
    }
}

pub fn json(text: &str) -> Json {
    Json::from_text(text)
}
