//! Messages of a conversation, as templates and as rendered text.

use minijinja::value::Value;
use serde::{Deserialize, Serialize};
use windrow_jobfile::template::{Template, TemplateError};

windrow_model::vocabulary! {
    /// Who speaks.
    pub enum Role {
        #[doc = "Standing instructions, before the conversation."]
        System = "system",
        #[doc = "Standing instructions, in the words of newer APIs."]
        Developer = "developer",
        #[doc = "The person."]
        User = "user",
        #[doc = "The model."]
        Assistant = "assistant",
    }
}

impl Role {
    pub fn opens_conversation(self) -> bool {
        matches!(self, Role::System | Role::Developer)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageTemplate {
    pub role: Role,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

/// A conversation as a text to read.
pub fn transcript(history: &[Message]) -> String {
    let line = |message: &Message| format!("{}: {}", message.role, message.content);
    history.iter().map(line).collect::<Vec<_>>().join("\n\n")
}

/// The message templates of a program, compiled.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    standing: Vec<(Role, Template)>,
    per_turn: Vec<(Role, Template)>,
}

impl Prompt {
    pub fn new(templates: &[MessageTemplate]) -> Result<Self, TemplateError> {
        let mut prompt = Self::default();
        for message in templates {
            let compiled = (message.role, Template::new(&message.content)?);
            match message.role.opens_conversation() {
                true => prompt.standing.push(compiled),
                false => prompt.per_turn.push(compiled),
            }
        }
        Ok(prompt)
    }

    /// The whole conversation up to this turn's question: standing instructions, history, and what
    /// is new. The new messages are appended to the history.
    pub fn render(&self, variables: &Value, history: &mut Vec<Message>) -> Result<Vec<Message>, TemplateError> {
        let one =
            |(role, template): &(Role, Template)| Ok(Message { role: *role, content: template.render(variables)? });
        let mut messages = self.standing.iter().map(one).collect::<Result<Vec<_>, TemplateError>>()?;
        let new = self.per_turn.iter().map(one).collect::<Result<Vec<_>, TemplateError>>()?;
        history.extend(new);
        messages.extend(history.iter().cloned());
        Ok(messages)
    }
}
