#!/usr/bin/env python3
"""`make soak`: mixed work on one server for an hour (SOAK_MINUTES), with a SIGKILL every minute.

Experiments, operations, ingest, a scheduled job and retention run at the same time. Every few seconds the script samples
memory, open files, database size and the latency of a request. At the end every job must have completed, the last
quarter must look like the second one, and the figures go into docs/benchmarks.md.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WINDROW = TARGET / os.environ.get("SOAK_PROFILE", "release") / "windrow"
WORK = ROOT / "target" / "soak"
PAGE = ROOT / "docs" / "benchmarks.md"
MINUTES = float(os.environ.get("SOAK_MINUTES", "60"))
KILL_EVERY = float(os.environ.get("SOAK_KILL_EVERY", "60"))
SAMPLE_EVERY = 2.0
ROWS, CONNECTORS = 300, 40
# The last quarter may exceed the second by this factor and this amount.
BOUNDS = {"memory_mib": (1.25, 30), "open_files": (1.25, 20), "database_mib": (1.25, 30), "latency_ms": (2.0, 20)}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def mock(kind, *arguments):
    command = [WINDROW, "mock", kind, "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().strip()


class Server:
    """Restarted on the same data directory after every kill."""

    def __init__(self):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = open(WORK / "serve.log", "ab")
        self.kills, self.restarts_ms = 0, []
        self.start()

    def start(self):
        begun = time.monotonic()
        command = [WINDROW, "--data", WORK / "data", "serve", "--listen", self.url.removeprefix("http://")]
        command += ["--keep-completed", "0", "--keep-failed", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        while self.ask("GET", "/readyz", raw=True) is None:
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with {self.process.returncode}; see {WORK / 'serve.log'}")
            time.sleep(0.02)
        self.restarts_ms.append((time.monotonic() - begun) * 1000)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.kills += 1
        self.start()

    def ask(self, method, path, body=None, media="application/json", raw=False):
        """None while the server is down; an HTTP error is returned as its status."""
        request = urllib.request.Request(self.url + path, method=method, data=body and body.encode())
        request.add_header("Content-Type", media)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read().decode()
                return text if raw else (answer.status, json.loads(text) if text else None)
        except urllib.error.HTTPError as error:
            return None if raw else (error.code, None)
        except (OSError, ValueError):
            return None


def experiment(name, model, schedule=""):
    return (
        f"kind: experiment\nname: {name}\ndataset: rows.jsonl\ntarget:\n  openai: {{ model: mock, base_url: \"{model}\" }}\n"
        f"  prompt: \"{{{{ n }}}}\"\nevaluators:\n  - exact: {{ expect: \"{{{{ n }}}}\" }}\nconcurrency: 16\n{schedule}"
    )


def operation(name, connect, value):
    return (
        f"kind: operation\nname: {name}\ntargets: {{ select: \"orders-*\" }}\naction:\n  kafka-connect:\n"
        f"    url: {connect}\n    do: change_config\n    set: {{ tasks.max: \"{value}\" }}\nstrategy: {{ canary: 2, wave: 20 }}\n"
    )


def ingest(name, source):
    return (
        f"kind: ingest\nname: {name}\nsource:\n  rest:\n    url: {source}/records\n    records: $.records\n"
        "    pagination: { token: { param: page_token, next: $.next } }\nkey: id\n"
        "destination:\n  sqlite: { path: orders.db }\n"
    )


class Soak:
    def __init__(self):
        self.mocks = [mock("model", "--latency", "20ms"), mock("connect", "--connectors", str(CONNECTORS)),
                      mock("source", "--records", "3000")]
        self.model, self.connect, self.source = (url for _, url in self.mocks)
        self.server = Server()
        self.over = threading.Event()
        self.samples, self.completed, self.lost = [], {"experiment": 0, "operation": 0, "ingest": 0}, []

    def run_to_end(self, kind, name, file):
        """Submitted with an idempotency-safe retry: a request that a kill cut off is sent again."""
        while True:
            answer = self.server.ask("POST", "/api/v1/jobs", file, "text/yaml")
            if answer and answer[0] in (200, 201, 409):
                break
            if answer and answer[0] < 500 and answer[0] != 429:
                self.lost.append(f"{name}: rejected with {answer[0]}")
                self.over.set()
                return
            time.sleep(0.2)
        deadline = time.monotonic() + 5 * KILL_EVERY + 300
        while time.monotonic() < deadline:
            answer = self.server.ask("GET", f"/api/v1/jobs/{name}")
            # Retention deletes a finished job at once.
            if answer and answer[0] == 404:
                self.completed[kind] += 1
                return
            run = answer and answer[1] and answer[1]["latest_run"]
            if run and run["state"] == "completed":
                if run["items"]["failed"]:
                    self.lost.append(f"{name}: {run['items']['failed']} items failed")
                self.completed[kind] += 1
                return
            if run and run["state"] in ("failed", "cancelled", "terminated"):
                self.lost.append(f"{name}: {run['state']}")
                return
            time.sleep(0.3)
        self.lost.append(f"{name}: not finished")

    def work(self, kind):
        n = 0
        while not self.over.is_set():
            n += 1
            name = f"soak-{kind}-{n}"
            file = {
                "experiment": lambda: experiment(name, self.model),
                "operation": lambda: operation(name, self.connect, n % 7 + 1),
                "ingest": lambda: ingest(name, self.source),
            }[kind]()
            self.run_to_end(kind, name, file)

    def sweep(self):
        while not self.over.wait(5):
            self.server.ask("POST", "/api/v1/clean-up", json.dumps({"completed_days": 0, "failed_days": 0}))

    def sample(self):
        while not self.over.wait(SAMPLE_EVERY):
            begun = time.monotonic()
            if not self.server.ask("GET", "/api/v1/jobs?limit=50"):
                continue
            latency = (time.monotonic() - begun) * 1000
            try:
                pid = self.server.process.pid
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
                files = len(os.listdir(f"/proc/{pid}/fd"))
                size = sum(path.stat().st_size for path in (WORK / "data").glob("windrow.db*")) / 2**20
            except (OSError, IndexError):
                continue
            self.samples.append({"memory_mib": memory, "open_files": files, "database_mib": size, "latency_ms": latency})

    def perform(self):
        files = WORK / "data" / "files"
        files.mkdir(parents=True, exist_ok=True)
        (files / "rows.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(ROWS)))
        scheduled = experiment("soak-scheduled", self.model, 'schedule: "* * * * *"\n')
        self.server.ask("POST", "/api/v1/jobs", scheduled, "text/yaml")
        targets = [lambda kind=kind: self.work(kind) for kind in self.completed] + [self.sweep, self.sample]
        threads = [threading.Thread(target=target, daemon=True) for target in targets]
        for thread in threads:
            thread.start()
        end = time.monotonic() + MINUTES * 60
        while time.monotonic() < end and not self.over.is_set():
            self.over.wait(max(0.0, min(KILL_EVERY, end - time.monotonic())))
            if time.monotonic() < end and not self.over.is_set():
                self.server.kill()
                print(f"kill {self.server.kills}: {self.completed}", flush=True)
        self.over.set()
        for thread in threads:
            thread.join(600)
        answer = self.server.ask("GET", "/api/v1/jobs/soak-scheduled/runs")
        self.scheduled = len(answer[1]["runs"]) if answer and answer[1] else 0

    def close(self):
        self.server.process.terminate()
        self.server.process.wait()
        for process, _ in self.mocks:
            process.terminate()
            process.wait()


def quarter(samples, n, field):
    size = len(samples) // 4
    return statistics.median(sample[field] for sample in samples[n * size:(n + 1) * size])


def verdict(soak):
    wrong = list(soak.lost)
    if len(soak.samples) < 16:
        wrong.append(f"only {len(soak.samples)} samples; run longer")
        return wrong, []
    rows = []
    for field, (factor, amount) in BOUNDS.items():
        before, after = quarter(soak.samples, 1, field), quarter(soak.samples, 3, field)
        most = max(sample[field] for sample in soak.samples)
        rows.append(f"| {field.replace('_', ' ')} | {before:.1f} | {after:.1f} | {most:.1f} |")
        if after > before * factor + amount:
            wrong.append(f"{field} grew from {before:.1f} to {after:.1f}")
    if MINUTES >= 3 and soak.scheduled < 2:
        wrong.append(f"the scheduled job ran {soak.scheduled} times")
    return wrong, rows


def write(soak, rows):
    done = ", ".join(f"{count} {kind}s" if kind != "ingest" else f"{count} ingest jobs" for kind, count in soak.completed.items())
    restart = statistics.median(soak.server.restarts_ms)
    lines = [
        "<!-- soak -->",
        f"`make soak`: {MINUTES:.0f} minutes, {soak.server.kills} kills. {done} completed, {soak.scheduled} scheduled runs; "
        f"every job completed. Restart to ready: {restart:.0f} ms (median).",
        "",
        "| | second quarter (median) | last quarter (median) | maximum |",
        "|---|---|---|---|",
        *rows,
        "<!-- /soak -->",
    ]
    page = PAGE.read_text()
    text = "\n".join(lines)
    if "<!-- soak -->" in page:
        head, rest = page.split("<!-- soak -->", 1)
        page = head + text + rest.split("<!-- /soak -->", 1)[1]
    else:
        page = page.rstrip() + "\n\n## Soak\n\n" + text + "\n"
    PAGE.write_text(page)


def main():
    os.environ.pop("WINDROW_DATA", None)
    os.environ["OPENAI_API_KEY"] = "none-needed"
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    soak = Soak()
    try:
        soak.perform()
    finally:
        soak.close()
    wrong, rows = verdict(soak)
    print("\n".join(rows))
    if wrong:
        sys.exit("\n".join(["soak failed:", *wrong]))
    write(soak, rows)
    print(f"{soak.completed}, {soak.server.kills} kills; written to {PAGE}")


if __name__ == "__main__":
    main()
