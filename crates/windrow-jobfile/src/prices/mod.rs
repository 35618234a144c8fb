//! What models cost. A table of our own, dated, which a file and the job file override; a model that
//! is in none of them costs an unknown amount, counted as nothing and said once.

mod bundled;
mod price;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::environment::Environment;

pub use bundled::DATED;
pub use price::{Price, Tokens};

/// Names a YAML or JSON file of prices.
pub const VARIABLE: &str = "WINDROW_PRICES";

/// By model, as in a job file: `"my-model": { input: 0.5, output: 1.5 }`.
pub type PriceList = BTreeMap<String, Price>;

#[derive(Debug, Clone, Default)]
pub struct Prices {
    /// Each before the next.
    lists: Vec<PriceList>,
}

impl Prices {
    /// What the job file says, what the file says that the environment names, then our own table.
    pub fn new(own: PriceList, environment: &Environment) -> Result<Self, String> {
        let mut lists = vec![own];
        if let Ok(path) = environment.resolve(&format!("${{env:{VARIABLE}}}")) {
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{VARIABLE}: {path}: {error}"))?;
            let list = serde_saphyr::from_str(&text).map_err(|error| format!("{VARIABLE}: {path}: {error}"))?;
            lists.push(list);
        }
        lists.push(bundled::list());
        Ok(Self { lists })
    }

    /// Billionths of a dollar.
    pub fn cost(&self, model: &str, tokens: &Tokens) -> Option<i64> {
        self.of(model).map(|price| price.cost(tokens))
    }

    pub fn of(&self, model: &str) -> Option<&Price> {
        // A gateway puts the maker's name before the model's.
        let bare = model.rsplit('/').next().unwrap_or(model);
        self.lists.iter().find_map(|list| find(list, model).or_else(|| find(list, bare)))
    }

    /// The models in a frozen definition that have no price.
    pub fn unknown_in(&self, spec: &Value, has_price: &dyn Fn(&str, &Value) -> bool) -> BTreeSet<String> {
        let mut unknown = BTreeSet::new();
        self.look(spec, has_price, &mut unknown);
        unknown
    }

    /// A model may be anywhere: the target, a judge inside another evaluator, a simulated user.
    fn look(&self, value: &Value, has_price: &dyn Fn(&str, &Value) -> bool, unknown: &mut BTreeSet<String>) {
        if let (Some(kind), Some(model)) = (value["kind"].as_str(), value["config"]["model"].as_str())
            && has_price(kind, &value["config"])
            && self.of(model).is_none()
        {
            unknown.insert(model.to_owned());
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|inner| self.look(inner, has_price, unknown)),
            Value::Array(list) => list.iter().for_each(|inner| self.look(inner, has_price, unknown)),
            _ => {}
        }
    }
}

/// The model itself, a family written `gpt-4o*`, or a dated version of a model that is listed.
fn find<'a>(list: &'a PriceList, model: &str) -> Option<&'a Price> {
    if let Some(price) = list.get(model) {
        return Some(price);
    }
    let family = |name: &str| name.strip_suffix('*').is_some_and(|family| model.starts_with(family));
    let version = |name: &str| model.strip_prefix(name).is_some_and(is_version);
    let fitting = list.iter().filter(|(name, _)| family(name) || version(name));
    fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
}

/// `-2024-08-06`, `-20241022`, `-001`, `-latest`, `-preview-05-20`, `@20250514`, `:latest`.
fn is_version(suffix: &str) -> bool {
    let Some(rest) = suffix.strip_prefix(['-', '@', ':']) else { return false };
    rest.split('-').all(|part| {
        let dated = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        (dated && part.len() >= 2) || matches!(part, "latest" | "preview" | "exp" | "experimental")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(own: &str) -> Prices {
        Prices::new(serde_saphyr::from_str(own).unwrap(), &Environment::new(|_| None)).unwrap()
    }

    #[test]
    fn a_call_costs_what_its_tokens_cost() {
        let prices = prices("{}");
        let tokens = Tokens { input: 1_000_000, cached_input: 400_000, output: 100_000 };
        assert_eq!(prices.cost("gpt-4o", &tokens), Some((1_500_000_000 + 500_000_000) + 1_000_000_000));
        assert_eq!(prices.cost("gpt-4o-2024-08-06", &tokens), prices.cost("gpt-4o", &tokens));
        assert_eq!(prices.cost("openai/gpt-4o", &tokens), prices.cost("gpt-4o", &tokens));
        assert_ne!(prices.cost("gpt-4o-mini", &tokens), prices.cost("gpt-4o", &tokens));
        assert_eq!(prices.cost("gpt-4o-audio", &tokens), None);
        assert_eq!(prices.cost("mock", &Tokens { input: 10, cached_input: 0, output: 10 }), Some(25_000 + 100_000));
    }

    #[test]
    fn the_job_file_comes_first_then_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.yaml");
        std::fs::write(&path, "gpt-4o: { input: 7, output: 7 }\nlocal*: { input: 1, output: 2 }\n").unwrap();
        let path = path.display().to_string();
        let environment = Environment::new(move |name| (name == VARIABLE).then(|| path.clone()));
        let own = serde_saphyr::from_str("gpt-4.1: { input: 9, output: 9 }").unwrap();
        let prices = Prices::new(own, &environment).unwrap();
        let input = |model: &str| prices.of(model).map(|price| price.input);
        assert_eq!(input("gpt-4.1"), Some(9.0));
        assert_eq!(input("gpt-4o"), Some(7.0));
        assert_eq!(input("local-llama"), Some(1.0));
        assert_eq!(input("gpt-4o-mini"), Some(0.15));
    }

    #[test]
    fn a_broken_file_is_named() {
        let environment = Environment::new(|name| (name == VARIABLE).then(|| "/no/such/file".to_owned()));
        assert!(Prices::new(PriceList::new(), &environment).unwrap_err().contains("/no/such/file"));
    }

    #[test]
    fn models_without_a_price_are_found_wherever_they_are() {
        let spec = serde_json::json!({
            "target": { "kind": "openai", "config": { "model": "gpt-4o" } },
            "evaluators": [{ "config": { "judge": { "kind": "openai", "config": { "model": "secret-1" } } } }],
        });
        let unknown = prices("{}").unknown_in(&spec, &|kind, _| kind == "openai");
        assert_eq!(unknown.into_iter().collect::<Vec<_>>(), ["secret-1"]);
    }
}
