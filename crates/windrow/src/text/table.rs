//! Columns and facts as lines of text, as wide as the terminal.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

use crate::text::{self, style};

/// Columns of text are not shortened below this.
const LEAST_WIDTH: usize = 16;
const UNKNOWN_WIDTH: usize = 100;

/// `None` where stdout is not a terminal, and nothing is shortened.
fn width() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| {
        terminal_size::terminal_size_of(std::io::stdout()).map_or(UNKNOWN_WIDTH, |(width, _)| usize::from(width.0))
    })
}

/// One line that fits behind `taken` columns on a terminal; whole elsewhere.
pub fn fitted(line: &str, taken: usize) -> String {
    text::line(line, width().map_or(usize::MAX, |width| width.saturating_sub(taken).max(LEAST_WIDTH)))
}

/// Columns without rules. A heading that starts with `>` is of numbers, set to the right. The least
/// important column comes last: on a narrow terminal it is left out first.
pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    table_of_width(headings, rows, width())
}

fn table_of_width(headings: &[&str], rows: Vec<Vec<String>>, width: Option<usize>) -> String {
    let right: Vec<bool> = headings.iter().map(|heading| heading.starts_with('>')).collect();
    let headings: Vec<&str> = headings.iter().map(|heading| heading.trim_start_matches('>')).collect();
    let longest = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.width()).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        headings.iter().enumerate().map(|(i, heading)| heading.width().max(longest(i))).collect();
    fit(&mut widths, &headings, &right, width);
    let line = |cells: Vec<String>, header: bool| {
        let mut line = String::new();
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let cell = text::line(cell, *width);
            let space = " ".repeat(width.saturating_sub(cell.width()));
            let painted = match headings[i] {
                _ if cell.is_empty() => cell,
                _ if header => style::dim(&cell),
                "STATUS" | "STATE" | "RESULT" | "VERDICT" | "OUTCOME" => style::status(&cell),
                // A remark without a heading.
                "ID" | "" => style::dim(&cell),
                _ => cell,
            };
            let gap = if i == 0 { "" } else { "  " };
            match right[i] {
                true => line += &format!("{gap}{space}{painted}"),
                false if i + 1 == widths.len() => line += &format!("{gap}{painted}"),
                false => line += &format!("{gap}{painted}{space}"),
            }
        }
        format!("{}\n", line.trim_end())
    };
    let head = line(headings.iter().map(|heading| (*heading).to_owned()).collect(), true);
    head + &rows.into_iter().map(|row| line(row, false)).collect::<String>()
}

/// Shortens the widest column of text, then leaves out the last column, until the row fits.
fn fit(widths: &mut Vec<usize>, headings: &[&str], right: &[bool], width: Option<usize>) {
    let Some(width) = width else { return };
    loop {
        let taken = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let Some(excess) = taken.checked_sub(width).filter(|excess| *excess > 0) else { return };
        let least = |i: usize| headings[i].width().max(LEAST_WIDTH);
        let text = (0..widths.len()).filter(|i| !right[*i] && widths[*i] > least(*i));
        match text.max_by_key(|i| widths[*i]) {
            Some(widest) => widths[widest] = widths[widest].saturating_sub(excess).max(least(widest)),
            None if widths.len() > 2 => drop(widths.pop()),
            None => return,
        }
    }
}

/// `name  value` lines, aligned.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(8);
    facts.iter().map(|(name, value)| format!("{}  {value}\n", style::dim(format!("{name:width$}")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(headings: &[&str], rows: &[&[&str]], width: Option<usize>) -> String {
        let rows = rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        anstream::adapter::strip_str(&table_of_width(headings, rows, width)).to_string()
    }

    #[test]
    fn a_row_is_shortened_and_never_wrapped() {
        let rows: &[&[&str]] = &[&["support", "12", "a very long text that does not fit at all", "job_1"]];
        let headings = &["NAME", ">ITEMS", "OUTPUT", "ID"];
        let whole = plain(headings, rows, None);
        assert!(whole.ends_with("support     12  a very long text that does not fit at all  job_1\n"), "{whole}");
        let shortened = plain(headings, rows, Some(44));
        assert!(shortened.ends_with("support     12  a very long text tha…  job_1\n"), "{shortened}");
        assert_eq!(plain(headings, rows, Some(34)), "NAME     ITEMS  OUTPUT\nsupport     12  a very long tex…\n");
    }
}
