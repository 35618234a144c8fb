//! Running a command: what it is told stands in its environment and on its standard input, what it
//! says on its standard output is the answer.

use std::process::Stdio;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use windrow_jobfile::http_client::failure::shorten;
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_model::{ErrorClass, Failure};

use crate::handler::Trouble;

const INHERITED: &[&str] = &["PATH", "HOME", "LANG"];
/// EX_TEMPFAIL of sysexits.h: nothing was done, try again.
const TRY_AGAIN: i32 = 75;
const KEPT_BYTES: usize = 2_000;

/// As it is recorded: references stand where secrets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub run: Vec<String>,
    #[serde(default)]
    pub env: Vec<(String, String)>,
    pub folder: std::path::PathBuf,
    /// What it reads on its standard input.
    pub input: Value,
}

pub async fn run(call: &Run, refs: &ResolvedRefs) -> Result<Value, Trouble> {
    let words: Vec<String> = call.run.iter().map(|word| refs.fill(word)).collect();
    let env: Vec<(String, String)> = call.env.iter().map(|(name, value)| (name.clone(), refs.fill(value))).collect();
    let (program, arguments) = words.split_first().ok_or_else(|| failed(ErrorClass::InvalidRequest, "no command"))?;
    let inherited = INHERITED.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?)));
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(inherited)
        .envs(env)
        .current_dir(&call.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(ErrorClass::InvalidRequest, format!("`{program}` cannot be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is free not to.
        let _ = stdin.write_all(call.input.to_string().as_bytes()).await;
    }
    let output = child.wait_with_output().await;
    let output = output.map_err(|error| Trouble::Unknown(Failure::new(ErrorClass::Handler, error.to_string())))?;
    let secret = refs.secret();
    let said = secret.redact(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if output.status.success() {
        return Ok(serde_json::from_str(&said).unwrap_or(Value::String(said)));
    }
    let errors = secret.redact(String::from_utf8_lossy(&output.stderr).into_owned());
    let errors = shorten(errors.trim(), KEPT_BYTES);
    match output.status.code() {
        Some(TRY_AGAIN) => {
            Err(Trouble::Busy(Failure::new(ErrorClass::RateLimited, format!("`{program}` is busy: {errors}"))))
        }
        Some(code) => Err(failed(ErrorClass::Handler, format!("`{program}` ended with {code}: {errors}"))),
        // Killed: it may have done its work or half of it.
        None => Err(Trouble::Unknown(Failure::new(ErrorClass::Handler, format!("`{program}` was killed: {errors}")))),
    }
}

fn failed(class: ErrorClass, message: impl Into<String>) -> Trouble {
    Trouble::Failed(Failure::new(class, message))
}
