//! `jaro_winkler`: how many characters agree in place, with a bonus for a common beginning; as
//! rapidfuzz's `JaroWinkler.normalized_similarity`. Made for names and other short texts.

use rapidfuzz::distance::jaro_winkler::normalized_similarity;

use super::Doc;
use super::graded::Metric;

pub const DOC: Doc = Doc {
    passes: "is close to the expected name",
    value: "graded, threshold 0.9",
    text: r##"For names and other short texts. Equal to rapidfuzz `JaroWinkler.normalized_similarity`. `expect` (*template*); `threshold`
(default 0.9).

```yaml
- jaro_winkler: { expect: "{{ capital }}" }
```"##,
};

pub struct JaroWinkler;

impl Metric for JaroWinkler {
    const THRESHOLD: f64 = 0.9;

    fn score(output: &str, expected: &str) -> f64 {
        normalized_similarity(output.chars(), expected.chars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_pair_has_its_textbook_value() {
        assert!((JaroWinkler::score("MARTHA", "MARHTA") - 0.961_111_111_111_111).abs() < 1e-12);
        assert_eq!(JaroWinkler::score("", ""), 1.0);
        assert_eq!(JaroWinkler::score("a", "b"), 0.0);
    }
}
