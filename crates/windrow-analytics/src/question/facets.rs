//! Values counted. All facets of a view are one statement: each reads columns of its own.

use serde::Deserialize;
use windrow_model::aggregate::BINS;
use windrow_results::summary::{FACET_VALUES, Facet, FacetValue};
use windrow_results::{Condition, Name};

use super::Copied;
use super::expression::{Expression, float};
use crate::client::Failure;

#[derive(Deserialize)]
struct Reach {
    facet: usize,
    low: Option<f64>,
    high: Option<f64>,
    missing: i64,
}

#[derive(Deserialize)]
struct Counted {
    facet: usize,
    value: Option<String>,
    n: i64,
    total: i64,
}

impl Copied {
    /// Of each name, over the rows of its condition.
    pub async fn facets(&self, asked: &[(Name, Option<Condition>)]) -> Result<Vec<Facet>, Failure> {
        let from = &self.columns.from;
        let (mut reaches, mut counts) = (Vec::new(), Vec::new());
        for (facet, (name, condition)) in asked.iter().enumerate() {
            let holds = self.columns.condition(condition.as_ref());
            match self.columns.of(name) {
                Expression::Number(value) => reaches.push(format!(
                    "SELECT {facet} AS facet, min(v) AS low, max(v) AS high, countIf(isNull(v)) AS missing \
                     FROM (SELECT toNullable({value}) AS v FROM {from} WHERE {holds})"
                )),
                other => counts.push(format!(
                    "SELECT {facet} AS facet, value, count() AS n, sum(count()) OVER () AS total \
                     FROM (SELECT toNullable({}) AS value FROM {from} WHERE {holds}) GROUP BY value \
                     ORDER BY isNull(value) DESC, n DESC, value LIMIT {}",
                    other.text(),
                    FACET_VALUES + 1
                )),
            }
        }
        let reaches: Vec<Reach> = self.all(&reaches).await?;
        for reach in &reaches {
            let (Some(low), Some(high)) = (reach.low, reach.high) else { continue };
            let (name, condition) = &asked[reach.facet];
            if let Expression::Number(value) = self.columns.of(name) {
                let holds = self.columns.condition(condition.as_ref());
                counts.push(format!(
                    "SELECT {} AS facet, toNullable(toString({})) AS value, count() AS n, toUInt64(0) AS total \
                     FROM {from} WHERE {holds} AND isNotNull({value}) GROUP BY value",
                    reach.facet,
                    bin(&value, (low, high))
                ));
            }
        }
        let counts: Vec<Counted> = self.all(&counts).await?;
        Ok((0..asked.len()).map(|facet| self.facet(facet, &asked[facet].0, &reaches, &counts)).collect())
    }

    fn facet(&self, facet: usize, name: &Name, reaches: &[Reach], counts: &[Counted]) -> Facet {
        let field = name.to_string();
        let own = || counts.iter().filter(|counted| counted.facet == facet);
        if let Some(reach) = reaches.iter().find(|reach| reach.facet == facet) {
            let mut bins = vec![0; BINS];
            for counted in own() {
                let bin = counted.value.as_deref().and_then(|bin| bin.parse::<usize>().ok());
                bins[bin.unwrap_or_default().min(BINS - 1)] += counted.n;
            }
            let (from, to) = (reach.low.unwrap_or_default(), reach.high.unwrap_or_default());
            return Facet::Range { field, from, to, bins, null: reach.missing };
        }
        let null = own().find(|counted| counted.value.is_none()).map_or(0, |counted| counted.n);
        let mut values: Vec<FacetValue> =
            own().filter_map(|counted| Some(FacetValue { value: counted.value.clone()?, count: counted.n })).collect();
        values.sort_by(|a, b| (-a.count, &a.value).cmp(&(-b.count, &b.value)));
        values.truncate(FACET_VALUES);
        let listed: i64 = values.iter().map(|value| value.count).sum();
        let total = own().next().map_or(0, |counted| counted.total);
        Facet::Values { field, values, null, other: total - null - listed }
    }

    async fn all<T: serde::de::DeserializeOwned>(&self, parts: &[String]) -> Result<Vec<T>, Failure> {
        match parts {
            [] => Ok(Vec::new()),
            parts => {
                let parts: Vec<String> = parts.iter().map(|part| format!("SELECT * FROM ({part})")).collect();
                self.client.rows(&parts.join(" UNION ALL ")).await
            }
        }
    }
}

/// One of the equal ranges between two numbers.
pub(super) fn bin(value: &str, (low, high): (f64, f64)) -> String {
    if high <= low {
        return "0".to_owned();
    }
    let (low, width) = (float(low), float(high - low));
    format!("toUInt8(greatest(0, least({}, ({value} - {low}) / {width} * {BINS})))", BINS - 1)
}
