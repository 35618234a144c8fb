//! Where an evaluator takes its evidence from: one turn, or the whole conversation.

use crate::definition::message::{Message, Role, transcript};
use crate::definition::spec::Over;
use crate::target::Answer;

#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub over: Over,
    pub variables: &'a minijinja::Value,
    /// Of the whole conversation it is the transcript, with the time and usage of all its turns.
    pub answer: &'a Answer,
    /// Everything said so far, the answer included.
    pub history: &'a [Message],
}

/// What an answer answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The person's last message, unless the row has a field `question`.
    pub question: String,
    /// What was said before that.
    pub earlier: String,
}

impl<'a> Case<'a> {
    pub fn is_whole(&self) -> bool {
        self.over == Over::Conversation
    }

    pub fn asked(&self) -> Asked {
        let before = self.before();
        let last = before.iter().rposition(|message| message.role == Role::User);
        let said = last.map_or(String::new(), |last| before[last].content.clone());
        let field = self.variables.get_attr("question").ok().filter(|field| !field.is_undefined() && !field.is_none());
        let question = field.map_or(said, |field| field.to_string());
        Asked { question, earlier: transcript(&before[..last.unwrap_or(0)]) }
    }

    /// Everything said, with the answer as it was given. A conversation that continues with the
    /// recorded replies remembers another one.
    pub fn transcript(&self) -> String {
        if self.is_whole() {
            return self.answer.content.clone();
        }
        let answer = Message { role: Role::Assistant, content: self.answer.content.clone() };
        transcript(&[self.before(), &[answer]].concat())
    }

    /// The history without the answer.
    fn before(&self) -> &'a [Message] {
        match self.history {
            [before @ .., last] if last.role == Role::Assistant => before,
            all => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, content: &str) -> Message {
        Message { role, content: content.to_owned() }
    }

    #[test]
    fn the_question_is_the_last_message_unless_the_row_has_one() {
        let history = [
            said(Role::User, "Hello"),
            said(Role::Assistant, "Hi"),
            said(Role::User, "Capital?"),
            said(Role::Assistant, "as recorded"),
        ];
        let answer = Answer { content: "Paris".to_owned(), ..Answer::default() };
        let case = |variables| Case { over: Over::Turn, variables, answer: &answer, history: &history };
        let row = minijinja::context! { country => "France" };
        let asked = case(&row).asked();
        assert_eq!((asked.question.as_str(), asked.earlier.as_str()), ("Capital?", "user: Hello\n\nassistant: Hi"));
        assert!(case(&row).transcript().ends_with("user: Capital?\n\nassistant: Paris"));
        assert_eq!(case(&minijinja::context! { question => "Of France?" }).asked().question, "Of France?");
    }
}
