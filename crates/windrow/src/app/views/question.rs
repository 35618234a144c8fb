//! What a view asks for, parsed; errors name the place.

use std::sync::Arc;

use windrow_model::SyntaxError;
use windrow_model::label::NOTE;
use windrow_model::record::Job;
use windrow_model::suggest;
use windrow_results::{Condition, Grid, Grouping, Kind, Name, Names, Sort};
use windrow_wire::{BaselineName, Place, ViewRequest};

use crate::app::actor::Actor;
use crate::app::views::{load, scan};
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

pub struct Question {
    pub condition: Option<Condition>,
    pub order: Vec<Sort>,
    pub group: Option<Grouping>,
    pub columns: Vec<Name>,
    pub facets: Vec<Name>,
}

impl Question {
    /// The names on which the rows and their numbers depend.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        let condition = self.condition.iter().flat_map(Condition::names);
        let order = self.order.iter().map(|sort| &sort.name);
        condition.chain(order).chain(self.group.iter().map(|group| &group.name)).chain(&self.facets)
    }
}

pub fn parse(request: &ViewRequest, names: &Names) -> Result<Question> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let condition = text(&request.r#where)
        .map(|text| Condition::parse(&text, names).map_err(|error| invalid("where", &text, error)));
    let order =
        text(&request.sort).map(|text| Sort::parse(&text, names).map_err(|error| invalid("sort", &text, error)));
    let named = |field: &'static str| {
        move |text: &String| Name::parse(text, names).map_err(|error| invalid(field, text, error))
    };
    let columns = match &request.columns {
        Some(columns) => columns.iter().map(named("columns")).collect::<Result<_>>()?,
        None => usual_columns(names),
    };
    let facets = match request.facets.as_deref() {
        None => Vec::new(),
        Some([all]) if all == "*" => usual_facets(names),
        Some(facets) => facets.iter().map(named("facets")).collect::<Result<_>>()?,
    };
    let group = text(&request.group);
    let group = group.map(|text| Grouping::parse(&text, names).map_err(|error| invalid("group", &text, error)));
    Ok(Question {
        condition: condition.transpose()?,
        order: order.transpose()?.unwrap_or_default(),
        group: group.transpose()?,
        columns,
        facets,
    })
}

fn invalid(field: &str, text: &str, error: SyntaxError) -> Error {
    let chars = |at: usize| text.get(..at).map_or(0, |before| before.chars().count());
    let place = Place { from: chars(error.at.start), to: chars(error.at.end) };
    let what = format!("`{field}`, character {}: {}", place.from + 1, error.message);
    Error::new(what, error.help).coded(Code::InvalidQuery).about(field).placed(place)
}

fn usual_columns(names: &Names) -> Vec<Name> {
    let mut columns = vec![Name::Row];
    if !names.variants.is_empty() {
        columns.push(Name::Variant);
    }
    columns.push(Name::Outcome);
    for evaluator in names.evaluators.iter().filter(|name| windrow_model::step::is_own_column(name)) {
        columns.push(Name::Score(evaluator.clone()));
        if names.labels.contains(evaluator) {
            columns.push(Name::Label(evaluator.clone()));
        }
        if names.baseline {
            columns.push(Name::Delta(evaluator.clone()));
        }
    }
    columns.extend([Name::LatencyMs, Name::Cost]);
    columns.extend(names.has_expected().then_some(Name::Expected));
    if names.baseline {
        columns.push(Name::BaselineOutput);
    }
    // The output is that of the last column.
    match names.outputs.is_empty() {
        true => columns.push(Name::Output),
        false => columns.extend(names.outputs.iter().cloned().map(Name::OutputOf)),
    }
    columns
}

fn usual_facets(names: &Names) -> Vec<Name> {
    let mut facets =
        vec![Name::Outcome, Name::Error, Name::Flaky, Name::Tries, Name::Reviewed, Name::LatencyMs, Name::Cost];
    if !names.variants.is_empty() {
        facets.push(Name::Variant);
    }
    facets.extend(names.labels.iter().filter(|name| *name != NOTE).cloned().map(Name::Label));
    facets.extend(names.evaluators.iter().cloned().map(Name::Score));
    facets.extend(names.evaluators.iter().cloned().map(Name::Verdict));
    if names.baseline {
        facets.extend(names.evaluators.iter().cloned().map(Name::Change));
    }
    let short = |(name, kind): (&String, &Kind)| Name::Field(name.clone(), *kind);
    facets.extend(names.fields.iter().map(short));
    facets
}

/// What a view is compared with.
pub enum Baseline {
    Variant(String),
    /// By its number.
    Run(Box<Job>, i64),
}

/// `variant NAME`, `#RUN` of this job, or `JOB#RUN`.
pub async fn named_baseline(
    app: &App,
    actor: &Actor,
    job: &Job,
    variants: &[String],
    vs: &str,
) -> Result<(BaselineName, Baseline)> {
    let named = |name: String, why: &str| BaselineName { name, why: why.to_owned() };
    if let Some(variant) = vs.trim().strip_prefix("variant ") {
        let variant = variant.trim();
        if !variants.iter().any(|known| known == variant) {
            let near = suggest::nearest(variant, variants.iter().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean `variant {near}`?"),
                None if variants.is_empty() => "name a run instead, e.g. #1".to_owned(),
                None => format!("its variants are {}", variants.join(", ")),
            };
            let what = format!("{} has no variant {variant:?}", job.name);
            return Err(Error::new(what, help).coded(Code::InvalidQuery).about("vs"));
        }
        let name = named(format!("variant {variant}"), "named in the request");
        return Ok((name, Baseline::Variant(variant.to_owned())));
    }
    let (other, run) = match vs.trim().strip_prefix('#').map(str::parse::<i64>) {
        Some(Ok(no)) => {
            let runs = app.store.runs(job.id).await?;
            let run = runs.into_iter().find(|run| run.no == no).ok_or_else(|| scan::no_run(app, job, no))?;
            (job.clone(), run)
        }
        _ => lookup::run(app, actor, vs.trim()).await?,
    };
    let name = named(format!("{}#{}", other.name, run.no), "named in the request");
    Ok((name, Baseline::Run(Box::new(other), run.no)))
}

/// The table of a baseline.
pub async fn baseline(
    app: &App,
    actor: &Actor,
    job: &Job,
    table: &Arc<Grid>,
    vs: &str,
) -> Result<(BaselineName, Arc<Grid>, Option<String>)> {
    Ok(match named_baseline(app, actor, job, &table.names().variants, vs).await? {
        (name, Baseline::Variant(variant)) => (name, table.clone(), Some(variant)),
        (name, Baseline::Run(other, no)) => (name, load::current(app, &other, Some(no)).await?, None),
    })
}
