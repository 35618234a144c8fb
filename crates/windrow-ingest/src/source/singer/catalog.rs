//! The catalog: what a tap offers, and what of it is selected.

use serde_json::{Value, json};
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;

use crate::source::process::Process;

/// Catalogs of large databases are long, but not endless.
const MOST_BYTES: usize = 64 << 20;

pub async fn discover(mut tap: Process) -> Result<Value, Failure> {
    let mut text = String::new();
    while let Some(line) = tap.next_line().await? {
        text.push_str(&line);
        text.push('\n');
        if text.len() > MOST_BYTES {
            return Err(invalid_request("the catalog is too long"));
        }
    }
    serde_json::from_str(&text).map_err(|error| tap.odd(&text, format!("a catalog ({error})")))
}

/// These streams and no others.
pub fn select(mut catalog: Value, streams: &[String]) -> Result<Value, Failure> {
    let offered = catalog["streams"].as_array_mut().ok_or_else(|| invalid_request("the catalog has no `streams`"))?;
    let name = |stream: &Value| stream["tap_stream_id"].as_str().or(stream["stream"].as_str()).map(str::to_owned);
    let names: Vec<String> = offered.iter().filter_map(name).collect();
    if let Some(unknown) = streams.iter().find(|stream| !names.contains(stream)) {
        return Err(invalid_request(format!("the tap has no stream {unknown:?}; it has: {}", names.join(", "))));
    }
    for stream in offered {
        let selected = name(stream).is_some_and(|name| streams.contains(&name));
        // Older taps look into the schema, newer ones into the metadata.
        stream["schema"]["selected"] = selected.into();
        let is_top = |entry: &&mut Value| entry["breadcrumb"].as_array().is_some_and(Vec::is_empty);
        let metadata = match &mut stream["metadata"] {
            Value::Array(list) => list,
            other => {
                *other = json!([]);
                other.as_array_mut().expect("it is a list now")
            }
        };
        match metadata.iter_mut().find(is_top) {
            Some(top) => top["metadata"]["selected"] = selected.into(),
            None => metadata.push(json!({ "breadcrumb": [], "metadata": { "selected": selected } })),
        }
    }
    Ok(catalog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_named_streams_are_selected() {
        let catalog = json!({ "streams": [
            { "tap_stream_id": "a", "schema": {}, "metadata": [{ "breadcrumb": [], "metadata": { "inclusion": "available" } }] },
            { "tap_stream_id": "b", "schema": { "selected": true } },
        ] });
        let chosen = select(catalog.clone(), &["a".to_owned()]).unwrap();
        let selected = |no: usize| {
            let stream = &chosen["streams"][no];
            (stream["schema"]["selected"].clone(), stream["metadata"][0]["metadata"]["selected"].clone())
        };
        assert_eq!(selected(0), (json!(true), json!(true)));
        assert_eq!(selected(1), (json!(false), json!(false)));
        assert_eq!(chosen["streams"][0]["metadata"][0]["metadata"]["inclusion"], "available");
        assert!(select(catalog, &["c".to_owned()]).unwrap_err().message.contains("a, b"));
    }
}
