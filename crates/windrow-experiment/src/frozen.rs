//! What a frozen definition says about judging a run, read without the rest of it: a definition of an earlier version
//! keeps its gates even where its target can no longer be read.

use windrow_model::Json;
use windrow_model::gate::Quality;

/// The quality gates. A definition without any has none; one that cannot be read is an error, because no gates at all
/// would pass.
pub fn quality(spec: &Json) -> Result<Quality, serde_json::Error> {
    match spec.value().get_mut("quality") {
        None => Ok(Quality::default()),
        Some(quality) => {
            let quality: Quality = serde_json::from_value(quality.take())?;
            quality.check().map_err(serde::de::Error::custom)?;
            Ok(quality)
        }
    }
}

/// The evaluators that ask a model.
pub fn judges(spec: &Json) -> Vec<String> {
    let spec = spec.value();
    let columns = spec["columns"].as_array().into_iter().flatten().map(|column| &column["computed"]["evaluator"]);
    let evaluators = columns.chain(spec["evaluators"].as_array().into_iter().flatten());
    let asks = |evaluator: &&serde_json::Value| matches!(evaluator["kind"].as_str(), Some("judge" | "pairwise"));
    evaluators.filter(asks).filter_map(|evaluator| Some(evaluator["name"].as_str()?.to_owned())).collect()
}

/// All evaluators, computed columns among them.
pub fn evaluators(spec: &Json) -> Vec<String> {
    let spec = spec.value();
    let columns = spec["columns"].as_array().into_iter().flatten().map(|column| &column["computed"]["evaluator"]);
    let evaluators = columns.chain(spec["evaluators"].as_array().into_iter().flatten());
    evaluators.filter_map(|evaluator| Some(evaluator["name"].as_str()?.to_owned())).collect()
}

/// `exact changed, helpful reused`: what a rescore with the later definition computes.
pub fn judging_changes(before: &Json, after: &Json) -> String {
    let (before, after) = (before.value(), after.value());
    let earlier = before["evaluators"].as_array().cloned().unwrap_or_default();
    let word = |evaluator: &serde_json::Value| match earlier.iter().find(|other| other["name"] == evaluator["name"]) {
        None => "new",
        Some(other) if other == evaluator => "reused",
        Some(_) => "changed",
    };
    let later = after["evaluators"].as_array().into_iter().flatten();
    let named = later.filter_map(|evaluator| Some(format!("{} {}", evaluator["name"].as_str()?, word(evaluator))));
    named.collect::<Vec<_>>().join(", ")
}

/// Whether the run covers only the first rows.
pub fn is_trial_run(spec: &Json) -> bool {
    !spec.value()["first"].is_null()
}

/// The columns that fill a row, in the order of computation, and whether an evaluator does. Without `columns`: the
/// evaluators.
pub fn columns(spec: &Json) -> Vec<(String, bool)> {
    let spec = spec.value();
    let list = |field: &str| spec[field].as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
    let named = |one: &serde_json::Value| one["name"].as_str().map(str::to_owned);
    let own = list("columns").into_iter().map(|column| (named(&column), column["computed"]["evaluator"].is_object()));
    let judging = list("evaluators").into_iter().map(|evaluator| (named(&evaluator), true));
    own.chain(judging).filter_map(|(name, judges)| Some((name?, judges))).collect()
}

/// Whether rows are computed step by step.
pub fn has_columns(spec: &Json) -> bool {
    spec.value()["columns"].as_array().is_some_and(|columns| !columns.is_empty())
}

/// The column that the run fills, where it does not fill all.
pub fn filled_column(spec: &Json) -> Option<String> {
    spec.value()["only"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rescore_says_which_evaluators_it_computes() {
        let with = |evaluators: serde_json::Value| Json::of(&json!({ "evaluators": evaluators }));
        let one = |name: &str, k: i64| json!({ "name": name, "kind": "exact", "config": k });
        let (old, new) =
            (with(json!([one("a", 1), one("b", 1)])), with(json!([one("a", 2), one("b", 1), one("c", 1)])));
        assert_eq!(judging_changes(&old, &new), "a changed, b reused, c new");
    }

    #[test]
    fn gates_that_cannot_be_read_are_an_error_and_not_no_gates() {
        let spec = |quality: serde_json::Value| Json::of(&json!({ "quality": quality }));
        assert_eq!(quality(&spec(json!({ "gates": ["errors < 1%"] }))).unwrap().gates, ["errors < 1%"]);
        assert!(quality(&Json::of(&json!({}))).unwrap().is_empty());
        assert!(quality(&spec(json!({ "gates": ["errors < 1%"], "of_a_later_version": 1 }))).is_err());
        assert!(quality(&spec(json!(["errors < 1%"]))).is_err());
        let unknown = quality(&spec(json!({ "gates": ["exact.mode of_a_later_version"] }))).unwrap_err().to_string();
        assert!(unknown.contains("mode"), "{unknown}");
        assert!(quality(&spec(json!({ "max_errors": "some" }))).is_err());
    }

    #[test]
    fn judges_are_the_evaluators_that_ask_a_model() {
        let evaluators = json!([{ "kind": "exact", "name": "a" }, { "kind": "judge", "name": "b" }]);
        let spec = Json::of(&json!({ "evaluators": evaluators, "first": 3 }));
        assert_eq!(judges(&spec), ["b"]);
        assert!(is_trial_run(&spec) && !is_trial_run(&Json::of(&json!({}))));
    }
}
