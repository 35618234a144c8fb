//! Text of a user's file, or a piece of it that knows at which line it begins.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The file as the user knows it.
    pub name: String,
    pub text: String,
    /// Line of the file the text begins at, from 1.
    pub first_line: usize,
}

impl Excerpt {
    pub fn whole(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), first_line: 1 }
    }

    pub fn line_of(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        self.first_line + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The line around an offset, without the indentation.
    pub fn line_text(&self, offset: usize) -> &str {
        self.text[self.line_at(self.clamp(offset..offset).start)].trim()
    }

    fn line_at(&self, offset: usize) -> Range<usize> {
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |newline| offset + newline);
        start..end
    }

    /// Where in its line a span begins, from 1, and how many characters it has.
    pub fn columns_of(&self, span: Range<usize>) -> (usize, usize) {
        let span = self.clamp(span);
        let line = self.line_at(span.start);
        let marked = &self.text[span.start..span.end.min(line.end)];
        (self.text[line.start..span.start].chars().count() + 1, marked.chars().count())
    }

    /// The place, the line, and carets under the span with `help` after them.
    pub fn render(&self, span: Range<usize>, help: &str) -> String {
        let span = self.clamp(span);
        let line = self.line_at(span.start);
        let no = self.line_of(span.start).to_string();
        let text = self.text[line.clone()].trim_end();
        let (before, rest) = text.split_at_checked(span.start - line.start).unwrap_or((text, ""));
        let marked = &rest[..rest.len().min(span.len())];
        let (column, _) = self.columns_of(span);
        let indent: String =
            before.chars().map(|c| if c == '\t' { c.into() } else { " ".repeat(c.to_string().width()) }).collect();
        let carets = "^".repeat(marked.trim_end().width().max(1));
        let help = if help.is_empty() { String::new() } else { format!(" help: {help}") };
        let gutter = " ".repeat(no.len());
        format!(
            " {gutter}--> {}:{no}:{column}\n {no} | {before}{rest}\n {gutter} | {indent}{carets}{help}\n",
            self.name
        )
    }

    /// A span that lies inside the text and on character boundaries.
    fn clamp(&self, span: Range<usize>) -> Range<usize> {
        let floor = |mut offset: usize| {
            offset = offset.min(self.text.len());
            while !self.text.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }
}
