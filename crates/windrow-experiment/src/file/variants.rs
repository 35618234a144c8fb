//! `targets:`, `prompts:` and `matrix:` in a job file: named targets and prompts, each pair of which is a variant.

use std::collections::BTreeSet;

use windrow_jobfile::diagnostics::{Problems, nearest};
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::yaml::Content;

use super::fit::{self, Wish};
use super::target::{self, Asks, TargetSection, given_in};
use crate::definition::component::{Component, LoadContext, Placed};
use crate::definition::conversation::ConversationMode;
use crate::definition::message::{MessageTemplate, Role};
use crate::definition::placement::WORKER;
use crate::definition::spec::Variant;

const MAX_NAME: usize = 64;
/// Variants are items of every row.
const MAX_VARIANTS: usize = 100;
const NAME_HELP: &str = "use up to 64 of a-z, 0-9, `_` and `-`";

pub struct Sections {
    pub target: Option<Section>,
    targets: Option<Section>,
    prompts: Option<Section>,
    matrix: Option<Section>,
}

impl Sections {
    pub fn take(root: &mut Section, has_columns: bool, problems: &mut Problems) -> Self {
        let targets = root.take("targets");
        let target = match (&targets, root.take("target")) {
            (None, None) if has_columns => None,
            (None, None) => root.require("target", "target: { openai: { model: … }, prompt: \"…\" }", problems),
            (Some(_), Some(one)) => {
                let help = "keep `targets` and name this one there too";
                problems.add(one.span.clone(), "the file has both `target` and `targets`", help);
                None
            }
            (_, target) => target,
        };
        Self { target, targets, prompts: root.take("prompts"), matrix: root.take("matrix") }
    }
}

impl Sections {
    /// Columns are all there is: a target is one of them.
    pub fn refuse_beside_columns(&self, problems: &mut Problems) {
        let sections = [&self.target, &self.targets, &self.prompts, &self.matrix];
        for section in sections.into_iter().flatten() {
            let message = format!("the file has both `columns` and `{}`", section.path);
            problems.add(section.span.clone(), message, "make each target a column, with its `prompt` in it");
        }
    }
}

/// What is asked of whom: one target, or variants.
pub struct AskedSection {
    /// The only target, or one that stands for all of them where what counts is the same for all.
    pub target: TargetSection,
    pub variants: Vec<Variant>,
    pub warnings: Vec<String>,
}

impl AskedSection {
    /// Of a job with columns.
    pub fn nothing() -> Self {
        let target = TargetSection { component: Component::default(), messages: Vec::new(), warnings: Vec::new() };
        Self { target, variants: Vec::new(), warnings: Vec::new() }
    }
}

struct NamedPrompt {
    name: String,
    messages: Vec<MessageTemplate>,
}

pub fn read(
    sections: Sections,
    mode: &ConversationMode,
    (base, context): (Base<'_>, LoadContext<'_>),
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Option<AskedSection> {
    let Sections { target, targets, prompts, matrix } = sections;
    if targets.is_none() && prompts.is_none() {
        if let Some(matrix) = matrix {
            let help = "name several `targets`, `prompts` or both; without them there is one variant";
            problems.add(matrix.span, "`matrix` needs `targets` or `prompts`", help);
        }
        let mut target = target::read(target?, mode, context, wishes, problems)?;
        let warnings = std::mem::take(&mut target.warnings);
        return Some(AskedSection { target, variants: Vec::new(), warnings });
    }
    let mut warnings = Vec::new();
    let asks = Asks { prompted: prompts.is_some(), mode };
    let mut read_targets: Vec<(String, TargetSection)> = Vec::new();
    let named = targets.map(|targets| entries(targets, problems));
    let unnamed = target.map(|target| vec![(String::new(), target)]);
    for (name, mut section) in named.into_iter().chain(unnamed).flatten() {
        let span = section.span.clone();
        let Some(mut read) = target::read_asked(&mut section, asks, context, wishes, problems) else { continue };
        let asked = read.messages.iter().any(|message| !message.role.opens_conversation());
        if asks.prompted && asked {
            let message = format!("`{}` has a prompt, and the file has `prompts`", section.path);
            problems.add(span, message, "move it to `prompts`; a target may keep its `system`");
        }
        if read.component.kind == WORKER {
            let help = "use `target: { worker: … }`; a worker of your own does whole items";
            problems.add(section.span.clone(), "the target `worker` cannot be one of several", help);
        }
        warnings.append(&mut read.warnings);
        read_targets.push((name, read));
    }
    let read_prompts = prompts.map(|prompts| read_prompts(prompts, mode, base, wishes, problems));
    let no_prompts = [NamedPrompt { name: String::new(), messages: Vec::new() }];
    let prompts = read_prompts.as_deref().unwrap_or(&no_prompts);
    let pairs = pairs(matrix, &read_targets, prompts, problems)?;
    let variant = |(target, prompt): &(usize, usize)| {
        let ((target_name, target), prompt) = (&read_targets[*target], &prompts[*prompt]);
        let names = [target_name.as_str(), prompt.name.as_str()];
        Variant {
            name: names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join("."),
            target: target.component.clone(),
            messages: [target.messages.clone(), prompt.messages.clone()].concat(),
        }
    };
    let variants: Vec<Variant> = pairs.iter().map(variant).collect();
    if variants.len() > MAX_VARIANTS {
        let message = format!("the matrix has {} variants, and at most {MAX_VARIANTS} are possible", variants.len());
        problems
            .push(windrow_jobfile::diagnostics::Problem::new(message, "choose pairs: matrix: [[target, prompt], …]"));
        return None;
    }
    let (_, target) = read_targets.into_iter().next()?;
    Some(AskedSection { target, variants, warnings })
}

/// The entries of a map, by name.
fn entries(mut map: Section, problems: &mut Problems) -> Vec<(String, Section)> {
    let names: Vec<String> = map.field_names().into_iter().map(str::to_owned).collect();
    if names.is_empty() {
        let message = format!("`{}` must be a map of names, found {}", map.path, map.node.describe());
        problems.add(map.node.span.clone(), message, "write each one under its name");
    }
    let mut found = Vec::new();
    for name in names {
        let Some(entry) = map.take(&name) else { continue };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            problems.add(entry.span.clone(), format!("{name:?} cannot be a name in `{}`", map.path), NAME_HELP);
            continue;
        }
        found.push((name, entry));
    }
    found
}

/// Text, `{ file: PATH }`, or what a target may have: `system`, `prompt`, `messages`.
fn read_prompts(
    section: Section,
    mode: &ConversationMode,
    base: Base<'_>,
    wishes: &mut Vec<Wish>,
    problems: &mut Problems,
) -> Vec<NamedPrompt> {
    let mut prompts = Vec::new();
    for (name, mut entry) in entries(section, problems) {
        let given = given_in(mode);
        let messages = match entry.take("file") {
            Some(file) => text_of_file(&file, base, problems).map(|content| {
                let placed =
                    Placed { path: entry.path.clone(), span: file.node.span.clone(), text: content.clone(), given };
                wishes.extend(fit::wish(&placed, true, problems));
                vec![MessageTemplate { role: Role::User, content }]
            }),
            None if entry.is_map() => Some(target::read_messages(&mut entry, given, wishes, problems)),
            None => entry.read::<String>(&[], problems).map(|content| {
                let placed =
                    Placed { path: entry.path.clone(), span: entry.node.span.clone(), text: content.clone(), given };
                wishes.extend(fit::wish(&placed, true, problems));
                vec![MessageTemplate { role: Role::User, content }]
            }),
        };
        if entry.is_map() {
            entry.clone().finish(&["file", "system", "prompt", "messages"], problems);
        }
        let Some(messages) = messages else { continue };
        if messages.iter().all(|message| message.role.opens_conversation()) {
            let help = "write the text, `{ file: … }`, `{ prompt: … }` or `{ messages: … }`";
            problems.add(entry.span.clone(), format!("`{}` asks nothing", entry.path), help);
            continue;
        }
        prompts.push(NamedPrompt { name, messages });
    }
    prompts
}

fn text_of_file(file: &Section, base: Base<'_>, problems: &mut Problems) -> Option<String> {
    let given = file.read::<String>(&[], problems)?;
    let Some(path) = base.locate(&given) else {
        let message = format!("{given} lies outside of the folder for files");
        problems.add(file.node.span.clone(), message, "name a file below it");
        return None;
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text.trim_end().to_owned()),
        Err(error) => {
            let message = format!("`{}`: {given} cannot be read: {error}", file.path);
            problems.add(file.node.span.clone(), message, "correct the path, which is relative to the job file");
            None
        }
    }
}

/// Which target goes with which prompt, by their places. `None` when something is wrong with it.
fn pairs(
    matrix: Option<Section>,
    targets: &[(String, TargetSection)],
    prompts: &[NamedPrompt],
    problems: &mut Problems,
) -> Option<Vec<(usize, usize)>> {
    if targets.is_empty() || prompts.is_empty() {
        return None;
    }
    let all = || (0..targets.len()).flat_map(|target| (0..prompts.len()).map(move |prompt| (target, prompt))).collect();
    let Some(matrix) = matrix else { return Some(all()) };
    if matrix.text() == Some("all") {
        return Some(all());
    }
    let named = (!targets[0].0.is_empty(), !prompts[0].name.is_empty());
    if named != (true, true) {
        let help = "leave it out: each name is a variant";
        problems.add(matrix.span, "`matrix` pairs targets with prompts, and only one of them has names", help);
        return None;
    }
    if !matches!(matrix.node.content, Content::List(_)) {
        let message = format!("`matrix` must be `all` or a list of pairs, found {}", matrix.node.describe());
        problems.add(matrix.node.span, message, "write it like: matrix: [[gpt, short], [claude, kind]]");
        return None;
    }
    let (mut found, mut seen, mut wrong) = (Vec::new(), BTreeSet::new(), false);
    let span = matrix.span.clone();
    let target_names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
    let prompt_names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    for pair in matrix.elements(problems) {
        let parts = pair.clone().elements(problems);
        let [target, prompt] = parts.as_slice() else {
            problems.add(pair.node.span, "a pair of `matrix` is a target and a prompt", "write it like: [gpt, short]");
            wrong = true;
            continue;
        };
        let target = place(target, "target", &target_names, problems);
        let prompt = place(prompt, "prompt", &prompt_names, problems);
        let (Some(target), Some(prompt)) = (target, prompt) else {
            wrong = true;
            continue;
        };
        if !seen.insert((target, prompt)) {
            problems.add(pair.node.span, "`matrix` has this pair twice", "keep one of them");
            wrong = true;
        }
        found.push((target, prompt));
    }
    if found.is_empty() && !wrong {
        problems.add(span, "`matrix` has no pairs", "write `matrix: all`, or list pairs");
        return None;
    }
    (!wrong).then_some(found)
}

fn place(section: &Section, what: &str, names: &[&str], problems: &mut Problems) -> Option<usize> {
    let name: String = section.read(&[], problems)?;
    let found = names.iter().position(|known| *known == name);
    if found.is_none() {
        let help = match nearest(&name, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the {what}s are: {}", names.join(", ")),
        };
        problems.add(section.node.span.clone(), format!("unknown {what} `{name}`"), help);
    }
    found
}
