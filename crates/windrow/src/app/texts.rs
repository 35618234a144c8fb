//! The texts of an item in full, in chunks, so that neither side holds more than one of them at a time.

use windrow_model::ItemId;
use windrow_results::{Kind, Name, ResultRow, Seen, Survey, Value};
use windrow_wire::TextPage;

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

/// Bytes of a chunk, at most.
pub const CHUNK: usize = 1 << 20;

/// A chunk of a text of the item's current result, by its name in the query language. It ends between two characters.
pub async fn chunk(app: &App, actor: &Actor, item: ItemId, name: &str, from: usize, limit: usize) -> Result<TextPage> {
    let (_, detail) = lookup::item(app, actor, item).await?;
    let row = ResultRow::whole(&detail, None, |_| 0);
    let mut survey = Survey::default();
    survey.add(&row);
    let asked = Name::parse(name, &survey.names())
        .map_err(|error| Error::new(error.message, error.help).coded(Code::InvalidQuery).about("name"))?;
    if asked.kind() != Kind::Text {
        let remedy = "name a text, e.g. input, output, output.COLUMN, field.NAME or reason.NAME";
        return Err(Error::new(format!("`{asked}` is not a text"), remedy).coded(Code::InvalidQuery).about("name"));
    }
    let seen = Seen { row: &row, baseline: None };
    let (value, whole) = (seen.value(&asked), asked.to_string());
    if value == Value::Null {
        let what = format!("item {item} has no `{asked}`");
        return Err(Error::new(what, "read the item to see what it has").coded(Code::NotFound).about("name"));
    }
    let text = value.text();
    let (from, to) = (at_character(&text, from), at_character(&text, from.saturating_add(limit.clamp(4, CHUNK))));
    Ok(TextPage {
        item: item.to_string(),
        name: whole,
        offset: from as i64,
        total: text.len() as i64,
        text: text[from..to].to_owned(),
        next: (to < text.len()).then_some(to as i64),
    })
}

/// The last place between two characters up to here.
fn at_character(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
