//! A plan's job file: reads its sections and freezes the definition.

use windrow_jobfile::LoadedJob;
use windrow_jobfile::dataset::Library;
use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, HEADER_FIELDS, Header, Section};
use windrow_jobfile::spec::Spec;
use windrow_model::ErrorClass;
use windrow_model::ingest::Origin;
use windrow_model::retry::Reaction;

use super::batch;
use super::destination::DESTINATIONS;
use super::slicing::Slicing;
use super::source::SOURCES;
use super::spec::{Component, IngestSpec, KIND, Read, Rules, expr_hash};

mod rules;
mod slices;

pub use slices::moment;

const FIELDS: &[&str] = &[
    "source",
    "destination",
    "slices",
    "table",
    "key",
    "skip",
    "max_rejected",
    "columns",
    "on_type_change",
    "provenance",
    "operation",
];
/// Slices at work at the same time, where nothing is said.
const CONCURRENCY: i64 = 4;
/// A slice may be long, so it survives more crashes than an item that one page would be.
const MAX_LOSSES: i64 = 200;

pub fn load(
    base: Base<'_>,
    mut root: Section,
    _environment: &Environment,
    _library: Option<&Library>,
    problems: &mut Problems,
) -> Option<LoadedJob> {
    let ignored = [
        ("worker", "slices are read by the server itself", "leave it out"),
        ("budget", "its calls use no tokens of a model and have no price", "leave it out"),
        ("timeout", "a slice takes as long as it takes", "limit one request with `source.rest.timeout`"),
    ];
    let given = |name: &&(&str, &str, &str)| root.field_names().contains(&name.0);
    for (name, why, help) in ignored.iter().filter(given) {
        problems.add(root.span_of(name), format!("an ingest job has no `{name}`: {why}"), *help);
    }
    let header = Header::take(&mut root, base.workspace, problems);
    let source = root.require("source", "source: { rest: { url: … } }", problems);
    let destination = root.require("destination", "destination: { sqlite: { path: data.db } }", problems);
    let slices = root.take("slices");
    let own =
        root.split(&["table", "key", "skip", "max_rejected", "columns", "on_type_change", "provenance", "operation"]);
    let typed = own.field_names().into_iter().find(|name| ["columns", "on_type_change"].contains(name));
    let typed_at = own.span_of(typed.unwrap_or_default());
    root.finish(&[HEADER_FIELDS, FIELDS].concat(), problems);

    let source = source.and_then(|section| {
        let kinds: Vec<_> = SOURCES.iter().map(|kind| (kind.name, kind.read)).collect();
        component(section, &kinds, base, problems)
    });
    let destination = destination.and_then(|section| {
        let kinds: Vec<_> = DESTINATIONS.iter().map(|kind| (kind.name, kind.read)).collect();
        component(section, &kinds, base, problems)
    });
    let slicing = slices.map_or(Some(Slicing::One), |section| slices::read(section, problems));
    let (header, own) = (header?, rules::read(&own, problems));
    let (source, destination, slicing, own) = (source?, destination?, slicing?, own?);
    let rules = Rules {
        table: own.table.unwrap_or_else(|| rules::table_name(&header.name)),
        key: own.key,
        skip: own.skip,
        max_rejected: own.max_rejected,
        types: own.types,
    };
    if !rules.types.is_default() && DESTINATIONS.iter().any(|kind| kind.name == destination.kind && !kind.typed) {
        let message = format!("`columns` and `on_type_change` need tables, and {} has files", destination.kind);
        problems.add(typed_at, message, "leave them out, or write to a database");
        return None;
    }
    let kind = SOURCES.iter().find(|kind| kind.name == source.kind)?;
    let origin = Origin {
        provenance: own.provenance.unwrap_or_else(|| (kind.provenance)(&source.config)),
        operation: own.operation.unwrap_or_else(|| "harvest".to_owned()),
        expr_hash: expr_hash(&source, &slicing, &rules),
    };
    let mut retry = header.retry_policy();
    // What is wrong with one answer is wrong with the source.
    retry.classes.entry(ErrorClass::InvalidOutput).or_insert(Reaction::StopRun);
    let plan = format!("{}/{}", header.workspace, header.name);
    let rows = slicing.count(jiff::Timestamp::now());
    let spec = IngestSpec { plan, origin, source, slicing, destination, rules, retry };
    let mut limits = header.limits();
    limits.max_losses = MAX_LOSSES;
    if !header.is_given("concurrency") {
        limits.concurrency = CONCURRENCY;
    }
    Some(LoadedJob { limits, worker: None, ..header.into_job(KIND, spec.freeze(), rows) })
}

/// `source` and `destination` name one of several kinds.
fn component(
    mut section: Section,
    kinds: &[(&'static str, Read)],
    base: Base<'_>,
    problems: &mut Problems,
) -> Option<Component> {
    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
    let list = names.join(", ");
    let given: Vec<String> = section.field_names().into_iter().map(str::to_owned).collect();
    let [one] = given.as_slice() else {
        let message = format!("`{}` names one of: {list}", section.path);
        problems.add(section.span, message, format!("for example: {}: {{ … }}", names[0]));
        return None;
    };
    let Some((name, read)) = kinds.iter().find(|(name, _)| name == one) else {
        let help = match nearest(one, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`? Known kinds: {list}"),
            None => format!("known kinds: {list}"),
        };
        problems.add(section.span_of(one), format!("unknown {} `{one}`", section.path), help);
        return None;
    };
    let config = read(&section.take(name)?, base, problems)?;
    Some(Component { kind: (*name).to_owned(), config })
}

/// An expression that a rule may be.
pub(super) fn check_skip(expression: &str) -> Result<(), String> {
    batch::check_rule(expression)
}
