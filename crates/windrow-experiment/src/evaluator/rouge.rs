//! `rouge`: the F-measure of ROUGE-1, ROUGE-2 or ROUGE-L as PyPI's rouge-score computes it without
//! its stemmer. Only ASCII letters and digits make words there, so it suits English.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_model::Failure;

use super::graded::Graded;
use super::{ComponentContext, Doc, Evaluator, check_threshold, ngram, thaw};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "is close to a reference summary",
    value: "graded, threshold 0.5",
    text: r##"ROUGE F-measure, equal to PyPI's rouge-score without its stemmer. `expect` (*template*); `variant` (`rouge1`, `rouge2` or
`rougeL`, the default); `threshold` (default 0.5). As in rouge-score, words consist of ASCII letters and digits only.

```yaml
- rouge: { expect: "{{ capital }}" }
- rouge: { expect: "{{ capital }}", variant: rouge2, threshold: 0.2, name: rouge2 }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RougeConfig {
    /// Template of the text the output is compared with.
    pub expect: String,
    #[serde(default)]
    pub variant: Variant,
    #[serde(default = "threshold")]
    pub threshold: f64,
}

fn threshold() -> f64 {
    0.5
}

/// What two texts are compared by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Variant {
    /// Common words.
    #[serde(rename = "rouge1")]
    Words,
    /// Common pairs of words.
    #[serde(rename = "rouge2")]
    Pairs,
    /// The longest common subsequence of words.
    #[default]
    #[serde(rename = "rougeL")]
    Subsequence,
}

impl Config for RougeConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        check_threshold(self.threshold).into_iter().collect()
    }
}

pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
    let RougeConfig { expect, variant, threshold } = thaw(config)?;
    let score = match variant {
        Variant::Words => |output: &str, expected: &str| by_runs(output, expected, 1),
        Variant::Pairs => |output: &str, expected: &str| by_runs(output, expected, 2),
        Variant::Subsequence => by_subsequence,
    };
    Graded::build(&expect, threshold, score)
}

fn by_runs(output: &str, expected: &str, n: usize) -> f64 {
    let (output, expected) = (words(output), words(expected));
    let matches = ngram::matches(&output, &expected, n);
    f_measure(matches, ngram::runs(output.len(), n), ngram::runs(expected.len(), n))
}

fn by_subsequence(output: &str, expected: &str) -> f64 {
    let (output, expected) = (words(output), words(expected));
    f_measure(longest_common_subsequence(&output, &expected), output.len(), expected.len())
}

fn f_measure(matches: usize, made: usize, wanted: usize) -> f64 {
    if matches == 0 {
        return 0.0;
    }
    let (precision, recall) = (matches as f64 / made as f64, matches as f64 / wanted as f64);
    2.0 * precision * recall / (precision + recall)
}

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Its length, row by row of the usual table.
fn longest_common_subsequence(a: &[String], b: &[String]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (no, other) in b.iter().enumerate() {
            let above = row[no + 1];
            row[no + 1] = if word == other { diagonal + 1 } else { above.max(row[no]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "The quick brown fox jumps over the lazy dog";
    const B: &str = "The quick brown dog jumps on the log.";

    #[test]
    fn the_example_of_rouge_score_has_its_values() {
        assert!((by_runs(B, A, 1) - 0.705_882_352_941_176_4).abs() < 1e-12);
        assert!((by_subsequence(B, A) - 0.588_235_294_117_647_1).abs() < 1e-12);
        assert!((by_runs(B, A, 2) - 4.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn a_text_without_words_scores_zero() {
        assert_eq!(by_runs("", "", 1), 0.0);
        assert_eq!(by_subsequence("…", "a"), 0.0);
        assert_eq!(by_runs("one", "one", 2), 0.0);
    }
}
