//! The config file: where it is, and its settings. All errors are reported at once, with their lines.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windrow_jobfile::diagnostics::{About, Excerpt, Problems, Report, nearest};

use crate::error::{Error, Exit, Result};
use crate::node::config::setting::{Setting, settings};
use crate::node::config::{SECTIONS, USUAL, VARIABLE};

/// A valid config file.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    pub path: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub struct Entry {
    /// As [`Setting::path`].
    pub path: String,
    pub values: Vec<String>,
    pub line: usize,
}

impl ConfigFile {
    /// The file of the flag or the variable, else `windrow.toml` here, if it exists.
    pub fn find(arguments: &[OsString], command: &Command) -> Result<Option<Self>> {
        let named = named_by(arguments).or_else(|| std::env::var_os(VARIABLE).filter(|path| !path.is_empty()));
        match named {
            Some(path) => Self::read(Path::new(&path), command).map(Some),
            None if Path::new(USUAL).is_file() => Self::read(Path::new(USUAL), command).map(Some),
            None => Ok(None),
        }
    }

    fn read(path: &Path, command: &Command) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let what = format!("cannot read the config file {}: {error}", path.display());
            Error::new(what, "correct --config or WINDROW_CONFIG").ending_with(Exit::Usage)
        })?;
        let entries = entries(&path.display().to_string(), &text, command)?;
        Ok(Self { path: path.to_owned(), entries })
    }

    /// What it says about a setting, and in which line.
    pub fn get(&self, setting: &Setting) -> Option<(&[String], usize)> {
        let path = setting.path();
        self.entries.iter().find(|entry| entry.path == path).map(|entry| (entry.values.as_slice(), entry.line))
    }
}

/// Before the command line is parsed as a whole: the file sets defaults of flags.
fn named_by(arguments: &[OsString]) -> Option<OsString> {
    let mut rest = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    while let Some(argument) = rest.next() {
        if argument == "--config" {
            return rest.next().cloned();
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
}

pub fn entries(name: &str, text: &str, command: &Command) -> std::result::Result<Vec<Entry>, Report> {
    let mut reading = Reading { problems: Problems::in_file(Excerpt::whole(name, text)), entries: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reading.tables(table.get_ref(), &settings(command)),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reading.problems.add(span, format!("invalid TOML: {}", error.message()), "correct it here");
        }
    }
    match reading.problems.is_empty() {
        true => Ok(reading.entries),
        false => Err(Report { about: About::Settings, ..reading.problems.into_report() }),
    }
}

struct Reading {
    problems: Problems,
    entries: Vec<Entry>,
}

impl Reading {
    fn tables(&mut self, root: &DeTable<'_>, settings: &[Setting]) {
        for (key, value) in root.iter() {
            let section = SECTIONS.iter().find(|section| **section == key.get_ref().as_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(table)) => {
                    for (key, value) in table.iter() {
                        self.entry(Some(section), key.get_ref(), key.span(), value, settings);
                    }
                }
                _ => self.entry(None, key.get_ref(), key.span(), value, settings),
            }
        }
    }

    fn entry(
        &mut self,
        section: Option<&'static str>,
        key: &str,
        at: Range<usize>,
        value: &Spanned<DeValue<'_>>,
        settings: &[Setting],
    ) {
        let Some(setting) = settings.iter().find(|setting| setting.section == section && setting.key == key) else {
            self.problems.add(at, format!("unknown setting `{key}`"), suggestion(section, key, settings));
            return;
        };
        let values = match value.get_ref() {
            DeValue::Array(list) if setting.takes_many() => {
                list.iter().map(|value| plain(value.get_ref())).collect::<Option<Vec<_>>>()
            }
            value => plain(value).map(|value| vec![value]),
        };
        let path = setting.path();
        let Some(values) = values else {
            let message = format!("`{path}` cannot be a {}", value.get_ref().type_str());
            self.problems.add(value.span(), message, "use a string, a number, or true or false");
            return;
        };
        for refusal in values.iter().filter_map(|value| setting.refuses(value)) {
            let help = setting.arg.get_help().map(ToString::to_string).unwrap_or_default();
            self.problems.add(value.span(), format!("`{path}`: {refusal}"), help);
        }
        let line = self.problems.text()[..at.start].matches('\n').count() + 1;
        self.entries.push(Entry { path, values, line });
    }
}

fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(is) => Some(is.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn suggestion(section: Option<&str>, key: &str, settings: &[Setting]) -> String {
    let elsewhere = settings.iter().find(|setting| setting.key == key);
    if let Some(Setting { section: Some(section), .. }) = elsewhere {
        return format!("move it to the table [{section}]");
    }
    if elsewhere.is_some() {
        return "move it to the top of the file, before any table".to_owned();
    }
    let near = settings.iter().filter(|setting| setting.section == section).map(|setting| setting.key.as_str());
    let tables = SECTIONS.iter().copied().filter(|_| section.is_none());
    match nearest(key, near.chain(tables)) {
        Some(meant) => format!("did you mean `{meant}`? `windrow config show` lists all settings"),
        None => "`windrow config show` lists all settings".to_owned(),
    }
}
