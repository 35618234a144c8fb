//! Text of a user's file, or a piece of it that knows at which line it begins.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

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
        let offset = self.clamp(offset..offset).start;
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |newline| offset + newline);
        self.text[start..end].trim()
    }

    /// A span that lies inside the text and on character boundaries.
    pub fn clamp(&self, span: Range<usize>) -> Range<usize> {
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

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text.read_span(span, lines_before, lines_after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            contents.data(),
            *contents.span(),
            contents.line() + self.first_line - 1,
            contents.column(),
            contents.line_count(),
        )))
    }
}
