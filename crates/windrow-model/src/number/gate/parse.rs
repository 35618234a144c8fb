//! From text to a gate: `METRIC COMPARISON BOUND [at LEVEL]`. Errors name the place
//! in the text and what to write instead.

use std::ops::Range;

use super::measure::{Measure, Metric, RunMeasure};
use super::quantity::{Dimension, Quantity, Unit, split};
use super::{Bound, Comparison, Gate};
use crate::suggest::nearest;
use crate::syntax_error::SyntaxError;

const BASELINE: &str = "baseline";
const EXAMPLE: &str = "for example: exact.mean >= 0.9";
const NO_REGRESSION: &str = " no regression";
/// A drop of the mean that is not yet called a regression.
const MARGIN: &str = "0.05";
const LEVELS: Range<f64> = 0.5..0.9999;

impl Gate {
    pub fn parse(text: &str) -> Result<Gate, SyntaxError> {
        match text.split_once(NO_REGRESSION) {
            Some((name, rest)) => Gate::of_no_regression(text, name.trim(), rest),
            None => Gate::parse_plain(text),
        }
    }

    /// `exact no regression by 0.02 at 95%` is `exact.mean >= baseline - 0.02 at 95%`: passed if the whole interval of the
    /// paired difference is above -0.02, failed if all of it is below, else undecided.
    fn of_no_regression(text: &str, name: &str, rest: &str) -> Result<Gate, SyntaxError> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (margin, level) = match words.as_slice() {
            [] => (MARGIN, "95%"),
            ["by", margin] => (*margin, "95%"),
            ["at", level] => (MARGIN, *level),
            ["by", margin, "at", level] => (*margin, *level),
            _ => {
                let help = "for example: exact no regression by 0.02 at 95%";
                return Err(SyntaxError::new(text.len() - rest.len()..text.len(), "expected `by` or `at`", help));
            }
        };
        let metric = if names_metric(name) { name.to_owned() } else { format!("{name}.mean") };
        let plain = format!("{metric} >= baseline - {margin} at {level}");
        let whole = |error: SyntaxError| SyntaxError::new(0..text.len(), error.message, error.help);
        Ok(Gate { text: text.trim().to_owned(), ..Gate::parse_plain(&plain).map_err(whole)? })
    }

    fn parse_plain(text: &str) -> Result<Gate, SyntaxError> {
        let mut reader = Reader { text, at: 0 };
        let metric = reader.metric()?;
        let comparison = reader.comparison()?;
        let (bound, against) = reader.bound(metric.dimension())?;
        let level = reader.level()?;
        let gate = Gate { text: text.trim().to_owned(), metric, comparison, bound, against, level };
        gate.check_level(text)?;
        Ok(gate)
    }

    /// Whether the experiment has what the gate asks about.
    pub fn check(&self, evaluators: &[&str], trials: u32) -> Result<(), SyntaxError> {
        self.check_metric(&self.metric, 0, evaluators, trials)?;
        let Some(against) = &self.against else { return Ok(()) };
        let at = self.text.find(['<', '>', '=', '!']).unwrap_or(0);
        let at = at + self.text[at..].find(char::is_alphanumeric).unwrap_or(0);
        self.check_metric(against, at, evaluators, trials)
    }

    fn check_metric(&self, metric: &Metric, from: usize, evaluators: &[&str], trials: u32) -> Result<(), SyntaxError> {
        let Metric::Evaluator { name, measure } = metric else { return Ok(()) };
        if !evaluators.contains(&name.as_str()) {
            let message = format!("unknown evaluator `{name}`");
            let help = match (nearest(name, evaluators.iter().copied()), evaluators) {
                (Some(meant), _) => format!("did you mean `{meant}`?"),
                (None, []) => "the job file has no evaluators".to_owned(),
                (None, known) => format!("the evaluators are: {}", known.join(", ")),
            };
            return Err(SyntaxError::new(from..from + name.len(), message, help));
        }
        if let Some(k) = measure.trials().filter(|k| *k > trials) {
            let message = format!("this needs {k} trials of every row, and there {} {trials}", are(trials));
            let behind = &self.text[from..];
            let at = from + name.len() + 1..from + behind.find(char::is_whitespace).unwrap_or(behind.len());
            return Err(SyntaxError::new(at, message, format!("add `trials: {k}` to the job file")));
        }
        Ok(())
    }

    fn check_level(&self, text: &str) -> Result<(), SyntaxError> {
        if self.level.is_none() {
            return Ok(());
        }
        let refuse = |message: &str, help: &str| Err(SyntaxError::new(0..text.len(), message, help));
        if self.against.as_ref().is_some_and(|other| !self.metric.is_paired_with(other)) {
            let help =
                "with `at`, compare the mean or pass_rate of two variants under one evaluator; or leave `at` out";
            return refuse("these two numbers cannot be paired row by row", help);
        }
        if matches!(self.comparison, Comparison::Equal | Comparison::Unequal) {
            return refuse("equality cannot be decided with confidence", "compare with >= or <=, or leave `at` out");
        }
        if !self.metric.has_interval() {
            return refuse(
                "this number has no confidence interval",
                "`at` goes with mean, pass_rate, pass@k, pass^k and errors; leave it out here",
            );
        }
        let counted = matches!(self.bound, Bound::Fixed(Quantity { unit: Unit::Number, .. }));
        if counted && self.metric == Metric::Run(RunMeasure::Failed) {
            return refuse("a count has no confidence interval", "give a share, like errors < 1% at 95%");
        }
        if let Bound::Baseline { factor, .. } = self.bound
            && (!self.metric.pairs_rows() || factor != 1.0)
        {
            return refuse(
                "this difference has no confidence interval",
                "with `at`, compare mean or pass_rate with `baseline`, `baseline - x` or `baseline + x`, or with the same \
                 number of another variant",
            );
        }
        Ok(())
    }
}

fn are(n: u32) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn names_metric(word: &str) -> bool {
    RunMeasure::of(word).is_some() || word.rsplit_once('.').is_some_and(|(_, field)| Measure::of(field).is_some())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].trim_end()
    }

    fn refuse<T>(&self, length: usize, message: impl Into<String>, help: impl Into<String>) -> Result<T, SyntaxError> {
        let end = (self.at + length).min(self.text.len());
        Err(SyntaxError::new(self.at..end, message, help))
    }

    fn metric(&mut self) -> Result<Metric, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || "<>=!".contains(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        if word.is_empty() {
            return self.refuse(rest.len(), "a gate begins with a metric", EXAMPLE);
        }
        let metric = match (RunMeasure::of(word), word.rsplit_once('.')) {
            (Some(measure), _) => Metric::Run(measure),
            (None, Some((name, field))) => match Measure::of(field) {
                Some(measure) if !name.is_empty() => Metric::Evaluator { name: name.to_owned(), measure },
                _ => return self.unknown(word, field),
            },
            (None, None) => return self.unknown(word, word),
        };
        self.at += end;
        Ok(metric)
    }

    fn unknown<T>(&self, word: &str, field: &str) -> Result<T, SyntaxError> {
        let of_run = nearest(word, RunMeasure::names()).map(str::to_owned);
        let name = word.rsplit_once('.').map(|(name, _)| name);
        let of_evaluator = nearest(field, Measure::names()).zip(name).map(|(meant, name)| format!("{name}.{meant}"));
        let list = Measure::names().map(|measure| format!("NAME.{measure}")).collect::<Vec<_>>().join(", ");
        let help = match of_evaluator.or(of_run) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are {list}; {}", RunMeasure::names().collect::<Vec<_>>().join(", ")),
        };
        self.refuse(word.len(), format!("unknown metric `{word}`"), help)
    }

    fn comparison(&mut self) -> Result<Comparison, SyntaxError> {
        let rest = self.rest();
        match Comparison::ALL.iter().find(|(sign, _)| rest.starts_with(sign)) {
            Some((sign, comparison)) => {
                self.at += sign.len();
                Ok(*comparison)
            }
            None => self.refuse(1, "a comparison is expected here", "write one of < <= > >= == !="),
        }
    }

    fn bound(&mut self, dimension: Dimension) -> Result<(Bound, Option<Metric>), SyntaxError> {
        let rest = self.rest();
        let baseline = rest.strip_prefix(BASELINE).filter(|after| !after.starts_with(char::is_alphanumeric));
        let against = match baseline {
            Some(_) => {
                self.at += BASELINE.len();
                None
            }
            None if rest.starts_with(char::is_alphabetic)
                && rest.split_whitespace().next().is_some_and(names_metric) =>
            {
                let (at, other) = (self.at, self.metric()?);
                if other.dimension() != dimension {
                    let message = "the two numbers of a gate must be of the same kind";
                    return Err(SyntaxError::new(at..self.at, message, "compare, for example, a mean with a mean"));
                }
                Some(other)
            }
            None => return Ok((self.quantity(dimension).map(Bound::Fixed)?, None)),
        };
        Ok((self.moved(dimension)?, against))
    }

    /// What follows a number that the bound is relative to: `- 0.01`, `* 1.1` or nothing.
    fn moved(&mut self, dimension: Dimension) -> Result<Bound, SyntaxError> {
        let sign = self.rest().chars().next().filter(|sign| matches!(sign, '+' | '-' | '*'));
        let Some(sign) = sign else { return Ok(Bound::Baseline { factor: 1.0, shift: 0.0 }) };
        self.at += sign.len_utf8();
        self.rest();
        if sign == '*' {
            let factor = self.quantity(Dimension::Score)?.value;
            return Ok(Bound::Baseline { factor, shift: 0.0 });
        }
        let (at, amount) = (self.at, self.quantity(dimension)?);
        if dimension == Dimension::Count && amount.unit == Unit::Share {
            let message = "a count cannot be moved by a share";
            return Err(SyntaxError::new(at..self.at, message, "write a count, or baseline * 1.1"));
        }
        let shift = if sign == '-' { -amount.value } else { amount.value };
        Ok(Bound::Baseline { factor: 1.0, shift })
    }

    fn quantity(&mut self, dimension: Dimension) -> Result<Quantity, SyntaxError> {
        let rest = self.rest();
        let negative = rest.starts_with('-');
        let unsigned = rest.strip_prefix('-').unwrap_or(rest);
        let (dollars, digits, suffix) = split(unsigned);
        let length = usize::from(negative) + usize::from(dollars) + digits.len() + suffix.len();
        let word = rest.split_whitespace().next().unwrap_or("");
        match Quantity::read(unsigned, dimension) {
            Ok(quantity) => {
                self.at += length;
                let value = if negative { -quantity.value } else { quantity.value };
                Ok(Quantity { value, ..quantity })
            }
            Err(help) if word.is_empty() => self.refuse(1, "the bound is missing", help),
            Err(help) => self.refuse(word.len(), format!("`{word}` does not fit here"), help),
        }
    }

    fn level(&mut self) -> Result<Option<f64>, SyntaxError> {
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(None);
        }
        const HELP: &str = "a gate ends with its bound, or with a level like `at 95%`";
        let Some(level) = rest.strip_prefix("at").filter(|after| after.starts_with(char::is_whitespace)) else {
            return self.refuse(rest.len(), format!("`{rest}` is not expected here"), HELP);
        };
        self.at += rest.len() - level.trim_start().len();
        let level = level.trim();
        let read = Quantity::read(level, Dimension::Score).ok().filter(|read| LEVELS.contains(&read.value));
        let (_, digits, suffix) = split(level);
        match read {
            Some(read) if digits.len() + suffix.len() == level.len() => Ok(Some(read.value)),
            _ => self.refuse(level.len(), format!("`{level}` is not a level of confidence"), "write it like `at 95%`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Gate {
        Gate::parse(text).unwrap_or_else(|error| panic!("{text}: {error} ({})", error.help))
    }

    #[test]
    fn no_regression_is_a_bound_on_the_paired_difference() {
        let plain = parse("exact.mean >= baseline - 0.02 at 99%");
        let short = parse("exact no regression by 0.02 at 99%");
        assert_eq!(Gate { text: String::new(), ..short.clone() }, Gate { text: String::new(), ..plain });
        assert_eq!(short.text, "exact no regression by 0.02 at 99%");
        let usual = parse("exact.pass_rate >= baseline - 0.05 at 95%");
        assert_eq!(parse("exact.pass_rate no regression at 95%").bound, usual.bound);
        assert!(short.compares_rows());
        assert!(Gate::parse("exact no regression of 3").is_err() && Gate::parse("exact no regression at 3").is_err());
    }

    #[test]
    fn gates_are_read_as_people_write_them() {
        for (text, value) in [
            ("exact.mean >= 0.9", 0.9),
            ("exact.pass_rate > 80%", 0.8),
            ("errors < 1%", 0.01),
            ("failed == 0", 0.0),
            ("latency.p90 < 2s", 2000.0),
            ("cost<$5", 5.0),
            ("tokens.total < 1M", 1e6),
            ("tokens.in <= 12_500", 12_500.0),
            ("exact.pass@3 >= 0.9", 0.9),
            ("my.judge-2.pass^2 >= .5", 0.5),
            ("judge.skipped < 5%", 0.05),
            ("numeric.min > -1.5", -1.5),
            ("latency.mean >= 0.5", 0.5),
        ] {
            let Bound::Fixed(quantity) = parse(text).bound else { panic!("{text}") };
            assert!((quantity.value - value).abs() < 1e-12, "{text}: {}", quantity.value);
        }
        assert_eq!(parse("judge.mean >= baseline - 0.02").bound, Bound::Baseline { factor: 1.0, shift: -0.02 });
        assert_eq!(parse("latency.p90 <= baseline * 1.2").bound, Bound::Baseline { factor: 1.2, shift: 0.0 });
        assert_eq!(parse("judge.mean >= baseline").bound, Bound::Baseline { factor: 1.0, shift: 0.0 });
        assert_eq!(parse("exact.mean >= 0.9 at 95%").level, Some(0.95));
        let evaluator = Metric::Evaluator { name: "latency".into(), measure: Measure::Mean };
        assert_eq!(parse("latency.mean >= 0.5").metric, evaluator);
    }

    /// Place, message and remedy of everything that can be wrong.
    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, place, help) in [
            ("", "", "exact.mean >= 0.9"),
            ("exact.maen >= 1", "exact.maen", "exact.mean"),
            ("latncy.p90 < 2s", "latncy.p90", "latency.p90"),
            ("exact.mean 0.9", "0", "< <= > >="),
            ("exact.mean >=", "", "like 0.9"),
            ("latency.p90 < 2", "2", "unit"),
            ("cost < 5s", "5s", "$5"),
            ("tokens.total < 5%", "5%", "1M"),
            ("exact.mean >= 0.9 at 95", "95", "at 95%"),
            ("exact.mean >= 0.9 or so", "or so", "at 95%"),
            ("exact.mean == 0.9 at 95%", "exact.mean == 0.9 at 95%", ">="),
            ("latency.p90 < 2s at 95%", "latency.p90 < 2s at 95%", "leave it out"),
            ("errors < 3 at 95%", "errors < 3 at 95%", "1%"),
            ("cost <= baseline - 3%", "3%", "$5"),
            ("failed <= baseline + 3%", "3%", "count"),
        ] {
            let error = Gate::parse(text).unwrap_err();
            assert_eq!(&text[error.at.clone()], place, "{text}: {error:?}");
            assert!(error.help.contains(help), "{text}: {error:?}");
        }
    }

    #[test]
    fn evaluators_and_trials_are_checked() {
        let error = parse("exakt.mean > 0.5").check(&["exact", "regex"], 1).unwrap_err();
        assert!(error.help.contains("did you mean `exact`"), "{error:?}");
        let error = parse("exact.pass@3 > 0.5").check(&["exact"], 1).unwrap_err();
        assert_eq!((error.at, error.help.as_str()), (6..12, "add `trials: 3` to the job file"));
        assert_eq!(parse("exact.pass@3 > 0.5").check(&["exact"], 3), Ok(()));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_point_outside(text in "[ a-z.@^<>=!$%*0-9é+_-]{0,40}") {
            if let Err(error) = Gate::parse(&text) {
                prop_assert!(text.get(error.at.clone()).is_some(), "{:?} of {text:?}", error.at);
                prop_assert!(!error.help.is_empty());
            }
        }

        #[test]
        fn spaces_do_not_matter(name in "[a-z][a-z0-9_-]{0,8}", bound in 0u32..1000, level in prop::bool::ANY) {
            let tail = if level { " at 95%" } else { "" };
            let wide = parse(&format!("  {name}.mean   >=  0.{bound:03} {tail} "));
            let tight = parse(&format!("{name}.mean>=0.{bound:03}{tail}"));
            prop_assert_eq!((wide.metric, wide.bound, wide.level), (tight.metric, tight.bound, tight.level));
        }
    }
}
