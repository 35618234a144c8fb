//! `evaluators:` in a job file: a list in which each entry names one evaluator.

use std::collections::BTreeSet;

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::fit::{self, Wish};
use crate::definition::component::{LoadContext, Placed, condition_template};
use crate::definition::spec::{NamedComponent, Over};
use crate::evaluator::chosen;

const MAX_NAME: usize = 64;
/// Fields that every evaluator has.
const COMMON: &[&str] = &["name", "over", "when"];

#[derive(Default)]
pub struct EvaluatorsSection {
    pub components: Vec<NamedComponent>,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

pub fn read(section: Option<Section>, context: LoadContext<'_>, problems: &mut Problems) -> EvaluatorsSection {
    let mut read = EvaluatorsSection::default();
    let mut names = Names::default();
    let mut unnamed = Vec::new();
    for entry in section.map(|list| list.elements(problems)).unwrap_or_default() {
        let Some((kind, mut config)) = chosen(entry, problems) else { continue };
        let name = names.given(&mut config, problems);
        let over = config.take("over").and_then(|over| over.read::<Over>(&[], problems)).unwrap_or(Over::Turn);
        let when = config.take("when").and_then(|when| read_condition(&when, &mut read.wishes, problems));
        let Some(checked) = (kind.read)(&config, COMMON, context, problems) else { continue };
        read.wishes.extend(fit::wishes_of(&checked, false, problems));
        read.warnings.extend(checked.warnings);
        if name.is_none() {
            unnamed.push(read.components.len());
        }
        let name = name.unwrap_or_default();
        read.components.push(NamedComponent { name, kind: kind.name.to_owned(), config: checked.config, over, when });
    }
    // After all given names are known, so that a default never takes one of them.
    for no in unnamed {
        read.components[no].name = names.free(&read.components[no].kind);
    }
    read
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
            let message = format!("two evaluators are named `{name}`");
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
