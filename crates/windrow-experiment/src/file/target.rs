//! `target:` in a job file: one of the registered targets, and what it is asked.

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::fit::{self, Wish};
use crate::definition::component::{Component, LoadContext, Placed};
use crate::definition::conversation::{ConversationMode, USER};
use crate::definition::message::{MessageTemplate, Role};
use crate::target::{TARGETS, chosen};

const PROMPT_FIELDS: &[&str] = &["prompt", "system", "messages"];

pub struct TargetSection {
    pub component: Component,
    pub messages: Vec<MessageTemplate>,
    pub warnings: Vec<String>,
}

/// `wishes` are also known where something else of the target is wrong.
pub fn read(
    mut section: Section,
    mode: &ConversationMode,
    context: LoadContext<'_>,
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Option<TargetSection> {
    let names: Vec<&str> = TARGETS.iter().map(|kind| kind.name).collect();
    if !section.is_map() {
        let message = format!("`target` must name a target, found {}", section.node.describe());
        problems.add(section.node.span, message, format!("one of: {}", names.join(", ")));
        return None;
    }
    let given: &'static [&'static str] = if matches!(mode, ConversationMode::Simulated(_)) { &[USER] } else { &[] };
    let mut messages = read_messages(&mut section, given, wishes, problems);
    if messages.iter().all(|message| message.role.opens_conversation()) && !given.is_empty() {
        messages.push(MessageTemplate { role: Role::User, content: format!("{{{{ {USER} }}}}") });
    }
    let (kind, config) = chosen(section, PROMPT_FIELDS, problems)?;
    if kind.needs_prompt(&config) && messages.is_empty() {
        let help = "add `prompt: \"…\"` beside it, or `messages:` with `role` and `content`";
        problems.add(config.span.clone(), format!("the target `{}` is asked nothing", kind.name), help);
    }
    let checked = kind.read(&config, &[], context, problems)?;
    wishes.extend(fit::wishes_of(&checked, true, problems));
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    Some(TargetSection { component, messages, warnings: checked.warnings })
}

fn read_messages(
    target: &mut Section,
    given: &'static [&'static str],
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Vec<MessageTemplate> {
    let placed =
        |section: &Section, span, text: &str| Placed { path: section.path.clone(), span, text: text.to_owned(), given };
    let mut messages = Vec::new();
    let (system, prompt, list) = (target.take("system"), target.take("prompt"), target.take("messages"));
    if let (Some(prompt), Some(_)) = (&prompt, &list) {
        let message = "`target` has both `prompt` and `messages`";
        problems.add(prompt.span.clone(), message, "keep one; a `prompt` is one message of the role user");
    }
    for (role, section) in [(Role::System, system), (Role::User, prompt)] {
        let Some(section) = section else { continue };
        let Some(content) = section.read::<String>(&[], problems) else { continue };
        wishes.extend(fit::wish(&placed(&section, section.node.span.clone(), &content), true, problems));
        messages.push(MessageTemplate { role, content });
    }
    for section in list.map(|list| list.elements(problems)).unwrap_or_default() {
        let Some(message) = section.read::<MessageTemplate>(&[], problems) else { continue };
        let placed = placed(&section, section.span_of("content"), &message.content);
        wishes.extend(fit::wish(&placed, true, problems));
        messages.push(message);
    }
    messages
}
