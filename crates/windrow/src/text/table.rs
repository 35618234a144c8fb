//! Columns and facts as lines of text.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

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
