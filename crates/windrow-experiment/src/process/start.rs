//! How a process is started: in a group of its own that dies with it, with nothing in its
//! environment but what it was given, and with a limit on its memory.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use windrow_jobfile::environment::{BadReference, Environment};

use super::config::{Frozen, Launch, PythonConfig};

/// Imports the file and calls its function once per line.
const DRIVER: &str = include_str!("driver.py");
/// What a process needs to find its interpreter and its settings; no secret is usually in these.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG"];

/// Everything needed to start the process again and again.
pub struct Start {
    program: String,
    arguments: Vec<String>,
    env: Vec<(String, String)>,
    folder: std::path::PathBuf,
}

impl Start {
    pub fn new<O>(frozen: &Frozen<O>, environment: &Environment) -> Result<Self, BadReference> {
        let mut words = match &frozen.launch {
            Launch::Command(command) => command.run.clone(),
            Launch::Python(PythonConfig { file, function, interpreter }) => {
                let function = function.as_deref().unwrap_or_default();
                [interpreter, "-c", DRIVER, file, function].map(str::to_owned).to_vec()
            }
        };
        if let Some(memory) = frozen.limits.memory {
            // The shell sets the limit and then becomes the program: no code of ours runs between
            // fork and exec, and there is no moment without the limit.
            let script = format!("ulimit -v {} && exec \"$@\"", memory.bytes.div_ceil(1024));
            words.splice(0..0, ["/bin/sh", "-c", &script, "sh"].map(str::to_owned));
        }
        let inherited = INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let given =
            frozen.limits.env.iter().map(|(name, value)| Ok((name.clone(), environment.resolve_secret(value)?.text)));
        let env = inherited.map(Ok).chain(given).collect::<Result<_, _>>()?;
        let program = words.remove(0);
        Ok(Self { program, arguments: words, env, folder: frozen.folder.clone() })
    }

    /// Python only: the file is imported, and the process ends.
    pub fn only_to_import(mut self) -> Self {
        self.arguments.push("import".to_owned());
        self
    }

    pub fn start(&self) -> Result<(Child, Group), String> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`{}` cannot be started: {error}", self.program))?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok((child, Group(group)))
    }
}

/// The process and all that it started; they end when this is dropped.
pub struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // An error says that no process is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
