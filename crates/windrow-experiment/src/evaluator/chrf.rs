//! `chrf`: chrF2 as sacreBLEU computes it by default: character runs of 1 to 6 without white space,
//! no word runs, recall counted twice as much. The value is from 0 to 1, sacreBLEU's divided by 100.

use super::graded::Metric;
use super::{Doc, ngram};

pub const DOC: Doc = Doc {
    passes: "is close to a reference translation, by character n-grams",
    value: "graded, threshold 0.5",
    text: r##"chrF2, equal to sacreBLEU's defaults (character order 6, word order 0, beta 2) divided by 100. `expect` (*template*);
`threshold` (default 0.5).

```yaml
- chrf: { expect: "{{ capital }}" }
```"##,
};

const ORDERS: usize = 6;
const BETA: f64 = 2.0;

pub struct Chrf;

impl Metric for Chrf {
    const THRESHOLD: f64 = 0.5;

    fn score(output: &str, expected: &str) -> f64 {
        let (output, expected) = (characters(output), characters(expected));
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for n in 1..=ORDERS {
            let (made, wanted) = (ngram::runs(output.len(), n), ngram::runs(expected.len(), n));
            // An order that one of the two is too short for does not count.
            if made == 0 || wanted == 0 {
                break;
            }
            let matches = ngram::matches(&output, &expected, n) as f64;
            precision += matches / made as f64;
            recall += matches / wanted as f64;
            orders += 1.0;
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / orders, recall / orders);
        let factor = BETA * BETA;
        (1.0 + factor) * precision * recall / (factor * precision + recall)
    }
}

fn characters(text: &str) -> Vec<char> {
    text.chars().filter(|c| !ngram::is_python_space(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_does_not_count_and_short_texts_are_scored() {
        assert_eq!(Chrf::score("New York", "NewYork"), 1.0);
        assert_eq!(Chrf::score("ab", "ab"), 1.0);
        assert_eq!(Chrf::score("ab", "cd"), 0.0);
        assert_eq!(Chrf::score("", "cd"), 0.0);
        assert_eq!(Chrf::score("", ""), 0.0);
    }
}
