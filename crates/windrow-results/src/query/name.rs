//! What can be asked for, sorted and grouped by.

use std::collections::BTreeMap;
use std::fmt;

use windrow_model::ErrorClass;
use windrow_model::label::NOTE;
use windrow_model::state::ItemState;
use windrow_model::step::Verdict;
use windrow_model::suggest;

use crate::row::{EXPECTED, RowOutcome};

windrow_model::vocabulary! {
    pub enum Kind {
        #[doc = "A number."]
        Number = "number",
        #[doc = "Any text."]
        Text = "text",
        #[doc = "One of a few words."]
        Word = "word",
        #[doc = "A time."]
        Time = "time",
        #[doc = "True or false."]
        Bool = "bool",
    }
}

/// How a score changed from the baseline.
pub const CHANGES: [&str; 3] = ["improved", "same", "regressed"];
const BOOL: [&str; 2] = ["false", "true"];

macro_rules! names {
    ($($variant:ident $text:literal $kind:ident),+) => {
        #[derive(Debug, Clone, PartialEq)]
        pub enum Name {
            $($variant,)+
            OutputOf(String),
            Field(String, Kind),
            Score(String),
            Verdict(String),
            Reason(String),
            Delta(String),
            Change(String),
            BaselineScore(String),
            Label(String),
            Corrected(String),
        }

        /// The names that every table has.
        const FIXED: &[(Name, &str, Kind)] = &[$((Name::$variant, $text, Kind::$kind)),+];
    };
}

names! {
    Id "id" Number, Row "row" Number, Key "key" Text, Variant "variant" Word, Target "target" Word,
    Prompt "prompt" Word, Trial "trial" Number, State "state" Word, Outcome "outcome" Word, Run "run" Number,
    Error "error" Word, Message "message" Text, Tries "tries" Number, Turns "turns" Number, Flaky "flaky" Bool,
    Reviewed "reviewed" Bool, Removed "removed" Bool,
    LatencyMs "latency_ms" Number, TokensIn "tokens_in" Number, TokensOut "tokens_out" Number,
    Tokens "tokens" Number, Cost "cost" Number, FinishedAt "finished_at" Time, Trace "trace" Text,
    Input "input" Text, Output "output" Text, Expected "expected" Text, AnyText "text" Text,
    BaselineOutput "baseline.output" Text, BaselineOutcome "baseline.outcome" Word,
    DeltaLatencyMs "delta.latency_ms" Number, DeltaTokens "delta.tokens" Number, DeltaCost "delta.cost" Number
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::OutputOf(name) => write!(f, "output.{name}"),
            Name::Field(name, _) => write!(f, "field.{name}"),
            Name::Score(name) => write!(f, "score.{name}"),
            Name::Verdict(name) => write!(f, "verdict.{name}"),
            Name::Reason(name) => write!(f, "reason.{name}"),
            Name::Delta(name) => write!(f, "delta.{name}"),
            Name::Change(name) => write!(f, "change.{name}"),
            Name::BaselineScore(name) => write!(f, "baseline.score.{name}"),
            Name::Label(name) => write!(f, "label.{name}"),
            Name::Corrected(name) => write!(f, "corrected.{name}"),
            fixed => f.write_str(FIXED.iter().find(|(name, ..)| name == fixed).map_or("", |(_, text, _)| text)),
        }
    }
}

impl Name {
    pub fn kind(&self) -> Kind {
        match self {
            Name::Field(_, kind) => *kind,
            Name::Score(_) | Name::Delta(_) | Name::BaselineScore(_) | Name::Corrected(_) => Kind::Number,
            Name::Verdict(_) | Name::Change(_) => Kind::Word,
            Name::Reason(_) | Name::OutputOf(_) | Name::Label(_) => Kind::Text,
            fixed => FIXED.iter().find(|(name, ..)| name == fixed).map_or(Kind::Text, |(.., kind)| *kind),
        }
    }

    /// The closed list of words it can be.
    pub fn words(&self) -> Option<Vec<&'static str>> {
        Some(match self {
            Name::State => ItemState::ALL.iter().map(|word| word.as_str()).collect(),
            Name::Outcome | Name::BaselineOutcome => RowOutcome::ALL.iter().map(|word| word.as_str()).collect(),
            Name::Error => ErrorClass::ALL.iter().map(|word| word.as_str()).collect(),
            Name::Verdict(_) => Verdict::ALL.iter().map(|word| word.as_str()).collect(),
            Name::Change(_) => CHANGES.to_vec(),
            name if name.kind() == Kind::Bool => BOOL.to_vec(),
            _ => return None,
        })
    }

    pub fn needs_baseline(&self) -> bool {
        let of_rows =
            [Name::BaselineOutput, Name::BaselineOutcome, Name::DeltaLatencyMs, Name::DeltaTokens, Name::DeltaCost];
        matches!(self, Name::Delta(_) | Name::Change(_) | Name::BaselineScore(_)) || of_rows.contains(self)
    }
}

/// The names that one table has, beside those that all have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Names {
    pub evaluators: Vec<String>,
    pub fields: BTreeMap<String, Kind>,
    pub outputs: Vec<String>,
    pub variants: Vec<String>,
    /// Under which people said something, beside the evaluators.
    pub labels: Vec<String>,
    /// The table is compared with another.
    pub baseline: bool,
}

impl Names {
    pub fn all(&self) -> Vec<Name> {
        // An evaluator with the name of a number comes first.
        let is_score = |text: &str| {
            text.strip_prefix("delta.").is_some_and(|name| self.evaluators.iter().any(|evaluator| evaluator == name))
        };
        let fixed = FIXED.iter().filter(|(_, text, _)| !is_score(text));
        let mut all: Vec<Name> = fixed.map(|(name, ..)| name.clone()).collect();
        all.extend(self.outputs.iter().cloned().map(Name::OutputOf));
        all.extend(self.fields.iter().map(|(name, kind)| Name::Field(name.clone(), *kind)));
        for of in [Name::Score, Name::Verdict, Name::Reason, Name::Delta, Name::Change, Name::BaselineScore] {
            all.extend(self.evaluators.iter().cloned().map(of));
        }
        let other: Vec<&String> = self.labels.iter().filter(|name| !self.evaluators.contains(name)).collect();
        let labelled = self.evaluators.iter().chain(other.iter().copied());
        all.extend(labelled.clone().cloned().map(Name::Label));
        all.extend(labelled.filter(|name| *name != NOTE).cloned().map(Name::Corrected));
        all
    }

    /// Some row says what is expected of it.
    pub fn has_expected(&self) -> bool {
        EXPECTED.iter().any(|name| self.fields.contains_key(*name))
    }

    /// The name that is meant, or what is wrong and what to write instead.
    pub fn find(&self, text: &str) -> Result<Name, (String, String)> {
        let all = self.all();
        let found = all.iter().find(|name| name.to_string() == text);
        let found = found.or_else(|| all.iter().find(|name| name.to_string().eq_ignore_ascii_case(text)));
        match found {
            Some(name) if name.needs_baseline() && !self.baseline => {
                Err((format!("`{text}` needs a baseline"), "name one with `vs`, e.g. --vs '#1'".to_owned()))
            }
            Some(name) => Ok(name.clone()),
            None => Err((format!("unknown name `{text}`"), self.suggestion(text, &all))),
        }
    }

    fn suggestion(&self, text: &str, all: &[Name]) -> String {
        if self.fields.contains_key(text) {
            return format!("did you mean `field.{text}`?");
        }
        if self.evaluators.iter().any(|name| name == text) {
            return format!("did you mean `score.{text}`?");
        }
        let texts: Vec<String> =
            all.iter().filter(|name| self.baseline || !name.needs_baseline()).map(Name::to_string).collect();
        match suggest::nearest(text, texts.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the names are: {}", texts.join(", ")),
        }
    }
}
