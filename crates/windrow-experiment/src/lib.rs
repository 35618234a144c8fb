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
mod process;
mod step;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::dataset::{Library, Row};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Kind, LoadedJob};
use windrow_jobfile::prices::Prices;
use windrow_jobfile::spec::{Spec, prepare_blocking};
use windrow_jobfile::template::Fields;
use windrow_model::store::NewItem;
use windrow_model::workload::{Program, Workload};
use windrow_model::{Failure, Json};

use definition::spec::ExperimentSpec;
use definition::trials;
use execution::program::Experiment;

pub use definition::placement::CAPABILITY;
pub use definition::spec::KIND;
pub use evaluator::page as evaluators_page;
pub use frozen::{is_trial_run, judges, quality};
pub use process::broken_code;

pub const FILE_KIND: Kind = Kind { name: KIND, load: file::load, rolls_back: false };

/// The same job over the first rows of its dataset only (a trial run). What it does is taken over
/// when all rows are run.
pub fn first_rows(job: LoadedJob, rows: u64) -> Result<LoadedJob, serde_json::Error> {
    let mut spec: ExperimentSpec = job.spec.parse()?;
    spec.first = Some(rows);
    let most = rows * u64::from(spec.trials);
    let (spec, spec_hash) = spec.freeze();
    Ok(LoadedJob { spec, spec_hash, rows: job.rows.min(most), ..job })
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
            serde_json::json!([spec.target, spec.messages, spec.conversation, spec.trials, spec.dataset.reading]);
        Some(canonical(&asked))
    };
    asks(a).is_some_and(|asked| Some(asked) == asks(b))
}

/// Rows that arrive while an online run is open (E11): what items they become.
pub struct OnlineRows {
    trials: usize,
}

impl OnlineRows {
    pub fn of(spec: &Json) -> Result<Self, serde_json::Error> {
        Ok(Self { trials: spec.parse::<ExperimentSpec>()?.trials as usize })
    }

    pub fn items(&self, text: &str) -> Result<Vec<NewItem>, String> {
        let fields: Fields = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
        let row = Row { line: 0, text: canonical(&fields.clone().into()).into(), fields };
        Ok(trials::items_of(row, self.trials))
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
}
