//! `forbidden:` in a job file: words, or a file of them. With those of the whole machine they are
//! looked for in the job file and in every row.

use std::path::Path;

use windrow_jobfile::diagnostics::{Problem, Problems};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::forbidden::{Forbidden, machine_words, words_in};
use windrow_jobfile::job_file::Section;
use windrow_jobfile::yaml::{Content, Node};

use super::dataset::DatasetSection;
use crate::file::survey::Survey;

/// Hits in the job file that are shown one by one.
const SHOWN: usize = 20;

/// What is forbidden, and the words of the job file itself.
pub fn read(
    section: Option<Section>,
    folder: &Path,
    environment: &Environment,
    problems: &mut Problems,
) -> (Forbidden, Vec<String>) {
    let at = section.as_ref().map(|section| section.span.clone());
    let own = section.map(|section| own(section, folder, problems)).unwrap_or_default();
    let machine = machine_words(environment).unwrap_or_else(|why| {
        problems.push(Problem::new(why, "correct the path, or unset the variable"));
        Vec::new()
    });
    let forbidden = Forbidden::new(own.iter().cloned().chain(machine)).unwrap_or_else(|wrong| {
        let message = format!("the forbidden words cannot be looked for: {wrong}");
        let help = "shorten the list";
        match at {
            Some(at) => problems.add(at, message, help),
            None => problems.push(Problem::new(message, help)),
        }
        Forbidden::default()
    });
    (forbidden, own)
}

fn own(section: Section, folder: &Path, problems: &mut Problems) -> Vec<String> {
    let Some(file) = section.text() else {
        return section.read::<Vec<String>>(&[], problems).unwrap_or_default();
    };
    let path = folder.join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => words_in(&text).collect(),
        Err(error) => {
            let message = format!("`forbidden`: {} cannot be read: {error}", path.display());
            let help = "correct the path, which is relative to the job file, or write a list: forbidden: [word, …]";
            problems.add(section.node.span, message, help);
            Vec::new()
        }
    }
}

/// Looks through every text of the job file: prompts and rubrics, names and descriptions.
pub fn check_file(root: &Section, forbidden: &Forbidden, problems: &mut Problems) {
    if forbidden.is_empty() {
        return;
    }
    let mut hits = 0;
    look(&root.node, forbidden, &mut hits, problems);
    if hits > SHOWN {
        let message = format!("{} more forbidden words are in this file", hits - SHOWN);
        problems.add(root.span.clone(), message, "remove them all");
    }
}

fn look(node: &Node, forbidden: &Forbidden, hits: &mut usize, problems: &mut Problems) {
    let text = match &node.content {
        Content::List(nodes) => return nodes.iter().for_each(|node| look(node, forbidden, hits, problems)),
        Content::Map(entries) => return entries.iter().for_each(|(_, node)| look(node, forbidden, hits, problems)),
        Content::Text(text) => text,
        _ => return,
    };
    // In the order in which they are written; where quoting hides one, the whole text is its place.
    let written = problems.text().get(node.span.clone()).unwrap_or_default().to_owned();
    let mut places = forbidden.in_text(&written).map(|hit| hit.range());
    for hit in forbidden.in_text(text) {
        *hits += 1;
        let place = places.next().map(|range| node.span.start + range.start..node.span.start + range.end);
        if *hits <= SHOWN {
            problems.add(place.unwrap_or_else(|| node.span.clone()), message(hit.as_str()), HELP);
        }
    }
}

const HELP: &str = "remove it, or take it off the list: `forbidden`, or the file that WINDROW_FORBIDDEN names";

fn message(word: &str) -> String {
    format!("{word:?} is a forbidden word")
}

/// What the survey found in the rows.
pub fn report(survey: &Survey, dataset: &DatasetSection, problems: &mut Problems) {
    for row in &survey.forbidden {
        let word = &row.word;
        let bad =
            windrow_jobfile::dataset::BadRow { message: message(word), help: HELP.to_owned(), ..row.place.clone() };
        problems.push(bad.problem(&dataset.shown));
    }
    let more = survey.forbidden_hits - survey.forbidden.len() as u64;
    if more > 0 {
        let message = format!("{more} more forbidden words are in rows of {}", dataset.shown);
        problems.add(dataset.span.clone(), message, "remove them all, or correct the list");
    }
}
