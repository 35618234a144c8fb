//! `evaluators:` in a job file: a list in which each entry names one evaluator.

use std::collections::BTreeSet;

use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::Section;

use super::fit::{self, Wish};
use crate::definition::component::{LoadContext, Placed, condition_template};
use crate::definition::spec::{NamedComponent, Over};
use crate::evaluator::{EvaluatorKind, chosen};

const MAX_NAME: usize = 64;
/// Fields that every evaluator has.
const COMMON: &[&str] = &["name", "over", "when", OF];
const OF: &str = "of";

#[derive(Default)]
pub struct EvaluatorsSection {
    pub components: Vec<NamedComponent>,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

/// What an evaluator knows of the job's columns: their names as written, and whether each is an output.
pub type Known<'a> = &'a [(String, bool)];

pub fn read(
    section: Option<Section>,
    columns: Known<'_>,
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> EvaluatorsSection {
    let mut read = EvaluatorsSection::default();
    let mut names = Names { taken: columns.iter().map(|(name, _)| name.clone()).collect() };
    let mut unnamed = Vec::new();
    for entry in section.map(|list| list.elements(problems)).unwrap_or_default() {
        let Some((kind, mut config)) = chosen(entry, problems) else { continue };
        let name = names.given(&mut config, problems);
        let named = name.clone().unwrap_or_default();
        let Some(one) = read_one((kind, config), named, columns, context, problems) else { continue };
        read.wishes.extend(one.wishes);
        read.warnings.extend(one.warnings);
        if name.is_none() {
            unnamed.push(read.components.len());
        }
        read.components.push(one.component);
    }
    // After all given names are known, so that a default never takes one of them.
    for no in unnamed {
        read.components[no].name = names.free(&read.components[no].kind);
    }
    read
}

/// One evaluator, and what it wants of the rows.
pub struct OneEvaluator {
    pub component: NamedComponent,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

/// `columns` are those it may judge; the last output among them where it does not say.
pub fn read_one(
    (kind, mut config): (&EvaluatorKind, Section),
    name: String,
    columns: Known<'_>,
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> Option<OneEvaluator> {
    let mut wishes = Vec::new();
    let span = config.span_of("over");
    let over = config.take("over").and_then(|over| over.read::<Over>(&[], problems)).unwrap_or(Over::Turn);
    if over != Over::Turn && !columns.is_empty() {
        let help = "leave `over` out: a job with `columns` has one turn";
        problems.add(span, "the target has no conversation to judge", help);
    }
    let when = config.take("when").and_then(|when| read_condition(&when, &mut wishes, problems));
    let of = if names_column(kind, &config) { config.take(OF) } else { None };
    let of = read_judged(of, &config, columns, problems);
    let checked = (kind.read)(&config, COMMON, context, problems)?;
    wishes.extend(fit::wishes_of(&checked, false, problems));
    // Code is given the whole row, so it reads every column there is.
    let all = matches!(kind.name, "command" | "python") || runs_code(&checked.config);
    let reads = |name: &&String| all || wishes.iter().any(|wish| wish.names().contains(&name.as_str()));
    let reads = columns.iter().map(|(name, _)| name).filter(reads).cloned().collect();
    let (kind, config) = (kind.name.to_owned(), checked.config);
    let component = NamedComponent { name, kind, config, over, when, of, reads };
    Some(OneEvaluator { component, wishes, warnings: checked.warnings })
}

/// Whether `of` is there and names the column to judge. `weighted` lists its evaluators there, and judges what it would
/// without it.
pub fn names_column(kind: &EvaluatorKind, config: &Section) -> bool {
    kind.name != "weighted" && config.field_names().contains(&OF)
}

/// Whether an evaluator inside another one is code.
fn runs_code(config: &serde_json::Value) -> bool {
    match config {
        serde_json::Value::Object(fields) => {
            let kind = fields.get("kind").and_then(|kind| kind.as_str());
            matches!(kind, Some("command" | "python")) || fields.values().any(runs_code)
        }
        serde_json::Value::Array(list) => list.iter().any(runs_code),
        _ => false,
    }
}

/// `of: COLUMN`
fn read_judged(of: Option<Section>, config: &Section, columns: Known<'_>, problems: &mut Problems) -> Option<String> {
    let outputs: Vec<&str> = columns.iter().filter(|(_, output)| *output).map(|(name, _)| name.as_str()).collect();
    let Some(section) = of else {
        if !columns.is_empty() && outputs.is_empty() {
            let message = format!("`{}` has no output to judge", config.path);
            problems.add(config.span.clone(), message, "write it below a column that is an output, or name one: `of`");
        }
        return outputs.last().map(|name| (*name).to_owned());
    };
    let name: String = section.read(&[], problems)?;
    if columns.is_empty() {
        let message = format!("`{}` names a column, and the file has no `columns`", section.path);
        problems.add(section.node.span, message, "leave it out: the output of the target is judged");
        return None;
    }
    if !outputs.contains(&name.as_str()) {
        let judged = columns.iter().any(|(column, _)| *column == name);
        let message = match judged {
            true => format!("`{name}` is an evaluator's column, and `of` names what is judged"),
            false => format!("unknown column `{name}`"),
        };
        let help = match nearest(&name, outputs.iter().copied()).filter(|_| !judged) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the columns that can be judged are: {}", outputs.join(", ")),
        };
        problems.add(section.node.span, message, help);
        return None;
    }
    Some(name)
}

/// An expression over the fields of the row, checked like a template.
fn read_condition(section: &Section, wishes: &mut Vec<Wish>, problems: &mut Problems) -> Option<String> {
    let condition: String = section.read(&[], problems)?;
    let (path, span) = (section.path.clone(), section.node.span.clone());
    let placed = Placed { path, span, text: condition_template(&condition), given: &[] };
    wishes.extend(fit::wish(&placed, false, problems));
    Some(condition)
}

#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    fn given(&mut self, config: &mut Section, problems: &mut Problems) -> Option<String> {
        let section = config.take("name")?;
        let name: String = section.read(&[], problems)?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.chars().count() > MAX_NAME || !name.chars().all(plain) {
            let message = format!("{name:?} cannot be an evaluator's name");
            problems.add(section.node.span, message, "use up to 64 letters, digits, `_`, `-` and `.`");
        } else if !self.taken.insert(name.clone()) {
            let message = format!("two evaluators or columns are named `{name}`");
            problems.add(section.node.span, message, "give each its own name");
        }
        Some(name)
    }

    /// `exact`, then `exact_2`, `exact_3` …
    fn free(&mut self, kind: &str) -> String {
        let numbered = (2..).map(|no| format!("{kind}_{no}"));
        let mut candidates = std::iter::once(kind.to_owned()).chain(numbered);
        let name = candidates.find(|name| !self.taken.contains(name)).expect("numbers do not end");
        self.taken.insert(name.clone());
        name
    }
}
