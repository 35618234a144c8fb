//! Answers a request: from the script, or by the rules.

use super::asked::Asked;
use super::said::Said;
use super::{Behaviour, rules};

pub fn respond(asked: &Asked, behaviour: &Behaviour) -> Said {
    let said = match behaviour.script.reply(asked) {
        Some(text) => Said::text(text),
        None => rules::answer(asked, behaviour.seed),
    };
    said.limited(asked.max_tokens)
}
