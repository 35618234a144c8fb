//! `target:` in a job file: one of the registered targets, and what it is asked.

use crate::experiment::component::Surroundings;
use crate::experiment::message::{MessageTemplate, Role};
use crate::experiment::spec::Component;
use crate::experiment::target::{TARGETS, TargetKind, find};
use crate::job_file::Section;
use crate::report::Problems;

use super::fit::{self, Wish};

const PROMPT_FIELDS: &[&str] = &["prompt", "system", "messages"];

pub struct TargetSection {
    pub component: Component,
    pub messages: Vec<MessageTemplate>,
    pub wishes: Vec<Wish>,
    pub warnings: Vec<String>,
}

pub fn read(mut section: Section, surroundings: Surroundings<'_>, problems: &mut Problems) -> Option<TargetSection> {
    let names: Vec<&str> = TARGETS.iter().map(|kind| kind.name).collect();
    if !section.is_map() {
        let message = format!("`target` must name a target, found {}", section.node.describe());
        problems.add(section.node.span, message, format!("one of: {}", names.join(", ")));
        return None;
    }
    let mut wishes = Vec::new();
    let messages = read_messages(&mut section, &mut wishes, problems);
    let chosen: Vec<(&TargetKind, Section)> =
        names.iter().filter_map(|name| Some((find(name)?, section.take(name)?))).collect();
    let at = section.span.clone();
    let left = section.field_names().len();
    section.finish(&[&names, PROMPT_FIELDS].concat(), problems);
    let (kind, config) = match <[_; 1]>::try_from(chosen) {
        Ok([one]) => one,
        Err(none) if none.is_empty() && left > 0 => return None,
        Err(chosen) => {
            let found = if chosen.is_empty() { "no target" } else { "more than one target" };
            problems.add(at, format!("`target` names {found}"), format!("name exactly one of: {}", names.join(", ")));
            return None;
        }
    };
    if kind.needs_prompt && messages.is_empty() {
        let help = "add `prompt: \"…\"` beside it, or `messages:` with `role` and `content`";
        problems.add(config.span.clone(), format!("the target `{}` is asked nothing", kind.name), help);
    }
    let checked = (kind.read)(&config, &[], surroundings, problems)?;
    wishes.extend(fit::wishes_of(&checked, true, problems));
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    Some(TargetSection { component, messages, wishes, warnings: checked.warnings })
}

fn read_messages(target: &mut Section, wishes: &mut Vec<Wish>, problems: &mut Problems) -> Vec<MessageTemplate> {
    let mut messages = Vec::new();
    let (system, prompt, list) = (target.take("system"), target.take("prompt"), target.take("messages"));
    if let (Some(prompt), Some(_)) = (&prompt, &list) {
        let message = "`target` has both `prompt` and `messages`";
        problems.add(prompt.span.clone(), message, "keep one; a `prompt` is one message of the role user");
    }
    for (role, section) in [(Role::System, system), (Role::User, prompt)] {
        let Some(section) = section else { continue };
        let Some(content) = section.read::<String>(&[], problems) else { continue };
        wishes.extend(fit::wish(&section.path, section.node.span.clone(), &content, true, problems));
        messages.push(MessageTemplate { role, content });
    }
    for section in list.map(|list| list.elements(problems)).unwrap_or_default() {
        let Some(message) = section.read::<MessageTemplate>(&[], problems) else { continue };
        wishes.extend(fit::wish(&section.path, section.span_of("content"), &message.content, true, problems));
        messages.push(message);
    }
    messages
}
