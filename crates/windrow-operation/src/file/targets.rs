//! The section `targets`: where they come from. They are asked for once, here, and are part of the
//! definition from then on; not in memory, because there may be many.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use serde_json_path::JsonPath;
use windrow_jobfile::dataset::{DatasetFile, Position, Staging};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::yaml::Content;
use windrow_model::Failure;
use windrow_model::step::ContentKey;

use crate::handler::Handler;
use crate::target::Target;
use crate::web::{Miss, Web};

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
) -> Option<Staging> {
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
    let mut intake = Intake::new().map_err(|error| unusable(&span, Wrong::Source(error.to_string()), problems)).ok()?;
    let taken = match source.as_str() {
        "list" => section.read::<Vec<Value>>(&[], problems).map(|rows| intake.take_all(rows)),
        "file" => section.read::<String>(&[], problems).map(|path| intake.take_file(&path, base)),
        "command" => section.read::<Vec<String>>(&[], problems).map(|words| intake.take_all(of_command(&words, base)?)),
        "http" => section.read::<Query>(&[], problems).map(|query| intake.take_all(of_query(query, environment)?)),
        _ => section.read::<String>(&[], problems).map(|pattern| {
            let found = wait_for(handler.select(&pattern)).map_err(|failure| failure.to_string())?;
            intake.take_all(found.iter().map(Target::value))
        }),
    };
    match taken?.and_then(|()| intake.finish()) {
        Ok(staging) => Some(staging),
        Err(wrong) => {
            unusable(&span, wrong, problems);
            None
        }
    }
}

/// Why the targets cannot be used.
enum Wrong {
    Source(String),
    Target { message: String, help: &'static str },
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Wrong::Source(why)
    }
}

fn unusable(span: &std::ops::Range<usize>, wrong: Wrong, problems: &mut Problems) {
    match wrong {
        Wrong::Source(why) => problems.add(
            span.clone(),
            format!("the targets cannot be found: {why}"),
            "correct the source, then try again",
        ),
        Wrong::Target { message, help } => problems.add(span.clone(), message, help),
    }
}

/// Targets on their way to disk. Of each only a hash of its name stays in memory, to find one named twice.
struct Intake {
    staging: Staging,
    names: HashSet<ContentKey>,
}

impl Intake {
    fn new() -> std::io::Result<Self> {
        Ok(Self { staging: Staging::new()?, names: HashSet::new() })
    }

    fn take(&mut self, row: Value) -> Result<(), Wrong> {
        let target = Target::of(row).map_err(|why| Wrong::Target {
            message: format!("target {}: {why}", self.staging.len() + 1),
            help: "give every target a `name`",
        })?;
        if !self.names.insert(target.key()) {
            let message = format!("target {:?} is named twice", target.name);
            return Err(Wrong::Target { message, help: "name every target once" });
        }
        self.staging.push(&target.value()).map_err(|error| Wrong::Source(error.to_string()))
    }

    fn take_all(&mut self, rows: impl IntoIterator<Item = Value>) -> Result<(), Wrong> {
        rows.into_iter().try_for_each(|row| self.take(row))
    }

    fn take_file(&mut self, given: &str, base: Base<'_>) -> Result<(), Wrong> {
        let path = base.locate(given).ok_or_else(|| format!("{given} lies outside of the folder for files"))?;
        let file =
            DatasetFile::named(path, None, None).ok_or_else(|| format!("{given}: its name does not say its format"))?;
        let mut rows = file.open(Position::START).map_err(|error| format!("{given}: {error}"))?;
        while let Some(row) = rows.next_row() {
            self.take(Value::Object(row.map_err(|error| format!("{given}: {error}"))?.fields))?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Staging, Wrong> {
        if self.staging.is_empty() {
            let (message, help) = ("there are no targets".to_owned(), "check the source: nothing would be done");
            return Err(Wrong::Target { message, help });
        }
        Ok(self.staging)
    }
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
