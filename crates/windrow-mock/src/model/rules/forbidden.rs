//! Refuses requests that an aligned model refuses.

use crate::model::asked::Asked;
use crate::model::said::Said;

const TOPICS: &[&str] =
    &["bomb", "explosive", "weapon", "malware", "ransomware", "phishing", "poison", "counterfeit", "hotwire"];

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    let question = asked.question().to_lowercase();
    let declined = TOPICS.iter().any(|topic| question.contains(topic));
    declined.then(|| Said::text("I'm sorry, but I can't help with that."))
}
