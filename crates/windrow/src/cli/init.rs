//! `windrow init [DIR]`

use std::path::{Path, PathBuf};

use crate::cli::view::output;
use crate::error::{Code, Error, Exit, Result};

/// Name and content of a file.
type File = (&'static str, &'static str);

/// Job file and dataset of each kind, and the mock that they work with.
const TEMPLATES: &[(Kind, &[File], &str)] = &[
    (
        Kind::Experiment,
        &[
            ("capitals.yaml", EXPERIMENT),
            ("capitals.jsonl", include_str!("../../../../examples/capitals/capitals.jsonl")),
        ],
        "model",
    ),
    (
        Kind::Pipeline,
        &[
            ("pipeline.yaml", include_str!("../../../../examples/pipeline/pipeline.yaml")),
            ("pipeline.jsonl", include_str!("../../../../examples/pipeline/pipeline.jsonl")),
            ("search.py", include_str!("../../../../examples/pipeline/search.py")),
        ],
        "model",
    ),
    (
        Kind::Operation,
        &[("bulk-config.yaml", include_str!("../../../../examples/bulk-config/bulk-config.yaml"))],
        "connect",
    ),
    (
        Kind::Ingest,
        &[("ingest-orders.yaml", include_str!("../../../../examples/ingest-orders/ingest-orders.yaml"))],
        "source",
    ),
];

const EXPERIMENT: &str = r#"# Asks a model for the capital of each country in capitals.jsonl and compares the answers.
# Start the mock model first: windrow mock model
kind: experiment
name: capitals
dataset: capitals.jsonl                      # one JSON object per line
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1" }
  # openai: { model: gpt-4o-mini, api_key: "${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"        # fields of the row
evaluators:
  - exact: { expect: "{{ capital }}" }
concurrency: 32                              # items at once
"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Experiment,
    /// An experiment with columns
    Pipeline,
    Operation,
    Ingest,
}

/// Create a job file from a template
///
/// The job works as it is with a mock server of this program, without an API key. Existing files are not overwritten.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory for the files; created if it does not exist
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Kind of job
    #[arg(long, value_enum, default_value = "experiment")]
    kind: Kind,
}

pub fn perform(args: Args) -> Result<Exit> {
    let (_, files, mock) = TEMPLATES.iter().find(|(kind, ..)| *kind == args.kind).expect("every kind has a template");
    let dir = if args.dir == Path::new(".") { PathBuf::new() } else { args.dir };
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.join(name)).collect();
    if let Some(existing) = paths.iter().find(|path| path.exists()) {
        let what = format!("{} already exists", existing.display());
        return Err(
            Error::new(what, "create the job in another directory with `windrow init DIR`").coded(Code::Conflict)
        );
    }
    let made = std::fs::create_dir_all(&dir);
    let written =
        made.and_then(|()| paths.iter().zip(*files).try_for_each(|(path, (_, text))| std::fs::write(path, text)));
    written.map_err(|error| Error::new(format!("cannot write {}: {error}", paths[0].display()), ""))?;
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    output::print(&format!("Created {}", shown.join(" and ")));
    output::next(&[format!("windrow mock {mock}        # in another terminal"), format!("windrow run {}", shown[0])]);
    Ok(Exit::Passed)
}
