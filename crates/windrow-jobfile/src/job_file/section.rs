//! A part of the job file under one key. Fields are taken out one by one or read at once into a
//! structure; what is wrong goes to the problems, with "did you mean" for unknown fields.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::read::{ReadError, Reader, Wrong};
use crate::diagnostics::{Problems, nearest};
use crate::yaml::{Content, Node};

#[derive(Debug, Clone)]
pub struct Section {
    /// As a person would say it: `target.openai`.
    pub path: String,
    /// The key of the section.
    pub span: Range<usize>,
    pub node: Node,
}

impl Section {
    pub fn root(node: Node) -> Self {
        let span = node.span.clone();
        Self { path: String::new(), span, node }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.node.content, Content::Map(_))
    }

    pub fn text(&self) -> Option<&str> {
        match &self.node.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn field_names(&self) -> Vec<&str> {
        match &self.node.content {
            Content::Map(entries) => entries.iter().map(|(key, _)| key.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Where a field's value is; the section itself if it has no such field.
    pub fn span_of(&self, field: &str) -> Range<usize> {
        if let Content::Map(entries) = &self.node.content
            && let Some((_, node)) = entries.iter().find(|(key, _)| key.name == field)
        {
            return node.span.clone();
        }
        self.span.clone()
    }

    /// Removes a field, so that what is left at the end is unknown.
    pub fn take(&mut self, field: &str) -> Option<Section> {
        let Content::Map(entries) = &mut self.node.content else { return None };
        let place = entries.iter().position(|(key, _)| key.name == field)?;
        let (key, node) = entries.remove(place);
        Some(Section { path: self.path_of(&key.name), span: key.span, node })
    }

    /// Takes several fields out as another section at the same place.
    pub fn split(&mut self, fields: &[&str]) -> Section {
        let mut taken = Vec::new();
        if let Content::Map(entries) = &mut self.node.content {
            taken = entries.extract_if(.., |(key, _)| fields.contains(&key.name.as_str())).collect();
        }
        let node = Node { span: self.node.span.clone(), content: Content::Map(taken) };
        Section { path: self.path.clone(), span: self.span.clone(), node }
    }

    pub fn require(&mut self, field: &str, example: &str, problems: &mut Problems) -> Option<Section> {
        let found = self.take(field);
        if found.is_none() {
            problems.add(self.span.clone(), self.missing(field), format!("add it, for example: {example}"));
        }
        found
    }

    /// The elements of a list.
    pub fn elements(self, problems: &mut Problems) -> Vec<Section> {
        match self.node.content {
            Content::List(nodes) => {
                let section = |(no, node): (usize, Node)| Section {
                    path: format!("{}[{no}]", self.path),
                    span: node.span.clone(),
                    node,
                };
                nodes.into_iter().enumerate().map(section).collect()
            }
            Content::Null => Vec::new(),
            _ => {
                let message = format!("`{}` must be a list, found {}", self.path, self.node.describe());
                problems.add(self.node.span, message, "start each entry with `- `");
                Vec::new()
            }
        }
    }

    /// Whatever is left was not expected.
    pub fn finish(self, known: &[&str], problems: &mut Problems) {
        if let Content::Map(entries) = &self.node.content {
            for (key, _) in entries {
                let (message, help) = self.unknown(&key.name, known);
                problems.add(key.span.clone(), message, help);
            }
        }
    }

    /// Reads the whole section. A wrong field is reported and left out, so that the others are
    /// still checked. `also` names fields that were taken out before.
    pub fn read<T: DeserializeOwned>(&self, also: &[&str], problems: &mut Problems) -> Option<T> {
        let mut rest = self.clone();
        let mut left_out = Vec::new();
        loop {
            let error = match T::deserialize(Reader(&rest.node)) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            // It was left out, or is there under a misspelt name: either is reported already.
            let given = |field: &str| left_out.iter().any(|out: &String| nearest(out, [field]).is_some());
            if matches!(&error.wrong, Wrong::Missing { field } if given(field)) {
                return None;
            }
            self.report(&error, also, problems);
            let field = error.field?;
            rest.take(&field)?;
            left_out.push(field);
        }
    }

    fn report(&self, error: &ReadError, also: &[&str], problems: &mut Problems) {
        let span = error.span.clone().unwrap_or_else(|| self.span.clone());
        match &error.wrong {
            Wrong::Unknown { field, expected } if error.field.as_ref() == Some(field) => {
                let known: Vec<&str> = expected.iter().chain(also).copied().collect();
                let (message, help) = self.unknown(field, &known);
                problems.add(span, message, help);
            }
            Wrong::Unknown { field, expected } => {
                let (message, help) = self.under(error).unknown(field, expected);
                problems.add(span, message, help);
            }
            Wrong::Missing { field } => {
                // Of the section itself: its key is a better place than its first field.
                let span = if error.field.is_none() { self.span.clone() } else { span };
                problems.add(span, self.under(error).missing(field), format!("add `{field}: …`"));
            }
            Wrong::Type { expected, found } => {
                let path = self.under(error).path;
                problems.add(span, format!("`{path}` must be {expected}"), help(&path, expected, found));
            }
            Wrong::Value { message } => {
                let path = self.under(error).path;
                problems.add(span, format!("`{path}`: {message}"), format!("change the value of `{path}`"));
            }
        }
    }

    /// The field of this section that an error happened in.
    fn under(&self, error: &ReadError) -> Section {
        let path = error.field.as_ref().map_or_else(|| self.path.clone(), |field| self.path_of(field));
        Section { path, span: self.span.clone(), node: Node { span: 0..0, content: Content::Null } }
    }

    fn unknown(&self, field: &str, known: &[&str]) -> (String, String) {
        let help = match nearest(field, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known fields: {}", known.join(", ")),
        };
        (format!("unknown field `{field}`"), help)
    }

    fn missing(&self, field: &str) -> String {
        format!("the field `{}` is missing", self.path_of(field))
    }

    fn path_of(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }
}

/// An example of a value of the expected type.
fn help(path: &str, expected: &str, found: &str) -> String {
    let field = path.rsplit('.').next().unwrap_or(path);
    match expected {
        "text" => format!("put quotes around {found}"),
        "a positive integer" | "a non-negative integer" | "an integer" => format!("e.g. `{field}: 32`"),
        "a number" => format!("e.g. `{field}: 0.5`"),
        "true or false" => format!("e.g. `{field}: true`"),
        _ => format!("found {found}"),
    }
}
