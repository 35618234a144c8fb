//! Header, metrics and groups of a selection. ClickHouse adds up; the formulas are those of `windrow_model::aggregate`.

use std::collections::BTreeMap;

use serde::Deserialize;
use windrow_model::aggregate::{BINS, ClusterSums, EvaluatorSums, EvaluatorTally, Latencies, ScoreSummary};
use windrow_results::query::Grouping;
use windrow_results::summary::{self, Bucket, Buckets, Corrected, EXACT_NUMBERS, Group, Header, Metric};
use windrow_results::{Condition, Kind, Name, Value};

use super::expression::{COUNTS, Expression, NUMBERS, VERDICTS, float};
use super::{Copied, facets};
use crate::client::{Failure, literal};

/// The computed findings of a row, as tuples of evaluator, verdict and value.
const COMPUTED: &str = "arrayZip(scores.name, scores.verdict, scores.value)";

/// The rows of one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Variant {
    pub n: i64,
    /// US dollars.
    pub cost: f64,
    pub metrics: Vec<Metric>,
}

#[derive(Deserialize)]
struct Counted {
    g: Option<String>,
    of_outcome: String,
    of_state: String,
    total: i64,
    sum_in: i64,
    sum_out: i64,
    nanos: i64,
}

#[derive(Deserialize)]
struct Sums {
    g: Option<String>,
    name: String,
    pass: i64,
    fail: i64,
    error: i64,
    skipped: i64,
    n: i64,
    sum: f64,
    squares: f64,
    clusters: i64,
    sum_squared: f64,
    sum_times_size: f64,
    size_squared: f64,
    low: Option<f64>,
    high: Option<f64>,
    bins: [i64; BINS],
    pass_clusters: i64,
    pass_squared: f64,
    pass_times_size: f64,
    pass_size_squared: f64,
}

impl Sums {
    fn summary(&self, origin: f64) -> ScoreSummary {
        let values = ClusterSums {
            origin,
            clusters: self.clusters,
            n: self.n,
            sum: self.sum,
            squares: self.squares,
            sum_squared: self.sum_squared,
            sum_times_size: self.sum_times_size,
            size_squared: self.size_squared,
        };
        let passes = ClusterSums {
            origin: 0.0,
            clusters: self.pass_clusters,
            n: self.pass + self.fail,
            sum: self.pass as f64,
            squares: self.pass as f64,
            sum_squared: self.pass_squared,
            sum_times_size: self.pass_times_size,
            size_squared: self.pass_size_squared,
        };
        let (pass, fail, error, skipped) = (self.pass, self.fail, self.error, self.skipped);
        let (min, max, distribution) = (self.low, self.high, self.bins);
        EvaluatorTally::of_sums(EvaluatorSums { pass, fail, error, skipped, values, passes, min, max, distribution })
            .finish()
    }
}

/// By group and evaluator.
pub(super) type Summaries = BTreeMap<Option<String>, BTreeMap<String, ScoreSummary>>;
type Metrics = BTreeMap<Option<String>, Vec<Metric>>;

/// All rows are one group.
const ONE: &str = "CAST(NULL AS Nullable(String))";

impl Copied {
    pub async fn header(&self, condition: Option<&Condition>) -> Result<Header, Failure> {
        #[derive(Deserialize)]
        struct Latency {
            ms: i64,
            n: i64,
        }
        let counted = self.counted(ONE, condition).await?;
        let (from, holds) = (&self.columns.from, self.columns.condition(condition));
        let sql = format!(
            "SELECT latency_ms AS ms, count() AS n FROM {from} WHERE {holds} AND state = 'succeeded' \
             AND isNotNull(latency_ms) GROUP BY ms"
        );
        let mut latencies = Latencies::default();
        let found: Vec<Latency> = self.client.rows(&sql).await?;
        found.iter().for_each(|latency| latencies.add_alike(latency.ms, latency.n));
        let mut header = Header {
            outcomes: BTreeMap::new(),
            states: BTreeMap::new(),
            latency: latencies.percentiles(),
            tokens_in: 0,
            tokens_out: 0,
            cost: 0.0,
        };
        let mut nanos = 0;
        for part in counted {
            *header.outcomes.entry(part.of_outcome).or_default() += part.total;
            *header.states.entry(part.of_state).or_default() += part.total;
            header.tokens_in += part.sum_in;
            header.tokens_out += part.sum_out;
            nanos += part.nanos;
        }
        header.cost = nanos as f64 / 1e9;
        Ok(header)
    }

    /// One per evaluator, by name.
    pub async fn metrics(&self, condition: Option<&Condition>) -> Result<Vec<Metric>, Failure> {
        Ok(self.metrics_by(ONE, condition).await?.remove(&None).unwrap_or_default())
    }

    /// By name; those without rows are left out.
    pub async fn variants(&self, condition: Option<&Condition>) -> Result<BTreeMap<String, Variant>, Failure> {
        let key = self.columns.of(&Name::Variant).text();
        let mut metrics = self.metrics_by(&key, condition).await?;
        let mut found: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for part in self.counted(&key, condition).await? {
            let Some(name) = part.g else { continue };
            let (n, nanos) = found.entry(name).or_default();
            (*n, *nanos) = (*n + part.total, *nanos + part.nanos);
        }
        let variant = |(name, (n, nanos)): (String, (i64, i64))| {
            let metrics = metrics.remove(&Some(name.clone())).unwrap_or_default();
            (name, Variant { n, cost: nanos as f64 / 1e9, metrics })
        };
        Ok(found.into_iter().map(variant).collect())
    }

    /// As [`summary::groups`].
    pub async fn groups(&self, condition: Option<&Condition>, grouping: &Grouping) -> Result<Vec<Group>, Failure> {
        let (key, named) = self.key(condition, grouping).await?;
        let mut metrics = self.metrics_by(&key, condition).await?;
        let mut outcomes: BTreeMap<Option<String>, BTreeMap<String, i64>> = BTreeMap::new();
        for part in self.counted(&key, condition).await? {
            *outcomes.entry(part.g).or_default().entry(part.of_outcome).or_default() += part.total;
        }
        let mut groups: BTreeMap<Option<Bucket>, Group> = BTreeMap::new();
        for (key, outcomes) in outcomes {
            let metrics = metrics.remove(&key).unwrap_or_default();
            let bucket = key.map(|key| named.get(&key).cloned().unwrap_or((0, key)));
            let value = bucket.as_ref().map(|bucket| bucket.1.clone());
            groups.insert(bucket, Group { value, n: outcomes.values().sum(), outcomes, metrics });
        }
        Ok(summary::in_order(groups.into_values().collect(), grouping))
    }

    /// What rows are grouped by, and what the groups of numbers are called.
    async fn key(
        &self,
        condition: Option<&Condition>,
        grouping: &Grouping,
    ) -> Result<(String, BTreeMap<String, Bucket>), Failure> {
        #[derive(Deserialize)]
        struct Number {
            key: String,
            value: f64,
        }
        #[derive(Deserialize)]
        struct Reach {
            distinct: usize,
            low: Option<f64>,
            high: Option<f64>,
        }
        let expression = self.columns.of(&grouping.name);
        let (Expression::Number(value), Kind::Number | Kind::Time) = (&expression, grouping.name.kind()) else {
            return Ok((expression.text(), BTreeMap::new()));
        };
        let (from, holds) = (&self.columns.from, self.columns.condition(condition));
        let (key, buckets) = match grouping.width {
            Some(width) => (format!("floor({value} / {} + {})", float(width), float(1e-9)), Buckets::Width(width)),
            None => {
                let sql = format!(
                    "SELECT uniqUpTo({EXACT_NUMBERS})(v) AS distinct, min(v) AS low, max(v) AS high \
                     FROM (SELECT {value} AS v FROM {from} WHERE {holds}) WHERE isNotNull(v)"
                );
                let reach: Option<Reach> = self.client.rows(&sql).await?.pop();
                match reach.filter(|reach| reach.distinct > EXACT_NUMBERS).and_then(|reach| reach.low.zip(reach.high)) {
                    Some((low, high)) => (facets::bin(value, (low, high)), Buckets::Parts(low, high)),
                    None => (value.clone(), Buckets::Values),
                }
            }
        };
        let key = format!("toString({key})");
        let sql = format!(
            "SELECT assumeNotNull({key}) AS key, assumeNotNull(min({value})) AS value FROM {from} WHERE {holds} \
             AND isNotNull({value}) GROUP BY key"
        );
        let named: Vec<Number> = self.client.rows(&sql).await?;
        let label = summary::label(buckets);
        let name = |number: Number| Some((number.key, label(&Value::Number(number.value))?));
        Ok((key, named.into_iter().filter_map(name).collect()))
    }

    async fn counted(&self, key: &str, condition: Option<&Condition>) -> Result<Vec<Counted>, Failure> {
        let (from, holds) = (&self.columns.from, self.columns.condition(condition));
        let sql = format!(
            "SELECT {key} AS g, toString(outcome) AS of_outcome, toString(state) AS of_state, count() AS total, \
             sum(tokens_in) AS sum_in, sum(tokens_out) AS sum_out, sum(cost_nanos) AS nanos FROM {from} \
             WHERE {holds} GROUP BY g, of_outcome, of_state"
        );
        self.client.rows(&sql).await
    }

    async fn metrics_by(&self, key: &str, condition: Option<&Condition>) -> Result<Metrics, Failure> {
        let (from, holds) = (&self.columns.from, self.columns.condition(condition));
        let rows = |findings: &str| {
            format!("SELECT {key} AS g, row_key, arrayJoin({findings}) AS f FROM {from} WHERE {holds}")
        };
        let found = self.summaries(&rows(COMPUTED)).await?;
        let mut corrected: BTreeMap<(Option<String>, String), Corrected> = BTreeMap::new();
        if !self.names.labels.is_empty() {
            let by_people = self.summaries(&rows(&corrected_findings())).await?;
            for (group, name, labelled) in self.labelled(key, &holds).await? {
                if let Some(summary) = by_people.get(&group).and_then(|of_group| of_group.get(&name)) {
                    corrected.insert((group, name), Corrected::of(summary, labelled));
                }
            }
        }
        let mut differences = match &self.baseline {
            Some(_) => self.paired(key, &holds).await?,
            None => BTreeMap::new(),
        };
        let mut metrics = Metrics::new();
        for (group, summaries) in found {
            let mut paired = differences.remove(&group).unwrap_or_default();
            let metric = |(name, numbers): (String, ScoreSummary)| {
                let corrected = corrected.remove(&(group.clone(), name.clone()));
                let paired = paired.remove(&name);
                summary::metric(name, numbers, corrected, paired)
            };
            let of_group = summaries.into_iter().map(metric).collect();
            metrics.insert(group, of_group);
        }
        Ok(metrics)
    }

    /// Rows whose findings of an evaluator people corrected or confirmed.
    async fn labelled(&self, key: &str, holds: &str) -> Result<Vec<(Option<String>, String, i64)>, Failure> {
        #[derive(Deserialize)]
        struct Labelled {
            g: Option<String>,
            name: String,
            n: i64,
        }
        let sql = format!(
            "SELECT g, name, count() AS n FROM (SELECT {key} AS g, arrayJoin(arrayFilter((n, c) -> c, labels.name, \
             {COUNTS})) AS name FROM {} WHERE {holds}) GROUP BY g, name",
            self.columns.from
        );
        let found: Vec<Labelled> = self.client.rows(&sql).await?;
        Ok(found.into_iter().map(|row| (row.g, row.name, row.n)).collect())
    }

    /// Of findings `f` of rows `row_key` in groups `g`.
    pub(super) async fn summaries(&self, findings: &str) -> Result<Summaries, Failure> {
        let bins: Vec<String> = (0..BINS).map(|bin| format!("countIf(c AND b = {bin})")).collect();
        let sql = format!(
            "SELECT g, name, sum(p) AS pass, sum(fails) AS fail, sum(errors) AS error, sum(skips) AS skipped, \
             sum(vn) AS n, sum(vs) AS sum, sum(vq) AS squares, countIf(vn > 0) AS clusters, \
             sum(vs * vs) AS sum_squared, sum(vs * vn) AS sum_times_size, toFloat64(sum(vn * vn)) AS size_squared, \
             min(lo) AS low, max(hi) AS high, sumForEach(bs) AS bins, countIf(p + fails > 0) AS pass_clusters, \
             toFloat64(sum(p * p)) AS pass_squared, toFloat64(sum(p * (p + fails))) AS pass_times_size, \
             toFloat64(sum((p + fails) * (p + fails))) AS pass_size_squared FROM (\
             SELECT g, row_key, name, countIf(w = 'pass') AS p, countIf(w = 'fail') AS fails, \
             countIf(w = 'error') AS errors, countIf(w = 'skipped') AS skips, countIf(c) AS vn, \
             sumIf(v - o, c) AS vs, sumIf((v - o) * (v - o), c) AS vq, \
             minIf(toNullable(v), c) AS lo, maxIf(toNullable(v), c) AS hi, [{}] AS bs FROM (\
             SELECT g, row_key, toString(f.1) AS name, f.2 AS w, ifNull(f.3, 0) AS v, {} AS o, \
             isNotNull(f.3) AND w IN ('pass', 'fail') AS c, toUInt8(greatest(0, least(9, v * 10))) AS b \
             FROM ({findings})) GROUP BY g, row_key, name) GROUP BY g, name",
            bins.join(", "),
            self.origin("name")
        );
        let mut found = Summaries::new();
        let all: Vec<Sums> = self.client.rows(&sql).await?;
        for sums in all {
            let origin = self.origins.get(&sums.name).copied().unwrap_or_default();
            let summary = sums.summary(origin);
            found.entry(sums.g).or_default().insert(sums.name, summary);
        }
        Ok(found)
    }

    fn origin(&self, name: &str) -> String {
        if self.origins.is_empty() {
            return "0".to_owned();
        }
        let names: Vec<String> = self.origins.keys().map(|name| literal(name)).collect();
        let values: Vec<String> = self.origins.values().map(|origin| float(*origin)).collect();
        format!("transform({name}, [{}], [{}], toFloat64(0))", names.join(", "), values.join(", "))
    }
}

/// What people said stands for the computed findings of its evaluator.
fn corrected_findings() -> String {
    let theirs = format!("arrayFilter((n, c) -> c, labels.name, {COUNTS})");
    let computed = format!("arrayFilter(f -> NOT has({theirs}, f.1), {COMPUTED})");
    let said = format!("arrayZip(labels.name, {VERDICTS}, {NUMBERS})");
    format!("arrayConcat({computed}, arrayFilter((f, c) -> c, {said}, {COUNTS}))")
}
