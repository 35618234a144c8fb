//! The two forms of every answer, from the same data: a table for a person, JSON for a program. Results go
//! to stdout; notes, warnings, errors, prompts and `next:` go to stderr.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, Exit};
use crate::text::style;

pub use crate::text::table::{facts, fitted, table};

/// A value that can be shown both ways.
pub trait Show: Serialize {
    fn text(&self) -> String;
}

pub fn show<T: Show>(answer: &T, json: bool) {
    if json { print_json(answer) } else { print(&answer.text()) }
}

pub fn print_json<T: Serialize>(value: &T) {
    write(&mut std::io::stdout().lock(), &serde_json::to_string_pretty(value).expect("answers serialise to JSON"));
}

pub fn print_json_line<T: Serialize>(value: &T) {
    write(&mut std::io::stdout().lock(), &serde_json::to_string(value).expect("answers serialise to JSON"));
}

/// To stdout.
pub fn print(text: &str) {
    write(&mut anstream::stdout().lock(), &signs(text));
}

/// To stderr.
pub fn say(text: &str) {
    write(&mut anstream::stderr().lock(), &signs(&style::labels(text)));
}

/// To stderr: for a person, or with `--json` for a program.
pub fn fail(error: &Error) -> Exit {
    if std::env::args_os().any(|arg| arg == "--json") {
        let line = serde_json::to_string(error).expect("errors serialise to JSON");
        write(&mut std::io::stderr().lock(), &line);
    } else {
        say(&error.render());
    }
    error.exit()
}

/// At most two commands that work when pasted.
pub fn next(commands: &[String]) {
    let lines: Vec<String> = commands.iter().take(2).map(style::cyan).collect();
    if !lines.is_empty() {
        say(&format!("{} {}", style::dim("next:"), lines.join("\n      ")));
    }
}

/// As [`next`], after a page, where a person is there to read it.
pub fn hint(commands: &[String]) {
    if std::io::stderr().is_terminal() && !commands.is_empty() {
        say("");
        next(commands);
    }
}

/// A reader that went away (`| head`) is not an error.
fn write(out: &mut impl Write, text: &str) {
    let _ = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
}

fn signs(text: &str) -> String {
    if style::is_utf8() { text.to_owned() } else { style::ascii(text) }
}
