//! An answer in a common form, before a dialect writes it.

use serde_json::Value;

use super::words;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Said {
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
    /// The answer exceeded the caller's limit.
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Value,
}

impl Said {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self { tool_calls: vec![ToolCall { name: name.to_owned(), arguments }], ..Self::default() }
    }

    /// Keeps at most this many words.
    pub fn limited(mut self, max_tokens: Option<usize>) -> Self {
        if let Some(max) = max_tokens.filter(|max| words::count(&self.text) > *max) {
            self.text = self.text.split_whitespace().take(max).collect::<Vec<_>>().join(" ");
            self.cut = true;
        }
        self
    }

    pub fn tokens(&self) -> usize {
        let arguments: usize = self.tool_calls.iter().map(|call| 1 + words::count(&call.arguments.to_string())).sum();
        words::count(&self.text) + arguments
    }
}
