//! `dataset:` in a job file: a path, which is relative to the job file, or an object with a path or
//! the name of an imported dataset.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use windrow_jobfile::dataset::{Dataset, DatasetFile, Format, Library, Profile, Reading, Shape, Source, StoredVersion};
use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::{Base, Section};

pub struct DatasetSection {
    pub dataset: Dataset,
    /// As a person would name the file: relative if it was given so.
    pub shown: String,
    pub span: Range<usize>,
    /// What its import found in all rows, where it was imported.
    pub profile: Option<Profile>,
}

impl DatasetSection {
    /// Whether some row has the field, where that is known of all rows.
    pub fn has_field(&self, name: &str) -> bool {
        let plain = self.dataset.reading == Reading::default();
        plain && self.profile.as_ref().is_some_and(|profile| profile.fields.contains_key(name))
    }

    /// How many rows it has, where that is known.
    pub fn rows(&self) -> Option<u64> {
        match &self.dataset.source {
            Source::Stored(version) => u64::try_from(version.rows).ok(),
            Source::File(_) | Source::Sent { .. } => None,
        }
    }
}

/// Of a job file without `dataset`.
pub fn sent() -> DatasetSection {
    let dataset = Dataset { source: Source::Sent { online: true }, reading: Reading::default() };
    DatasetSection { dataset, shown: String::new(), span: 0..0, profile: None }
}

/// Where a dataset's name is looked up.
#[derive(Clone, Copy)]
pub struct DatasetLookup<'a> {
    pub library: Option<&'a Library>,
    pub workspace: &'a str,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DatasetConfig {
    path: Option<String>,
    format: Option<Format>,
    delimiter: Option<char>,
    name: Option<String>,
    version: Option<i64>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
    #[serde(default)]
    shape: Shape,
}

pub fn read(
    section: Section,
    base: Base<'_>,
    lookup: DatasetLookup<'_>,
    problems: &mut Problems,
) -> Option<DatasetSection> {
    let mut config = match section.text() {
        Some(text) => of_text(text, base),
        None => section.read::<DatasetConfig>(&[], problems)?,
    };
    if let Some((name, version)) = config.name.as_deref().filter(|_| config.version.is_none()).and_then(pinned) {
        config = DatasetConfig { name: Some(name), version: Some(version), ..config };
    }
    let Located { source, shown, span, profile } = match (config.path.take(), config.name.take()) {
        (Some(_), None) if base.rows.is_some() => sent_along(&section, base, lookup, problems)?,
        (Some(path), None) => in_file(&section, base, &path, &config, problems)?,
        (None, Some(name)) => under_name(&section, lookup, name, &config, problems)?,
        (path, _) => {
            let found = if path.is_some() { "both `path` and `name`" } else { "neither `path` nor `name`" };
            let help = "name a file: dataset: rows.jsonl; or an imported dataset: dataset: { name: … }";
            problems.add(section.span.clone(), format!("`dataset` has {found}"), help);
            return None;
        }
    };
    check_fields(&section, &config.fields, problems)?;
    let reading = Reading { fields: config.fields, shape: config.shape };
    Some(DatasetSection { dataset: Dataset { source, reading }, shown, span, profile })
}

/// A path, or `NAME@VERSION` of an imported dataset where no file has that name.
fn of_text(text: &str, base: Base<'_>) -> DatasetConfig {
    let named = pinned(text).filter(|_| !base.folder.join(text).exists());
    match named {
        Some((name, version)) => DatasetConfig { name: Some(name), version: Some(version), ..DatasetConfig::default() },
        None => DatasetConfig { path: Some(text.to_owned()), ..DatasetConfig::default() },
    }
}

fn pinned(text: &str) -> Option<(String, i64)> {
    let (name, version) = text.rsplit_once('@')?;
    Some((name.to_owned(), version.parse().ok().filter(|version| *version > 0)?))
}

struct Located {
    source: Source,
    shown: String,
    span: Range<usize>,
    profile: Option<Profile>,
}

fn in_file(
    section: &Section,
    base: Base<'_>,
    given: &str,
    config: &DatasetConfig,
    problems: &mut Problems,
) -> Option<Located> {
    let span = if section.is_map() { section.span_of("path") } else { section.node.span.clone() };
    let shown = shown(base.folder, given);
    let Some(path) = base.locate(given) else {
        let help = "name a file below the server's `files` folder by its relative path, or an imported dataset";
        problems.add(span, format!("the dataset {given} lies outside of the folder for files"), help);
        return None;
    };
    if config.version.is_some() {
        let help = "remove it, or import the file with `windrow datasets import` and use its name";
        problems.add(section.span_of("version"), "a file has no `version`", help);
        return None;
    }
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
        let help = format!("add it: dataset: {{ path: …, format: jsonl }} (or one of {})", Format::list());
        problems.add(span, message, help);
        return None;
    };
    if config.delimiter.is_some() && file.format != Format::Csv {
        let message = "`dataset.delimiter` is for CSV, and this file has another format";
        problems.add(section.span_of("delimiter"), message, "leave it out, or add `format: csv`");
        return None;
    }
    Some(Located { source: Source::File(file), shown, span, profile: None })
}

/// The file is on the machine that sent the job file, and its rows are here.
fn sent_along(
    section: &Section,
    base: Base<'_>,
    lookup: DatasetLookup<'_>,
    problems: &mut Problems,
) -> Option<Located> {
    let (name, version) = base.rows?;
    let config = DatasetConfig { version: Some(version), ..DatasetConfig::default() };
    under_name(section, lookup, name.to_owned(), &config, problems)
}

fn under_name(
    section: &Section,
    lookup: DatasetLookup<'_>,
    name: String,
    config: &DatasetConfig,
    problems: &mut Problems,
) -> Option<Located> {
    let span = section.span_of("name");
    if config.format.is_some() || config.delimiter.is_some() {
        let message = "`format` and `delimiter` are of files, not of a dataset with a name";
        problems.add(section.span.clone(), message, "remove them");
        return None;
    }
    let versions = lookup.library.map_or(Ok(Vec::new()), |library| library.versions(lookup.workspace, &name));
    let versions = match versions {
        Ok(versions) => versions,
        Err(error) => {
            problems.add(span, format!("the dataset {name} cannot be looked up: {error}"), "try again");
            return None;
        }
    };
    if versions.is_empty() {
        let names = lookup.library.and_then(|library| library.names(lookup.workspace).ok()).unwrap_or_default();
        let help = match nearest(&name, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("import it: windrow datasets import FILE --name {name}"),
        };
        problems.add(span, format!("dataset {name:?} not found in workspace {:?}", lookup.workspace), help);
        return None;
    }
    let wanted = config.version.unwrap_or(versions[0].version);
    let Some(found) = versions.iter().find(|version| version.version == wanted) else {
        let known: Vec<String> = versions.iter().take(20).map(|version| version.version.to_string()).collect();
        let message = format!("the dataset {name} has no version {wanted}");
        problems.add(section.span_of("version"), message, format!("known: {}", known.join(", ")));
        return None;
    };
    let follows = config.version.is_none();
    let version = StoredVersion { name, version: wanted, id: found.id, rows: found.rows, follows };
    let shown = format!("{}@{wanted}", version.name);
    Some(Located { source: Source::Stored(version), shown, span, profile: found.profile.parse().ok() })
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

/// As a person would name it.
fn shown(folder: &Path, given: &str) -> String {
    match folder == Path::new(".") {
        true => given.to_owned(),
        false => folder.join(given).display().to_string(),
    }
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
