//! A temporary directory for each test, and ways to run the binary in it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::Served;
use crate::endpoint::Endpoint;

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Place {
    dir: PathBuf,
    /// Deletes the folder in the end.
    _temporary: Option<TempDir>,
}

pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// The one JSON object on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

impl Place {
    /// With a `job.yaml` over this many rows, each with its own question.
    pub fn with_rows(endpoint: &Endpoint, rows: usize, concurrency: usize) -> Self {
        let place = Self::empty();
        place.write_job("job.yaml", "counted", endpoint, rows, concurrency);
        place
    }

    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir: dir.path().to_owned(), _temporary: Some(dir) }
    }

    /// A folder that exists already.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, _temporary: None }
    }

    pub fn write_job(&self, file: &str, name: &str, endpoint: &Endpoint, rows: usize, concurrency: usize) {
        let data: String = (0..rows).map(|n| format!("{{\"n\": {n}}}\n")).collect();
        self.write(&format!("{name}.jsonl"), &data);
        let url = &endpoint.url;
        self.write(
            file,
            &format!(
                "kind: experiment\nname: {name}\ndataset: {name}.jsonl\ntarget:\n  \
                 openai: {{ model: any, base_url: \"{url}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}\n  \
                 prompt: \"{{{{ n }}}}\"\nevaluators:\n  - exact: {{ expect: \"answer {{{{ n }}}}\" }}\n\
                 concurrency: {concurrency}\n"
            ),
        );
    }

    /// Returns the text of such a job for a server, and puts the rows where the server reads them.
    pub fn served_job(&self, name: &str, endpoint: &Endpoint, rows: usize, concurrency: usize) -> String {
        std::fs::create_dir_all(self.path(".windrow/files")).unwrap();
        self.write_job("job.yaml", name, endpoint, rows, concurrency);
        std::fs::rename(self.path(&format!("{name}.jsonl")), self.data().join(format!("files/{name}.jsonl"))).unwrap();
        std::fs::read_to_string(self.path("job.yaml")).unwrap()
    }

    /// Writes `job.yaml` with these rows, evaluators and extra fields. In them `MODEL` stands for the model at the
    /// endpoint.
    pub fn write_experiment(&self, endpoint: &Endpoint, rows: &[Value], more: &str) {
        let data: String = rows.iter().map(|row| format!("{row}\n")).collect();
        self.write("rows.jsonl", &data);
        let url = &endpoint.url;
        let model = format!("openai: {{ model: any, base_url: \"{url}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}");
        let head = "kind: experiment\nname: counted\ndataset: rows.jsonl\ntarget:\n  MODEL\n";
        self.write("job.yaml", &format!("{head}{more}").replace("MODEL", &model));
    }

    /// Replaces a part of a file that must exist.
    #[track_caller]
    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "no {from:?} in {text}");
        self.write(file, &text.replace(from, to));
    }

    /// Appends a line.
    pub fn append(&self, file: &str, line: &str) {
        let text = std::fs::read_to_string(self.path(file)).unwrap_or_default();
        self.write(file, &format!("{text}{line}\n"));
    }

    pub fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    pub fn data(&self) -> PathBuf {
        self.path(".windrow")
    }

    pub fn database(&self) -> PathBuf {
        self.data().join("windrow.db")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_windrow")));
        command.args(arguments).current_dir(&self.dir).stdin(Stdio::null());
        command.env("OPENAI_API_KEY", "sk-test").env("USER", "tester");
        command.env_remove("WINDROW_SERVER").env_remove("WINDROW_API_KEY").env_remove("WINDROW_DATABASE_URL");
        command.env_remove("WINDROW_DATA").env_remove("NO_PROXY").env_remove("HTTP_PROXY").env_remove("http_proxy");
        command
    }

    fn command_at(&self, server: &Served, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("WINDROW_SERVER", format!("http://{}", server.address));
        command
    }

    /// Sends the command to a server.
    pub fn windrow_at(&self, server: &Served, arguments: &[&str]) -> Said {
        self.start_at(server, arguments).finish()
    }

    /// Sends the command to a server with this API key.
    pub fn windrow_with_key(&self, server: &Served, key: &str, arguments: &[&str]) -> Said {
        let mut command = self.command_at(server, arguments);
        command.env("WINDROW_API_KEY", key);
        Background::of(command).finish()
    }

    pub fn start_at(&self, server: &Served, arguments: &[&str]) -> Background {
        Background::of(self.command_at(server, arguments))
    }

    pub fn start_fed_at(&self, server: &Served, arguments: &[&str]) -> (Background, ChildStdin) {
        Background::fed(self.command_at(server, arguments))
    }

    pub fn windrow(&self, arguments: &[&str]) -> Said {
        self.start(arguments).finish()
    }

    /// With additional environment variables.
    pub fn windrow_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        self.start_with(variables, arguments).finish()
    }

    pub fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Background {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        Background::of(command)
    }

    pub fn start(&self, arguments: &[&str]) -> Background {
        Background::of(self.command(arguments))
    }

    /// Starts the command under another program, which gets it behind its own arguments.
    pub fn start_in(&self, program: &str, before: &[&str], arguments: &[&str]) -> Background {
        let inner = self.command(arguments);
        let mut outer = Command::new(program);
        outer.args(before).arg(inner.get_program()).args(inner.get_args());
        outer.current_dir(&self.dir).stdin(Stdio::null()).env("TERM", "xterm").env("LANG", "C.UTF-8");
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        outer.env_remove("NO_COLOR").env_remove("LC_ALL");
        Background::of(outer)
    }

    /// Starts another program in the same directory.
    pub fn start_program(&self, mut program: Command) -> Background {
        program.current_dir(&self.dir).stdin(Stdio::null());
        Background::of(program)
    }

    /// With a standard input that the test writes to.
    pub fn start_fed(&self, arguments: &[&str]) -> (Background, ChildStdin) {
        Background::fed(self.command(arguments))
    }
}

/// Collects the output of a pipe; the thread ends with the pipe.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Collected {
    fn from(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn whole(self) -> String {
        let Self { bytes, reader } = self;
        reader.join().unwrap();
        String::from_utf8_lossy(&bytes.lock().unwrap()).into_owned()
    }
}

/// A process in the background.
pub struct Background {
    child: Child,
    stdout: Collected,
    stderr: Collected,
}

impl Background {
    fn fed(mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped());
        let mut run = Self::of(command);
        let stdin = run.child.stdin.take().unwrap();
        (run, stdin)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Collected::from(child.stdout.take().unwrap());
        let stderr = Collected::from(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGSTOP and waits until all threads are stopped.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        let frozen = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED).unwrap();
        assert!(frozen.is_some_and(|(_, status)| status.stopped()), "it ended instead");
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the first line on stdout.
    pub fn first_line(&self) -> String {
        let mut line = None;
        wait_until("a line on stdout", || {
            line = self.stdout.so_far().split_once('\n').map(|(line, _)| line.to_owned());
            line.is_some()
        });
        line.unwrap_or_default()
    }

    pub fn stdout_so_far(&self) -> String {
        self.stdout.so_far()
    }

    pub fn wait_for_stderr(&self, part: &str) {
        wait_until(&format!("{part:?} on stderr"), || self.stderr.so_far().contains(part));
    }

    pub fn finish(mut self) -> Said {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.has_ended() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it does not end; stdout: {}\nstderr: {}", self.stdout.so_far(), self.stderr.so_far());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Said {
            // A process ended by a signal has no code.
            code: status.code().unwrap_or(-1),
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
        }
    }
}

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
