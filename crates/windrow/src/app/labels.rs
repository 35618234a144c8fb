//! People label and correct what was computed (E19), and see how far evaluators agree with them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windrow_model::aggregate::{LEVEL, wilson};
use windrow_model::label::{NOTE, NewLabel, OUTCOME};
use windrow_model::number::rater::{self, Confusion};
use windrow_model::record::{ItemDetail, Job};
use windrow_model::step::{Verdict, is_own_column};
use windrow_model::{ItemId, suggest};
use windrow_results::ResultRow;
use windrow_wire::{AgreementView, EvaluatorAgreement, LabelList, LabelRequest, LabelView, Labelled};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::{App, lookup, views};
use crate::error::{Code, Error, Result};

/// Items labelled in one transaction.
const BATCH: usize = 500;
const MAX_TEXT: usize = 10_000;
const MAX_NAME: usize = 100;

/// Labels the items that are named or selected.
pub async fn label(app: &App, change: &Change, job: &str, request: LabelRequest) -> Result<Labelled> {
    let (job, _) = lookup::job(app, &change.actor, job).await?;
    if request.labels.is_empty() {
        return Err(Error::invalid("labels", "no label given", "e.g. {\"exact\": \"fail\"}"));
    }
    if request.reason.chars().count() > MAX_TEXT {
        return Err(Error::invalid("reason", format!("longer than {MAX_TEXT} characters"), "shorten it"));
    }
    let items = match (&request.items, &request.r#where) {
        (Some(items), None) => items.iter().map(|id| item_id(id)).collect::<Result<Vec<_>>>()?,
        (None, Some(condition)) => views::selection(app, &job, None, Some(condition)).await?,
        _ => return Err(Error::invalid("items", "name items, or select them with `where`", "pass one of the two")),
    };
    let said = said(app, &job, &request).await?;
    let mut labelled = Labelled { job: job.name.clone(), items: items.len() as i64, added: 0 };
    for batch in items.chunks(BATCH) {
        let details = app.store.details(batch.to_vec()).await?;
        if let Some(other) = details.iter().find(|detail| detail.item.job != job.id) {
            let what = format!("item {} is not one of {}", other.item.id, job.name);
            return Err(Error::invalid("items", what, "list its items with `windrow results`"));
        }
        let labels = details.iter().flat_map(|detail| labels_of(detail, &said, &request.reason)).collect();
        labelled.added += app.store.label_items(job.id, labels, &change.actor.name, app.now()).await?;
    }
    Ok(labelled)
}

fn item_id(text: &str) -> Result<ItemId> {
    let invalid = || Error::invalid("items", format!("{text:?} is not the id of an item"), "pass the column `id`");
    text.parse::<i64>().map(ItemId).map_err(|_| invalid())
}

/// Verdict, value and note of a label.
type Said = (Option<Verdict>, Option<f64>, Option<String>);

async fn said(app: &App, job: &Job, request: &LabelRequest) -> Result<BTreeMap<String, Said>> {
    let evaluators: BTreeSet<String> = app.job_aggregates(job.id).await?.evaluators.keys().cloned().collect();
    let mut said = BTreeMap::new();
    for (name, value) in &request.labels {
        let known = evaluators.contains(name) || name == NOTE || name == OUTCOME;
        if !known && !request.new && !is_in_use(app, job, name).await? {
            return Err(unknown(job, name, &evaluators));
        }
        let free = name == NOTE || !known;
        said.insert(name.clone(), meaning(name, value, free)?);
    }
    Ok(said)
}

async fn is_in_use(app: &App, job: &Job, name: &str) -> Result<bool> {
    let mut after = 0;
    loop {
        let page = app.store.labels(job.id, after, BATCH).await?;
        if page.iter().any(|label| label.what.name == name) {
            return Ok(true);
        }
        match page.last().filter(|_| page.len() == BATCH) {
            Some(last) => after = last.id,
            None => return Ok(false),
        }
    }
}

fn unknown(job: &Job, name: &str, evaluators: &BTreeSet<String>) -> Error {
    let names = evaluators.iter().map(String::as_str).chain([OUTCOME, NOTE]);
    let help = match suggest::nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`? To introduce a name, pass `--new` (`new` in the request)"),
        None => format!("use {}, or pass `--new` (`new`)", names.collect::<Vec<_>>().join(", ")),
    };
    Error::invalid("labels", format!("{} has no evaluator {name:?}", job.name), help)
}

fn meaning(name: &str, value: &Value, free: bool) -> Result<Said> {
    let invalid = |what: String| Error::invalid("labels", what, "write pass, fail or a number such as 0.5");
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::invalid("labels", format!("a name has 1 to {MAX_NAME} characters"), "shorten it"));
    }
    match value {
        Value::Null => Ok((None, None, None)),
        Value::String(word) if word == "pass" && name != NOTE => Ok((Some(Verdict::Pass), None, None)),
        Value::String(word) if word == "fail" && name != NOTE => Ok((Some(Verdict::Fail), None, None)),
        Value::Number(number) if name != NOTE => Ok((None, number.as_f64(), None)),
        Value::String(text) if free && !text.trim().is_empty() && text.chars().count() <= MAX_TEXT => {
            Ok((None, None, Some(text.clone())))
        }
        Value::String(_) if free => Err(invalid(format!("`{name}`: a text has 1 to {MAX_TEXT} characters"))),
        other => Err(invalid(format!("`{name}` cannot be {other}"))),
    }
}

fn labels_of<'a>(
    detail: &'a ItemDetail,
    said: &'a BTreeMap<String, Said>,
    reason: &'a str,
) -> impl Iterator<Item = NewLabel> + 'a {
    let output = ResultRow::whole(detail, None, |_| 0).output_key();
    said.iter().map(move |(name, (verdict, value, note))| NewLabel {
        item: detail.item.id,
        name: name.clone(),
        verdict: *verdict,
        value: *value,
        note: note.clone(),
        reason: reason.to_owned(),
        output: Some(output),
    })
}

/// Everything that was said about a job, oldest first.
pub async fn list(app: &App, actor: &Actor, job: &str, after: i64, limit: usize) -> Result<LabelList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let found = app.store.labels(job.id, after, limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|label| label.id);
    Ok(LabelList { labels: found.iter().map(LabelView::from).collect(), next })
}

/// The history of one item.
pub async fn of_item(app: &App, actor: &Actor, item: ItemId) -> Result<LabelList> {
    let (_, detail) = lookup::item(app, actor, item).await?;
    Ok(LabelList { labels: detail.labels.iter().map(LabelView::from).collect(), next: None })
}

/// Takes back what was said under a name; 404 if nothing was.
pub async fn clear(app: &App, change: &Change, item: ItemId, name: &str, reason: &str) -> Result<()> {
    let (job, detail) = lookup::item(app, &change.actor, item).await?;
    if !windrow_model::label::current(&detail.labels).contains_key(name) {
        let what = format!("item {item} has no label {name:?}");
        return Err(Error::new(what, "see its labels with `windrow label JOB ITEM`").coded(Code::NotFound));
    }
    let said = BTreeMap::from([(name.to_owned(), (None, None, None))]);
    let labels = labels_of(&detail, &said, reason).collect();
    app.store.label_items(job.id, labels, &change.actor.name, app.now()).await?;
    Ok(())
}

#[derive(Default)]
struct Compared {
    verdicts: Confusion,
    values: Vec<(f64, f64)>,
    marks: Vec<(f64, bool)>,
}

/// How far evaluators agree with people, over the rows that people labelled.
pub async fn agreement(app: &App, actor: &Actor, job: &str) -> Result<AgreementView> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let (mut found, mut reviewed, mut outdated) = (BTreeMap::<String, Compared>::new(), 0, 0);
    let items: Vec<ItemId> = labelled_items(app, &job).await?.into_iter().collect();
    for batch in items.chunks(BATCH) {
        for detail in app.store.details(batch.to_vec()).await? {
            let row = ResultRow::whole(&detail, None, |_| 0);
            reviewed += i64::from(row.is_reviewed());
            outdated += i64::from(!row.is_reviewed() && row.labels.iter().any(|label| label.outdated));
            count(&row, &mut found);
        }
    }
    let evaluators = found.into_iter().filter(|(_, compared)| compared.verdicts.n() > 0);
    let evaluators = evaluators.map(|(name, compared)| view(name, &compared)).collect();
    Ok(AgreementView { job: job.name, reviewed, outdated, evaluators })
}

async fn labelled_items(app: &App, job: &Job) -> Result<BTreeSet<ItemId>> {
    let (mut items, mut after) = (BTreeSet::new(), 0);
    loop {
        let page = app.store.labels(job.id, after, BATCH).await?;
        items.extend(page.iter().map(|label| label.what.item));
        match page.last().filter(|_| page.len() == BATCH) {
            Some(last) => after = last.id,
            None => return Ok(items),
        }
    }
}

/// A verdict about the row as a whole is compared with every evaluator that has none of its own.
fn count(row: &ResultRow, found: &mut BTreeMap<String, Compared>) {
    let own = row.scores.iter().map(|score| score.name.as_str()).filter(|name| is_own_column(name));
    let names: BTreeSet<&str> = own.chain([OUTCOME]).collect();
    for name in names {
        let Some(label) = row.correction(name).or_else(|| row.correction(OUTCOME)) else { continue };
        let compared = found.entry(name.to_owned()).or_default();
        let value = row.computed(name);
        if let (Some(evaluator), Some(person)) = (row.computed_pass(name), label.passes()) {
            compared.verdicts.add(evaluator, person);
        }
        if let (Some(value), Some(person)) = (value, label.passes()) {
            compared.marks.push((value, person));
        }
        if let (Some(value), Some(person)) = (value, label.number()) {
            compared.values.push((value, person));
        }
    }
}

fn view(name: String, compared: &Compared) -> EvaluatorAgreement {
    let (verdicts, accuracy) = (compared.verdicts, compared.verdicts.accuracy());
    // A pass mark of values that are 0 or 1 says nothing.
    let graded = compared.marks.iter().any(|(value, _)| *value != 0.0 && *value != 1.0);
    EvaluatorAgreement {
        name,
        n: verdicts.n(),
        confusion: verdicts,
        accuracy,
        accuracy_interval: accuracy.and_then(|share| wilson(share, verdicts.n() as f64, LEVEL)),
        kappa: verdicts.kappa(),
        alpha: verdicts.alpha(),
        value_alpha: rater::interval_alpha(&compared.values),
        threshold: graded.then(|| rater::threshold(&compared.marks)).flatten(),
    }
}
