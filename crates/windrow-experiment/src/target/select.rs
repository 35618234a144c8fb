//! The target that a section of a job file names.

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::{TARGETS, TargetKind, find, models};
use crate::definition::component::Component;
use crate::definition::component::LoadContext;

/// A model that is called by something other than the experiment itself.
pub struct ModelSection {
    pub component: Component,
    pub warnings: Vec<String>,
}

/// The one target that a section names, and its configuration. `also` was taken out before.
pub fn chosen(mut section: Section, also: &[&str], problems: &mut Problems) -> Option<(&'static TargetKind, Section)> {
    let names: Vec<&str> = TARGETS.iter().map(|kind| kind.name).collect();
    let found: Vec<(&TargetKind, Section)> =
        names.iter().filter_map(|name| Some((find(name)?, section.take(name)?))).collect();
    let (at, path) = (section.span.clone(), section.path.clone());
    let left = section.field_names().len();
    section.finish(&[&names, also].concat(), problems);
    match <[_; 1]>::try_from(found) {
        Ok([one]) => Some(one),
        Err(none) if none.is_empty() && left > 0 => None,
        Err(found) => {
            let found = if found.is_empty() { "no target" } else { "more than one target" };
            problems.add(at, format!("`{path}` names {found}"), format!("name exactly one of: {}", names.join(", ")));
            None
        }
    }
}

/// A model inside another component: a judge, a simulated user. It is asked with messages.
pub fn read_model(section: Section, context: LoadContext<'_>, problems: &mut Problems) -> Option<ModelSection> {
    let at = section.span.clone();
    let (kind, config) = chosen(section, &[], problems)?;
    if !kind.needs_prompt(&config) {
        let models: Vec<_> = models().collect();
        let message = format!("the target `{}` cannot be asked with messages", kind.name);
        problems.add(at, message, format!("use one of: {}", models.join(", ")));
        return None;
    }
    let checked = kind.read(&config, &[], context, problems)?;
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    Some(ModelSection { component, warnings: checked.warnings })
}
