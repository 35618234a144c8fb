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
const MIDDLE: &str = "e => (({x, y, width, height}) => [x + width / 2, y + height / 2])(e.getBoundingClientRect())";
/// Whether an element has been in its place for 100 ms, and a click there would reach it. Scrolls to it each time it has
/// moved: what loads above it can push it out of sight.
const SETTLED: &str = "e => { if (!e) return false; const r = e.getBoundingClientRect(); \
                       const at = [r.x, r.y, r.width, r.height].join(); const seen = window.settling; \
                       if (seen?.e !== e || seen.at !== at) { e.scrollIntoView({block: 'center'}); \
                         const {x, y, width, height} = e.getBoundingClientRect(); \
                         window.settling = {e, at: [x, y, width, height].join(), since: performance.now()}; return false } \
                       const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); \
                       return performance.now() - seen.since > 100 && (e.contains(top) || !!top?.contains(e)) }";
/// The middle of an element, and in `window.hit` from now on whether the next click has reached it.
const AIM: &str = "(e, middle) => { if (!e) return null; window.hit = false; \
                   const at = middle(e), inside = e.contains(document.elementFromPoint(...at)); \
                   document.addEventListener('click', c => window.hit = e.contains(c.target) || \
                     (!inside && c.target.contains(e)), {capture: true, once: true}); return at }";

pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    /// Script errors, messages to the console, and violations of the content security policy.
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

    /// Runs a script in every page that is opened from now on, before its own.
    pub fn before_each_page(&mut self, script: &str) {
        self.call("Page.enable", json!({}));
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}));
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
        self.press_at(&find);
    }

    /// Clicks the first element that fits a CSS selector.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let find = format!("document.querySelector({})", json!(selector));
        self.wait_for(selector, &format!("{find}?.checkVisibility() === true"));
        self.press_at(&find);
    }

    /// Clicks the middle of an element that no longer moves and that nothing covers. A page that is still loading can move
    /// it away between the look and the click; a click that hit something else is made again.
    #[track_caller]
    fn press_at(&mut self, find: &str) {
        let aim = format!("({AIM})({find}, {MIDDLE})");
        for _ in 0..10 {
            self.wait_for(&format!("{find} to stand still"), &format!("({SETTLED})({find})"));
            let middle = self.evaluate(&aim);
            if middle.is_null() {
                continue;
            }
            for kind in ["mousePressed", "mouseReleased"] {
                let event = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
                self.call("Input.dispatchMouseEvent", event);
            }
            // A page that the click opened knows nothing of it.
            if self.evaluate("window.hit") != false {
                return;
            }
        }
        panic!("ten clicks missed {find}");
    }

    /// Replaces the content of the focused field.
    pub fn type_text(&mut self, text: &str) {
        self.evaluate("document.activeElement.select()");
        self.insert(text);
    }

    /// Replaces the content of the field with this id.
    #[track_caller]
    pub fn fill(&mut self, id: &str, text: &str) {
        let field = format!("document.getElementById({})", json!(id));
        self.wait_for(id, &format!("{field}?.checkVisibility() === true"));
        self.evaluate(&format!("{field}.focus()"));
        self.type_text(text);
        self.wait_for(text, &format!("{field}.value === {}", json!(text)));
    }

    /// Chooses in the list with this id.
    pub fn choose(&mut self, id: &str, value: &str) {
        let list = format!("document.getElementById({})", json!(id));
        self.evaluate(&format!(
            "{list}.value = {}; {list}.dispatchEvent(new Event('change', {{bubbles: true}}))",
            json!(value)
        ));
    }

    /// Types at the cursor.
    pub fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses a key by its name, or a letter; `Ctrl+` before it holds that key.
    pub fn press_key(&mut self, key: &str) {
        let (held, key) = key.strip_prefix("Ctrl+").map_or((0, key), |key| (2, key));
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "Tab" => (9, ""),
            "ArrowDown" => (40, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            letter if letter.len() == 1 => (i32::from(letter.as_bytes()[0].to_ascii_uppercase()), letter),
            other => panic!("{other} is no key that is known here"),
        };
        let text = if held == 0 { text } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code, "modifiers": held});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Presses Tab until an expression is true.
    #[track_caller]
    pub fn tab_to(&mut self, what: &str, expression: &str) {
        for _ in 0..80 {
            if self.evaluate(expression) == true {
                return;
            }
            self.press_key("Tab");
        }
        panic!("Tab does not lead to {what}");
    }

    /// A window of 1440 by 900.
    pub fn wide(&mut self) {
        let size = json!({"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn prefer_dark(&mut self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        // Colours are compared when nothing fades in any more.
        let still = json!({"name": "prefers-reduced-motion", "value": "reduce"});
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}, still]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Serious problems of accessibility that axe-core finds on the page.
    pub fn inaccessible(&mut self) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(path).expect("axe-core is missing; `make axe` installs it");
        self.evaluate(&format!("{axe}; undefined"));
        self.evaluate(
            "window.found = undefined; axe.run().then(result => { window.found = result.violations }); undefined",
        );
        self.wait_for("axe", "window.found !== undefined");
        let serious = "window.found.filter(rule => ['serious', 'critical'].includes(rule.impact)).map(rule => \
                       `${location.pathname}${location.search} ${rule.id}: ${rule.nodes.map(node => node.html).join('; ')}`)";
        serde_json::from_value(self.evaluate(serious)).unwrap()
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
            let said = answer["method"] == "Runtime.consoleAPICalled" && answer["params"]["type"] == "error";
            let broken = answer["method"] == "Runtime.exceptionThrown";
            // Rejected requests are logged by the browser too; tests make some on purpose.
            let entry = &answer["params"]["entry"];
            let logged = entry["level"] == "error" && entry["source"] != "network";
            if broken || said || logged || entry["source"] == "security" {
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
