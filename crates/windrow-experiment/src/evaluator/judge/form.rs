//! What a judge is asked for: a score on a scale, or one of several choices. Says it in words and
//! as a JSON Schema, and turns what came back into a value from 0 to 1.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::component;
use super::reply::{Number, Reply};

/// What the judge found, in its own words and as a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    pub value: f64,
    /// The score or choice as it was given: `4 of 1 to 5`, `B`.
    pub mark: String,
    pub reason: String,
}

impl std::fmt::Display for Ruling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.reason.as_str() {
            "" => f.write_str(&self.mark),
            reason => write!(f, "{}: {reason}", self.mark),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    Scale { low: f64, high: f64 },
    Choices(BTreeMap<String, f64>),
}

const DEFAULT_SCALE: [f64; 2] = [1.0, 5.0];

impl Form {
    /// From the fields `scale` and `choices`, of which at most one is given.
    pub fn new(scale: Option<&[f64]>, choices: Option<&BTreeMap<String, f64>>) -> Result<Self, component::Issue> {
        let wrong = |field, message: &str, help: &str| Err(component::Issue::problem(field, message, help));
        match (scale, choices) {
            (Some(_), Some(_)) => wrong("choices", "there is a `scale` as well", "keep one of the two"),
            (_, Some(choices)) if choices.len() < 2 => {
                wrong("choices", "there must be at least two", "for example: choices: { yes: 1, no: 0 }")
            }
            (_, Some(choices)) if choices.values().any(|value| !(0.0..=1.0).contains(value)) => {
                wrong("choices", "each value must be from 0 to 1", "for example: choices: { A: 1, B: 0.5, C: 0 }")
            }
            (_, Some(choices)) => Ok(Form::Choices(choices.clone())),
            (scale, None) => match scale.unwrap_or(&DEFAULT_SCALE) {
                [low, high] if low < high && low.is_finite() && high.is_finite() => {
                    Ok(Form::Scale { low: *low, high: *high })
                }
                _ => wrong("scale", "must be two numbers, the lowest and the highest", "for example: scale: [1, 5]"),
            },
        }
    }

    /// How the judge is told to reply.
    pub fn instruction(&self) -> String {
        let (field, what) = match self {
            Form::Scale { low, high } => ("score", format!("<a number from {low} to {high}>")),
            Form::Choices(choices) => ("choice", format!("<one of: {}>", names(choices))),
        };
        format!("Reply with one JSON object and nothing else: {{\"reason\": \"<why, briefly>\", \"{field}\": {what}}}")
    }

    /// The same for endpoints that hold a model to a schema.
    pub fn schema(&self) -> Value {
        let (field, schema) = match self {
            Form::Scale { .. } => ("score", json!({ "type": "number" })),
            Form::Choices(choices) => {
                ("choice", json!({ "type": "string", "enum": choices.keys().collect::<Vec<_>>() }))
            }
        };
        // The reason comes first, so that the score follows from it and not the other way round.
        json!({
            "type": "object",
            "properties": { "reason": { "type": "string" }, field: schema },
            "required": ["reason", field],
            "additionalProperties": false,
        })
    }

    /// A reply that can be read.
    pub fn specimen(&self) -> String {
        let (field, mark) = match self {
            Form::Scale { low, .. } => ("score", json!(low)),
            Form::Choices(choices) => ("choice", json!(choices.keys().next())),
        };
        json!({ "reason": "", field: mark }).to_string()
    }

    /// What a reply means; the error says what is wrong with it, to be told to the judge.
    pub fn read(&self, reply: &str) -> Result<Ruling, String> {
        let reply = Reply::new(reply);
        let (value, mark) = match self {
            Form::Scale { low, high } => {
                let Number { number, out_of } = reply.number(*high).ok_or("it has no score")?;
                if let Some(out_of) = out_of.filter(|out_of| out_of != high) {
                    return Err(format!("it scores out of {out_of}, and the scale is {low} to {high}"));
                }
                if !(*low..=*high).contains(&number) {
                    return Err(format!("the score {number} is not from {low} to {high}"));
                }
                ((number - low) / (high - low), format!("{number} on {low} to {high}"))
            }
            Form::Choices(choices) => {
                let known: Vec<&str> = choices.keys().map(String::as_str).collect();
                let choice = reply.choice(&known).ok_or_else(|| format!("it names none of: {}", names(choices)))?;
                (choices[choice], choice.to_owned())
            }
        };
        Ok(Ruling { value, mark, reason: reply.reason() })
    }
}

fn names(choices: &BTreeMap<String, f64>) -> String {
    choices.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_becomes_its_share_of_the_scale() {
        let form = Form::new(Some(&[1.0, 5.0]), None).unwrap();
        let ruling = form.read(r#"{"reason": "Mostly right.", "score": 4}"#).unwrap();
        let expected = Ruling { value: 0.75, mark: "4 on 1 to 5".to_owned(), reason: "Mostly right.".to_owned() };
        assert_eq!(ruling, expected);
        assert_eq!(form.read(r#"{"score": 1}"#).unwrap().value, 0.0);
        assert_eq!(form.read(&form.specimen()).unwrap().value, 0.0);
    }

    #[test]
    fn what_does_not_fit_the_scale_is_not_guessed() {
        let form = Form::new(Some(&[1.0, 5.0]), None).unwrap();
        assert_eq!(form.read(r#"{"score": 9}"#), Err("the score 9 is not from 1 to 5".to_owned()));
        assert_eq!(form.read("Score: 8/10"), Err("it scores out of 10, and the scale is 1 to 5".to_owned()));
        assert_eq!(form.read("It is fine."), Err("it has no score".to_owned()));
    }

    #[test]
    fn a_choice_has_the_value_it_was_given() {
        let choices = BTreeMap::from([("A".to_owned(), 1.0), ("B".to_owned(), 0.5), ("C".to_owned(), 0.0)]);
        let form = Form::new(None, Some(&choices)).unwrap();
        assert_eq!(form.read(r#"{"choice": "b"}"#).unwrap().value, 0.5);
        assert_eq!(form.read(&form.specimen()).unwrap().mark, "A");
        assert_eq!(form.read("D").unwrap_err(), "it names none of: A, B, C");
        assert_eq!(form.schema()["properties"]["choice"]["enum"], json!(["A", "B", "C"]));
    }

    #[test]
    fn a_scale_or_choices_that_cannot_be_used_are_problems() {
        assert!(Form::new(Some(&[5.0, 1.0]), None).is_err());
        assert!(Form::new(Some(&[1.0, 2.0, 3.0]), None).is_err());
        assert!(Form::new(None, Some(&BTreeMap::from([("A".to_owned(), 1.0)]))).is_err());
        assert!(Form::new(None, Some(&BTreeMap::from([("A".to_owned(), 3.0), ("B".to_owned(), 0.0)]))).is_err());
    }
}
