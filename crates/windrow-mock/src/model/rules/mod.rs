//! The rules of the mock model. A rule is one file here and one line in [`RULES`]; the first rule that returns an
//! answer wins.

mod arithmetic;
mod capitals;
mod echo;
mod forbidden;
mod help_desk;
mod judge;
mod pairwise;
mod plain_json;
mod section;
mod simulated_user;
mod tool_use;

use super::asked::Asked;
use super::said::Said;
use super::words;

/// Share of questions with a deliberately wrong answer, so that examples show failures.
const WRONG: f64 = 0.07;

type Rule = fn(&Asked, u64) -> Option<Said>;

const RULES: &[Rule] = &[
    pairwise::answer,
    judge::answer,
    simulated_user::answer,
    forbidden::answer,
    tool_use::answer,
    plain_json::answer,
    echo::answer,
    arithmetic::answer,
    capitals::answer,
    help_desk::answer,
];

pub fn answer(asked: &Asked, seed: u64) -> Said {
    RULES.iter().find_map(|rule| rule(asked, seed)).unwrap_or_else(|| Said::text("I do not know."))
}

/// Whether this question gets a deliberately wrong answer.
fn errs(asked: &Asked, seed: u64) -> bool {
    words::chance(seed, "wrong", &asked.fingerprint()) < WRONG
}
