//! Templates of a job file (Jinja syntax) and the variables they see. Compiled once per program;
//! an undefined variable is an error, never an empty text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, Serde, Value};
use minijinja::{Environment, UndefinedBehavior};

const NAME: &str = "template";
/// The conversation so far, unless the row has a field of that name.
pub const HISTORY: &str = "history";

pub type Fields = serde_json::Map<String, serde_json::Value>;

#[derive(Debug, Clone)]
pub struct Template {
    environment: Arc<Environment<'static>>,
    variables: Arc<[String]>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    /// In the template's text.
    pub range: Option<Range<usize>>,
}

impl From<minijinja::Error> for TemplateError {
    fn from(error: minijinja::Error) -> Self {
        let message = match error.detail() {
            Some(detail) => detail.to_owned(),
            None => error.kind().to_string(),
        };
        Self { message, range: error.range() }
    }
}

impl Template {
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_debug(true);
        environment.add_filter("truncate", truncate);
        environment.add_filter("urlencode", urlencode);
        environment.add_template_owned(NAME, source.to_owned())?;
        let globals: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
        let used = environment.get_template(NAME)?.undeclared_variables(false);
        let mut variables: Vec<String> = used.into_iter().filter(|name| !globals.contains(name)).collect();
        variables.sort();
        Ok(Self { environment: Arc::new(environment), variables: variables.into() })
    }

    /// Names the template may look up at its top level.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    pub fn render(&self, variables: &Value) -> Result<String, TemplateError> {
        Ok(self.environment.get_template(NAME)?.render(variables.clone())?)
    }
}

/// At most this many characters (255), the `end` that marks a cut included (`...`).
fn truncate(text: String, length: Option<usize>, end: Option<String>) -> String {
    let (length, end) = (length.unwrap_or(255), end.unwrap_or_else(|| "...".to_owned()));
    if text.chars().count() <= length {
        return text;
    }
    let kept = length.saturating_sub(end.chars().count());
    text.chars().take(kept).chain(end.chars()).take(length).collect()
}

/// A text as one part of a URL: all bytes but letters, digits and `-._~` are percent-encoded.
fn urlencode(text: String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match plain(byte) {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}

/// What a template sees: what it is given (the output to judge), then the turn's own fields before
/// those shared by all turns, and the history. Fields are converted when they are looked up, so a
/// large unused field costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    pub given: Vec<(&'static str, Value)>,
    pub own: Arc<Fields>,
    pub shared: Arc<Fields>,
    pub history: Value,
}

impl Variables {
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.given.push((name, value.into()));
        self
    }

    fn field(&self, name: &str) -> Option<&serde_json::Value> {
        self.own.get(name).or_else(|| self.shared.get(name))
    }
}

impl Object for Variables {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        if let Some((_, value)) = self.given.iter().find(|(given, _)| *given == name) {
            return Some(value.clone());
        }
        match self.field(name) {
            Some(value) => Some(Value::from(Serde(value))),
            None if name == HISTORY => Some(self.history.clone()),
            None => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let fields = self.own.keys().chain(self.shared.keys()).map(String::as_str);
        let names: BTreeSet<&str> = self.given.iter().map(|(name, _)| *name).chain(fields).collect();
        Enumerator::Values(names.into_iter().map(Value::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(json: serde_json::Value) -> Value {
        let serde_json::Value::Object(fields) = json else { panic!("an object") };
        Value::from_object(Variables { own: Arc::new(fields), ..Variables::default() })
    }

    #[test]
    fn fields_are_variables_and_unknown_ones_are_errors() {
        let template =
            Template::new("{{ name }} <{{ tags | join(', ') }}> {% for n in range(2) %}{{ n }}{% endfor %}").unwrap();
        assert_eq!(template.variables(), ["name", "tags"]);
        let row = variables(serde_json::json!({"name": "<a&b>", "tags": [1, "x"]}));
        assert_eq!(template.render(&row).unwrap(), "<a&b> <1, x> 01");
        let error = template.render(&variables(serde_json::json!({"tags": ["a"]}))).unwrap_err();
        assert!(error.message.contains("undefined"), "{error:?}");
    }

    #[test]
    fn a_long_text_is_cut_to_what_was_asked_for() {
        let cut = |template: &str| {
            Template::new(template).unwrap().render(&variables(serde_json::json!({ "t": "äbcdefgh" }))).unwrap()
        };
        assert_eq!(cut("{{ t | truncate(8) }} {{ t | truncate(5) }} {{ t | truncate }}"), "äbcdefgh äb... äbcdefgh");
        assert_eq!(cut("{{ t | truncate(4, '') }} {{ t | truncate(2) }}"), "äbcd ..");
    }

    #[test]
    fn a_text_fits_into_a_url() {
        let template = Template::new("http://h/?q={{ q | urlencode }}&n={{ n | urlencode }}").unwrap();
        let row = variables(serde_json::json!({ "q": "größe & 50% of a/b?", "n": 7 }));
        assert_eq!(template.render(&row).unwrap(), "http://h/?q=gr%C3%B6%C3%9Fe%20%26%2050%25%20of%20a%2Fb%3F&n=7");
    }

    #[test]
    fn a_syntax_error_says_where() {
        let error = Template::new("Hello {{ name }").unwrap_err();
        assert!(error.range.is_some(), "{error:?}");
    }
}
