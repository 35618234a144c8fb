//! User-defined rules from a file. The first rule whose pattern matches the last user message answers.

use std::collections::BTreeMap;

use minijinja::value::Value;
use regex::Regex;
use serde::Deserialize;
use windrow_jobfile::template::Template;

use super::asked::{Asked, Role};

#[derive(Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: Regex,
    reply: Template,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    r#match: String,
    reply: String,
}

impl Script {
    /// Parses a YAML list of `{match: regex, reply: template}`.
    pub fn parse(yaml: &str) -> Result<Self, String> {
        let written: Vec<Written> = serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?;
        let rule = |(no, Written { r#match, reply }): (usize, Written)| {
            let place = |error: String| format!("rule {}: {error}", no + 1);
            Ok(Rule {
                pattern: Regex::new(&r#match).map_err(|error| place(error.to_string()))?,
                reply: Template::new(&reply).map_err(|error| place(error.to_string()))?,
            })
        };
        Ok(Self { rules: written.into_iter().enumerate().map(rule).collect::<Result<_, String>>()? })
    }

    /// A template sees the question, the system message, the model, the turn number, and the pattern's groups: by name,
    /// and all of them in `groups`.
    pub fn reply(&self, asked: &Asked) -> Option<String> {
        let question = asked.question();
        let (rule, found) = self.rules.iter().find_map(|rule| Some((rule, rule.pattern.captures(question)?)))?;
        let group = |found: Option<regex::Match<'_>>| Value::from(found.map_or("", |found| found.as_str()));
        let mut variables = BTreeMap::from([
            ("question", Value::from(question)),
            ("system", Value::from(asked.said_by(Role::System).collect::<Vec<_>>().join("\n"))),
            ("model", Value::from(asked.model.as_str())),
            ("turn", Value::from(asked.said_by(Role::User).count())),
            ("groups", found.iter().map(group).collect()),
        ]);
        variables.extend(rule.pattern.capture_names().flatten().map(|name| (name, group(found.name(name)))));
        let rendered = rule.reply.render(&Value::from_pairs(variables));
        Some(rendered.unwrap_or_else(|error| format!("failed to render the script's reply: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_matches_answers() {
        let script = Script::parse(
            "- { match: '^Hi (?<name>\\w+)', reply: 'Hello {{ name }}, turn {{ turn }}' }\n\
             - { match: 'Hi (.*)', reply: '{{ groups[1] | upper }} {{ missing }}' }\n",
        )
        .unwrap();
        assert_eq!(script.reply(&Asked::user("Hi Ada!")).unwrap(), "Hello Ada, turn 1");
        assert!(script.reply(&Asked::user("Oh, Hi there")).unwrap().contains("failed to render"));
        assert_eq!(script.reply(&Asked::user("Bye")), None);
    }

    #[test]
    fn a_bad_rule_is_named() {
        assert!(Script::parse("- { match: '(', reply: x }").unwrap_err().starts_with("rule 1: "));
        assert!(Script::parse("- { match: 'a', reply: '{{' }").unwrap_err().starts_with("rule 1: "));
        assert!(Script::parse("- { match: 'a', answer: 'b' }").is_err());
    }
}
