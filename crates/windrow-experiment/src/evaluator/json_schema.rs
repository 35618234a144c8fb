//! `json_schema`: the output is JSON that a JSON Schema allows. The schema is frozen with the job,
//! draft 2020-12 unless its `$schema` says otherwise, and nothing is fetched.

use std::path::Path;

use async_trait::async_trait;
use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, thaw, unfit};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "is JSON that matches a schema",
    value: "0 or 1",
    text: r##"`schema` is a JSON Schema, or the path of a JSON file with one, relative to the job file. Windrow reads the file when it
loads the job; later changes need a new run. The default is draft 2020-12; `$schema` selects another. A `$ref` to another
document is rejected, because Windrow does not fetch schemas. `formats` (default false) also validates `format`. An output
that is not JSON fails.

```yaml
- json_schema: { schema: { type: object, required: [city], properties: { city: { type: string } } } }
- json_schema: { schema: city.schema.json, formats: true, name: schema_from_a_file }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonSchemaConfig {
    /// The schema, or the path of a JSON file with it. No schema is a text, so the two cannot be
    /// confused.
    pub schema: Value,
    /// Whether `format` is checked; by the standard it only describes.
    #[serde(default)]
    pub formats: bool,
}

impl JsonSchemaConfig {
    fn compile(&self) -> Result<Validator, String> {
        let options = jsonschema::options().offline().should_validate_formats(self.formats);
        options.build(&self.schema).map_err(|error| format!("this is not a JSON Schema: {error}"))
    }
}

fn load(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the schema {} cannot be read: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{} is not JSON: {error}", path.display()))
}

impl Config for JsonSchemaConfig {
    fn settle(&mut self, folder: &Path) -> Vec<component::Issue> {
        let Value::String(path) = &self.schema else { return Vec::new() };
        match load(&folder.join(path)) {
            Ok(schema) => {
                self.schema = schema;
                Vec::new()
            }
            Err(message) => {
                let help = "correct the path, which is relative to the job file, or the file";
                vec![component::Issue::problem("schema", message, help)]
            }
        }
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let help = "correct the schema (https://json-schema.org/understanding-json-schema); nothing is fetched, so what \
                    a `$ref` needs must stand in its `$defs`";
        let wrong = self.compile().err();
        wrong.into_iter().map(|reason| component::Issue::problem("schema", reason, help)).collect()
    }
}

pub struct JsonSchema {
    validator: Validator,
}

impl JsonSchema {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let config: JsonSchemaConfig = thaw(config)?;
        Ok(Box::new(Self { validator: config.compile().map_err(|reason| unfit(&reason))? }))
    }

    fn validate(&self, output: &str) -> Evaluation {
        let document: Value = match serde_json::from_str(output) {
            Ok(document) => document,
            Err(error) => {
                return Evaluation::binary(false, format!("the output is not JSON: {error}: {}", quote(output)));
            }
        };
        let mut errors = self.validator.iter_errors(&document);
        let Some(first) = errors.next() else { return Evaluation::binary(true, "the schema allows it") };
        let place = match first.instance_path().as_str() {
            "" => "the output".to_owned(),
            path => path.to_owned(),
        };
        let more = match errors.count() {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        Evaluation::binary(false, format!("at {place}: {first}{more}"))
    }
}

#[async_trait]
impl Evaluator for JsonSchema {
    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        Ok(self.validate(subject.output))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: Value, formats: bool) -> JsonSchema {
        JsonSchema { validator: JsonSchemaConfig { schema, formats }.compile().unwrap() }
    }

    #[test]
    fn the_reason_says_where_and_how_many() {
        let schema = schema(json!({ "properties": { "age": { "type": "integer" } }, "required": ["name"] }), false);
        assert_eq!(schema.validate(r#"{"name": "Ada", "age": 36}"#).value, Some(1.0));
        let finding = schema.validate(r#"{"age": "old"}"#);
        assert_eq!(finding.value, Some(0.0));
        assert!(finding.reason.contains("(and 1 more)"), "{}", finding.reason);
        assert!(schema.validate("Ada").reason.starts_with("the output is not JSON"));
    }

    #[test]
    fn formats_are_checked_on_request() {
        let date = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "format": "date" });
        assert_eq!(schema(date.clone(), false).validate("\"soon\"").value, Some(1.0));
        assert_eq!(schema(date, true).validate("\"soon\"").value, Some(0.0));
    }

    #[test]
    fn a_schema_is_never_fetched() {
        let config = JsonSchemaConfig { schema: json!({ "$ref": "https://example.com/x.json" }), formats: false };
        assert!(config.compile().is_err());
    }
}
