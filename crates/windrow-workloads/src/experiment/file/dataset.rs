//! `dataset:` in a job file, as a path or as an object. Paths are relative to the job file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::dataset::{Dataset, DatasetFile, Format, Reading, Shape};
use crate::job_file::Section;
use crate::report::{Problems, nearest};

pub struct DatasetSection {
    pub dataset: Dataset,
    /// As a person would name the file: relative if it was given so.
    pub shown: String,
    pub span: Range<usize>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DatasetConfig {
    path: String,
    format: Option<Format>,
    delimiter: Option<char>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
    #[serde(default)]
    shape: Shape,
}

pub fn read(section: Section, folder: &Path, problems: &mut Problems) -> Option<DatasetSection> {
    let config = match section.text() {
        Some(path) => DatasetConfig { path: path.to_owned(), ..DatasetConfig::default() },
        None => section.read::<DatasetConfig>(&[], problems)?,
    };
    let span = if section.is_map() { section.span_of("path") } else { section.node.span.clone() };
    let (shown, path) = located(folder, &config.path);
    if !path.is_file() {
        let what = if path.is_dir() { "is a folder, not a file" } else { "does not exist" };
        problems.add(span, format!("the dataset {} {what}", path.display()), remedy(&path));
        return None;
    }
    if config.delimiter.is_some_and(|delimiter| !delimiter.is_ascii()) {
        let message = "`dataset.delimiter` must be one ASCII character";
        problems.add(section.span_of("delimiter"), message, "for example \",\" or \";\" or \"\\t\"");
        return None;
    }
    let Some(file) = DatasetFile::named(path, config.format, config.delimiter) else {
        let message = format!("the format of {shown} is not clear from its name");
        problems.add(
            span,
            message,
            format!("add it: dataset: {{ path: …, format: jsonl }} (or one of {})", Format::list()),
        );
        return None;
    };
    check_fields(&section, &config.fields, problems)?;
    let reading = Reading { fields: config.fields, shape: config.shape };
    Some(DatasetSection { dataset: Dataset { file, reading }, shown, span })
}

/// A new name that says nothing, or a path that leads nowhere, in any row.
fn check_fields(section: &Section, fields: &BTreeMap<String, String>, problems: &mut Problems) -> Option<()> {
    let wrong = fields.iter().find(|(name, path)| name.trim().is_empty() || path.split('.').any(str::is_empty));
    let Some((name, path)) = wrong else { return Some(()) };
    let message = format!("`dataset.fields` maps {name:?} to {path:?}");
    let help = "write the new name and the path of a field of the row: fields: { question: input.text }";
    problems.add(section.span_of("fields"), message, help);
    None
}

/// The path to show and the path to open from anywhere.
fn located(folder: &Path, given: &str) -> (String, PathBuf) {
    let shown = match folder == Path::new(".") {
        true => given.to_owned(),
        false => folder.join(given).display().to_string(),
    };
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.to_owned());
    // Collecting the parts drops every `.`, so that `./rows.jsonl` and `rows.jsonl` are one spec.
    (shown, folder.join(given).components().collect())
}

fn remedy(path: &Path) -> String {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = path.parent().and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`? A path is relative to the job file"),
        None => "correct the path; it is relative to the job file".to_owned(),
    }
}
