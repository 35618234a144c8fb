//! Which evaluator an entry of the job file means: in the list itself, and inside an evaluator made
//! of others.

use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::Section;
use windrow_jobfile::yaml::{Content, Node};

use super::{EVALUATORS, EvaluatorKind, find};

/// The one evaluator that an entry names, and its configuration.
pub fn chosen(mut entry: Section, problems: &mut Problems) -> Option<(&'static EvaluatorKind, Section)> {
    let known = || EVALUATORS.iter().map(|kind| kind.name);
    let list = known().collect::<Vec<_>>().join(", ");
    let names: Vec<String> = match entry.text() {
        Some(text) => vec![text.to_owned()],
        None => entry.field_names().into_iter().map(str::to_owned).collect(),
    };
    let [name] = names.as_slice() else {
        let message = format!("`{}` must name one evaluator", entry.path);
        problems.add(entry.span, message, format!("write each as `- exact: {{ … }}`; known: {list}"));
        return None;
    };
    let Some(kind) = find(name) else {
        let help = match nearest(name, known()) {
            Some(meant) => format!("did you mean `{meant}`? Known evaluators: {list}"),
            None => format!("known evaluators: {list}"),
        };
        problems.add(entry.span, format!("unknown evaluator `{name}`"), help);
        return None;
    };
    let config = entry.take(name).unwrap_or_else(|| {
        // `- exact` alone: an evaluator without fields.
        let node = Node { span: entry.span.clone(), content: Content::Null };
        Section { path: format!("{}.{name}", entry.path), span: entry.span.clone(), node }
    });
    Some((kind, config))
}
