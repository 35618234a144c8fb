//! What models cost. A bundled table, dated, which a file and the job file override. The cost of a model that is in
//! none of them is unknown: it counts as nothing, with a warning, and a budget in money rejects it.

mod bundled;
mod price;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::environment::Environment;

pub use bundled::dated;
pub use price::{Price, Tokens};

/// Names a YAML or JSON file of prices.
pub const VARIABLE: &str = "WINDROW_PRICES";

/// By model, as in a job file: `"my-model": { input: 0.5, output: 1.5 }`.
pub type PriceList = BTreeMap<String, Price>;

#[derive(Debug, Clone, Default)]
pub struct Prices {
    /// Each before the next, and all before the bundled table.
    lists: Vec<PriceList>,
}

impl Prices {
    /// The prices of the job file, of the file that the environment names, then the bundled table.
    pub fn new(own: PriceList, environment: &Environment) -> Result<Self, String> {
        let mut lists = vec![own];
        if let Ok(path) = environment.resolve(&format!("${{env:{VARIABLE}}}")) {
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{VARIABLE}: {path}: {error}"))?;
            let list = serde_saphyr::from_str(&text).map_err(|error| format!("{VARIABLE}: {path}: {error}"))?;
            lists.push(list);
        }
        Ok(Self { lists })
    }

    /// Billionths of a dollar.
    pub fn cost(&self, provider: &str, model: &str, tokens: &Tokens) -> Option<i64> {
        self.of(provider, model).map(|price| price.cost(tokens))
    }

    pub fn of(&self, provider: &str, model: &str) -> Option<&Price> {
        // Two providers may serve one model at different prices. A gateway puts the maker's name before the model's.
        let served = format!("{provider}/{model}");
        let bare = model.rsplit('/').next().unwrap_or(model);
        let names = [served.as_str(), model, bare];
        let listed = self.lists.iter().find_map(|list| names.iter().find_map(|name| find(list, name)));
        listed.or_else(|| names.iter().find_map(|name| bundled::find(name)))
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
            && self.of(kind, model).is_none()
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
        let cost = |model: &str, tokens: &Tokens| prices.cost("openai", model, tokens);
        let tokens = Tokens { input: 1_000_000, cached_input: 400_000, output: 100_000, batch: false };
        assert_eq!(cost("gpt-4o", &tokens), Some((1_500_000_000 + 500_000_000) + 1_000_000_000));
        assert_eq!(cost("gpt-4o-2024-08-06", &tokens), cost("gpt-4o", &tokens));
        assert_eq!(cost("openai/gpt-4o", &tokens), cost("gpt-4o", &tokens));
        assert_ne!(cost("gpt-4o-mini", &tokens), cost("gpt-4o", &tokens));
        assert_eq!(cost("gpt-4o-nonesuch", &tokens), None);
        let few = Tokens { input: 10, output: 10, ..Tokens::default() };
        assert_eq!(cost("mock", &few), Some(25_000 + 100_000));
    }

    #[test]
    fn a_batch_costs_its_own_price_where_the_table_has_one() {
        let prices = prices("plain: { input: 4, output: 8 }");
        let cost = |model: &str, batch| {
            prices.cost("openai", model, &Tokens { input: 1_000_000, output: 1_000_000, batch, ..Tokens::default() })
        };
        assert_eq!(cost("gpt-4o", false), Some(12_500_000_000));
        assert_eq!(cost("gpt-4o", true), Some(6_250_000_000));
        assert_eq!(cost("plain", true), cost("plain", false));
    }

    #[test]
    fn a_price_of_the_provider_comes_before_that_of_the_maker() {
        let prices = prices("gpt-4o: { input: 2, output: 2 }\nazure/gpt-4o: { input: 3, output: 3 }");
        let input = |provider: &str, model: &str| prices.of(provider, model).map(|price| price.input);
        assert_eq!(input("azure", "gpt-4o"), Some(3.0));
        assert_eq!(input("openai", "gpt-4o"), Some(2.0));
        assert_eq!(input("openrouter", "google/gemini-2.5-pro"), input("gemini", "gemini-2.5-pro"));
        assert!(input("gemini", "gemini-2.5-pro").is_some());
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
        let input = |model: &str| prices.of("openai", model).map(|price| price.input);
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
