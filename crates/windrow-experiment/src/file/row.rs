//! `row:` in a job file: the resource, priority and start time of a row's items, as templates over its fields.

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::fit::{self, Wish};
use crate::definition::component::Placed;
use crate::definition::spec::RowTemplates;
use crate::rows::RowOptions;

#[derive(Default)]
pub struct RowSection {
    pub templates: RowTemplates,
    pub options: RowOptions,
    pub wishes: Vec<Wish>,
}

pub fn read(section: Option<Section>, problems: &mut Problems) -> RowSection {
    let Some(section) = section else { return RowSection::default() };
    let Some(templates) = section.read::<RowTemplates>(&[], problems) else { return RowSection::default() };
    let RowTemplates { resource, priority, not_before } = &templates;
    let mut wishes = Vec::new();
    for (field, text) in [("resource", resource), ("priority", priority), ("not_before", not_before)] {
        let Some(text) = text else { continue };
        let path = format!("row.{field}");
        let placed = Placed { path, span: section.span_of(field), text: text.clone(), given: &[] };
        wishes.extend(fit::wish(&placed, true, problems));
    }
    // What is wrong with a template was reported as its wish.
    let options = RowOptions::of(&templates).unwrap_or_default();
    RowSection { templates, options, wishes }
}
