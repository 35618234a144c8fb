//! From text to a condition or an order. Errors name the place and what to write instead.
//!
//! ```text
//! or    := and { ("or" | "||") and }        and  := not { ("and" | "&&") not }
//! not   := ("not" | "!") not | "(" or ")" | test
//! test  := NAME "is" ["not"] "null" | NAME ["not"] "in" "(" VALUE {"," VALUE} ")"
//!        | NAME ("=" | "!=" | "<" | "<=" | ">" | ">=") VALUE
//!        | NAME ["not"] ("contains" | "~") TEXT | NAME ["not"] "matches" REGEX
//! ```

use std::ops::Range;

use regex::RegexBuilder;
use windrow_model::SyntaxError;
use windrow_model::gate::Comparison;
use windrow_model::item_query::lex::{Placed, Token, lex};
use windrow_model::suggest;
use windrow_model::view::filter;

use crate::query::name::{Kind, Name, Names};
use crate::query::{Condition, Grouping, Operand, Sort, Test};

/// Enough for any question a person asks; a bound for those a program makes.
const MAX_LENGTH: usize = 4_000;
const MAX_DEPTH: usize = 50;
/// Names of an order.
const MAX_KEYS: usize = 8;
const MAX_REGEX_BYTES: usize = 1 << 20;
const EXAMPLE: &str = "for example: outcome = fail and (latency_ms > 1000 or score.exact < 0.5)";
const COMPARISONS: &str = "one of = != < <= > >=, in (…), contains, matches, is null";

impl Condition {
    pub fn parse(text: &str, names: &Names) -> Result<Condition, SyntaxError> {
        if text.len() > MAX_LENGTH {
            let message = format!("the condition has {} bytes; the limit is {MAX_LENGTH}", text.len());
            return Err(SyntaxError::new(0..0, message, "use a shorter condition"));
        }
        let mut parser = Parser { tokens: lex(text)?, names, at: 0, end: text.len(), depth: 0 };
        let condition = parser.or()?;
        match parser.tokens.get(parser.at) {
            None => Ok(condition),
            Some(_) => Err(parser.expected("`and`, `or` or the end", "join conditions with and, or")),
        }
    }
}

impl Sort {
    /// `score.exact,-latency_ms`: the lowest score first, and among equal scores the highest latency.
    pub fn parse(text: &str, names: &Names) -> Result<Vec<Sort>, SyntaxError> {
        let commas = lex(text)?.into_iter().filter(|placed| placed.token == Token::Sign(","));
        let (mut keys, mut from) = (Vec::new(), 0);
        let end = text.len()..text.len();
        for at in commas.map(|placed| placed.at).chain(std::iter::once(end)) {
            keys.push(Self::key(text, from..at.start, names)?);
            from = at.end;
        }
        match keys.len() {
            0..=MAX_KEYS => Ok(keys),
            n => {
                let message = format!("the order has {n} names; the limit is {MAX_KEYS}");
                Err(SyntaxError::new(0..text.len(), message, "use fewer names"))
            }
        }
    }

    fn key(text: &str, at: Range<usize>, names: &Names) -> Result<Sort, SyntaxError> {
        let trimmed = text[at.clone()].trim();
        let (name, descending) = match trimmed.strip_prefix('-') {
            Some(name) => (name, true),
            None => (trimmed.strip_prefix('+').unwrap_or(trimmed), false),
        };
        let name = Name::parse(name, names).map_err(|error| SyntaxError { at, ..error })?;
        Ok(Sort { name, descending })
    }
}

impl Grouping {
    /// `field.lang`, or `latency_ms by 250` for ranges of this width.
    pub fn parse(text: &str, names: &Names) -> Result<Grouping, SyntaxError> {
        let tokens = lex(text)?;
        let [name, Placed { token: Token::Word(by), .. }, rest @ ..] = tokens.as_slice() else {
            return Ok(Grouping { name: Name::parse(text, names)?, width: None });
        };
        if !by.eq_ignore_ascii_case("by") {
            return Ok(Grouping { name: Name::parse(text, names)?, width: None });
        }
        let name = Name::parse(&text[..name.at.end], names)?;
        let width = match rest {
            [Placed { token: Token::Word(width), .. }] => width.parse::<f64>().ok(),
            _ => None,
        };
        let Some(width) = width.filter(|width| width.is_finite() && *width > 0.0) else {
            let at = rest.first().map_or(text.len()..text.len(), |first| first.at.start..text.len());
            return Err(SyntaxError::new(at, "expected a positive number", "for example: latency_ms by 250"));
        };
        if !matches!(name.kind(), Kind::Number | Kind::Time) {
            let message = format!("`{name}` is not a number and has no ranges");
            return Err(SyntaxError::new(0..text.len(), message, format!("group by its values: {name}")));
        }
        Ok(Grouping { name, width: Some(width) })
    }
}

impl Name {
    pub fn parse(text: &str, names: &Names) -> Result<Name, SyntaxError> {
        match lex(text)?.as_slice() {
            [Placed { token: Token::Word(name), at }] => {
                names.find(name).map_err(|(message, help)| SyntaxError::new(at.clone(), message, help))
            }
            _ => Err(SyntaxError::new(0..text.len(), "expected one name", "for example: score.exact or latency_ms")),
        }
    }
}

struct Parser<'a> {
    tokens: Vec<Placed>,
    names: &'a Names,
    at: usize,
    end: usize,
    depth: usize,
}

impl Parser<'_> {
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
            return Err(self.expected("less: conditions are nested too deeply", EXAMPLE));
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
        let Some(Placed { token: Token::Word(text), at }) = self.tokens.get(self.at).cloned() else {
            return Err(self.expected("a name", EXAMPLE));
        };
        let name = self.names.find(&text).map_err(|(message, help)| SyntaxError::new(at, message, help))?;
        self.at += 1;
        if self.keyword("is") {
            let negated = self.keyword("not");
            if !self.keyword("null") {
                return Err(self.expected("`null` or `not null`", "write: NAME is null"));
            }
            let null = Condition::Test { name, test: Test::IsNull };
            return Ok(if negated { Condition::Not(Box::new(null)) } else { null });
        }
        let negated = self.keyword("not");
        let test = if self.keyword("in") {
            Test::In(self.list(&name)?)
        } else if self.keyword("contains") || self.sign("~") {
            Test::Contains(self.text()?.to_lowercase())
        } else if self.keyword("matches") {
            self.pattern()?
        } else if negated {
            return Err(self.expected("`in`, `contains` or `matches`", "write: NAME not in (A, B)"));
        } else {
            self.comparison(&name)?
        };
        Ok(match negated {
            false => Condition::Test { name, test },
            true => known(&name).and(Condition::Not(Box::new(Condition::Test { name, test }))),
        })
    }

    fn list(&mut self, name: &Name) -> Result<Vec<Operand>, SyntaxError> {
        if !self.sign("(") {
            return Err(self.expected("a list in brackets", "write: NAME in (A, B)"));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.operand(name)?);
            if self.sign(")") {
                return Ok(values);
            }
            if !self.sign(",") {
                return Err(self.expected("`,` or `)`", "write: NAME in (A, B)"));
            }
        }
    }

    fn pattern(&mut self) -> Result<Test, SyntaxError> {
        let at = self.tokens.get(self.at).map_or(self.end..self.end, |placed| placed.at.clone());
        let text = self.text()?;
        let built = RegexBuilder::new(&text).multi_line(true).size_limit(MAX_REGEX_BYTES).build();
        built.map(Test::Matches).map_err(|error| {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            SyntaxError::new(at, format!("invalid regular expression: {last}"), "for example: output matches \"^Yes\"")
        })
    }

    fn comparison(&mut self, name: &Name) -> Result<Test, SyntaxError> {
        let comparison = match self.tokens.get(self.at).map(|placed| &placed.token) {
            Some(Token::Sign("=" | "==")) => Comparison::Equal,
            Some(Token::Sign("!=" | "<>")) => Comparison::Unequal,
            Some(Token::Sign("<")) => Comparison::Less,
            Some(Token::Sign("<=")) => Comparison::AtMost,
            Some(Token::Sign(">")) => Comparison::More,
            Some(Token::Sign(">=")) => Comparison::AtLeast,
            _ => return Err(self.expected("a comparison", COMPARISONS)),
        };
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if ordered && matches!(name.kind(), Kind::Word | Kind::Bool) {
            return Err(self.expected("`=` or `!=`", "words have no order; use = or !="));
        }
        self.at += 1;
        Ok(Test::Compare(comparison, self.operand(name)?))
    }

    fn word(&self) -> Result<String, SyntaxError> {
        match self.tokens.get(self.at).map(|placed| &placed.token) {
            Some(Token::Word(text) | Token::Text(text)) => Ok(text.clone()),
            _ => Err(self.expected("a value", "texts with spaces go in quotes")),
        }
    }

    fn text(&mut self) -> Result<String, SyntaxError> {
        let text = self.word()?;
        self.at += 1;
        Ok(text)
    }

    /// As the name needs it.
    fn operand(&mut self, name: &Name) -> Result<Operand, SyntaxError> {
        let text = self.word()?;
        let operand = match name.kind() {
            Kind::Number => Operand::Number(self.number(&text, "write it like 0.5 or 1000")?),
            Kind::Time => match text.parse::<jiff::Timestamp>() {
                Ok(time) => Operand::Number(time.as_millisecond() as f64),
                Err(_) => Operand::Number(self.number(&text, "a time like 2026-01-31T12:00:00Z")?),
            },
            _ => Operand::Text(self.closed(name, text)?),
        };
        self.at += 1;
        Ok(operand)
    }

    fn number(&self, text: &str, help: &str) -> Result<f64, SyntaxError> {
        text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| self.expected("a number", help))
    }

    /// A word of the list, where there is one.
    fn closed(&self, name: &Name, text: String) -> Result<String, SyntaxError> {
        if *name == Name::State
            && let Ok(state) = filter::item_state(&text)
        {
            return Ok(state.as_str().to_owned());
        }
        let words: Vec<&str> = match name {
            Name::Variant => self.names.variants.iter().map(String::as_str).collect(),
            name => match name.words() {
                Some(words) => words,
                None => return Ok(text),
            },
        };
        if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(&text)) {
            return Ok((*word).to_owned());
        }
        let near = suggest::nearest(&text, words.iter().copied());
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let message = format!("a value that `{name}` can have, not `{text}`");
        Err(self.expected(&message, &format!("{near}use one of {}", words.join(", "))))
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at),
            Some(Placed { token: Token::Word(text), .. }) if text.eq_ignore_ascii_case(word));
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

fn known(name: &Name) -> Condition {
    Condition::Not(Box::new(Condition::Test { name: name.clone(), test: Test::IsNull }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            evaluators: vec!["exact".into(), "my judge".into()],
            fields: [("lang".to_owned(), Kind::Text), ("size".to_owned(), Kind::Number)].into(),
            variants: vec!["gpt.short".into()],
            ..Names::default()
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_a_suggestion() {
        let cases = [
            ("", 0, "expected a name", "for example"),
            ("score.exacct < 1", 0, "unknown name `score.exacct`", "did you mean `score.exact`?"),
            ("tries > 1 and lang = de", 14, "unknown name `lang`", "did you mean `field.lang`?"),
            ("exact < 1", 0, "unknown name `exact`", "did you mean `score.exact`?"),
            ("delta.exact < 0", 0, "`delta.exact` needs a baseline", "vs"),
            ("outcome = fial", 10, "expected a value that `outcome` can have, not `fial`", "did you mean `fail`?"),
            ("variant = gpt.shrot", 10, "expected a value that `variant` can have", "gpt.short"),
            ("latency_ms > fast", 13, "expected a number", "0.5"),
            ("state < failed", 6, "expected `=` or `!=`", "="),
            ("(tries > 1", 10, "expected a closing bracket", ")"),
            ("tries > 1 tries < 3", 10, "expected `and`, `or` or the end", "and"),
            ("output matches \"(\"", 15, "invalid regular expression", "matches"),
            ("output contains", 15, "expected a value", "quotes"),
            ("score.exact is empty", 15, "expected `null` or `not null`", "null"),
            ("field.size not 3", 15, "expected `in`, `contains` or `matches`", "in"),
        ];
        for (text, at, message, help) in cases {
            let error = Condition::parse(text, &names()).unwrap_err();
            assert_eq!(error.at.start, at, "{text}: {error}");
            assert!(error.message.contains(message) && error.help.contains(help), "{text}: {error:?}");
        }
        assert!(Condition::parse(&"(".repeat(3000), &names()).unwrap_err().message.contains("nested"));
        assert!(Condition::parse(&"x".repeat(5000), &names()).is_err());
        assert!(Sort::parse("a b", &names()).is_err() && Sort::parse("", &names()).is_err());
    }

    #[test]
    fn words_of_one_meaning_are_one_and_names_may_be_quoted() {
        for text in ["state = fail", "STATE == Failed", "verdict.\"my judge\" != pass", "field.size in (1, 2.5)"] {
            Condition::parse(text, &names()).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        let sort = Sort::parse("-score.my judge", &names());
        assert!(sort.is_err());
        let key = |name, descending| Sort { name, descending };
        assert_eq!(
            Sort::parse("-score.exact, row,+score.\"my judge\"", &names()).unwrap(),
            [key(Name::Score("exact".into()), true), key(Name::Row, false), key(Name::Score("my judge".into()), false)]
        );
        let error = Sort::parse("row,-latency", &names()).unwrap_err();
        assert_eq!((error.at, error.help.as_str()), (4..12, "did you mean `latency_ms`?"));
        assert!(Sort::parse("row,", &names()).is_err() && Sort::parse(&["row"; 9].join(","), &names()).is_err());
    }

    #[test]
    fn numbers_are_grouped_in_ranges_of_a_width() {
        let by = |name, width| Grouping { name, width };
        assert_eq!(Grouping::parse("latency_ms BY 250", &names()).unwrap(), by(Name::LatencyMs, Some(250.0)));
        assert_eq!(Grouping::parse(" outcome ", &names()).unwrap(), by(Name::Outcome, None));
        let cases = [
            ("latency_ms by", "expected a positive number"),
            ("latency_ms by 0", "expected a positive number"),
            ("latency_ms by 2 3", "expected a positive number"),
            ("outcome by 2", "`outcome` is not a number and has no ranges"),
            ("latencyms by 2", "unknown name `latencyms`"),
            ("outcome latency_ms", "expected one name"),
        ];
        for (text, message) in cases {
            let error = Grouping::parse(text, &names()).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
        }
    }
}
