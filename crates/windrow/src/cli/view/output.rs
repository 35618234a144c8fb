//! The two forms of every answer, from the same data: a table for a person, JSON for a program.

use std::io::Write;

use serde::Serialize;

pub use crate::text::table::{facts, table};

/// A value that can be shown both ways.
pub trait Show: Serialize {
    fn text(&self) -> String;
}

pub fn show<T: Show>(answer: &T, json: bool) {
    if json { print_json(answer) } else { print(&answer.text()) }
}

pub fn print_json<T: Serialize>(value: &T) {
    print(&serde_json::to_string_pretty(value).expect("answers serialise to JSON"));
}

pub fn print_json_line<T: Serialize>(value: &T) {
    print(&serde_json::to_string(value).expect("answers serialise to JSON"));
}

/// To stdout. A reader that went away (`| head`) is no error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
}
