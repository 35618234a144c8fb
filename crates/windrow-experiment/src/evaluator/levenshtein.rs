//! `levenshtein`: 1 − edit distance / length of the longer text, in characters; as rapidfuzz's
//! `Levenshtein.normalized_similarity`.

use rapidfuzz::distance::levenshtein::normalized_similarity;

use super::Doc;
use super::graded::Metric;

pub const DOC: Doc = Doc {
    passes: "is close to the expected text in edit distance",
    value: "graded, threshold 0.8",
    text: r##"1 − edits / length of the longer text, in characters. Equal to rapidfuzz `Levenshtein.normalized_similarity`. `expect`
(*template*); `threshold` (default 0.8).

```yaml
- levenshtein: { expect: "{{ capital }}", threshold: 0.9 }
```"##,
};

pub struct Levenshtein;

impl Metric for Levenshtein {
    const THRESHOLD: f64 = 0.8;

    fn score(output: &str, expected: &str) -> f64 {
        normalized_similarity(output.chars(), expected.chars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_in_characters() {
        assert_eq!(Levenshtein::score("kitten", "sitting"), 1.0 - 3.0 / 7.0);
        assert_eq!(Levenshtein::score("né", "ne"), 0.5);
        assert_eq!(Levenshtein::score("", ""), 1.0);
        assert_eq!(Levenshtein::score("", "a"), 0.0);
    }
}
