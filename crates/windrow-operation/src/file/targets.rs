//! The section `targets`: where they come from. They are asked for once, here, and are part of the
//! definition from then on.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use serde_json_path::JsonPath;
use windrow_jobfile::dataset::{DatasetFile, Position};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::yaml::Content;
use windrow_model::Failure;

use crate::handler::Handler;
use crate::target::Target;
use crate::web::{Miss, Web};

/// They are refined in the definition, so there is an end to it.
const MOST: usize = 100_000;
const TIMEOUT: Duration = Duration::from_secs(60);
const SOURCES: &[&str] = &["list", "file", "command", "http", "select"];
const EXAMPLE: &str =
    "one of: list: [a, b] · file: targets.csv · command: [program] · http: { url: … } · select: \"orders-*\"";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    url: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    /// JSONPath of the list in the answer; the answer itself without it.
    items: Option<String>,
}

pub fn read(
    mut section: Section,
    base: Base<'_>,
    environment: &Environment,
    handler: &dyn Handler,
    problems: &mut Problems,
) -> Option<Vec<Target>> {
    let span = section.span.clone();
    // A list or the name of a file may stand there by itself.
    let (source, section) = match &section.node.content {
        Content::List(_) => ("list".to_owned(), section),
        Content::Text(_) => ("file".to_owned(), section),
        _ => match section.field_names().as_slice() {
            [one] if SOURCES.contains(one) => {
                let one = (*one).to_owned();
                (one.clone(), section.take(&one)?)
            }
            _ => {
                problems.add(span, "`targets` names one source", EXAMPLE);
                return None;
            }
        },
    };
    let rows = match source.as_str() {
        "list" => section.read::<Vec<Value>>(&[], problems).ok_or(None),
        "file" => section.read::<String>(&[], problems).ok_or(None).and_then(|path| of_file(&path, base).map_err(Some)),
        "command" => section
            .read::<Vec<String>>(&[], problems)
            .ok_or(None)
            .and_then(|words| of_command(&words, base).map_err(Some)),
        "http" => section
            .read::<Query>(&[], problems)
            .ok_or(None)
            .and_then(|query| of_query(query, environment).map_err(Some)),
        _ => section.read::<String>(&[], problems).ok_or(None).and_then(|pattern| {
            let found = wait_for(handler.select(&pattern)).map_err(|failure| Some(failure.to_string()))?;
            Ok(found.iter().map(Target::value).collect())
        }),
    };
    let rows = match rows {
        Ok(rows) => rows,
        Err(said) => {
            if let Some(why) = said {
                problems.add(span, format!("the targets cannot be found: {why}"), "correct the source, then try again");
            }
            return None;
        }
    };
    check(rows, span, problems)
}

fn check(rows: Vec<Value>, span: std::ops::Range<usize>, problems: &mut Problems) -> Option<Vec<Target>> {
    let (mut targets, mut names) = (Vec::with_capacity(rows.len()), BTreeSet::new());
    for (no, row) in rows.into_iter().enumerate() {
        match Target::of(row) {
            Ok(target) if !names.insert(target.name.clone()) => {
                let message = format!("target {:?} is named twice", target.name);
                problems.add(span, message, "name every target once");
                return None;
            }
            Ok(target) => targets.push(target),
            Err(why) => {
                problems.add(span, format!("target {}: {why}", no + 1), "give every target a `name`");
                return None;
            }
        }
    }
    if targets.is_empty() {
        problems.add(span, "there are no targets", "check the source: nothing would be done");
        return None;
    }
    if targets.len() > MOST {
        let message = format!("there are {} targets, and an operation takes at most {MOST}", targets.len());
        problems.add(span, message, "split it into several operations");
        return None;
    }
    Some(targets)
}

fn of_file(given: &str, base: Base<'_>) -> Result<Vec<Value>, String> {
    let path = base.locate(given).ok_or_else(|| format!("{given} lies outside of the folder for files"))?;
    let file =
        DatasetFile::named(path, None, None).ok_or_else(|| format!("{given}: its name does not say its format"))?;
    let mut rows = file.open(Position::START).map_err(|error| format!("{given}: {error}"))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next_row() {
        found.push(Value::Object(row.map_err(|error| format!("{given}: {error}"))?.fields));
        if found.len() > MOST {
            break;
        }
    }
    Ok(found)
}

/// One name or one JSON object per line.
fn of_command(words: &[String], base: Base<'_>) -> Result<Vec<Value>, String> {
    if base.closed {
        return Err("a job sent to the server may not run commands to find its targets".to_owned());
    }
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let output = std::process::Command::new(program).args(arguments).current_dir(base.folder).output();
    let output = output.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`{program}` ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| format!("`{program}` wrote no UTF-8 text"))?;
    let row = |line: &str| {
        serde_json::from_str(line).ok().filter(Value::is_object).unwrap_or_else(|| Value::String(line.to_owned()))
    };
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(row).collect())
}

fn of_query(query: Query, environment: &Environment) -> Result<Vec<Value>, String> {
    let path = query.items.as_deref().map(JsonPath::parse).transpose().map_err(|error| format!("`items`: {error}"))?;
    let said = json!([query.url, query.headers]);
    let web = ResolvedRefs::of(&said, environment).and_then(|refs| Web::new(&query.url, TIMEOUT, refs));
    let web = web.map_err(|failure| failure.to_string())?;
    let request = Request { headers: query.headers, ..Request::new("GET", query.url, None) };
    let answer = wait_for(async { web.send(&request, None).await.map_err(Miss::failure) });
    let answer = answer.map_err(|failure| failure.to_string())?;
    match path {
        Some(path) => Ok(path.query(&answer).all().into_iter().flat_map(spread).collect()),
        None => Ok(spread(&answer)),
    }
}

/// A list found as a whole, or its elements found one by one.
fn spread(found: &Value) -> Vec<Value> {
    match found {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    }
}

/// Job files are read where blocking is allowed.
fn wait_for<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.block_on(work),
        Err(_) => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(windrow_model::ErrorClass::Handler, error.to_string()))?
            .block_on(work),
    }
}
