//! What a row must have: fields, and what the templates use.

use minijinja::value::Value;
use windrow_jobfile::template::{HISTORY, Template};

use crate::conversation::Conversation;
use crate::definition::message::{Message, Role};

/// Something a row must have.
#[derive(Debug, Clone)]
pub enum Need {
    Template { template: Template, given: &'static [&'static str] },
    Field(String),
}

pub struct Lack {
    pub message: String,
    /// The missing field, where it is one.
    pub field: Option<String>,
}

/// What of a need the conversation does not have, in any of its turns.
pub fn lack_of(need: &Need, conversation: &Conversation, rehearse: bool) -> Option<Lack> {
    (0..conversation.len()).find_map(|turn| match need {
        Need::Field(name) => match conversation.field(turn, name) {
            None | Some(serde_json::Value::Null) => Some(no_field(name)),
            Some(_) => None,
        },
        Need::Template { template, given } => lack_of_variables(template, given, conversation, turn, rehearse),
    })
}

/// Whether a variable is needed only rendering can tell: `{{ note | default("") }}` does without.
fn lack_of_variables(
    template: &Template,
    given: &'static [&'static str],
    conversation: &Conversation,
    turn: usize,
    rehearse: bool,
) -> Option<Lack> {
    let present =
        |name: &String| name == HISTORY || given.contains(&name.as_str()) || conversation.field(turn, name).is_some();
    let missing = template.variables().iter().find(|name| !present(name));
    // What a column will hold is not known yet, so a filter that does not like its stand-in says nothing.
    let reads_columns = template.variables().iter().any(|name| conversation.is_column(name));
    if missing.is_none() && !rehearse {
        return None;
    }
    let stand_in = [Role::User, Role::Assistant].map(|role| Message { role, content: "…".to_owned() });
    let history: Vec<Message> = stand_in.iter().cycle().take(turn * 2).cloned().collect();
    let seen = conversation.variables(turn, &history);
    let messages = conversation.variables(turn, &stand_in).history;
    let seen = given.iter().fold(seen, |seen, name| match *name {
        "messages" => seen.with(name, messages.clone()),
        _ => seen.with(name, "…"),
    });
    let error = template.render(&Value::from_object(seen)).err()?;
    let certain = ["undefined", "is unknown"].iter().any(|part| error.message.contains(part));
    if reads_columns && !certain {
        return None;
    }
    Some(missing.map_or(Lack { message: error.message, field: None }, |name| no_field(name)))
}

fn no_field(name: &str) -> Lack {
    Lack { message: format!("this row has no field `{name}`"), field: Some(name.to_owned()) }
}

/// Why a row cannot have these columns: each is computed once, and has a name that the row does not use.
pub fn unfit_for_columns<'a>(
    conversation: &Conversation,
    columns: impl Iterator<Item = &'a String> + Clone,
) -> Option<String> {
    let turns = conversation.len();
    let several = columns.clone().next().is_some() && turns > 1;
    let mut taken = columns.filter(|name| conversation.field(0, name).is_some());
    match taken.next() {
        Some(name) => Some(format!("the field `{name}` of this row has the name of a column")),
        None => several.then(|| format!("this row has {turns} turns, and a job with `columns` runs one")),
    }
}
