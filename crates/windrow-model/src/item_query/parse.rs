//! From text to a condition or an order. Errors name the place and what to write instead.
//!
//! ```text
//! or    := and { ("or" | "||") and }        and  := not { ("and" | "&&") not }
//! not   := ("not" | "!") not | "(" or ")" | test
//! test  := FIELD "is" ["not"] "null" | FIELD ["not"] "in" "(" VALUE {"," VALUE} ")"
//!        | FIELD ("=" | "!=" | "<" | "<=" | ">" | ">=" | "~") VALUE
//! ```

use std::ops::Range;

use super::Condition;
use super::field::{Field, MESSAGE, SCORE, Sort, VERDICT};
use super::lex::{Placed, Token, lex};
use crate::number::gate::Comparison;
use crate::step::Verdict;
use crate::syntax_error::SyntaxError;

/// Enough for any question a person asks; a bound for those a program makes.
const MAX_LENGTH: usize = 4_000;
const MAX_DEPTH: usize = 50;
const EXAMPLE: &str = "for example: state = failed and (latency_ms > 1000 or score.exact < 0.5)";

impl Condition {
    pub fn parse(text: &str) -> Result<Condition, SyntaxError> {
        if text.len() > MAX_LENGTH {
            let message = format!("the condition has {} bytes, and at most {MAX_LENGTH} are taken", text.len());
            return Err(SyntaxError::new(0..0, message, "ask for less at a time"));
        }
        let mut parser = Parser { tokens: lex(text)?, at: 0, end: text.len(), depth: 0 };
        let condition = parser.or()?;
        match parser.tokens.get(parser.at) {
            None => Ok(condition),
            Some(more) => {
                Err(SyntaxError::new(more.at.clone(), "nothing is expected here", "join conditions with and, or"))
            }
        }
    }
}

impl Sort {
    /// `latency_ms`, or `-score.exact` for the highest first.
    pub fn parse(text: &str) -> Result<Sort, SyntaxError> {
        let trimmed = text.trim();
        let (name, descending) = match trimmed.strip_prefix('-') {
            Some(name) => (name, true),
            None => (trimmed.strip_prefix('+').unwrap_or(trimmed), false),
        };
        let at = 0..text.len();
        let tokens = lex(name).map_err(|error| SyntaxError { at: at.clone(), ..error })?;
        match tokens.as_slice() {
            [Placed { token: Token::Word(name), .. }] => match subject(name, &at)? {
                Subject::Number(field) => Ok(Sort { field, descending }),
                Subject::Verdict(_) | Subject::Message => Err(SyntaxError::new(
                    at,
                    format!("items cannot be sorted by {name}"),
                    "sort by score.NAME or a field",
                )),
            },
            _ => Err(SyntaxError::new(at, "an order is one field", "for example: -score.exact or latency_ms")),
        }
    }
}

enum Subject {
    Number(Field),
    Verdict(String),
    Message,
}

fn subject(name: &str, at: &Range<usize>) -> Result<Subject, SyntaxError> {
    if let Some((head, evaluator)) = name.split_once('.')
        && !evaluator.is_empty()
    {
        match head.to_ascii_lowercase().as_str() {
            SCORE => return Ok(Subject::Number(Field::Score(evaluator.to_owned()))),
            VERDICT => return Ok(Subject::Verdict(evaluator.to_owned())),
            _ => {}
        }
    }
    if name.eq_ignore_ascii_case(MESSAGE) {
        return Ok(Subject::Message);
    }
    match Field::named(name) {
        Some(field) => Ok(Subject::Number(field)),
        None => {
            let message = format!("unknown field `{name}`");
            Err(SyntaxError::new(at.clone(), message, format!("the fields are: {}", Field::list())))
        }
    }
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    end: usize,
    depth: usize,
}

impl Parser {
    fn or(&mut self) -> Result<Condition, SyntaxError> {
        let mut condition = self.and()?;
        while self.keyword("or") || self.sign("||") {
            condition = Condition::Or(Box::new(condition), Box::new(self.and()?));
        }
        Ok(condition)
    }

    fn and(&mut self) -> Result<Condition, SyntaxError> {
        let mut condition = self.not()?;
        while self.keyword("and") || self.sign("&&") {
            condition = condition.and(self.not()?);
        }
        Ok(condition)
    }

    fn not(&mut self) -> Result<Condition, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.expected("less: this is nested too deeply", EXAMPLE));
        }
        let condition = if self.keyword("not") || self.sign("!") {
            Condition::Not(Box::new(self.not()?))
        } else if self.sign("(") {
            let inner = self.or()?;
            if !self.sign(")") {
                return Err(self.expected("a closing bracket", "close it with )"));
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition, SyntaxError> {
        let Some(Placed { token: Token::Word(name), at }) = self.tokens.get(self.at).cloned() else {
            return Err(self.expected("a field", &format!("{EXAMPLE}; the fields are: {}", Field::list())));
        };
        self.at += 1;
        let subject = subject(&name, &at)?;
        if self.keyword("is") {
            return self.null(subject);
        }
        let negated = self.keyword("not");
        if self.keyword("in") {
            let condition = self.one_of(&subject)?;
            return Ok(if negated { known(&subject).and(Condition::Not(Box::new(condition))) } else { condition });
        }
        if negated {
            return Err(self.expected("`in`", "write: FIELD not in (A, B)"));
        }
        self.comparison(&subject)
    }

    fn null(&mut self, subject: Subject) -> Result<Condition, SyntaxError> {
        let negated = self.keyword("not");
        if !self.keyword("null") {
            return Err(self.expected("`null` or `not null`", "write: FIELD is null"));
        }
        let is_known = known(&subject);
        Ok(if negated { is_known } else { Condition::Not(Box::new(is_known)) })
    }

    fn one_of(&mut self, subject: &Subject) -> Result<Condition, SyntaxError> {
        if !self.sign("(") {
            return Err(self.expected("a list in brackets", "write: FIELD in (A, B)"));
        }
        let mut tests = Vec::new();
        loop {
            tests.push(self.value(subject)?);
            if self.sign(")") {
                break;
            }
            if !self.sign(",") {
                return Err(self.expected("`,` or `)`", "write: FIELD in (A, B)"));
            }
        }
        Ok(match subject {
            Subject::Number(field) => {
                let values = tests.into_iter().filter_map(|value| value.number()).collect();
                Condition::In { field: field.clone(), values }
            }
            Subject::Verdict(evaluator) => {
                let any_of = tests.into_iter().filter_map(|value| value.verdict()).collect();
                Condition::Verdict { evaluator: evaluator.clone(), any_of }
            }
            Subject::Message => return Err(self.expected("`~` after `message`", "write: message ~ \"part of it\"")),
        })
    }

    fn comparison(&mut self, subject: &Subject) -> Result<Condition, SyntaxError> {
        let sign = match self.tokens.get(self.at).map(|placed| &placed.token) {
            Some(Token::Sign(sign)) => *sign,
            _ => return Err(self.expected("a comparison", "one of = != < <= > >=, `in (…)`, `is null`")),
        };
        let comparison = match sign {
            "=" | "==" => Comparison::Equal,
            "!=" | "<>" => Comparison::Unequal,
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            ">" => Comparison::More,
            ">=" => Comparison::AtLeast,
            "~" if matches!(subject, Subject::Message) => Comparison::Equal,
            _ => return Err(self.expected("a comparison", "one of = != < <= > >=, `in (…)`, `is null`")),
        };
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        let has_order = matches!(subject, Subject::Number(field) if field.words().is_none());
        if (ordered && !has_order) || (matches!(subject, Subject::Message) && sign != "~") {
            let help =
                if matches!(subject, Subject::Message) { "write: message ~ \"part of it\"" } else { "use = or !=" };
            return Err(self.expected("another comparison", help));
        }
        self.at += 1;
        let value = self.value(subject)?;
        Ok(match (subject, value) {
            (Subject::Message, Value::Text(part)) => Condition::Message(part),
            (Subject::Verdict(evaluator), Value::Verdict(verdict)) => {
                let has = Condition::Verdict { evaluator: evaluator.clone(), any_of: vec![verdict] };
                match comparison {
                    Comparison::Unequal => known(subject).and(Condition::Not(Box::new(has))),
                    _ => has,
                }
            }
            (Subject::Number(field), Value::Number(value)) => {
                Condition::Compare { field: field.clone(), comparison, value }
            }
            _ => unreachable!("a value is read as its subject needs it"),
        })
    }

    /// As the subject needs it.
    fn value(&mut self, subject: &Subject) -> Result<Value, SyntaxError> {
        let text = match self.tokens.get(self.at).map(|placed| &placed.token) {
            Some(Token::Word(text) | Token::Text(text)) => text.clone(),
            _ => return Err(self.expected("a value", "texts with spaces go in quotes")),
        };
        let value = match subject {
            Subject::Message => Value::Text(text),
            Subject::Verdict(_) => match text.to_ascii_lowercase().parse() {
                Ok(verdict) => Value::Verdict(verdict),
                Err(_) => {
                    let words: Vec<&str> = Verdict::ALL.iter().map(|word| word.as_str()).collect();
                    return Err(self.expected("a verdict", &format!("one of {}", words.join(", "))));
                }
            },
            Subject::Number(field) => Value::Number(self.number(field, &text)?),
        };
        self.at += 1;
        Ok(value)
    }

    fn number(&self, field: &Field, text: &str) -> Result<f64, SyntaxError> {
        if let Some(words) = field.words() {
            let place = words.iter().position(|word| word.eq_ignore_ascii_case(text));
            return place.map(|place| place as f64).ok_or_else(|| {
                self.expected(&format!("a word it can be, not `{text}`"), &format!("one of {}", words.join(", ")))
            });
        }
        if *field == Field::FinishedAt
            && let Ok(time) = text.parse::<jiff::Timestamp>()
        {
            return Ok(time.as_millisecond() as f64);
        }
        let help = match field {
            Field::FinishedAt => "a time like 2026-01-31T12:00:00Z",
            _ => "write it like 0.5 or 1000",
        };
        text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| self.expected("a number", help))
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Placed { token: Token::Word(text), .. }) if text.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let found =
            matches!(self.tokens.get(self.at), Some(Placed { token: Token::Sign(sign), .. }) if *sign == wanted);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str, help: &str) -> SyntaxError {
        let at = self.tokens.get(self.at).map_or(self.end..self.end, |placed| placed.at.clone());
        SyntaxError::new(at, format!("expected {what}"), help)
    }
}

enum Value {
    Number(f64),
    Verdict(Verdict),
    Text(String),
}

impl Value {
    fn number(self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn verdict(self) -> Option<Verdict> {
        match self {
            Value::Verdict(verdict) => Some(verdict),
            _ => None,
        }
    }
}

/// There is something to compare with.
fn known(subject: &Subject) -> Condition {
    match subject {
        Subject::Number(field) => Condition::Not(Box::new(Condition::IsNull(field.clone()))),
        Subject::Verdict(evaluator) => {
            Condition::Verdict { evaluator: evaluator.clone(), any_of: Verdict::ALL.to_vec() }
        }
        Subject::Message => Condition::Not(Box::new(Condition::IsNull(Field::Error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(field: Field, comparison: Comparison, value: f64) -> Condition {
        Condition::Compare { field, comparison, value }
    }

    #[test]
    fn and_binds_more_than_or_and_brackets_most() {
        let state = || compare(Field::State, Comparison::Equal, 2.0);
        let slow = || compare(Field::LatencyMs, Comparison::More, 1000.0);
        let low = || compare(Field::Score("exact".into()), Comparison::Less, 0.5);
        let or = |a, b| Condition::Or(Box::new(a), Box::new(b));
        assert_eq!(
            Condition::parse("state=failed or score.exact<0.5 and latency_ms>1000"),
            Ok(or(state(), low().and(slow())))
        );
        assert_eq!(
            Condition::parse("(STATE = Failed OR score.exact < .5) AND latency_ms > 1e3"),
            Ok(or(state(), low()).and(slow()))
        );
        assert_eq!(Condition::parse("not not state == failed").unwrap(), {
            Condition::Not(Box::new(Condition::Not(Box::new(state()))))
        });
    }

    #[test]
    fn words_lists_verdicts_and_texts_are_understood() {
        assert_eq!(
            Condition::parse("error in (timeout, 'server')"),
            Ok(Condition::In { field: Field::Error, values: vec![1.0, 3.0] })
        );
        assert_eq!(
            Condition::parse("verdict.\"my judge\" = error"),
            Ok(Condition::Verdict { evaluator: "my judge".into(), any_of: vec![Verdict::Error] })
        );
        assert_eq!(Condition::parse("message ~ \"a \\\"b\\\"\""), Ok(Condition::Message("a \"b\"".into())));
        assert_eq!(
            Condition::parse("finished_at >= 1970-01-01T00:00:01Z"),
            Ok(compare(Field::FinishedAt, Comparison::AtLeast, 1000.0))
        );
        let sort = Sort::parse("-score.exact@1.2").unwrap();
        assert_eq!((sort.field, sort.descending), (Field::Score("exact@1.2".into()), true));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let cases = [
            ("", 0, "expected a field"),
            ("colour = red", 0, "unknown field `colour`"),
            ("state = failing", 8, "expected a word it can be, not `failing`"),
            ("latency_ms > fast", 13, "expected a number"),
            ("state < failed", 6, "expected another comparison"),
            ("message = x", 8, "expected another comparison"),
            ("(state = failed", 15, "expected a closing bracket"),
            ("state = failed tries > 1", 15, "nothing is expected here"),
            ("state = \"failed", 8, "this quote is not closed"),
            ("state ; failed", 6, "this has no meaning here"),
            ("score.exact is empty", 15, "expected `null` or `not null`"),
            ("verdict.exact = good", 16, "expected a verdict"),
        ];
        for (text, at, message) in cases {
            let error = Condition::parse(text).unwrap_err();
            assert_eq!((error.at.start, error.message.as_str()), (at, message), "{text}");
            assert!(!error.help.is_empty(), "{text}");
        }
        assert!(Condition::parse(&"(".repeat(3000)).unwrap_err().message.contains("nested"));
        assert!(Condition::parse(&"x".repeat(5000)).is_err());
        assert!(Sort::parse("verdict.exact").is_err() && Sort::parse("a b").is_err() && Sort::parse("").is_err());
    }
}
