//! Repeats the text after `Say:`.

use crate::model::asked::Asked;
use crate::model::said::Said;

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    let question = asked.question();
    let text = ["Say:", "say:", "Repeat:", "repeat:"].iter().find_map(|verb| question.strip_prefix(verb))?;
    Some(Said::text(text.trim()))
}
