//! A program that writes lines: started once per pass over a slice, ended with it, and quoted when it
//! fails. What it writes to stderr is kept in its last lines only.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use windrow_jobfile::http_client::Secret;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Checkpoint;
use windrow_model::{ErrorClass, Failure};

const KEPT_LINES: usize = 20;
const KEPT_CHARS: usize = 500;

/// The last state of a program, and how many records were taken in the pass. A program that is started
/// again repeats some, and may say the same state again; with the count no place is the same twice.
pub fn replayed(at: &Checkpoint) -> (Value, u64) {
    let state = |at: &Value| at["state"].clone();
    match (&at.position, &at.since) {
        (Some(at), _) => (state(at), at["taken"].as_u64().unwrap_or(0)),
        (None, since) => (since.as_ref().map(state).unwrap_or_default(), 0),
    }
}

pub struct Process {
    program: String,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: Arc<Mutex<VecDeque<String>>>,
    secret: Secret,
}

impl Process {
    pub fn start(
        words: &[String],
        folder: &Path,
        variables: &[(String, String)],
        secret: Secret,
    ) -> Result<Self, Failure> {
        let (program, arguments) = words.split_first().ok_or_else(|| invalid_request("the command is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).envs(variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child =
            command.spawn().map_err(|error| invalid_request(format!("`{program}` cannot be started: {error}")))?;
        let lines = BufReader::with_capacity(256 * 1024, child.stdout.take().expect("it was piped")).lines();
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let mut errors = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let heard = said.clone();
        // A program whose stderr nobody reads would stop at a full pipe. Ends with the program.
        tokio::spawn(async move {
            while let Ok(Some(line)) = errors.next_line().await {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if heard.len() == KEPT_LINES {
                    heard.pop_front();
                }
                heard.push_back(line.chars().take(KEPT_CHARS).collect());
            }
        });
        Ok(Self { program: program.clone(), child, lines, said, secret })
    }

    /// `None` when it has ended well.
    pub async fn next_line(&mut self) -> Result<Option<String>, Failure> {
        let line = self.lines.next_line().await;
        match line.map_err(|error| self.failed(format!("its output is not text: {error}")))? {
            Some(line) => Ok(Some(line)),
            None => {
                let ended = self.child.wait().await;
                let status = ended.map_err(|error| self.failed(error.to_string()))?;
                if status.success() { Ok(None) } else { Err(self.failed(format!("it ended with {status}"))) }
            }
        }
    }

    /// Programs do not say whether it may pass, so it is tried again.
    fn failed(&self, what: String) -> Failure {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let message = format!("`{}`: {what}\n{}", self.program, said.join("\n"));
        self.secret.redact_failure(Failure::new(ErrorClass::Server, message.trim_end()))
    }

    /// A line that is not what was agreed.
    pub fn odd(&self, line: &str, why: impl std::fmt::Display) -> Failure {
        let shown: String = line.chars().take(200).collect();
        let message = format!("`{}` wrote a line that is not {why}: {shown}", self.program);
        self.secret.redact_failure(Failure::new(ErrorClass::InvalidOutput, message))
    }
}
