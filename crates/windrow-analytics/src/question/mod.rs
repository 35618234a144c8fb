//! Questions about the results of one job: the answers of `windrow_results::Table` over the same rows, which is the
//! specification. Rows that wait or run are not asked about: their inputs are not in the copy.

mod expression;
mod facets;
mod numbers;
mod pairs;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use windrow_model::record::Job;
use windrow_model::{ItemId, RunId};
use windrow_results::{Condition, Kind, Names, Sort};

use crate::client::{Client, Failure, literal};
use crate::schema::{self, ITEMS, RESULTS};
use expression::Columns;

pub use numbers::Variant;

/// The current results of all items of a job, or what one run made of them.
#[derive(Clone)]
pub struct Copied {
    client: Client,
    columns: Columns,
    names: Names,
    /// Of each evaluator with large scores, one of them: sums are taken relative to it.
    origins: BTreeMap<String, f64>,
    rows: i64,
    waiting: i64,
    labelled: bool,
    baseline: Option<Box<Copied>>,
}

#[derive(Deserialize)]
struct Survey {
    total: i64,
    waiting: i64,
    evaluators: Vec<String>,
    all_outputs: Vec<String>,
    variants: Vec<String>,
    labels: Vec<String>,
    all_fields: Vec<String>,
    all_numbers: Vec<String>,
    all_flags: Vec<String>,
    texts: Vec<String>,
    origins: (Vec<String>, Vec<f64>),
    labelled: i64,
}

impl Copied {
    /// `None`: the job was not sent.
    pub async fn open(client: Client, job: &Job, run: Option<RunId>) -> Result<Option<Self>, Failure> {
        let Some(slots) = schema::columns(&client, job.id).await? else { return Ok(None) };
        let place = format!("workspace = {} AND job_id = {}", literal(&job.workspace), job.id.0);
        let from = match run {
            None => format!("(SELECT * FROM {ITEMS} FINAL WHERE {place})"),
            Some(run) => format!("(SELECT * FROM {RESULTS} FINAL WHERE {place} AND run_id = {})", run.0),
        };
        let sql = format!(
            "SELECT count() AS total, countIf(state = 'queued') AS waiting, \
             groupUniqArrayArray(scores.name) AS evaluators, groupUniqArrayArray(mapKeys(outputs)) AS all_outputs, \
             groupUniqArray(toString(variant)) AS variants, groupUniqArrayArray(labels.name) AS labels, \
             groupUniqArrayArray(mapKeys(fields)) AS all_fields, groupUniqArrayArray(mapKeys(numbers)) AS all_numbers, \
             groupUniqArrayArray(flags) AS all_flags, groupUniqArrayArray(arrayFilter(\
             f -> NOT mapContains(numbers, f) AND NOT has(flags, f) AND NOT has(nulls, f), mapKeys(fields))) AS texts, \
             minMap(arrayFilter((n, v) -> isNotNull(v), scores.name, scores.value), \
             arrayMap(v -> assumeNotNull(v), arrayFilter(v -> isNotNull(v), scores.value))) AS origins, \
             (SELECT count() FROM {ITEMS} FINAL WHERE {place} AND notEmpty(labels.name)) AS labelled FROM {from}"
        );
        let found: Option<Survey> = client.rows(&sql).await?.pop();
        let Some(found) = found else { return Ok(None) };
        let names = found.names();
        let origins = found.origins.0.into_iter().zip(found.origins.1).filter(|(_, origin)| origin.abs() > 1.0);
        Ok(Some(Self {
            client,
            columns: Columns { slots, table: from.clone(), from },
            names,
            origins: origins.collect(),
            rows: found.total,
            waiting: found.waiting,
            labelled: found.labelled > 0,
            baseline: None,
        }))
    }

    /// Compared with another table, or with the rows of one variant.
    pub fn against(mut self, baseline: Copied, variant: Option<&str>) -> Self {
        self.columns.from = pairs::join(&self.columns.from, &baseline.columns.from, variant);
        self.names.baseline = true;
        self.origins.extend(baseline.origins.clone());
        self.baseline = Some(Box::new(baseline));
        self
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// Rows without a result so far.
    pub fn waiting(&self) -> i64 {
        self.waiting
    }

    /// People said something about items of the job. What runs made of items does not have it.
    pub fn is_labelled(&self) -> bool {
        self.labelled
    }

    /// The items for which a condition holds, in order.
    pub async fn items(&self, condition: Option<&Condition>, order: &[Sort]) -> Result<Vec<ItemId>, Failure> {
        let (from, holds) = (&self.columns.from, self.columns.condition(condition));
        let sql = format!("SELECT item_id FROM {from} WHERE {holds} ORDER BY {}", self.columns.order(order));
        Ok(self.client.integers(&sql).await?.into_iter().map(ItemId).collect())
    }

    /// Those of them whose row and variant have different outcomes in several trials.
    pub async fn flaky(&self, items: &[ItemId]) -> Result<BTreeSet<ItemId>, Failure> {
        let (from, flaky) = (&self.columns.from, self.columns.flaky());
        let sql = format!("SELECT item_id FROM {from} WHERE item_id IN ({}) AND {flaky}", list(items));
        Ok(self.client.integers(&sql).await?.into_iter().map(ItemId).collect())
    }

    /// All trials of the row and variant of each, in order, where there are several.
    pub async fn trials(&self, items: &[ItemId]) -> Result<BTreeMap<ItemId, Vec<Trial>>, Failure> {
        let (place, table) = (expression::PLACE, &self.columns.table);
        let sql = format!(
            "SELECT concat(row_key, ' ', ifNull(concat('=', toString(variant)), '')) AS of_row, trial, \
             item_id AS item, toString(outcome) AS outcome FROM {table} WHERE ({place}) IN \
             (SELECT {place} FROM {table} WHERE item_id IN ({})) ORDER BY trial, item",
            list(items)
        );
        let mut by_row: BTreeMap<String, Vec<Trial>> = BTreeMap::new();
        for trial in self.client.rows::<Trial>(&sql).await? {
            by_row.entry(trial.of_row.clone()).or_default().push(trial);
        }
        let several = by_row.into_values().filter(|trials| trials.len() > 1);
        Ok(several.flat_map(|all| all.clone().into_iter().map(move |one| (ItemId(one.item), all.clone()))).collect())
    }

    /// What it is compared with.
    pub fn baseline(&self) -> Option<&Copied> {
        self.baseline.as_deref()
    }
}

/// One trial of a row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Trial {
    of_row: String,
    pub trial: i64,
    pub item: i64,
    pub outcome: String,
}

fn list(items: &[ItemId]) -> String {
    let mut texts: Vec<String> = items.iter().map(|item| item.0.to_string()).collect();
    if texts.is_empty() {
        texts.push("0".to_owned());
    }
    texts.join(", ")
}

impl Survey {
    /// As [`windrow_results::table::survey::Found`] has them.
    fn names(&self) -> Names {
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
        let kind = |field: &String| {
            let has = |names: &[String]| names.contains(field);
            match (has(&self.all_numbers), has(&self.all_flags), has(&self.texts)) {
                (true, false, false) => Kind::Number,
                (false, true, false) => Kind::Bool,
                _ => Kind::Text,
            }
        };
        Names {
            evaluators: sorted(&self.evaluators),
            fields: self.all_fields.iter().map(|field| (field.clone(), kind(field))).collect(),
            outputs: sorted(&self.all_outputs),
            variants: sorted(&self.variants),
            labels: sorted(&self.labels),
            baseline: false,
        }
    }
}
