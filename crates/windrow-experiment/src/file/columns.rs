//! `columns:` in a job file (T15): each cell is a target's answer, a text or a judgement, and may read the row and other
//! columns. The order of computation comes from what reads what.

use std::collections::BTreeSet;
use std::ops::Range;

use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::Section;
use windrow_jobfile::template::Fields;

use super::evaluators::{names_column, read_one};
use super::fit::{self, Wish};
use super::target::{self, Asks};
use crate::definition::columns::{ColumnSpec, Computed};
use crate::definition::component::{LoadContext, Placed};
use crate::definition::conversation::ConversationMode;
use crate::definition::placement::WORKER;
use crate::evaluator;
use crate::rows::stand_ins;
use crate::target as targets;

const MAX_NAME: usize = 64;
const MAX_COLUMNS: usize = 100;
const TEMPLATE: &str = "template";
const READS: &str = "reads";
/// Names that templates are given, or that a row has for something else.
const RESERVED: &[&str] = &[
    "callback_url",
    "expected",
    "format",
    "history",
    "message",
    "messages",
    "output",
    "prompt",
    "question",
    "response",
    "row",
    "rubric",
    "token",
    "transcript",
    "trial",
    "turns",
    "user",
    "variant",
];

#[derive(Default)]
pub struct ColumnsSection {
    /// In the order of computation.
    pub columns: Vec<ColumnSpec>,
    /// As written: the name, and whether it is an output.
    pub written: Vec<(String, bool)>,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

impl ColumnsSection {
    /// What stands in for the cells while rows are checked.
    pub fn stand_ins(&self) -> Fields {
        stand_ins(self.written.iter().map(|(name, is_output)| (name.as_str(), *is_output)))
    }
}

struct Entry {
    column: ColumnSpec,
    span: Range<usize>,
}

pub fn read(section: Section, context: LoadContext<'_>, problems: &mut Problems) -> ColumnsSection {
    let mut read = ColumnsSection::default();
    let sections = entries(section, problems);
    read.written = sections.iter().map(|(name, entry)| (name.clone(), !is_evaluator(entry))).collect();
    let mut found = Vec::new();
    for (no, (name, entry)) in sections.into_iter().enumerate() {
        let span = entry.span.clone();
        if let Some(column) = read_column((no, name), entry, context, &mut read, problems) {
            found.push(Entry { column, span });
        }
    }
    if found.len() == read.written.len() {
        read.columns = in_order(found, problems);
    }
    read
}

fn entries(mut map: Section, problems: &mut Problems) -> Vec<(String, Section)> {
    let names: Vec<String> = map.field_names().into_iter().map(str::to_owned).collect();
    if names.is_empty() || names.len() > MAX_COLUMNS {
        let message = format!("`columns` must be a map of 1 to {MAX_COLUMNS} names, found {}", map.node.describe());
        let help = "write each one under its name: columns: { draft: { openai: { … }, prompt: \"…\" } }";
        problems.add(map.node.span.clone(), message, help);
    }
    let mut found = Vec::new();
    for name in names {
        let Some(entry) = map.take(&name) else { continue };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) || name.starts_with(char::is_numeric) {
            let help = "use up to 64 of a-z, 0-9 and `_`, and begin with a letter: templates read it";
            problems.add(entry.span, format!("{name:?} cannot be the name of a column"), help);
        } else if RESERVED.contains(&name.as_str()) {
            let message = format!("`{name}` cannot be the name of a column: templates have it for something else");
            problems.add(entry.span, message, "choose another name");
        } else {
            found.push((name, entry));
        }
    }
    found
}

fn is_evaluator(entry: &Section) -> bool {
    let names = entry.field_names();
    let known = |find: fn(&str) -> bool| names.iter().any(|name| find(name));
    !known(|name| name == TEMPLATE || targets::find(name).is_some()) && known(|name| evaluator::find(name).is_some())
}

fn read_column(
    (no, name): (usize, String),
    mut entry: Section,
    context: LoadContext<'_>,
    read: &mut ColumnsSection,
    problems: &mut Problems,
) -> Option<ColumnSpec> {
    let declared = entry.take(READS).map(|reads| read_declared(&reads, &name, &read.written, problems));
    let mut wishes = Vec::new();
    let above = &read.written[..no];
    let mut all_above = false;
    let computed = if is_evaluator(&entry) {
        let (kind, config) = evaluator::chosen(entry, problems)?;
        // It may read any column, and judges one that is written above it unless it says.
        let judged = match names_column(kind, &config) {
            true => &read.written,
            false => above,
        };
        let one = read_one((kind, config), name.clone(), judged, context, problems)?;
        wishes = one.wishes;
        read.warnings.extend(one.warnings);
        all_above = ["command", "python"].contains(&one.component.kind.as_str());
        Computed::Evaluator(one.component)
    } else if let Some(template) = entry.take(TEMPLATE) {
        let text: String = template.read(&[], problems)?;
        let (path, span) = (template.path.clone(), template.node.span.clone());
        wishes.extend(fit::wish(&Placed { path, span, text: text.clone(), given: &[] }, true, problems));
        entry.finish(&[TEMPLATE, READS], problems);
        Computed::Template(text)
    } else {
        check_kind(&entry, problems)?;
        let asks = Asks { prompted: false, mode: &ConversationMode::default() };
        let target = target::read_asked(&mut entry, asks, context, &mut wishes, problems)?;
        if target.component.kind == WORKER {
            let help = "use `target: { worker: … }`; a worker of your own does whole items";
            problems.add(entry.span, "the target `worker` cannot be a column", help);
            return None;
        }
        read.warnings.extend(target.warnings);
        // Code is given the row and may read anything in it.
        all_above = ["command", "python"].contains(&target.component.kind.as_str());
        Computed::Target { target: target.component, messages: target.messages }
    };
    let mut reads: BTreeSet<&str> = wishes.iter().flat_map(Wish::names).collect();
    if let Computed::Evaluator(evaluator) = &computed {
        reads.extend(evaluator.of.as_deref());
    }
    reads.retain(|read_name| read.written.iter().any(|(known, _)| known == read_name));
    match &declared {
        Some(declared) => reads.extend(declared.iter().map(String::as_str)),
        None if all_above => reads.extend(above.iter().map(|(name, _)| name.as_str())),
        None => {}
    }
    let reads = reads.into_iter().map(str::to_owned).collect();
    read.wishes.append(&mut wishes);
    Some(ColumnSpec { name, computed, reads })
}

/// `reads: [COLUMN, …]`
fn read_declared(section: &Section, own: &str, written: &[(String, bool)], problems: &mut Problems) -> Vec<String> {
    let names: Vec<String> = section.read(&[], problems).unwrap_or_default();
    for name in names.iter().filter(|name| written.iter().all(|(known, _)| known != *name)) {
        let others = written.iter().map(|(name, _)| name.as_str()).filter(|name| *name != own);
        let help = match nearest(name, others.clone()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the other columns are: {}", others.collect::<Vec<_>>().join(", ")),
        };
        problems.add(section.node.span.clone(), format!("unknown column `{name}`"), help);
    }
    names.into_iter().filter(|name| written.iter().any(|(known, _)| known == name)).collect()
}

/// A column that is nothing known.
fn check_kind(entry: &Section, problems: &mut Problems) -> Option<()> {
    let names = entry.field_names();
    if names.iter().any(|name| targets::find(name).is_some()) {
        return Some(());
    }
    let known = || {
        let targets = targets::TARGETS.iter().map(|kind| kind.name).filter(|name| *name != WORKER);
        targets
            .chain([TEMPLATE])
            .chain(evaluator::EVALUATORS.iter().map(|kind| kind.name).filter(|name| *name != WORKER))
    };
    let meant = names.iter().find_map(|name| nearest(name, known()));
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "name a target, e.g. `openai`, `http` or `command`; `template`; or an evaluator".to_owned(),
    };
    problems.add(entry.span.clone(), format!("`{}` does not say how it is computed", entry.path), help);
    None
}

/// Each after what it reads; otherwise as written.
fn in_order(mut left: Vec<Entry>, problems: &mut Problems) -> Vec<ColumnSpec> {
    let mut ordered: Vec<ColumnSpec> = Vec::new();
    while !left.is_empty() {
        let done = |name: &String| ordered.iter().any(|column| column.name == *name);
        let Some(next) = left.iter().position(|entry| entry.column.reads.iter().all(done)) else {
            report_cycle(&left, problems);
            return Vec::new();
        };
        ordered.push(left.remove(next).column);
    }
    ordered
}

/// Every column that is left reads another one that is left, so that following them comes round.
fn report_cycle(left: &[Entry], problems: &mut Problems) {
    let place = |name: &str| left.iter().position(|entry| entry.column.name == name);
    let next = |no: usize| left[no].column.reads.iter().find_map(|name| place(name));
    let mut path: Vec<usize> = vec![0];
    while let Some(no) = path.last().and_then(|no| next(*no)) {
        if let Some(start) = path.iter().position(|seen| *seen == no) {
            path.drain(..start);
            break;
        }
        path.push(no);
    }
    let first = path.iter().copied().min().unwrap_or_default();
    let turn = path.iter().position(|no| *no == first).unwrap_or_default();
    path.rotate_left(turn);
    let name = |no: &usize| format!("`{}`", left[*no].column.name);
    let message = match path.as_slice() {
        [one] => format!("the column {} reads itself", name(one)),
        all => {
            let round: Vec<String> = all.iter().chain(all.first()).map(name).collect();
            format!("columns read each other: {}", round.join(" reads "))
        }
    };
    problems.add(left[first].span.clone(), message, "let one of them do without the other");
}
