//! An experiment's job file: reads its sections, checks them against each other and against the
//! whole dataset, and freezes the definition.

mod dataset;
mod evaluators;
mod fit;
mod target;

use std::path::Path;

use super::KIND;
use super::component::Surroundings;
use super::spec::ExperimentSpec;
use crate::LoadedJob;
use crate::dataset::Library;
use crate::environment::Environment;
use crate::job_file::{HEADER_FIELDS, Header, Section};
use crate::report::Problems;

const FIELDS: &[&str] = &["dataset", "target", "evaluators"];

pub fn load(
    path: &Path,
    mut root: Section,
    environment: &Environment,
    library: Option<&Library>,
    problems: &mut Problems,
) -> Option<LoadedJob> {
    let header = Header::take(&mut root, problems);
    let dataset = root.require("dataset", "dataset: rows.jsonl", problems);
    let target = root.require("target", "target: { openai: { model: … }, prompt: \"…\" }", problems);
    let evaluators = root.take("evaluators");
    root.finish(&[HEADER_FIELDS, FIELDS].concat(), problems);

    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let surroundings = Surroundings { environment, folder };
    let shelf = dataset::Shelf { library, workspace: header.as_ref().map_or("default", |header| &header.workspace) };
    let dataset = dataset.and_then(|section| dataset::read(section, folder, shelf, problems));
    let target = target.and_then(|section| target::read(section, surroundings, problems));
    let evaluators = evaluators::read(evaluators, surroundings, problems);

    // Checked against the data even when something else is wrong, so that one report says it all.
    let wishes: Vec<_> = target.iter().flat_map(|target| &target.wishes).chain(&evaluators.wishes).cloned().collect();
    let dataset = dataset?;
    let mut fit = fit::check(&dataset, library, &wishes, problems)?;

    let (header, target) = (header?, target?);
    let spec = ExperimentSpec {
        dataset: dataset.dataset,
        target: target.component,
        messages: target.messages,
        evaluators: evaluators.components,
        timeout_ms: header.timeout.ms,
        retry: header.retry_policy(),
    };
    let (spec, spec_hash) = spec.freeze();
    fit.warnings.splice(0..0, target.warnings.into_iter().chain(evaluators.warnings));
    Some(LoadedJob {
        name: header.name,
        description: header.description,
        kind: KIND,
        workspace: header.workspace,
        labels: header.labels,
        priority: header.priority,
        concurrency: header.concurrency,
        spec,
        spec_hash,
        rows: fit.rows,
        warnings: fit.warnings,
    })
}
