//! Whether the dataset has what the templates and the target want of it.

use std::collections::BTreeSet;
use std::ops::Range;

use windrow_jobfile::dataset::{BadRow, Library};
use windrow_jobfile::diagnostics::{Problem, Problems, nearest};
use windrow_jobfile::forbidden::Forbidden;
use windrow_jobfile::job_file::Depth;
use windrow_jobfile::template::{Fields, Template};

use super::dataset::DatasetSection;
use crate::definition::component::{Checked, Placed};
use crate::file::survey::{Survey, Unmet};
use crate::needs::Need;
use crate::rows::RowOptions;

/// A need of the rows and where in the job file it comes from.
#[derive(Debug, Clone)]
pub struct Wish {
    path: String,
    span: Range<usize>,
    need: Need,
    /// Without it the item cannot be done at all; otherwise one evaluator reads `error`.
    vital: bool,
}

impl Wish {
    /// The names it looks up in the row, or among the columns.
    pub fn names(&self) -> Vec<&str> {
        match &self.need {
            Need::Template { template, given } => {
                let names = template.variables().iter().map(String::as_str);
                names.filter(|name| !given.contains(name)).collect()
            }
            Need::Field(name) => vec![name],
        }
    }
}

pub struct Fit {
    pub rows: u64,
    /// Names seen in the rows and their turns.
    pub fields: BTreeSet<String>,
    pub warnings: Vec<String>,
}

impl Fit {
    /// Rows that are sent are checked as they come.
    pub fn of_sent_rows() -> Self {
        let warning = "no `dataset`: the job runs only rows that are sent to it (`--online`, `mode: online` over HTTP)";
        Self { rows: 0, fields: BTreeSet::new(), warnings: vec![warning.to_owned()] }
    }
}

/// Compiles a template; what is wrong with its syntax is reported at its place.
pub fn wish(placed: &Placed, vital: bool, problems: &mut Problems) -> Option<Wish> {
    let Placed { path, span, text, given } = placed.clone();
    match Template::new(&text) {
        Ok(template) => Some(Wish { path, span, need: Need::Template { template, given }, vital }),
        Err(error) => {
            let place = error.range.clone().and_then(|range| text.get(range)).unwrap_or("").trim();
            let near = if place.is_empty() { String::new() } else { format!(" near `{place}`") };
            let message = format!("`{path}` is not a valid template: {}{near}", error.message);
            problems.add(
                span,
                message,
                "variables are written {{ name }}; see https://docs.rs/minijinja for the syntax",
            );
            None
        }
    }
}

pub fn wishes_of(checked: &Checked, vital: bool, problems: &mut Problems) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for placed in &checked.templates {
        wishes.extend(wish(placed, vital, problems));
    }
    for Placed { path, span, text, .. } in &checked.row_fields {
        wishes.push(Wish { path: path.clone(), span: span.clone(), need: Need::Field(text.clone()), vital });
    }
    wishes
}

pub fn check(
    (dataset, id): (&DatasetSection, &[String]),
    library: Option<&Library>,
    (wishes, columns): (&[Wish], &Fields),
    (options, forbidden): (&RowOptions, &Forbidden),
    depth: Depth,
    problems: &mut Problems,
) -> Option<Fit> {
    let needs: Vec<Need> = wishes.iter().map(|wish| wish.need.clone()).collect();
    let survey = match Survey::of((&dataset.dataset, id), library, (&needs, columns), options, forbidden, depth) {
        Ok(survey) => survey,
        Err(error) => {
            let message = format!("the dataset {} cannot be read: {error}", dataset.dataset.source);
            problems.add(dataset.span.clone(), message, "check the file and its permissions");
            return None;
        }
    };
    for bad in &survey.bad {
        problems.push(bad.problem(&dataset.shown));
    }
    let more = survey.bad_rows - survey.bad.len() as u64;
    if more > 0 {
        problems.add(
            dataset.span.clone(),
            format!("{more} more rows of {} are bad", dataset.shown),
            "correct them all",
        );
    }
    super::forbidden::report(&survey, dataset, problems);
    if survey.rows == 0 && survey.bad_rows == 0 {
        let message = format!("the dataset {} has no rows", dataset.dataset.source);
        problems.add(dataset.span.clone(), message, "add at least one row");
    }
    let mut warnings = Vec::new();
    for (wish, unmet) in wishes.iter().zip(&survey.unmet) {
        let Some(unmet) = unmet else { continue };
        let elsewhere = survey.cut && unmet.field.as_ref().is_some_and(|field| dataset.has_field(field));
        if unmet.rows == survey.rows && !elsewhere {
            in_no_row(wish, unmet, (&survey, columns), problems);
        } else if wish.vital {
            problems.push(in_some_rows(wish, unmet, dataset));
        } else {
            warnings.push(format!(
                "{} of {} rows lack what `{}` needs and will read `error` there; the first is {}:{} ({})",
                unmet.rows, survey.rows, wish.path, dataset.shown, unmet.first.line, unmet.first.message
            ));
        }
    }
    if survey.repeated > 0 {
        let repeated = survey.repeated;
        warnings.push(format!(
            "{repeated} rows of {} repeat an earlier row; each is called and counted on its own",
            dataset.shown
        ));
    }
    if survey.cut {
        warnings.push(format!(
            "the first {} rows of {} are valid; the other rows are checked during the run",
            survey.rows, dataset.shown
        ));
    }
    let rows = if survey.cut { dataset.rows().unwrap_or(survey.rows) } else { survey.rows };
    Some(Fit { rows, fields: survey.fields, warnings })
}

/// The job file is wrong rather than the data: a misspelt name, most often.
fn in_no_row(wish: &Wish, unmet: &Unmet, (survey, columns): (&Survey, &Fields), problems: &mut Problems) {
    let Some(field) = &unmet.field else {
        let message = format!("`{}` cannot be rendered: {}", wish.path, unmet.first.message);
        return problems.add(wish.span.clone(), message, "correct the template");
    };
    let list = survey.fields.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
    let list = match columns.is_empty() {
        true => list,
        false => format!("{list}; the columns are: {}", columns.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    let help = match nearest(field, survey.fields.iter().chain(columns.keys()).map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`? The dataset has: {list}"),
        None => format!("the dataset has: {list}"),
    };
    let searched = match survey.cut {
        true => format!(" (searched the first {} rows)", survey.rows),
        false => String::new(),
    };
    let message = format!("`{}` uses unknown field `{field}`{searched}", wish.path);
    let within = problems.text().get(wish.span.clone()).and_then(|text| text.find(field.as_str()));
    let start = wish.span.start + within.unwrap_or_default();
    let end = within.map_or(wish.span.end, |_| start + field.len());
    problems.add(start..end, message, help);
}

fn in_some_rows(wish: &Wish, unmet: &Unmet, dataset: &DatasetSection) -> Problem {
    let others = match unmet.rows {
        1 => String::new(),
        n => format!("; the same holds for {} more rows", n - 1),
    };
    let message = format!("{}, which `{}` needs{others}", unmet.first.message, wish.path);
    let help = match &unmet.field {
        Some(field) => format!("add `{field}` to the row, or write {{{{ {field} | default(\"…\") }}}} in a template"),
        None => "correct the row or the template".to_owned(),
    };
    BadRow { message, help, ..unmet.first.clone() }.problem(&dataset.shown)
}
