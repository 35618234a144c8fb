//! JSON with templates in it. A text that is one expression, `"{{ n }}"`, keeps the type of its
//! value: a number stays a number, a list a list.

use serde_json::{Map, Value};

use crate::template::{Template, TemplateError};

pub enum Templated {
    Text(Template),
    /// As a text, which fails where something is undefined, and as JSON, which does not.
    Typed {
        text: Template,
        json: Template,
    },
    List(Vec<Templated>),
    Fields(Vec<(String, Templated)>),
    Plain(Value),
}

impl Templated {
    pub fn new(value: &Value) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => match only_expression(text) {
                Some(expression) => Self::Typed {
                    text: Template::new(text)?,
                    json: Template::new(&format!("{{{{ ({expression}) | tojson }}}}"))?,
                },
                None => Self::Text(Template::new(text)?),
            },
            Value::Array(list) => Self::List(list.iter().map(Self::new).collect::<Result<_, _>>()?),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| Ok((name.clone(), Self::new(value)?));
                Self::Fields(fields.iter().map(field).collect::<Result<_, TemplateError>>()?)
            }
            plain => Self::Plain(plain.clone()),
        })
    }

    pub fn render(&self, variables: &minijinja::Value) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Text(template) => Value::String(template.render(variables)?),
            Self::Typed { text, json } => {
                text.render(variables)?;
                serde_json::from_str(&json.render(variables)?)
                    .map_err(|error| TemplateError { message: format!("a value is not JSON: {error}"), range: None })?
            }
            Self::List(list) => list.iter().map(|value| value.render(variables)).collect::<Result<_, _>>()?,
            Self::Fields(fields) => {
                let field = |(name, value): &(String, Self)| Ok((name.clone(), value.render(variables)?));
                Value::Object(fields.iter().map(field).collect::<Result<Map<_, _>, TemplateError>>()?)
            }
            Self::Plain(value) => value.clone(),
        })
    }
}

fn only_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_matches('-').trim();
    (!inner.is_empty() && !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%")).then_some(inner)
}

/// All texts in it.
pub fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(list) => Box::new(list.iter().flat_map(texts)),
        Value::Object(fields) => Box::new(fields.values().flat_map(texts)),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_kept_where_a_text_is_one_expression() {
        let row =
            minijinja::Value::from(minijinja::value::Serde(&json!({ "n": 7, "tags": ["a", "<b>"], "name": "Ada" })));
        let body = json!({ "n": "{{ n }}", "tags": "{{ tags }}", "text": "n is {{ n }}", "two": "{{ n }}{{ n }}",
                           "list": [1, "{{ name | upper }}"], "plain": true });
        let rendered = Templated::new(&body).unwrap().render(&row).unwrap();
        assert_eq!(
            rendered,
            json!({ "n": 7, "tags": ["a", "<b>"], "text": "n is 7", "two": "77", "list": [1, "ADA"], "plain": true })
        );
        assert!(Templated::new(&json!(["{{ missing }}"])).unwrap().render(&row).is_err());
    }
}
