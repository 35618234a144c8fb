//! A shop's help desk. It takes the order number from earlier turns, so it needs the history to answer.

use crate::model::asked::{Asked, Role};
use crate::model::said::Said;

const TOPICS: &[&str] = &["order", "parcel", "delivery", "cancel", "refund", "#"];

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    let said: String = asked.said_by(Role::User).collect::<Vec<_>>().join(" ");
    let lower = said.to_lowercase();
    if !TOPICS.iter().any(|topic| lower.contains(topic)) {
        return None;
    }
    // The latest order number, if there are several.
    let order = said
        .split_whitespace()
        .rev()
        .map(|word| word.trim_matches(['.', ',', '?', '!', ':', ';', '"', ')', '(']))
        .find(|word| word.strip_prefix('#').is_some_and(|no| no.starts_with(|c: char| c.is_ascii_digit())));
    let Some(order) = order else {
        return Some(Said::text("Which order is it about? Please give me its number."));
    };
    let question = asked.question().to_lowercase();
    Some(Said::text(if question.contains("cancel") {
        format!("Order {order} is cancelled.")
    } else if question.contains("refund") || question.contains("money back") {
        format!("The refund for order {order} is on its way to you.")
    } else if question.contains("thank") {
        "You are welcome.".to_owned()
    } else {
        format!("Order {order} is on its way and arrives on Friday.")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_remembered() {
        let first = Asked::user("Where is my order?");
        let reply = |asked: &Asked| answer(asked, 0).unwrap().text;
        assert_eq!(reply(&first), "Which order is it about? Please give me its number.");
        let second = first.then(Role::Assistant, "Which order?").then(Role::User, "It is #1815.");
        assert_eq!(reply(&second), "Order #1815 is on its way and arrives on Friday.");
        let third = second.then(Role::User, "Then cancel it, please.");
        assert_eq!(reply(&third), "Order #1815 is cancelled.");
    }
}
