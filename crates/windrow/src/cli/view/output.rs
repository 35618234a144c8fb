//! The two forms of every answer, from the same data: a table for a person, JSON for a program.

use std::io::Write;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

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

/// Columns without rules. A heading that starts with `>` is of numbers, set to the right.
pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headings.iter().map(|heading| heading.trim_start_matches('>')));
    for (i, heading) in headings.iter().enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((u16::from(i > 0), 1));
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.add_rows(rows);
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// `name: value` lines, aligned.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}
