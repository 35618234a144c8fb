//! Where a component is in the job file, so that an error of its setup names the setting to check.

use windrow_model::{ErrorClass, Failure};

use crate::definition::conversation::USER;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub caller: String,
    pub kind: String,
}

impl Place {
    /// `target.openai.base_url`
    pub fn setting(&self, field: &str) -> String {
        let kind = &self.kind;
        match self.caller.as_str() {
            "" => format!("`target.{kind}.{field}`"),
            USER => format!("`{kind}.{field}` of the simulated user"),
            evaluator => format!("`{kind}.{field}` of evaluator `{evaluator}`"),
        }
    }

    /// Nothing could be sent: nobody listens there, the host is unknown, or its certificate is not trusted.
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
        let place = |caller: &str| Place { caller: caller.to_owned(), kind: "openai".to_owned() };
        let rejected = |status, message: &str| {
            let failure = Failure::new(ErrorClass::InvalidRequest, message);
            place("").rejected(status, failure, ["base_url", "api_key", "model"]).setting
        };
        assert_eq!(rejected(401, "no").as_deref(), Some("`target.openai.api_key`"));
        assert_eq!(rejected(404, "Not Found").as_deref(), Some("`target.openai.base_url`"));
        assert_eq!(rejected(404, "the model `x` does not exist").as_deref(), Some("`target.openai.model`"));
        assert_eq!(rejected(400, "no"), None);
        assert_eq!(place("helpful").setting("api_key"), "`openai.api_key` of evaluator `helpful`");
    }
}
