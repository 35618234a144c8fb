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

pub fn read(
    mut section: Section,
    mode: &ConversationMode,
    context: LoadContext<'_>,
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Option<TargetSection> {
    let asks = Asks { prompted: false, mode };
    read_asked(&mut section, asks, context, wishes, problems)
}

/// What else is known of a target that is read.
#[derive(Clone, Copy)]
pub struct Asks<'a> {
    /// Its prompts stand elsewhere.
    pub prompted: bool,
    pub mode: &'a ConversationMode,
}

/// `wishes` are also known where something else of the target is wrong.
pub fn read_asked(
    section: &mut Section,
    Asks { prompted, mode }: Asks<'_>,
    context: LoadContext<'_>,
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Option<TargetSection> {
    let names: Vec<&str> = TARGETS.iter().map(|kind| kind.name).collect();
    if !section.is_map() {
        let message = format!("`{}` must name a target, found {}", section.path, section.node.describe());
        problems.add(section.node.span.clone(), message, format!("one of: {}", names.join(", ")));
        return None;
    }
    let given = given_in(mode);
    let mut messages = read_messages(section, given, wishes, problems);
    if messages.iter().all(|message| message.role.opens_conversation()) && !given.is_empty() && !prompted {
        messages.push(MessageTemplate { role: Role::User, content: format!("{{{{ {USER} }}}}") });
    }
    let (kind, config) = chosen(section.clone(), PROMPT_FIELDS, problems)?;
    if kind.needs_prompt(&config) && messages.is_empty() && !prompted {
        let help = "add `prompt: \"…\"` next to it, or `messages:` with `role` and `content`";
        problems.add(config.span.clone(), format!("the target `{}` is asked nothing", kind.name), help);
    }
    let checked = kind.read(&config, &[], context, problems)?;
    wishes.extend(fit::wishes_of(&checked, true, problems));
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    Some(TargetSection { component, messages, warnings: checked.warnings })
}

pub fn given_in(mode: &ConversationMode) -> &'static [&'static str] {
    if matches!(mode, ConversationMode::Simulated(_)) { &[USER] } else { &[] }
}

pub fn read_messages(
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
        let message = format!("`{}` has both `prompt` and `messages`", target.path);
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
