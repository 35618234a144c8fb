//! Where a component is in the job file, so that an error of its setup names the setting to check.

use windrow_model::{ErrorClass, Failure};

use crate::definition::conversation::USER;

/// Whose component it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Caller {
    #[default]
    Target,
    Column(String),
    /// Also the simulated user, under a name that no evaluator has.
    Evaluator(String),
}

impl Caller {
    pub fn of_target(column: Option<&str>) -> Self {
        column.map_or(Caller::Target, |name| Caller::Column(name.to_owned()))
    }

    /// As steps name it.
    pub fn name(&self) -> &str {
        match self {
            Caller::Target => "",
            Caller::Column(name) | Caller::Evaluator(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub caller: Caller,
    pub kind: String,
}

impl Place {
    /// `target.openai.base_url`
    pub fn setting(&self, field: &str) -> String {
        let kind = &self.kind;
        match &self.caller {
            Caller::Target => format!("`target.{kind}.{field}`"),
            Caller::Column(name) => format!("`columns.{name}.{kind}.{field}`"),
            Caller::Evaluator(user) if user == USER => format!("`{kind}.{field}` of the simulated user"),
            Caller::Evaluator(evaluator) => format!("`{kind}.{field}` of evaluator `{evaluator}`"),
        }
    }

    /// Nothing could be sent: the connection was refused, the host is unknown, or its certificate is not trusted.
    pub fn unreachable(&self, is_connect: bool, failure: Failure, address: &str) -> Failure {
        match is_connect && failure.class == ErrorClass::Network {
            true => failure.at_setting(self.setting(address)),
            false => failure,
        }
    }

    /// The endpoint answered with an error of the setup: a refused key, an address or a model that does not exist.
    pub fn rejected(&self, status: u16, failure: Failure, [address, key, model]: [&str; 3]) -> Failure {
        match status {
            401 | 403 => failure.at_setting(self.setting(key)),
            404 if failure.message.contains("model") => failure.at_setting(self.setting(model)),
            404 => failure.at_setting(self.setting(address)),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_setup_names_its_setting() {
        let place = |caller: Caller| Place { caller, kind: "openai".to_owned() };
        let rejected = |status, message: &str| {
            let failure = Failure::new(ErrorClass::InvalidRequest, message);
            place(Caller::Target).rejected(status, failure, ["base_url", "api_key", "model"]).setting
        };
        assert_eq!(rejected(401, "no").as_deref(), Some("`target.openai.api_key`"));
        assert_eq!(rejected(404, "Not Found").as_deref(), Some("`target.openai.base_url`"));
        assert_eq!(rejected(404, "the model `x` does not exist").as_deref(), Some("`target.openai.model`"));
        assert_eq!(rejected(400, "no"), None);
        let evaluator = Caller::Evaluator("helpful".to_owned());
        assert_eq!(place(evaluator).setting("api_key"), "`openai.api_key` of evaluator `helpful`");
        assert_eq!(place(Caller::Column("draft".to_owned())).setting("model"), "`columns.draft.openai.model`");
    }
}
