//! The section `action`: one key, the type of target, and what that handler takes.

use std::ops::Range;
use std::path::Path;

use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::Section;

use crate::registry::KINDS;
use crate::spec::Component;

pub struct Action {
    pub component: Component,
    pub span: Range<usize>,
}

pub fn read(mut section: Section, folder: &Path, problems: &mut Problems) -> Option<Action> {
    let span = section.span.clone();
    let names: Vec<String> = section.field_names().into_iter().map(str::to_owned).collect();
    let list = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let [name] = names.as_slice() else {
        let message = "`action` names one type of target";
        problems.add(span, message, format!("write one of: {list}"));
        return None;
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let help = match nearest(name, KINDS.iter().map(|kind| kind.name)) {
            Some(meant) => format!("did you mean `{meant}`? Known actions: {list}"),
            None => format!("known actions: {list}"),
        };
        problems.add(section.span_of(name), format!("unknown action {name:?}"), help);
        return None;
    };
    let config = (kind.read)(section.take(name)?, folder, problems)?;
    Some(Action { component: Component { kind: kind.name.to_owned(), config }, span })
}
