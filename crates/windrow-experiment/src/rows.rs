//! Rows, however they arrive: from the dataset, appended, or fed to an online run. The same checks apply to all of them
//! before anything is paid for, and each becomes one item per trial.

use minijinja::value::Value;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::dataset::{Reading, Row};
use windrow_jobfile::duration::moment;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::forbidden::{Forbidden, machine_words};
use windrow_jobfile::template::{Fields, Template, TemplateError};
use windrow_model::priority::Priority;
use windrow_model::store::NewItem;

use crate::conversation::Conversation;
use crate::definition::columns::Computed;
use crate::definition::component::Component;
use crate::definition::conversation::{ConversationMode, USER};
use crate::definition::message::MessageTemplate;
use crate::definition::spec::{ExperimentSpec, RowTemplates};
use crate::definition::trials::{Placing, Shape, VARIANT};
use crate::needs::{Need, lack_of, unfit_for_columns};

/// The name of a variant, and what its rows must have.
type VariantNeeds = (Option<String>, Vec<Need>);

/// How a definition understands its rows.
pub struct RowRules {
    reading: Reading,
    options: RowOptions,
    forbidden: Forbidden,
    /// By variant; of a job without any, under no name.
    needs: Vec<VariantNeeds>,
    shape: Shape,
    /// Names of the columns, and what stands in for their cells.
    columns: Fields,
}

impl RowRules {
    /// Reads the machine's forbidden words, so it may block.
    pub fn of(spec: &ExperimentSpec, environment: &Environment) -> Result<Self, String> {
        let words = spec.forbidden.iter().cloned().chain(machine_words(environment)?);
        Ok(Self {
            reading: spec.dataset.reading.clone(),
            options: RowOptions::of(&spec.row).map_err(|error| error.message)?,
            forbidden: Forbidden::new(words)?,
            needs: needs(spec).map_err(|error| error.message)?,
            shape: Shape::of(spec),
            columns: stand_ins(spec.columns.iter().map(|column| (column.name.as_str(), column.is_output()))),
        })
    }

    /// The row as a conversation, or why it is not run.
    pub fn check(&self, row: Fields) -> Result<Conversation, String> {
        for (field, value) in &row {
            if let Some(word) = self.forbidden.in_value(value).first() {
                return Err(format!("field `{field}` has the forbidden word {word:?}"));
            }
        }
        let read = self.reading.read(row);
        let fields =
            read.map_err(|why| format!("the row is not of the dataset's shape `{}`: {why}", self.reading.shape))?;
        let variant = fields.get(VARIANT).and_then(|name| name.as_str()).map(str::to_owned);
        let conversation = Conversation::of(fields)?;
        if let Some(message) = unfit_for_columns(&conversation, self.columns.keys()) {
            return Err(message);
        }
        let checked = match self.columns.is_empty() {
            true => conversation.clone(),
            false => conversation.with_columns(self.columns.clone()),
        };
        // A row that was sent is none of the variants yet, and must do for all of them.
        let named = self.needs.iter().any(|(name, _)| *name == variant);
        let needs = self.needs.iter().filter(|(name, _)| !named || *name == variant);
        if let Some(lack) = needs.flat_map(|(_, needs)| needs).find_map(|need| lack_of(need, &checked, false)) {
            return Err(lack.message);
        }
        self.options.of_row(&conversation)?;
        Ok(conversation)
    }

    /// The items of a row of the dataset. What is wrong with it is said when they are executed.
    pub fn items_of(&self, row: Row) -> Vec<NewItem> {
        let placing = self.placing(&row.fields).unwrap_or_default();
        self.shape.items_of(row, &placing)
    }

    /// The items of a row that was sent, or why there are none.
    pub fn items_of_sent(&self, text: &str) -> Result<Vec<NewItem>, String> {
        let fields: Fields = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
        self.check(fields.clone())?;
        let placing = self.placing(&fields)?;
        let row = Row { line: 0, text: canonical(&fields.clone().into()).into(), fields };
        Ok(self.shape.items_of(row, &placing))
    }

    fn placing(&self, fields: &Fields) -> Result<Placing, String> {
        if self.options.is_empty() {
            return Ok(Placing::default());
        }
        let fields = self.reading.read(fields.clone()).map_err(|why| why.to_string())?;
        self.options.of_row(&Conversation::of(fields)?)
    }
}

/// What the target cannot do without. Evaluators have a verdict for what they miss.
fn needs(spec: &ExperimentSpec) -> Result<Vec<VariantNeeds>, TemplateError> {
    let simulated = matches!(spec.conversation, ConversationMode::Simulated(_));
    let given: &'static [&'static str] = if simulated { &[USER] } else { &[] };
    let template = |text: &str| Ok::<_, TemplateError>(Need::Template { template: Template::new(text)?, given });
    let of = |(name, target, messages): (Option<&str>, &Component, &[MessageTemplate])| {
        let mut needs = messages.iter().map(|message| template(&message.content)).collect::<Result<Vec<_>, _>>()?;
        if target.kind == "recorded" {
            needs.extend(target.config["field"].as_str().map(|field| Need::Field(field.to_owned())));
        }
        Ok::<_, TemplateError>((name.map(str::to_owned), needs))
    };
    let columns = spec.columns.iter().filter_map(|column| column.target());
    let columns = columns.map(|(target, messages)| (None, target, messages));
    let mut needs: Vec<VariantNeeds> = spec.asked().into_iter().chain(columns).map(of).collect::<Result<_, _>>()?;
    for column in &spec.columns {
        if let Computed::Template(text) = &column.computed {
            needs.push((None, vec![template(text)?]));
        }
    }
    Ok(needs)
}

/// What a row is checked with before its columns are computed.
pub fn stand_ins<'a>(columns: impl Iterator<Item = (&'a str, bool)>) -> Fields {
    let value = |is_output: bool| match is_output {
        true => "…".into(),
        false => serde_json::json!({ "verdict": "pass", "value": 1.0, "reason": "…" }),
    };
    columns.map(|(name, is_output)| (name.to_owned(), value(is_output))).collect()
}

/// `row:` of a job file, compiled (T5).
#[derive(Debug, Clone, Default)]
pub struct RowOptions {
    resource: Option<Template>,
    priority: Option<Template>,
    not_before: Option<Template>,
}

impl RowOptions {
    pub fn of(templates: &RowTemplates) -> Result<Self, TemplateError> {
        let compile = |text: &Option<String>| text.as_deref().map(Template::new).transpose();
        Ok(Self {
            resource: compile(&templates.resource)?,
            priority: compile(&templates.priority)?,
            not_before: compile(&templates.not_before)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.resource.is_none() && self.priority.is_none() && self.not_before.is_none()
    }

    /// An empty text says nothing.
    pub fn of_row(&self, conversation: &Conversation) -> Result<Placing, String> {
        let variables = Value::from_object(conversation.variables(0, &[]));
        let text = |name: &str, template: &Option<Template>| {
            let Some(template) = template else { return Ok(None) };
            let text = template.render(&variables).map_err(|error| format!("`row.{name}`: {}", error.message))?;
            Ok::<_, String>(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        };
        let resource = text("resource", &self.resource)?;
        let priority = text("priority", &self.priority)?.map(|text| {
            let known = text.parse().ok().and_then(Priority::new);
            known.ok_or_else(|| format!("`row.priority` is {text:?}, but must be 1 (highest) to 9 (lowest)"))
        });
        let not_before = text("not_before", &self.not_before)?.map(|text| {
            moment(&text)
                .ok_or_else(|| format!("`row.not_before` is {text:?}, but must be a time, e.g. 2026-01-31T06:00:00Z"))
        });
        Ok(Placing {
            resource,
            priority: priority.transpose()?.unwrap_or_default(),
            not_before: not_before.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windrow_model::Time;

    use super::*;

    fn placing(row: serde_json::Value) -> Result<Placing, String> {
        let text = |text: &str| Some(text.to_owned());
        let templates = RowTemplates {
            resource: text("{{ tenant }}"),
            priority: text("{{ prio | default('') }}"),
            not_before: text("{{ at | default('') }}"),
        };
        let serde_json::Value::Object(fields) = row else { panic!("a row is an object") };
        RowOptions::of(&templates).unwrap().of_row(&Conversation::of(fields).unwrap())
    }

    #[test]
    fn a_row_names_its_resource_priority_and_time() {
        let found = placing(json!({ "tenant": "a", "prio": 2, "at": "1970-01-01T00:00:01Z" })).unwrap();
        assert_eq!(
            (found.resource.as_deref(), found.priority.get(), found.not_before),
            (Some("a"), 2, Some(Time(1000)))
        );
        assert_eq!(placing(json!({ "tenant": "" })).unwrap(), Placing::default());
    }

    #[test]
    fn what_a_row_says_wrongly_is_named() {
        for (row, part) in [
            (json!({}), "`row.resource`"),
            (json!({ "tenant": "a", "prio": 12 }), "1 (highest) to 9 (lowest)"),
            (json!({ "tenant": "a", "at": "soon" }), "must be a time"),
        ] {
            let why = placing(row).unwrap_err();
            assert!(why.contains(part), "no {part:?} in {why}");
        }
    }
}
