//! One JSON object out of a text: a row, or what is wrong with it and where.

use super::{BadRow, Row};
use crate::template::Fields;

/// `line` is where the text begins; `remedy` is for text that is not JSON.
pub fn parse(line: u64, bytes: &[u8], remedy: &str) -> Result<Row, BadRow> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.trim(),
        Err(error) => {
            let (valid, _) = bytes.split_at(error.valid_up_to());
            let before = valid.iter().filter(|byte| **byte == b'\n').count();
            let start = valid.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            let text = String::from_utf8_lossy(&bytes[start..]);
            let column = valid.len() - start;
            let message = format!("this row is not UTF-8 text (byte {} of the line)", column + 1);
            let text = text.lines().next().unwrap_or("").trim_end();
            return Err(BadRow::at(line + before as u64, text, column, message, "save the dataset as UTF-8"));
        }
    };
    match serde_json::from_str::<Fields>(text) {
        Ok(fields) if text.contains('\n') => Ok(Row::of(line, fields)),
        Ok(fields) => Ok(Row { line, fields, text: text.into() }),
        Err(_) => Err(bad(line, text, remedy)),
    }
}

fn bad(line: u64, text: &str, remedy: &str) -> BadRow {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => BadRow::new(
            line,
            text.lines().next().unwrap_or(""),
            "this row is JSON, but not an object with fields",
            "write each row as an object, like {\"country\": \"France\"}",
        ),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or(&reason);
            let before = error.line().saturating_sub(1);
            let shown = text.lines().nth(before).unwrap_or("");
            let column = error.column().saturating_sub(1);
            BadRow::at(line + before as u64, shown, column, format!("this row is not JSON: {reason}"), remedy)
        }
    }
}
