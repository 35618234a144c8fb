//! A YAML document as a tree in which every value knows its place in the text.

use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Range<usize>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub name: String,
    pub span: Range<usize>,
}

/// YAML that cannot be read at all.
#[derive(Debug)]
pub struct Broken {
    pub span: Range<usize>,
    pub message: String,
}

impl Broken {
    fn of(error: &serde_saphyr::Error, text: &str) -> Self {
        let span = error.location().map_or(0..0, |location| place_of(&location, text));
        Self { span, message: message_of(error) }
    }
}

impl Node {
    pub fn parse(text: &str) -> Result<Self, Broken> {
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| Broken::of(&error, text))
    }

    /// Every document of a text, without the empty ones. For data: larger than a job file may be.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Broken> {
        const MANY: usize = 20_000_000;
        let budget = serde_saphyr::budget! { max_events: MANY, max_nodes: MANY, max_documents: MANY };
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false, budget: budget };
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| Broken::of(&error, text))
    }

    /// The value alone, without the places.
    pub fn into_value(self) -> serde_json::Value {
        use serde_json::Value;
        match self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => value.into(),
            Content::Int(value) => value.into(),
            Content::Uint(value) => value.into(),
            Content::Float(value) => value.into(),
            Content::Text(value) => value.into(),
            Content::List(nodes) => nodes.into_iter().map(Node::into_value).collect(),
            Content::Map(entries) => {
                Value::Object(entries.into_iter().map(|(key, node)| (key.name, node.into_value())).collect())
            }
        }
    }

    pub fn describe(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Int(_) | Content::Uint(_) | Content::Float(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map of fields",
        }
    }
}

/// The error without the position, which the report shows in its own way.
fn message_of(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().to_string();
    // Nor with the advice to programmers that follows some of them.
    let end = [" at line ", ", set DuplicateKeyPolicy"].iter().filter_map(|tail| message.find(tail)).min();
    message[..end.unwrap_or(message.len())].trim_end_matches([':', ',']).to_owned()
}

fn span_of(location: &Location) -> Range<usize> {
    let start = location.span().byte_offset().unwrap_or(0) as usize;
    start..start + location.span().byte_len().unwrap_or(0) as usize
}

/// As [`span_of`], for errors of the scanner, which know line and column only.
fn place_of(location: &Location, text: &str) -> Range<usize> {
    if location.span().byte_offset().is_some() {
        return span_of(location);
    }
    let line_start: usize =
        text.split_inclusive('\n').take(location.line().saturating_sub(1) as usize).map(str::len).sum();
    let column = location.column().saturating_sub(1) as usize;
    let start = text[line_start..].char_indices().nth(column).map_or(text.len(), |(offset, _)| line_start + offset);
    start..start
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let Spanned { value: content, referenced, .. } = Spanned::<Content>::deserialize(d)?;
        // The parser gives a collection's start only; its first entry is what a reader looks at.
        let span = match &content {
            Content::Map(entries) if !entries.is_empty() => entries[0].0.span.clone(),
            Content::List(nodes) if !nodes.is_empty() => nodes[0].span.clone(),
            _ => span_of(&referenced),
        };
        Ok(Node { span, content })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any YAML value")
    }
    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }
    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Int(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Uint(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Text(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Content, E> {
        Ok(Content::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            nodes.push(node);
        }
        Ok(Content::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(Spanned { value: name, referenced, .. }) = map.next_key::<Spanned<String>>()? {
            entries.push((Key { name, span: span_of(&referenced) }, map.next_value()?));
        }
        Ok(Content::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_key_knows_its_place() {
        let text = "a: \"ü\"\nlist:\n  - x: 12\n    y: [yes, ~, 1.5]\n";
        let Content::Map(entries) = Node::parse(text).unwrap().content else { panic!("a map") };
        assert_eq!(&text[entries[0].0.span.clone()], "a");
        assert_eq!(&text[entries[0].1.span.clone()], "\"ü\"");
        let Content::List(nodes) = &entries[1].1.content else { panic!("a list") };
        let Content::Map(inner) = &nodes[0].content else { panic!("a map") };
        assert_eq!(&text[inner[0].1.span.clone()], "12");
        assert_eq!(inner[0].1.content, Content::Uint(12));
        let Content::List(mixed) = &inner[1].1.content else { panic!("a list") };
        let contents: Vec<_> = mixed.iter().map(|node| node.content.clone()).collect();
        assert_eq!(contents, [Content::Text("yes".into()), Content::Null, Content::Float(1.5)]);
    }

    #[test]
    fn broken_yaml_says_where() {
        let text = "a: 1\nb: [1, 2\nc: 3\n";
        let broken = Node::parse(text).unwrap_err();
        assert!(broken.span.start > 4, "{broken:?}");
        assert!(!broken.message.contains("line"), "{broken:?}");
        let twice = Node::parse("a: 1\na: 2\n").unwrap_err();
        assert_eq!(twice.span.start, 5, "{twice:?}");
    }
}
