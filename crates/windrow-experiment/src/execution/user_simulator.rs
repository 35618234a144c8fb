//! How a conversation continues: what the person says next, and what the model remembers having said.
//! Scripted turns come from the row; a simulated user is a model with a persona and a goal.

use std::sync::Arc;

use windrow_jobfile::spec::invalid_request;
use windrow_jobfile::template::{Template, Variables};
use windrow_model::workload::Halt;
use windrow_model::{ErrorClass, Failure};

use crate::calls::Calls;
use crate::context::ComponentContext;
use crate::conversation::Conversation;
use crate::definition::conversation::{ConversationMode, Simulated, USER};
use crate::definition::message::{Message, Role};
use crate::target::{self, Answer, Target};

const INSTRUCTIONS: &str = "You play a person who talks to an assistant. Stay in character and never say that you are a \
                            model.\n\nWho you are: {{ persona }}\nWhat you want: {{ goal }}\n\nWrite only what this \
                            person says next, in one message. Once you have what you want, or see that you will not \
                            get it, write exactly {{ stop }} and nothing else.";
const OPENING: &str = "(The conversation begins. Write your first message.)";

/// Who speaks with the target, ready to speak.
pub enum UserSimulator {
    Script,
    Forced { reply: String },
    Simulated(Box<SimulatedUser>),
}

pub struct SimulatedUser {
    model: Arc<dyn Target>,
    persona: Template,
    goal: Template,
    instructions: Template,
    max_turns: usize,
    stop: String,
}

impl UserSimulator {
    pub fn prepare(mode: ConversationMode, context: &ComponentContext) -> Result<Self, Failure> {
        Ok(match mode {
            ConversationMode::Scripted => UserSimulator::Script,
            ConversationMode::Forced { reply } => UserSimulator::Forced { reply },
            ConversationMode::Simulated(Simulated { user, persona, goal, max_turns, stop }) => {
                UserSimulator::Simulated(Box::new(SimulatedUser {
                    model: target::build(&user.kind, user.config, context)?,
                    persona: compiled(&persona)?,
                    goal: compiled(&goal)?,
                    instructions: compiled(INSTRUCTIONS)?,
                    max_turns,
                    stop,
                }))
            }
        })
    }

    /// What the templates of this turn see; `None` once the conversation is over.
    pub async fn opens(
        &self,
        conversation: &Conversation,
        history: &[Message],
        calls: &Calls<'_>,
    ) -> Result<Option<Variables>, Halt> {
        let variables = || conversation.variables(calls.turn, history);
        match self {
            UserSimulator::Script | UserSimulator::Forced { .. } => {
                Ok((calls.turn < conversation.len()).then(variables))
            }
            UserSimulator::Simulated(user) if calls.turn >= user.max_turns => Ok(None),
            UserSimulator::Simulated(user) => {
                let said = user.speaks(variables(), history, calls).await?;
                Ok(said.map(|said| variables().with(USER, said)))
            }
        }
    }

    /// What the model will be told it said.
    pub fn remembered(&self, conversation: &Conversation, turn: usize, answer: &Answer) -> Result<String, Failure> {
        let UserSimulator::Forced { reply } = self else { return Ok(answer.content.clone()) };
        match conversation.field(turn, reply) {
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            None | Some(serde_json::Value::Null) => {
                let message = format!("turn {} has no recorded answer in its field `{reply}`", turn + 1);
                Err(Failure::new(ErrorClass::InvalidRequest, message))
            }
            Some(other) => Ok(other.to_string()),
        }
    }
}

impl SimulatedUser {
    async fn speaks(
        &self,
        variables: Variables,
        history: &[Message],
        calls: &Calls<'_>,
    ) -> Result<Option<String>, Halt> {
        let row = minijinja::Value::from_object(variables.clone());
        let rendered = |template: &Template| template.render(&row).map_err(|error| invalid_request(error.message));
        let part = variables
            .with("persona", rendered(&self.persona)?)
            .with("goal", rendered(&self.goal)?)
            .with("stop", self.stop.as_str());
        let instructions = self.instructions.render(&minijinja::Value::from_object(part));
        let content = instructions.map_err(|error| invalid_request(error.message))?;
        let mut messages = vec![Message { role: Role::System, content }];
        messages.push(Message { role: Role::User, content: OPENING.to_owned() });
        messages.extend(history.iter().map(with_roles_exchanged));
        let said = calls.ask(&*self.model, &messages).await?.content;
        match (said.contains(&self.stop), calls.turn) {
            (false, _) => Ok(Some(said)),
            (true, 0) => {
                let message = "the simulated user ended the conversation before it began";
                Err(Failure::new(ErrorClass::InvalidOutput, message).into())
            }
            (true, _) => Ok(None),
        }
    }
}

/// What the assistant said is what the simulated person hears.
fn with_roles_exchanged(message: &Message) -> Message {
    let role = match message.role {
        Role::Assistant => Role::User,
        Role::User => Role::Assistant,
        other => other,
    };
    Message { role, content: message.content.clone() }
}

fn compiled(text: &str) -> Result<Template, Failure> {
    Template::new(text).map_err(|error| invalid_request(error.message))
}
