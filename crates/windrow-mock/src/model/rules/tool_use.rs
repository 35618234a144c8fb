//! Calls a tool that fits the question, and reports the tool's result.

use serde_json::{Value, json};

use crate::model::asked::{Asked, Role, Tool};
use crate::model::fill::{fill, first_number};
use crate::model::said::Said;
use crate::model::words;

/// Stop words.
const COMMON: &[&str] =
    &["the", "a", "an", "of", "in", "for", "to", "is", "what", "get", "and", "or", "by", "with", "it", "my", "me"];

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    if asked.tools.is_empty() {
        return None;
    }
    if let Some(result) = asked.turns.last().filter(|turn| turn.role == Role::Tool) {
        return Some(Said::text(format!("The result is {}", result.text.trim())));
    }
    let question = asked.question();
    let fitting = asked.tools.iter().map(|tool| (fit(tool, question), tool)).max_by_key(|(fit, _)| *fit);
    let (_, tool) = fitting.filter(|(fit, _)| *fit > 0)?;
    let hint = |name: &str| Some(argument(name, question));
    let arguments = match tool.parameters.is_object() {
        true => fill(&tool.parameters, question, &hint),
        false => json!({}),
    };
    Some(Said::call(&tool.name, arguments))
}

/// Number of significant words that question and tool share.
fn fit(tool: &Tool, question: &str) -> usize {
    let described = format!("{} {}", tool.name.replace(['_', '-'], " "), tool.description);
    let described: Vec<String> = words::of(&described).filter(|word| !COMMON.contains(&word.as_str())).collect();
    words::of(question).filter(|word| described.contains(word)).count()
}

/// A number or an order if the parameter name suggests it; otherwise a name from the question.
fn argument(name: &str, question: &str) -> Value {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#').to_owned();
    let given: Vec<String> = question.split_whitespace().map(bare).collect();
    let order = given.iter().find(|word| word.starts_with('#'));
    if let Some(order) = order.filter(|_| name.contains("order") || name.contains("id")) {
        return json!(order);
    }
    if ["count", "amount", "number", "days", "quantity"].iter().any(|part| name.contains(part)) {
        return first_number(question).map_or(Value::Null, |number| json!(number));
    }
    let is_name = |word: &&String| word.starts_with(char::is_uppercase);
    // The first word is always capitalised.
    let names: Vec<&String> = given.iter().skip(1).skip_while(|word| !is_name(word)).take_while(is_name).collect();
    match names.is_empty() {
        true => json!(question),
        false => json!(names.into_iter().cloned().collect::<Vec<_>>().join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitting_tool_is_called_with_arguments_from_the_question() {
        let tool = |name: &str, description: &str, properties: Value| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({ "type": "object", "properties": properties }),
        };
        let mut asked = Asked::user("What is the weather in New York?");
        asked.tools = vec![
            tool("cancel_order", "Cancels an order", json!({ "order_id": { "type": "string" } })),
            tool(
                "get_weather",
                "The weather of a city",
                json!({
                    "city": { "type": "string" }, "unit": { "enum": ["celsius", "fahrenheit"] },
                }),
            ),
        ];
        let call = answer(&asked, 0).unwrap().tool_calls.remove(0);
        assert_eq!(
            (call.name.as_str(), call.arguments),
            ("get_weather", json!({ "city": "New York", "unit": "celsius" }))
        );
        let asked = asked.then(Role::Tool, "{\"sky\":\"clear\"}");
        assert_eq!(answer(&asked, 0).unwrap().text, "The result is {\"sky\":\"clear\"}");
        let other = Asked { tools: asked.tools, ..Asked::user("Please cancel order #1815") };
        assert_eq!(answer(&other, 0).unwrap().tool_calls[0].arguments, json!({ "order_id": "#1815" }));
        let off = Asked { tools: other.tools, ..Asked::user("Who wrote Faust?") };
        assert_eq!(answer(&off, 0), None);
    }
}
