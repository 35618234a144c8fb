//! Answers in JSON if the request asks for it. The answers of the other rules become its values.

use serde_json::{Value, json};

use super::{arithmetic, capitals, help_desk};
use crate::model::asked::{Asked, Format};
use crate::model::fill::fill;
use crate::model::said::Said;

pub fn answer(asked: &Asked, seed: u64) -> Option<Said> {
    let in_words = asked.question().to_lowercase().contains("json");
    let schema = match &asked.format {
        Format::Json(schema) => schema.as_ref(),
        Format::Text if in_words => None,
        Format::Text => return None,
    };
    let rules: [super::Rule; 3] = [capitals::answer, arithmetic::answer, help_desk::answer];
    let plain = rules.iter().find_map(|rule| rule(asked, seed)).map(|said| said.text);
    let value = match schema {
        Some(schema) => {
            let hint = |_: &str| plain.as_ref().map(|text| json!(text));
            let number = |_: &str| plain.as_ref().and_then(|text| text.parse::<f64>().ok()).map(Value::from);
            match number("") {
                Some(_) => fill(schema, asked.question(), &number),
                None => fill(schema, asked.question(), &hint),
            }
        }
        None => json!({ "answer": plain.unwrap_or_else(|| "I do not know.".to_owned()) }),
    };
    Some(Said::json(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_in_the_json() {
        let said = |asked: &Asked| -> Value { serde_json::from_str(&answer(asked, 1).unwrap().text).unwrap() };
        assert_eq!(said(&Asked::user("Capital of France? Reply in JSON.")), json!({ "answer": "Paris" }));
        let mut asked = Asked::user("Capital of Japan?");
        asked.format = Format::Json(Some(json!({ "properties": { "capital": { "type": "string" } } })));
        assert_eq!(said(&asked), json!({ "capital": "Tokyo" }));
        assert_eq!(answer(&Asked::user("Capital of Japan?"), 1), None);
    }
}
