//! `kind: experiment`: every row of a dataset is put to a target and its output judged by
//! evaluators. Turns, calls and findings are steps, so none is ever made twice.

mod calls;
mod context;
mod conversation;
mod definition;
mod evaluator;
mod execution;
mod file;
pub mod forecast;
mod frozen;
mod needs;
mod process;
mod rows;
mod step;
mod target;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::dataset::{Library, Position, Source};
use windrow_jobfile::diagnostics::nearest;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Kind, LoadedJob};
use windrow_jobfile::prices::Prices;
use windrow_jobfile::spec::{Spec, prepare_blocking};
use windrow_model::gate::Quality;
use windrow_model::step::ContentKey;
use windrow_model::store::NewItem;
use windrow_model::workload::{Program, Workload};
use windrow_model::{ErrorClass, Failure, Json};

use definition::spec::ExperimentSpec;
use definition::trials::Shape;
use execution::program::Experiment;
use rows::RowRules;

pub use definition::placement::CAPABILITY;
pub use definition::spec::{Callback, KIND};
pub use evaluator::page as evaluators_page;
pub use frozen::{columns, evaluators, filled_column, has_columns, is_trial_run, judges, judging_changes, quality};
pub use process::broken_code;

pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: false };

/// The same job over the first rows of its dataset only (a trial run). Its results are reused
/// when all rows are run.
pub fn first_rows(job: LoadedJob, rows: u64) -> Result<LoadedJob, serde_json::Error> {
    let mut spec: ExperimentSpec = job.spec.parse()?;
    spec.first = Some(rows);
    let most = rows * spec.items_per_row() as u64;
    let (spec, spec_hash) = spec.freeze();
    Ok(LoadedJob { spec, spec_hash, rows: job.rows.min(most), ..job })
}

/// The same job, filling one column, or one evaluator's scores, and what it reads (T15). What else is on record stays;
/// gates are for whole runs. An error says what to do.
pub fn only_column(job: LoadedJob, name: &str) -> Result<LoadedJob, (String, String)> {
    let unread = |error| (format!("the definition cannot be read: {error}"), "leave the column out".to_owned());
    let mut spec: ExperimentSpec = job.spec.parse().map_err(unread)?;
    let columns = spec.columns.iter().map(|column| column.name.as_str());
    let names: Vec<&str> = columns.chain(spec.evaluators.iter().map(|one| one.name.as_str())).collect();
    if spec.columns.is_empty() {
        let help = "leave the column out, or write `columns` in the job file".to_owned();
        return Err((format!("{} has no `columns`", job.name), help));
    }
    if !names.contains(&name) {
        let help = match nearest(name, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the columns are: {}", names.join(", ")),
        };
        return Err((format!("{} has no column `{name}`", job.name), help));
    }
    spec.only = Some(name.to_owned());
    spec.quality = Quality::default();
    let (spec, spec_hash) = spec.freeze();
    Ok(LoadedJob { spec, spec_hash, ..job })
}

/// Why a budget in money cannot be kept, and what to do: a model of the definition has no price.
pub fn unpriced(spec: &Json, own: &Environment) -> Result<(), (String, &'static str)> {
    // A definition that cannot be read is reported where it is run.
    let Ok(frozen) = spec.parse::<ExperimentSpec>() else { return Ok(()) };
    let prices = Prices::new(frozen.prices, own).map_err(|wrong| (wrong, "correct the price file"))?;
    match file::prices::unknown(&prices, spec) {
        None => Ok(()),
        Some(models) => {
            Err((format!("a budget in money cannot be kept: the price of {models} is unknown"), file::prices::REMEDY))
        }
    }
}

/// Whether two frozen definitions differ in nothing but how outputs are judged.
pub fn differ_in_judging_only(a: &Json, b: &Json) -> bool {
    let asks = |spec: &Json| {
        let spec: ExperimentSpec = spec.parse().ok()?;
        let asked =
            serde_json::json!([spec.asked(), spec.columns, spec.conversation, spec.trials, spec.dataset.reading]);
        Some(canonical(&asked))
    };
    asks(a).is_some_and(|asked| Some(asked) == asks(b))
}

/// The definition over the newest version of a dataset that it follows; `None` where it has that already. Blocks.
pub fn over_newest(
    spec: &Json,
    workspace: &str,
    library: &Library,
) -> Result<Option<(Json, String)>, windrow_model::store::StoreError> {
    // A definition that cannot be read is reported where it is run.
    let Ok(mut spec) = spec.parse::<ExperimentSpec>() else { return Ok(None) };
    let Source::Stored(frozen) = &spec.dataset.source else { return Ok(None) };
    let Some(newest) = library.newer(workspace, frozen)? else { return Ok(None) };
    spec.dataset.source = Source::Stored(newest);
    Ok(Some(spec.freeze()))
}

/// Where a server sends the results of the job.
pub fn callback(spec: &Json) -> Option<Callback> {
    spec.parse::<ExperimentSpec>().ok()?.callback
}

/// Whether the definition has no rows of its own: they are sent to an online run.
pub fn is_online_only(spec: &Json) -> bool {
    spec.value()["dataset"]["online"] == true
}

/// The file that a definition reads its rows from.
pub fn dataset_file(spec: &Json) -> Option<PathBuf> {
    match spec.parse::<ExperimentSpec>().ok()?.dataset.source {
        Source::File(file) => Some(file.path),
        Source::Stored(_) | Source::Sent { .. } => None,
    }
}

/// What identifies the rows of a dataset.
pub struct RowKeys {
    pub in_order: Vec<ContentKey>,
    /// The definition covers the first rows only.
    pub first: bool,
}

/// The rows that a definition reads now; `None` where there are too many to hold. Blocks.
pub fn row_keys(spec: &Json, library: Option<&Library>) -> Result<Option<RowKeys>, String> {
    let spec: ExperimentSpec = spec.parse().map_err(|error| format!("the definition cannot be read: {error}"))?;
    let shape = Shape::of(&spec);
    let wanted = spec.first.map_or(usize::MAX, |first| first as usize);
    let mut rows = spec.dataset.source.open(library, Position::START).map_err(|error| error.to_string())?;
    let (mut in_order, mut times) = (Vec::new(), HashMap::<ContentKey, u64>::new());
    while in_order.len() < wanted {
        let Some(row) = rows.next_row() else { break };
        let key = shape.key(&row.map_err(|error| error.to_string())?.fields);
        let n = times.entry(key).or_default();
        *n += 1;
        // A second row with the same content has a key of its own, unless trials group it.
        in_order.push(if *n > 1 && spec.items_per_row() == 1 { key.repeated(*n) } else { key });
        if in_order.len() > MAX_COMPARED {
            return Ok(None);
        }
    }
    Ok(Some(RowKeys { in_order, first: spec.first.is_some() }))
}

/// Rows whose keys are held to compare them (a few dozen megabytes).
const MAX_COMPARED: usize = 1_000_000;

/// Rows that arrive while an online run is open (E11): what items they become.
pub struct OnlineRows {
    rules: RowRules,
}

impl OnlineRows {
    /// Reads the machine's forbidden words, so it may block.
    pub fn of(spec: &Json, environment: &Environment) -> Result<Self, String> {
        let spec = spec.parse::<ExperimentSpec>().map_err(|error| error.to_string())?;
        Ok(Self { rules: RowRules::of(&spec, environment)? })
    }

    /// A row that the job cannot run is rejected with the reason.
    pub fn items(&self, text: &str) -> Result<Vec<NewItem>, String> {
        self.rules.items_of_sent(text)
    }
}

pub struct ExperimentWorkload {
    environment: Environment,
    library: Option<Library>,
}

impl ExperimentWorkload {
    pub fn new(environment: Environment) -> Self {
        Self { environment, library: None }
    }

    /// With datasets that have a name.
    pub fn with_library(self, library: Library) -> Self {
        Self { library: Some(library), ..self }
    }
}

#[async_trait]
impl Workload for ExperimentWorkload {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let spec = ExperimentSpec::thaw(spec)?;
        let (environment, library) = (self.environment.of_workspace(workspace), self.library.clone());
        let prepared = prepare_blocking(move || Experiment::prepare(spec, environment, library)).await;
        Ok(Arc::new(prepared?))
    }

    async fn renewed(&self, workspace: &str, spec: &Json) -> Result<Option<(Json, String)>, Failure> {
        let Some(library) = self.library.clone() else { return Ok(None) };
        let (spec, workspace) = (spec.clone(), workspace.to_owned());
        let unread = |error| Failure::new(ErrorClass::Handler, format!("the dataset cannot be looked up: {error}"));
        prepare_blocking(move || over_newest(&spec, &workspace, &library).map_err(unread)).await
    }
}
