//! Headless Chromium, driven by the DevTools protocol over a pipe: only what tests of pages need. Presses and typing
//! are sent as mouse and keyboard events.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::wait_until;

const PATIENCE: Duration = Duration::from_secs(60);
/// Chromium uses the descriptors 3 and 4 for the protocol.
const COMMAND: &str = "exec chromium \"$@\" 3<&0 4>&1 >/dev/null";
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--ignore-certificate-errors",
];
/// The innermost visible element with exactly this text.
const FIND: &str = "text => [...document.querySelectorAll('button, a')].findLast(e => e.innerText === text && \
                    e.checkVisibility() && (document.querySelector('dialog[open]') ?? document).contains(e))";

pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    /// Script errors, and violations of the content security policy.
    pub complaints: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub fn open(url: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", COMMAND, "chromium"]).args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let whole = said.split(0).map_while(Result::ok);
            whole.map(|message| serde_json::from_slice(&message).unwrap()).try_for_each(|message| sender.send(message))
        });
        let (session, complaints) = (String::new(), Vec::new());
        let mut browser = Self { process, commands, messages, session, sent: 0, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().to_owned();
        browser.call("Runtime.enable", json!({}));
        browser.call("Log.enable", json!({}));
        browser.go(url);
        browser
    }

    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.wait_for("the page", "document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The visible text.
    pub fn text(&mut self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn wait_for_text(&mut self, part: &str) {
        self.wait_for(part, &format!("document.body.innerText.includes({})", json!(part)));
    }

    /// Waits until a JavaScript expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, expression: &str) {
        wait_until(what, || self.evaluate(expression) == true);
    }

    pub fn evaluate(&mut self, expression: &str) -> Value {
        let evaluated = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(evaluated["exceptionDetails"].is_null(), "{expression}: {evaluated}");
        evaluated["result"]["value"].clone()
    }

    /// Clicks a button or a link by its text.
    #[track_caller]
    pub fn press(&mut self, name: &str) {
        let find = format!("({FIND})({})", json!(name));
        self.wait_for(name, &format!("{find}?.disabled === false || {find}?.href !== undefined"));
        let middle =
            format!("(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({find}.getBoundingClientRect())");
        let middle = self.evaluate(&middle);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Replaces the content of the focused field.
    pub fn type_text(&mut self, text: &str) {
        self.evaluate("document.activeElement.select()");
        self.call("Input.insertText", json!({"text": text}));
    }

    pub fn press_key(&mut self, key: &str) {
        let text = if key == "Enter" { "\r" } else { "" };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            other => panic!("{other} is no key that is known here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        let sent = self.commands.write_all(format!("{message}\0").as_bytes());
        sent.expect("Chromium is missing or does not start; `make chromium` installs it");
        loop {
            let mut answer = self.messages.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                panic!("no answer to {method} ({error}): Chromium is missing or does not start; `make chromium` installs it")
            });
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            let broken = answer["method"] == "Runtime.exceptionThrown";
            if broken || answer["params"]["entry"]["source"] == "security" {
                self.complaints.push(answer["params"].take());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
