//! `gates:`, `baseline:`, `max_errors:` and `min_items:` in a job file: what makes a run good enough.
//! Everything is parsed now, so that no run ends with a gate that cannot be read.

use std::ops::Range;

use serde::Deserialize;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::yaml::Content;
use windrow_model::SyntaxError;
use windrow_model::gate::{Baseline, Gate, Quality};

pub struct Sections {
    gates: Option<Section>,
    baseline: Option<Section>,
    max_errors: Option<Section>,
    min_items: Option<Section>,
    confirm: Option<Section>,
}

impl Sections {
    pub fn take(root: &mut Section) -> Self {
        Self {
            gates: root.take("gates"),
            baseline: root.take("baseline"),
            max_errors: root.take("max_errors"),
            min_items: root.take("min_items"),
            confirm: root.take("confirm"),
        }
    }
}

pub fn read(sections: Sections, evaluators: &[&str], trials: u32, problems: &mut Problems) -> Quality {
    let elements = sections.gates.map(|list| list.elements(problems)).unwrap_or_default();
    let has_gates = !elements.is_empty();
    let gates = elements.into_iter().filter_map(|entry| gate(entry, evaluators, trials, problems)).collect();
    Quality {
        gates,
        baseline: sections.baseline.and_then(|section| baseline(section, problems)),
        max_errors: sections.max_errors.and_then(|section| max_errors(section, problems)),
        min_items: sections.min_items.and_then(|section| min_items(section, problems)),
        confirm: sections.confirm.and_then(|section| confirm(section, has_gates, problems)),
    }
}

/// Maximum number of confirmations; trials are for more.
const MOST_CONFIRMATIONS: u32 = 5;

fn confirm(section: Section, has_gates: bool, problems: &mut Problems) -> Option<u32> {
    let span = section.node.span.clone();
    let times: u32 = section.read(&[], problems)?;
    if !(1..=MOST_CONFIRMATIONS).contains(&times) {
        let message = format!("`confirm` must be 1 to {MOST_CONFIRMATIONS}");
        problems.add(span, message, "for better estimates, use `trials` instead");
        return None;
    }
    if !has_gates {
        problems.add(span, "`confirm` needs `gates`", "add `gates`, or remove `confirm`");
        return None;
    }
    Some(times)
}

fn gate(entry: Section, evaluators: &[&str], trials: u32, problems: &mut Problems) -> Option<String> {
    let Some(text) = entry.text() else {
        let message = format!("`{}` must be text, found {}", entry.path, entry.node.describe());
        problems.add(entry.node.span, message, "write it like: - exact.mean >= 0.9");
        return None;
    };
    let read = Gate::parse(text).and_then(|gate| gate.check(evaluators, trials).map(|()| gate));
    match read {
        Ok(gate) => Some(gate.text),
        Err(error) => {
            report(&entry, text, error, problems);
            None
        }
    }
}

fn report(entry: &Section, text: &str, error: SyntaxError, problems: &mut Problems) {
    let span = place_of(entry.node.span.clone(), text, error.at, problems.text());
    problems.add(span, format!("`{}`: {}", entry.path, error.message), error.help);
}

/// Where a part of a text stands in the file; the whole of it where quoting or folding hide it.
fn place_of(span: Range<usize>, text: &str, part: Range<usize>, file: &str) -> Range<usize> {
    let found = file.get(span.clone()).and_then(|written| written.find(text));
    match found {
        Some(offset) => span.start + offset + part.start..span.start + offset + part.end,
        None => span,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineConfig {
    job: String,
    run: Option<i64>,
}

fn baseline(section: Section, problems: &mut Problems) -> Option<Baseline> {
    let BaselineConfig { job, run } = match section.text() {
        Some(job) => BaselineConfig { job: job.to_owned(), run: None },
        None => section.read(&[], problems)?,
    };
    Some(Baseline { job, run })
}

/// A share as text, or a count as a number.
fn max_errors(section: Section, problems: &mut Problems) -> Option<String> {
    let text = match &section.node.content {
        Content::Text(text) => text.trim().to_owned(),
        _ => section.read::<i64>(&[], problems)?.to_string(),
    };
    match Gate::parse(&format!("errors <= {text}")) {
        Ok(gate) if gate.level.is_none() && !gate.uses_baseline() => Some(text),
        _ => {
            let message = format!("`max_errors` is {text:?}, which is neither a count nor a share");
            problems.add(section.node.span, message, "write how many items may fail, like 10% or 5");
            None
        }
    }
}

fn min_items(section: Section, problems: &mut Problems) -> Option<i64> {
    let least: i64 = section.read(&[], problems)?;
    if least < 1 {
        problems.add(section.node.span, "`min_items` must be at least 1", "say how many items must have been done");
        return None;
    }
    Some(least)
}
