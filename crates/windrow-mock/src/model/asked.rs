//! A request in a common form, independent of the provider's dialect.

use serde_json::Value;

use super::words;

/// System prompts of at least this many words count as cached input, as providers do with long prefixes.
const CACHED_FROM_WORDS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub role: Role,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub enum Format {
    #[default]
    Text,
    /// JSON, with this schema if there is one.
    Json(Option<Value>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    pub model: String,
    pub turns: Vec<Turn>,
    pub tools: Vec<Tool>,
    pub format: Format,
    pub max_tokens: Option<usize>,
    pub stream: bool,
    pub stream_usage: bool,
}

impl Asked {
    /// The last user message.
    pub fn question(&self) -> &str {
        self.last(Role::User).map_or("", |turn| turn.text.trim())
    }

    pub fn last(&self, role: Role) -> Option<&Turn> {
        self.turns.iter().rev().find(|turn| turn.role == role)
    }

    pub fn said_by(&self, role: Role) -> impl Iterator<Item = &str> {
        self.turns.iter().filter(move |turn| turn.role == role).map(|turn| turn.text.as_str())
    }

    /// System prompt and question: the instructions for a judge or a simulated user.
    pub fn instructions(&self) -> String {
        let mut parts: Vec<&str> = self.said_by(Role::System).collect();
        parts.push(self.question());
        parts.join("\n")
    }

    /// Everything that the answer depends on, as one string.
    pub fn fingerprint(&self) -> String {
        self.turns.iter().map(|turn| format!("{:?}: {}\n", turn.role, turn.text)).collect()
    }

    pub fn tokens(&self) -> usize {
        self.turns.iter().map(|turn| words::count(&turn.text)).sum()
    }

    pub fn cached_tokens(&self) -> usize {
        let standing: usize = self.said_by(Role::System).map(words::count).sum();
        if standing >= CACHED_FROM_WORDS { standing } else { 0 }
    }
}

#[cfg(test)]
impl Asked {
    pub fn user(text: &str) -> Self {
        let turns = vec![Turn { role: Role::User, text: text.to_owned() }];
        Self { model: "mock".to_owned(), turns, ..Self::default() }
    }

    pub fn then(mut self, role: Role, text: &str) -> Self {
        self.turns.push(Turn { role, text: text.to_owned() });
        self
    }
}
