//! A dataset row as a conversation: one turn, or as many as its field `turns` lists. Fields beside
//! `turns` are shared by all of them.

use std::sync::Arc;

use minijinja::value::Value;
use windrow_jobfile::template::{Fields, Variables};

use crate::definition::message::Message;

pub const TURNS: &str = "turns";

#[derive(Debug, Clone, Default)]
pub struct Conversation {
    shared: Arc<Fields>,
    turns: Vec<Arc<Fields>>,
    /// Names among the shared fields that are columns and not of the row.
    columns: Vec<String>,
}

impl Conversation {
    pub fn of(mut row: Fields) -> Result<Self, String> {
        let turns = match row.remove(TURNS) {
            None => vec![Arc::default()],
            Some(serde_json::Value::Array(turns)) if !turns.is_empty() => {
                turns.into_iter().enumerate().map(turn).collect::<Result<_, _>>()?
            }
            Some(_) => return Err("`turns` must be a list of at least one object".to_owned()),
        };
        Ok(Self { shared: Arc::new(row), turns, columns: Vec::new() })
    }

    /// The row with these columns beside its fields.
    pub fn with_columns(&self, columns: Fields) -> Self {
        let names = columns.keys().cloned().collect();
        let mut shared = Fields::clone(&self.shared);
        shared.extend(columns);
        Self { shared: Arc::new(shared), turns: self.turns.clone(), columns: names }
    }

    pub fn is_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// What the templates of a turn see. A turn beyond the script has only what all turns share.
    pub fn variables(&self, turn: usize, history: &[Message]) -> Variables {
        let own = self.turns.get(turn).cloned().unwrap_or_default();
        Variables { given: Vec::new(), own, shared: self.shared.clone(), history: history_value(history) }
    }

    /// A field of a turn, or one shared by all.
    pub fn field(&self, turn: usize, name: &str) -> Option<&serde_json::Value> {
        self.turns.get(turn).and_then(|own| own.get(name)).or_else(|| self.shared.get(name))
    }

    /// Names of the fields of every turn and of those shared, without order.
    pub fn field_names(&self) -> impl Iterator<Item = &String> {
        self.shared.keys().chain(self.turns.iter().flat_map(|turn| turn.keys()))
    }
}

fn turn((no, value): (usize, serde_json::Value)) -> Result<Arc<Fields>, String> {
    match value {
        serde_json::Value::Object(fields) => Ok(Arc::new(fields)),
        _ => Err(format!("`turns[{no}]` must be an object, like {{\"question\": \"…\"}}")),
    }
}

fn history_value(history: &[Message]) -> Value {
    history
        .iter()
        .map(|message| {
            Value::from_pairs([
                ("role", Value::from(message.role.as_str())),
                ("content", Value::from(message.content.as_str())),
            ])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::message::Role;
    use windrow_jobfile::template::Template;

    #[test]
    fn a_template_sees_who_said_what() {
        let conversation = Conversation::of(Fields::new()).unwrap();
        let history = [Message { role: Role::User, content: "Hi".to_owned() }];
        let variables = Value::from_object(conversation.variables(0, &history));
        let template = Template::new("{{ history[0].role }}: {{ history[0].content }}").unwrap();
        assert_eq!(template.render(&variables).unwrap(), "user: Hi");
    }
}
