//! An experiment's job file: reads its sections, checks them against each other and against the
//! dataset, and freezes the definition.

mod callback;
mod columns;
mod conversation;
mod dataset;
mod evaluators;
mod fit;
mod forbidden;
mod identity;
pub mod prices;
mod quality;
mod row;
pub mod survey;
pub mod target;
mod trials;
mod variants;
mod worker;

use windrow_jobfile::LoadedJob;
use windrow_jobfile::dataset::Library;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, Depth, HEADER_FIELDS, Header, Section};
use windrow_jobfile::spec::Spec;

use crate::definition::component::LoadContext;
use crate::definition::spec::{ExperimentSpec, KIND};
use crate::definition::trials::VARIANT;

const FIELDS: &[&str] = &[
    "dataset",
    "id",
    "target",
    "targets",
    "prompts",
    "matrix",
    "columns",
    "conversation",
    "evaluators",
    "trials",
    "cache",
    "callback",
    "row",
    "forbidden",
    "prices",
    "gates",
    "baseline",
    "max_errors",
    "min_items",
    "confirm",
];

pub fn load(
    base: Base<'_>,
    mut root: Section,
    environment: &Environment,
    library: Option<&Library>,
    problems: &mut Problems,
) -> Option<LoadedJob> {
    let (forbidden, own_words) = forbidden::read(root.take("forbidden"), base.folder, environment, problems);
    forbidden::check_file(&root, &forbidden, problems);
    let budget = root.span_of("budget");
    let header = Header::take(&mut root, base.workspace, problems);
    let dataset = root.take("dataset");
    let id = identity::read(root.take("id"), problems);
    let columns = root.take("columns");
    let asked = variants::Sections::take(&mut root, columns.is_some(), problems);
    let conversation = root.take("conversation");
    if columns.is_some() {
        asked.refuse_beside_columns(problems);
        if let Some(conversation) = &conversation {
            let help = "leave one of them out: columns are computed once per row";
            problems.add(conversation.span.clone(), "the file has both `columns` and `conversation`", help);
        }
    }
    let evaluators = root.take("evaluators");
    let own_prices = root.take("prices");
    let cache = root.take("cache").and_then(|cache| cache.read::<bool>(&[], problems)).unwrap_or(false);
    let trials = root.take("trials");
    let callback = callback::read(root.take("callback"), problems);
    let row = row::read(root.take("row"), problems);
    let quality = quality::Sections::take(&mut root);
    let root_span = root.span.clone();
    root.finish(&[HEADER_FIELDS, FIELDS].concat(), problems);

    let nowhere = root_span.clone();
    let span = |section: &Option<Section>| section.as_ref().map_or(nowhere.clone(), |section| section.span.clone());
    let places = worker::Places {
        target: span(&asked.target),
        evaluators: span(&evaluators),
        dataset: span(&dataset),
        conversation: span(&conversation),
    };
    let workspace = header.as_ref().map_or(base.workspace, |header| header.workspace.as_str());
    let environment = &environment.of_workspace(workspace);
    let context = LoadContext { environment, folder: base.folder };
    let lookup = dataset::DatasetLookup { library, workspace };
    let is_sent = dataset.is_none();
    let dataset = match dataset {
        Some(section) => dataset::read(section, base, lookup, problems),
        None => Some(dataset::sent()),
    };
    let conversation = conversation::read(conversation, context, problems);
    let mode = conversation.mode.clone().unwrap_or_default();
    let mut wishes = Vec::new();
    let (asked, columns) = match columns {
        Some(section) => (Some(variants::AskedSection::nothing()), columns::read(section, context, problems)),
        None => {
            (variants::read(asked, &mode, (base, context), &mut wishes, problems), columns::ColumnsSection::default())
        }
    };
    let stand_ins = columns.stand_ins();
    wishes.extend(columns.wishes);
    let evaluators = evaluators::read(evaluators, &columns.written, context, problems);
    let prices = prices::read(own_prices, environment, problems);

    let judging = columns.columns.iter().filter_map(|column| column.evaluator());
    let names = judging.chain(&evaluators.components).map(|component| component.name.clone());
    let variants = asked.iter().flat_map(|asked| &asked.variants);
    let of_variants = variants.flat_map(|variant| {
        evaluators.components.iter().map(move |component| format!("{}.{}", variant.name, component.name))
    });
    let names: Vec<String> = names.chain(of_variants).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let trials = trials::read(trials, problems);
    let quality = quality::read(quality, &names, trials.count, problems);

    // Checked against the data even when something else is wrong, so that one report says it all.
    wishes.extend(evaluators.wishes.iter().chain(&conversation.wishes).chain(&row.wishes).cloned());
    let dataset = dataset?;
    // A forbidden word must not be stored, so it is looked for in every row beforehand.
    let depth = if forbidden.is_empty() { base.depth } else { Depth::Whole };
    let mut fit = match is_sent {
        true => fit::Fit::of_sent_rows(),
        false => {
            fit::check((&dataset, &id), library, (&wishes, &stand_ins), (&row.options, &forbidden), depth, problems)?
        }
    };
    trials.check(&dataset, &fit.fields, problems);
    let many = asked.as_ref().map_or(0, |asked| asked.variants.len());
    if many > 0 && fit.fields.contains(VARIANT) {
        let message =
            format!("{} has a field `{VARIANT}`, which `targets` and `prompts` use for themselves", dataset.shown);
        problems.add(dataset.span.clone(), message, "rename the field in the dataset");
    }

    if let (Some(header), Some(asked)) = (&header, &asked) {
        let (worker, reading) = (header.worker.as_deref(), &dataset.dataset.reading);
        let target = &asked.target;
        let parts = worker::Parts { worker, target, evaluators: &evaluators.components, reading, mode: &mode };
        worker::check(&parts, places, problems);
    }
    let (header, asked, mode, prices) = (header?, asked?, conversation.mode?, prices?);
    let (target, messages) = match asked.variants.is_empty() {
        true => (asked.target.component, asked.target.messages),
        false => Default::default(),
    };
    let spec = ExperimentSpec {
        dataset: dataset.dataset,
        id,
        target,
        messages,
        variants: asked.variants,
        columns: columns.columns,
        only: None,
        conversation: mode,
        evaluators: evaluators.components,
        prices: prices.own,
        cache,
        trials: trials.count,
        row: row.templates,
        forbidden: own_words,
        callback,
        quality,
        timeout_ms: header.timeout.ms,
        retry: header.retry_policy(),
        first: None,
        worker: header.worker.clone(),
    };
    let frozen = spec.freeze();
    let warnings =
        asked.warnings.into_iter().chain(columns.warnings).chain(conversation.warnings).chain(evaluators.warnings);
    let budget = header.limits().max_cost_nanos.filter(|cost| *cost > 0).map(|_| budget);
    let warnings = warnings.chain(prices::check(prices::unknown(&prices.all, &frozen.0), budget, problems));
    fit.warnings.splice(0..0, warnings);
    let rows = fit.rows * u64::from(trials.count) * many.max(1) as u64;
    Some(LoadedJob { warnings: fit.warnings, ..header.into_job(KIND, frozen, rows) })
}
