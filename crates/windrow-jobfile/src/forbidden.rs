//! Words that must not stand in anything that is stored (E4). Found in any case, as whole words; in
//! scripts that put no spaces between words, anywhere.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use crate::environment::Environment;

/// Names a file of words that are forbidden on the whole machine.
pub const VARIABLE: &str = "WINDROW_FORBIDDEN";

const MAX_WORDS: usize = 10_000;
/// Compiled words take up to this.
const MAX_BYTES: usize = 256 * 1024 * 1024;

#[derive(Debug, Clone, Default)]
pub struct Forbidden {
    /// `None` where no word is.
    words: Option<Regex>,
}

impl Forbidden {
    pub fn new(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let words: BTreeSet<String> = words.into_iter().map(|word| word.trim().to_owned()).collect();
        let patterns: Vec<String> = words.iter().filter(|word| !word.is_empty()).map(|word| pattern(word)).collect();
        match patterns.len() {
            0 => Ok(Self::default()),
            1..=MAX_WORDS => {
                let all = RegexBuilder::new(&patterns.join("|")).case_insensitive(true).size_limit(MAX_BYTES).build();
                Ok(Self { words: Some(all.map_err(|error| error.to_string())?) })
            }
            n => Err(format!("{n} words are more than the {MAX_WORDS} that can be looked for")),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_none()
    }

    /// Forbidden words of a text as they are written there, with their places.
    pub fn in_text<'t>(&self, text: &'t str) -> impl Iterator<Item = regex::Match<'t>> {
        self.words.iter().flat_map(move |words| words.find_iter(text))
    }

    /// Forbidden words in the texts of a value, each once.
    pub fn in_value(&self, value: &serde_json::Value) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        if !self.is_empty() {
            self.look(value, &mut found);
        }
        found
    }

    fn look(&self, value: &serde_json::Value, found: &mut BTreeSet<String>) {
        use serde_json::Value;
        match value {
            Value::String(text) => found.extend(self.in_text(text).map(|hit| hit.as_str().to_owned())),
            Value::Array(list) => list.iter().for_each(|inner| self.look(inner, found)),
            Value::Object(fields) => fields.values().for_each(|inner| self.look(inner, found)),
            _ => {}
        }
    }
}

/// The words that are forbidden on the whole machine. Reads their file.
pub fn machine_words(environment: &Environment) -> Result<Vec<String>, String> {
    let Ok(path) = environment.resolve(&format!("${{env:{VARIABLE}}}")) else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{VARIABLE}: {path} cannot be read: {error}"))?;
    Ok(words_in(&text).collect())
}

/// One word or phrase per line; empty lines and those that begin with `#` say nothing.
pub fn words_in(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

fn pattern(word: &str) -> String {
    let border = |c: Option<char>| if c.is_some_and(is_spaced) { r"\b" } else { "" };
    let parts: Vec<String> = word.split_whitespace().map(regex::escape).collect();
    format!("{}{}{}", border(word.chars().next()), parts.join(r"\s+"), border(word.chars().last()))
}

/// Whether words of this letter's script are kept apart, so that one has borders to be found by.
fn is_spaced(c: char) -> bool {
    let unspaced = matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}');
    (c.is_alphanumeric() || c == '_') && !unspaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str], text: &str) -> Vec<String> {
        let forbidden = Forbidden::new(words.iter().map(|word| (*word).to_owned())).unwrap();
        forbidden.in_text(text).map(|hit| hit.as_str().to_owned()).collect()
    }

    #[test]
    fn words_are_found_in_any_case_and_only_whole() {
        assert_eq!(found(&["ass", "Éclair"], "ASS, assassin, éclair; class"), ["ASS", "éclair"]);
        assert_eq!(found(&["project x"], "Project\n  X, projects x"), ["Project\n  X"]);
        assert_eq!(found(&["c++", "a.b"], "in C++, not axb or a.bc"), ["C++"]);
        assert_eq!(found(&["禁词"], "这里有禁词吗"), ["禁词"]);
    }

    #[test]
    fn no_word_forbids_nothing() {
        assert!(found(&["", "  "], "anything at all").is_empty());
        assert!(Forbidden::default().in_value(&serde_json::json!(["x"])).is_empty());
    }

    #[test]
    fn values_are_searched_to_the_bottom() {
        let forbidden = Forbidden::new(["secret".to_owned()]).unwrap();
        let value = serde_json::json!({ "a": [{ "b": "a Secret and a secret" }], "secret": "the name of a field" });
        assert_eq!(forbidden.in_value(&value).into_iter().collect::<Vec<_>>(), ["Secret", "secret"]);
    }

    #[test]
    fn lists_have_comments() {
        assert_eq!(words_in("\u{feff}one\n\n# two\n  three four \r\n").collect::<Vec<_>>(), ["one", "three four"]);
    }
}
