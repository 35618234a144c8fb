//! `bleu`: sentence BLEU as sacreBLEU computes it by default: tokenizer 13a, orders 1 to 4,
//! effective order, exponential smoothing. The value is from 0 to 1, sacreBLEU's divided by 100.

use std::sync::LazyLock;

use regex::Regex;

use super::graded::Metric;
use super::{Doc, ngram};

pub const DOC: Doc = Doc {
    passes: "is close to a reference translation, by word n-grams",
    value: "graded, threshold 0.5",
    text: r##"Sentence BLEU, equal to sacreBLEU's defaults (tokenizer `13a`, effective order, smoothing `exp`) divided by 100. `expect`
(*template*); `threshold` (default 0.5).

```yaml
- bleu: { expect: "{{ capital }}", threshold: 0.3 }
```"##,
};

const ORDERS: usize = 4;

pub struct Bleu;

impl Metric for Bleu {
    const THRESHOLD: f64 = 0.5;

    fn score(output: &str, expected: &str) -> f64 {
        let (output, expected) = (tokenized(output), tokenized(expected));
        let (output, expected) = (tokens(&output), tokens(&expected));
        // Without a common word nothing is smoothed.
        if ngram::matches(&output, &expected, 1) == 0 {
            return 0.0;
        }
        let (mut logs, mut orders, mut smoothing) = (0.0, 0, 1.0);
        for n in 1..=ORDERS {
            let total = ngram::runs(output.len(), n);
            if total == 0 {
                break;
            }
            let precision = match ngram::matches(&output, &expected, n) {
                0 => {
                    smoothing *= 2.0;
                    1.0 / (smoothing * total as f64)
                }
                correct => correct as f64 / total as f64,
            };
            logs += precision.ln();
            orders += 1;
        }
        brevity(output.len(), expected.len()) * (logs / f64::from(orders)).exp()
    }
}

fn brevity(output: usize, expected: usize) -> f64 {
    match output < expected {
        true => (1.0 - expected as f64 / output as f64).exp(),
        false => 1.0,
    }
}

fn tokens(tokenized: &str) -> Vec<&str> {
    tokenized.split(ngram::is_python_space).filter(|token| !token.is_empty()).collect()
}

/// mteval-v13a's rules, in their order.
static RULES: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    let rules = [
        // Symbols stand alone.
        (r"([\{-\~\[-\x60 -\&\(-\+\:-\@/])", " ${1} "),
        // So do period and comma, unless after a digit,
        (r"([^0-9])([.,])", "${1} ${2} "),
        // or before one.
        (r"([.,])([^0-9])", " ${1} ${2}"),
        // So does a dash after a digit.
        (r"([0-9])(-)", "${1} ${2} "),
    ];
    rules.map(|(pattern, to)| (Regex::new(pattern).expect("the pattern is a regular expression"), to))
});

fn tokenized(text: &str) -> String {
    let text = text.trim_end_matches(ngram::is_python_space).replace("<skipped>", "").replace("-\n", "");
    let text = text.replace('\n', " ");
    let text = text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    RULES.iter().fold(format!(" {text} "), |text, (pattern, to)| pattern.replace_all(&text, *to).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_is_split_off_and_numbers_stay_whole() {
        let text = tokenized("Hello, \"world\"! It's 3.14, or 1-2 &amp; more.");
        let wanted =
            ["Hello", ",", "\"", "world", "\"", "!", "It's", "3.14", ",", "or", "1", "-", "2", "&", "more", "."];
        assert_eq!(tokens(&text), wanted);
    }

    #[test]
    fn equal_texts_score_one_and_strangers_zero() {
        assert!((Bleu::score("The cat sat on the mat.", "The cat sat on the mat.") - 1.0).abs() < 1e-12);
        assert_eq!(Bleu::score("Yes", "No"), 0.0);
        assert_eq!(Bleu::score("", "No"), 0.0);
        assert_eq!(Bleu::score("", ""), 0.0);
    }
}
