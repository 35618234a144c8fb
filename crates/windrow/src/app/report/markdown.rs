//! A run on one page of Markdown, short enough for a comment on a pull request.

use windrow_model::compare::{Comparison, Difference, Flip};
use windrow_model::counters::Counters;
use windrow_model::gate::{GateVerdict, overall};
use windrow_wire::status;

use crate::app::results::Assessment;
use crate::error::Exit;
use crate::text;
use crate::text::tables;

pub fn page(assessed: &Assessment) -> String {
    let Assessment { job, run, aggregates, .. } = assessed;
    let mut page =
        format!("## {} {}: {}\n\n", sign(assessed), plain(&job.name), status::of_job(job, &assessed.whole.latest));
    page += &format!("run {} · {}\n", run.no, numbers(assessed));
    if !assessed.gates.is_empty() {
        let (headings, rows) = tables::gate_rows(&assessed.gates);
        page += &format!("\n### Gates\n\n{}", table(&headings, &rows));
    }
    if !aggregates.evaluators.is_empty() {
        let (headings, rows) = tables::evaluator_rows(&aggregates.evaluators);
        page += &format!("\n### Evaluators\n\n{}", table(&headings, &rows));
    }
    for evaluator in aggregates.evaluators.keys().filter(|_| !aggregates.variants.is_empty()) {
        let (headings, rows) = tables::variant_rows(evaluator, &aggregates.variants);
        page += &format!("\n### {}, by variant\n\n{}", plain(evaluator), table(&headings, &rows));
    }
    let (headings, rows) = tables::trial_rows(&aggregates.evaluators);
    if !rows.is_empty() {
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        page += &format!("\n{}", table(&headings, &rows));
    }
    if let (Some((baseline, before)), Some(comparison)) = (&assessed.baseline, &assessed.comparison)
        && comparison.has_rows()
    {
        let (headings, rows) = tables::change_rows(comparison);
        page += &format!("\n### Against {}#{}\n\n{}", plain(&baseline.name), before.no, table(&headings, &rows));
        page += &regressed(comparison);
    }
    page + &worst(assessed)
}

/// The first rows that passed under the baseline and fail now.
fn regressed(comparison: &Comparison) -> String {
    let value = |value| tables::number(value, None);
    let of = |(name, difference): (&String, &Difference)| {
        let row = |flip: &Flip| {
            let row = tables::row_of(flip.ordinal + 1, flip.variant.as_deref());
            let row = row.trim_start_matches("row ").to_owned();
            vec![row, name.clone(), value(flip.before_value), value(flip.after_value)]
        };
        difference.broken_rows.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = comparison.evaluators.iter().flat_map(of).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\n#### Regressed rows\n\n{}", table(&[">ROW", "EVALUATOR", ">BEFORE", ">AFTER"], &rows))
}

fn sign(assessed: &Assessment) -> &'static str {
    match (assessed.exit, overall(&assessed.gates)) {
        (Exit::Passed, GateVerdict::Passed) => "✅",
        (Exit::EvidenceWeak, _) => "❔",
        _ => "❌",
    }
}

fn numbers(assessed: &Assessment) -> String {
    let (whole, own, aggregates) = (&assessed.job.counters.all, &assessed.run.counters, &assessed.aggregates);
    let count = |of: &Counters| format!("{} ({} failed)", text::plural(of.total, "item"), text::count(of.failed));
    let mut parts = vec![count(whole)];
    if own.total != whole.total {
        parts.push(format!("this run {}", count(own)));
    }
    if let Some(latency) = &aggregates.latency {
        let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(text::duration);
        parts.push(format!("P50 {p50}, P90 {p90}, P99 {p99}"));
    }
    let usage = &aggregates.usage;
    if usage.tokens_in + usage.tokens_out > 0 {
        parts.push(format!("{} tokens in, {} out", text::count(usage.tokens_in), text::count(usage.tokens_out)));
    }
    if usage.cost_nanos > 0 {
        parts.push(text::dollars(usage.cost_nanos));
    }
    parts.join(" · ")
}

fn worst(assessed: &Assessment) -> String {
    if assessed.worst.is_empty() {
        return String::new();
    }
    let rows = assessed.worst.iter().map(|bad| {
        let value = bad.value.map_or_else(|| bad.verdict.to_string(), |value| format!("{value:.3}"));
        let output = bad.output.clone().unwrap_or_default();
        let texts = [&bad.reason, &bad.input, &output].map(|part| text::line(part, 120));
        [vec![tables::place(bad), bad.evaluator.clone(), value], texts.to_vec()].concat()
    });
    let headings = ["ROW", "EVALUATOR", ">SCORE", "REASON", "INPUT", "OUTPUT"];
    format!("\n<details><summary>Worst rows</summary>\n\n{}\n</details>\n", table(&headings, &rows.collect::<Vec<_>>()))
}

fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut page = line(headings.iter().map(|heading| heading.trim_start_matches('>').to_lowercase()).collect());
    page +=
        &line(headings.iter().map(|heading| if heading.starts_with('>') { "--:" } else { "---" }.to_owned()).collect());
    rows.iter().for_each(|row| page += &line(row.iter().map(|cell| plain(cell)).collect()));
    page
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '~' | '#' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
