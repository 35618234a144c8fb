//! `label`: classification. The output is brought to one of the labels and compared with the
//! expected one; the reason says which was taken for which, so that the confusions can be counted.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rapidfuzz::distance::levenshtein::normalized_similarity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "is the expected label",
    value: "0 or 1",
    text: r##"`labels` lists the allowed labels; `expect` (*template*) is the right one; `aliases` maps a label to other spellings. Case,
quotes, full stops and `**` around the label are ignored. `search` (default false) also accepts the only label that occurs as
a word in a longer output. `fuzzy` (default off) accepts the closest label with at least this similarity in edit distance.
The reason is `expected → got`. An output that matches no label fails; an expectation that matches no label is an `error`.

```yaml
- label:
    labels: [positive, neutral, negative]
    aliases: { positive: [pos, good], negative: [neg, bad] }
    expect: "{{ sentiment }}"
- label: { labels: ["yes", "no"], expect: "yes", search: true, fuzzy: 0.8, name: polite }
```"##,
};

/// Around a label these mean nothing.
const DECORATION: &[char] =
    &['"', '\'', '`', '*', '_', '.', '!', ',', ';', ':', '(', ')', '[', ']', '<', '>', '#', '-'];

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelConfig {
    pub labels: Vec<String>,
    /// Template of the right label.
    pub expect: String,
    #[serde(default)]
    pub aliases: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub search: bool,
    #[serde(default)]
    pub fuzzy: Option<f64>,
}

impl Config for LabelConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let mut findings = Vec::new();
        let mut wrong = |field, message: String, help: &str| {
            findings.push(component::Issue::problem(field, message, help));
        };
        if self.labels.is_empty() {
            wrong("labels", "there are none".to_owned(), "for example: labels: [positive, negative]");
        }
        for label in self.aliases.keys().filter(|label| !self.labels.contains(label)) {
            wrong("aliases", format!("`{label}` is none of the labels"), "add it to `labels`, or remove it");
        }
        if let Some((first, second)) = Labels::new(self).ambiguous() {
            let message = format!("`{first}` and `{second}` have a spelling in common");
            wrong("labels", message, "case and punctuation around a label do not count; rename one");
        }
        if self.fuzzy.is_some_and(|fuzzy| !(0.0..=1.0).contains(&fuzzy)) {
            wrong("fuzzy", "must be from 0 to 1".to_owned(), "for example: fuzzy: 0.8");
        }
        findings
    }
}

/// Every spelling, brought to its plain form, and the label it means.
struct Labels {
    spellings: Vec<(String, String)>,
    search: bool,
    fuzzy: Option<f64>,
}

impl Labels {
    fn new(config: &LabelConfig) -> Self {
        let own = config.labels.iter().map(|label| (plain(label), label.clone()));
        let others = config.aliases.iter().flat_map(|(label, names)| names.iter().map(|n| (plain(n), label.clone())));
        Self { spellings: own.chain(others).collect(), search: config.search, fuzzy: config.fuzzy }
    }

    fn ambiguous(&self) -> Option<(&str, &str)> {
        let pairs = self
            .spellings
            .iter()
            .enumerate()
            .flat_map(|(no, one)| self.spellings[no + 1..].iter().map(move |other| (one, other)));
        let (one, other) = { pairs }.find(|(one, other)| one.0 == other.0 && one.1 != other.1)?;
        Some((&one.1, &other.1))
    }

    fn find(&self, text: &str) -> Option<&str> {
        let text = plain(text);
        let exact = self.spellings.iter().find(|(spelling, _)| *spelling == text).map(|(_, label)| label.as_str());
        exact.or_else(|| self.within(&text)).or_else(|| self.nearest(&text))
    }

    /// The only label that occurs; two different ones leave it open which is meant.
    fn within(&self, text: &str) -> Option<&str> {
        if !self.search {
            return None;
        }
        let mut labels = self.spellings.iter().filter(|(spelling, _)| has_word(text, spelling)).map(|(_, label)| label);
        let first = labels.next()?;
        labels.all(|other| other == first).then_some(first)
    }

    fn nearest(&self, text: &str) -> Option<&str> {
        let least = self.fuzzy?;
        let similar = |spelling: &str| normalized_similarity(spelling.chars(), text.chars());
        let ranked = self.spellings.iter().map(|(spelling, label)| (similar(spelling), label.as_str()));
        let (similarity, label) = ranked.max_by(|one, other| one.0.total_cmp(&other.0))?;
        (similarity >= least).then_some(label)
    }
}

fn plain(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || DECORATION.contains(&c)).to_lowercase()
}

fn has_word(text: &str, word: &str) -> bool {
    let is_border = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            is_border(text[..at].chars().next_back()) && is_border(text[at + word.len()..].chars().next())
        })
}

pub struct Label {
    labels: Labels,
    expect: Template,
}

impl Label {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let config: LabelConfig = thaw(config)?;
        Ok(Box::new(Self { expect: template(&config.expect)?, labels: Labels::new(&config) }))
    }
}

#[async_trait]
impl Evaluator for Label {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        let expected = rendered(&self.expect, variables)?;
        match self.labels.find(&expected) {
            Some(label) => Ok(Some(label.to_owned())),
            None => Err(format!("{} is none of the labels", quote(&expected))),
        }
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected = subject.expected.unwrap_or_default();
        Ok(match self.labels.find(subject.output) {
            Some(label) => Evaluation::binary(label == expected, format!("{expected} → {label}")),
            None => {
                Evaluation::binary(false, format!("{expected} → none of the labels, got {}", quote(subject.output)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(more: Value) -> Labels {
        let mut config =
            json!({ "labels": ["positive", "negative"], "expect": "", "aliases": { "positive": ["good"] } });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Labels::new(&thaw(config).unwrap())
    }

    #[test]
    fn a_label_is_recognised_by_any_spelling() {
        let labels = labels(json!({}));
        for output in ["positive", " Positive.\n", "**POSITIVE**", "\"good\""] {
            assert_eq!(labels.find(output), Some("positive"), "{output}");
        }
        assert_eq!(labels.find("the text is positive"), None);
        assert_eq!(labels.find("positiv"), None);
    }

    #[test]
    fn searching_and_likeness_are_on_by_choice() {
        let search = labels(json!({ "search": true }));
        assert_eq!(search.find("It sounds good to me"), Some("positive"));
        assert_eq!(search.find("goodness"), None);
        assert_eq!(search.find("positive or negative?"), None);
        let fuzzy = labels(json!({ "fuzzy": 0.8 }));
        assert_eq!(fuzzy.find("positiv"), Some("positive"));
        assert_eq!(fuzzy.find("neutral"), None);
    }

    #[test]
    fn two_labels_with_one_spelling_are_a_problem() {
        let config = json!({ "labels": ["Yes", "yes!"], "expect": "", "aliases": { "other": [] } });
        let config: LabelConfig = thaw(config).unwrap();
        assert_eq!(config.check(&Environment::new(|_| None)).len(), 2);
    }
}
