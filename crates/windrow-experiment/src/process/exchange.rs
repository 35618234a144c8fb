//! One request and one reply with a running process: as a line each, or as all of its input and
//! output. The end of its standard error is kept for error messages.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windrow_model::{ErrorClass, Failure, Json};

use super::start::{Group, Start};

/// Kept of what is written to standard error.
const TAIL: usize = 4096;
/// How long a process that closed its output may take to end, and its last words to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    said: Arc<Mutex<Vec<u8>>>,
    listening: JoinHandle<()>,
    _group: Group,
}

impl Running {
    pub fn start(start: &Start) -> Result<Self, Failure> {
        let start = start.start().map_err(|message| Failure::new(ErrorClass::Handler, message).at_setting(""));
        let (mut child, group) = start?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(Failure::new(ErrorClass::Handler, "the process has no output"));
        };
        let said = Arc::default();
        let listening = tokio::spawn(keep_tail(stderr, Arc::clone(&said)));
        Ok(Self { child, stdin, stdout: BufReader::new(stdout), said, listening, _group: group })
    }

    /// Whether it can be given something more.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// A line in, a line out.
    pub async fn line(&mut self, request: &str, max_bytes: usize) -> Result<String, Failure> {
        let written = match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{request}\n").as_bytes()).await.is_ok(),
            None => false,
        };
        let mut reply = Vec::new();
        let mut limited = (&mut self.stdout).take(max_bytes as u64 + 1);
        if !written || limited.read_until(b'\n', &mut reply).await.is_err() || reply.is_empty() {
            return Err(self.ended("ended without a reply").await);
        }
        if reply.last() != Some(&b'\n') {
            return Err(match reply.len() > max_bytes {
                true => self.failed(too_long(max_bytes)),
                false => self.ended("ended in the middle of its reply").await,
            });
        }
        text_of(reply).map_err(|message| self.failed(message))
    }

    /// All of its input, then all of its output.
    pub async fn whole(mut self, request: &str, max_bytes: usize) -> Result<String, Failure> {
        let mut stdin = self.stdin.take();
        let write = async {
            if let Some(stdin) = &mut stdin {
                // A program need not read what it does not want.
                let _ = stdin.write_all(request.as_bytes()).await;
            }
            drop(stdin.take());
        };
        let mut reply = Vec::new();
        let mut limited = (&mut self.stdout).take(max_bytes as u64 + 1);
        let ((), read) = tokio::join!(write, limited.read_to_end(&mut reply));
        if reply.len() > max_bytes {
            return Err(self.failed(too_long(max_bytes)));
        }
        let status = self.child.wait().await;
        if read.is_err() || !status.as_ref().is_ok_and(|status| status.success()) {
            return Err(self.ended("failed").await);
        }
        text_of(reply).map_err(|message| self.failed(message))
    }

    /// A failure with what was said to standard error.
    pub fn failed(&self, message: impl Into<String>) -> Failure {
        let said = String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
        let failure = Failure::new(ErrorClass::Handler, message);
        if said.trim().is_empty() { failure } else { failure.with_detail(Json::of(&json!({ "stderr": said }))) }
    }

    /// It is over with the process; its last words say why.
    async fn ended(&mut self, how: &str) -> Failure {
        let status = timeout(LAST_WORDS, self.child.wait()).await;
        let _ = timeout(LAST_WORDS, &mut self.listening).await;
        let status = match status {
            Ok(Ok(status)) => format!(" ({status})"),
            _ => String::new(),
        };
        let said = String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim();
        // The caller knows whether it has ever answered, and so whether the setup is to blame.
        self.failed(format!("the process {how}{status}: {last}")).at_setting("")
    }
}

fn too_long(max_bytes: usize) -> String {
    format!("the process wrote more than {max_bytes} bytes; allow it with `max_output`")
}

fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "the process wrote something that is not UTF-8".to_owned())
}

async fn keep_tail(mut stderr: ChildStderr, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1024];
    while let Some(read) = read_some(&mut stderr, &mut chunk).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&chunk[..read]);
        let excess = said.len().saturating_sub(TAIL);
        said.drain(..excess);
    }
}

async fn read_some(from: &mut (impl AsyncRead + Unpin), chunk: &mut [u8]) -> Option<usize> {
    from.read(chunk).await.ok().filter(|read| *read > 0)
}
