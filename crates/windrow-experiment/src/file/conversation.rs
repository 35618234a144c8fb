//! `conversation:` in a job file: how conversations of more than one turn continue.

use serde::Deserialize;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::fit::{self, Wish};
use crate::definition::component::{Checked, LoadContext, Placed};
use crate::definition::conversation::{ConversationMode, Simulated};
use crate::target::read_model;

const KINDS: &[&str] = &["scripted", "forced", "simulated"];
const EXAMPLE: &str = "conversation: { simulated: { user: { openai: { model: … } }, goal: \"{{ goal }}\" } }";
const MAX_TURNS: usize = 1000;

#[derive(Debug, Default)]
pub struct ConversationSection {
    /// `None` when something is wrong with it.
    pub mode: Option<ConversationMode>,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForcedConfig {
    #[serde(default = "default_reply")]
    reply: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SimulatedConfig {
    #[serde(default = "default_persona")]
    persona: String,
    goal: String,
    #[serde(default = "default_max_turns")]
    max_turns: usize,
    #[serde(default = "default_stop")]
    stop: String,
}

fn default_reply() -> String {
    "expected".to_owned()
}

fn default_persona() -> String {
    "a person who uses this assistant for the first time".to_owned()
}

fn default_max_turns() -> usize {
    10
}

fn default_stop() -> String {
    "[END]".to_owned()
}

pub fn read(section: Option<Section>, context: LoadContext<'_>, problems: &mut Problems) -> ConversationSection {
    let scripted = || ConversationSection { mode: Some(ConversationMode::Scripted), ..ConversationSection::default() };
    let Some(mut section) = section else { return scripted() };
    let kind = section.text().map(str::to_owned);
    let taken: Vec<(&str, Section)> = KINDS.iter().filter_map(|kind| Some((*kind, section.take(kind)?))).collect();
    match (kind.as_deref(), <[_; 1]>::try_from(taken)) {
        (Some("scripted"), _) | (None, Ok([("scripted", _)])) => scripted(),
        (None, Ok([("forced", config)])) => read_forced(&config, problems).unwrap_or_default(),
        (None, Ok([("simulated", config)])) => read_simulated(config, context, problems).unwrap_or_default(),
        _ => {
            let message = "`conversation` must be one of scripted, forced and simulated";
            problems.add(section.span, message, format!("for example: {EXAMPLE}"));
            ConversationSection::default()
        }
    }
}

fn read_forced(section: &Section, problems: &mut Problems) -> Option<ConversationSection> {
    let ForcedConfig { reply } = section.read(&[], problems)?;
    let path = format!("{}.reply", section.path);
    let field = Placed { path, span: section.span_of("reply"), text: reply.clone(), given: &[] };
    let wants = Checked { row_fields: vec![field], ..Checked::default() };
    let wishes = fit::wishes_of(&wants, true, problems);
    Some(ConversationSection { mode: Some(ConversationMode::Forced { reply }), wishes, warnings: Vec::new() })
}

fn read_simulated(
    mut section: Section,
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> Option<ConversationSection> {
    let user = section.require("user", "user: { openai: { model: … } }", problems);
    let user = user.and_then(|user| read_model(user, context, problems));
    let SimulatedConfig { persona, goal, max_turns, stop } = section.read(&["user"], problems)?;
    if !(1..=MAX_TURNS).contains(&max_turns) {
        let message = format!("`{}.max_turns` must be 1 to {MAX_TURNS}", section.path);
        problems.add(section.span_of("max_turns"), message, "for example: max_turns: 8");
    }
    if stop.trim().is_empty() {
        let message = format!("`{}.stop` must not be empty", section.path);
        problems.add(
            section.span_of("stop"),
            message,
            "choose a text that no message contains by chance: stop: \"[END]\"",
        );
    }
    let mut wishes = Vec::new();
    for (field, text) in [("persona", &persona), ("goal", &goal)] {
        let path = format!("{}.{field}", section.path);
        let placed = Placed { path, span: section.span_of(field), text: text.clone(), given: &[] };
        wishes.extend(fit::wish(&placed, true, problems));
    }
    let Some(user) = user else { return Some(ConversationSection { wishes, ..ConversationSection::default() }) };
    let mode = ConversationMode::Simulated(Simulated { user: user.component, persona, goal, max_turns, stop });
    Some(ConversationSection { mode: Some(mode), wishes, warnings: user.warnings })
}
