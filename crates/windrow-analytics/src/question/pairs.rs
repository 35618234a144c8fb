//! Rows beside those of the baseline, as `windrow_results::Baseline` pairs them, and the differences between them.

use std::collections::BTreeMap;

use serde::Deserialize;
use windrow_model::ItemId;
use windrow_model::compare::{Difference, Finding, Pairing, Side};
use windrow_model::step::{ContentKey, Verdict};
use windrow_results::summary::{self, Paired};

use super::expression::UNPAIRED;
use super::{Copied, list};
use crate::client::{Failure, literal};

/// The same variant and trial if there is one, else the nearest to it; of several the first.
pub(super) fn join(own: &str, before: &str, variant: Option<&str>) -> String {
    let same_variant = "isNull(b.variant) = isNull(o.variant) AND ifNull(b.variant, '') = ifNull(o.variant, '')";
    // A variant is not compared with itself.
    let (only, unless) = match variant {
        Some(name) => {
            let name = literal(name);
            (format!(" WHERE variant = {name}"), format!("ifNull(variant = {name}, 0)"))
        }
        None => (String::new(), "0".to_owned()),
    };
    let own = format!("(SELECT *, if({unless}, '', row_key) AS paired_by FROM {own})");
    let before = format!(
        "(SELECT row_key AS paired_by, item_id, variant, trial, outcome, output, latency_ms, tokens_in, tokens_out, \
         cost_nanos, scores.name AS names, \
         scores.value AS values, scores.verdict AS verdicts, scores.turn AS turns FROM {before}{only})"
    );
    format!(
        "(SELECT o.*, b.item_id AS before_item, b.outcome AS before_outcome, b.output AS before_output, \
         b.variant AS before_variant, b.latency_ms AS before_latency_ms, b.tokens_in AS before_tokens_in, \
         b.tokens_out AS before_tokens_out, b.cost_nanos AS before_cost_nanos, \
         b.names AS before_names, b.values AS before_values, b.verdicts AS before_verdicts, \
         b.turns AS before_turns FROM {own} AS o \
         LEFT JOIN {before} AS b ON o.paired_by = b.paired_by \
         ORDER BY o.item_id, {same_variant} DESC, b.trial = o.trial DESC, b.item_id LIMIT 1 BY o.item_id)"
    )
}

/// A finding that takes part, of this row or of its baseline.
#[derive(Deserialize)]
struct Found {
    g: Option<String>,
    name: String,
    key: String,
    side: u8,
    item: i64,
    verdict: Verdict,
    value: Option<f64>,
}

#[derive(Deserialize)]
struct Changed {
    g: Option<String>,
    name: String,
    improved: i64,
    same: i64,
    regressed: i64,
}

type Differences = BTreeMap<Option<String>, BTreeMap<String, Paired>>;

impl Copied {
    /// The rows of the baseline that these are compared with.
    pub async fn before(&self, items: &[ItemId]) -> Result<BTreeMap<ItemId, ItemId>, Failure> {
        #[derive(Deserialize)]
        struct Pair {
            item_id: i64,
            before_item: i64,
        }
        if self.baseline.is_none() {
            return Ok(BTreeMap::new());
        }
        let sql = format!(
            "SELECT item_id, before_item FROM {} WHERE item_id IN ({}) AND NOT {UNPAIRED}",
            self.columns.from,
            list(items)
        );
        let found: Vec<Pair> = self.client.rows(&sql).await?;
        Ok(found.into_iter().map(|pair| (ItemId(pair.item_id), ItemId(pair.before_item))).collect())
    }

    pub(super) async fn paired(&self, key: &str, holds: &str) -> Result<Differences, Failure> {
        let from = &self.columns.from;
        let rows = format!("SELECT *, {key} AS g FROM {from} WHERE {holds} AND NOT ({UNPAIRED})");
        let own = format!(
            "SELECT g, row_key, item_id AS item, \
             arrayJoin(arrayZip(scores.name, scores.verdict, scores.value, scores.turn)) AS f FROM ({rows})"
        );
        // Several rows may be compared with the same one, which counts once.
        let before = format!(
            "SELECT g, row_key, before_item AS item, \
             arrayJoin(arrayZip(before_names, before_verdicts, before_values, before_turns)) AS f FROM \
             (SELECT g, row_key, before_item, before_names, before_verdicts, before_values, \
             before_turns FROM ({rows}) LIMIT 1 BY g, before_item)"
        );
        let sql = format!(
            "SELECT g, toString(f.1) AS name, row_key AS key, side, item, f.2 AS verdict, \
             f.3 AS value FROM (SELECT *, 0 AS side FROM ({before}) UNION ALL SELECT *, 1 AS side FROM ({own})) \
             WHERE verdict IN ('pass', 'fail') ORDER BY g, name, key, side, item, f.4"
        );
        let findings: Vec<Found> = self.client.rows(&sql).await?;
        let baselines = self.summaries(&before).await?;
        let changes = self.changes(key, holds).await?;
        let mut found = Differences::new();
        for of_group in findings.chunk_by(|a, b| a.g == b.g) {
            let group = &of_group[0].g;
            let mut paired = BTreeMap::new();
            for (name, difference) in differences(of_group) {
                let Some(baseline) = baselines.get(group).and_then(|of_group| of_group.get(&name)) else { continue };
                let changed = changes.get(&(group.clone(), name.clone())).copied().unwrap_or_default();
                let metric = summary::paired_metric(&difference, baseline, changed);
                paired.extend(metric.map(|paired| (name, paired)));
            }
            summary::adjust(&mut paired);
            found.insert(group.clone(), paired);
        }
        Ok(found)
    }

    /// Rows that improved, stayed the same and regressed, by evaluator.
    async fn changes(&self, key: &str, holds: &str) -> Result<BTreeMap<(Option<String>, String), [i64; 3]>, Failure> {
        let deltas: Vec<String> = self
            .names
            .evaluators
            .iter()
            .map(|name| format!("({}, toNullable({}))", literal(name), self.columns.delta(name)))
            .collect();
        if deltas.is_empty() {
            return Ok(BTreeMap::new());
        }
        let sql = format!(
            "SELECT g, d.1 AS name, countIf(d.2 > 0) AS improved, countIf(d.2 = 0) AS same, \
             countIf(d.2 < 0) AS regressed FROM (SELECT {key} AS g, arrayJoin([{}]) AS d FROM {} \
             WHERE {holds} AND NOT ({UNPAIRED})) GROUP BY g, name",
            deltas.join(", "),
            self.columns.from
        );
        let found: Vec<Changed> = self.client.rows(&sql).await?;
        let counts = |row: Changed| ((row.g, row.name), [row.improved, row.same, row.regressed]);
        Ok(found.into_iter().map(counts).collect())
    }
}

/// Of findings by evaluator, row, side, item and turn.
fn differences(findings: &[Found]) -> BTreeMap<String, Difference> {
    let (mut pairing, mut rows, mut key) = (Pairing::new(0), 0u128, None);
    for finding in findings {
        if key.replace(&finding.key) != Some(&finding.key) {
            rows += 1;
        }
        pairing.add(Finding {
            evaluator: &finding.name,
            // Rows are told apart; which they are is not asked.
            row: ContentKey(rows.to_be_bytes()),
            side: if finding.side == 0 { Side::Before } else { Side::After },
            item: ItemId(finding.item),
            // The rows are paired already, whatever their variants.
            variant: None,
            ordinal: 0,
            verdict: finding.verdict,
            value: finding.value,
        });
    }
    pairing.finish().evaluators
}
