#!/usr/bin/env python3
"""Measures the relay while runs go on, and writes the figures into docs/benchmarks.md:

- how long until all rows of a submitted run are queued in ClickHouse;
- how long after a run has completed its last result is in ClickHouse;
- the rate of runs with a ClickHouse that is killed again and again, against runs with one that is left alone, in turns.

  benches/analytics/live.py [--rows N] [--kills N] [--profile release|debug] [--dry-run]

Afterwards every row of every job must be equal (`windrow analytics check`).
"""

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- analytics live -->\n", "<!-- /analytics live -->\n"
# Of a run whose rate or last result is measured. The calls take the time, so that a ClickHouse that starts again does not
# take processors from the run.
SMALL, ROUNDS = 10_000, 3
# Rates may differ by this share, last results and queued rows may take this long.
MAX_SLOWER, MAX_LAST_S, MAX_QUEUED_S = 0.03, 2.0, 10.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20, help="kills of ClickHouse in each disturbed run")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--dry-run", action="store_true", help="print the figures; leave docs/benchmarks.md as it is")
    arguments = parser.parse_args()
    subprocess.run([ROOT / "scripts" / "services", "up"], check=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as folder, World(pathlib.Path(folder), arguments.profile) as world:
        quiet, disturbed, last, kills = rates(world, arguments.kills)
        queued = time_until_queued(world, arguments.rows)
        checked = world.wait_until_equal()
    slower = 1 - statistics.median(disturbed) / statistics.median(quiet)
    lines = [
        "| what | measured | bound |", "|---|---|---|",
        f"| {arguments.rows:,} rows of a submitted run queued in ClickHouse | {queued:.1f} s | {MAX_QUEUED_S:.0f} s |",
        f"| last result in ClickHouse after the run completed, worst of {len(last)} runs | {max(last):.2f} s | {MAX_LAST_S:.0f} s |",
        f"| items per second, ClickHouse left alone, median of {ROUNDS} | {statistics.median(quiet):,.0f} | |",
        f"| items per second, ClickHouse killed {kills / ROUNDS:.0f} times a run, median of {ROUNDS} | "
        f"{statistics.median(disturbed):,.0f} ({-slower:+.1%}) | {-MAX_SLOWER:.0%} |",
        f"| jobs equal to the database afterwards | {checked} of {checked} | all |",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if not arguments.dry_run:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.split(END)[1])
    missed = [slower > MAX_SLOWER, max(last) > MAX_LAST_S, arguments.rows >= 1_000_000 and queued > MAX_QUEUED_S]
    sys.exit("a bound is exceeded" if any(missed) else 0)


def rates(world, wanted):
    """In turns, so that whatever else the machine does meets both."""
    quiet, disturbed, last, killed = [], [], [], 0
    world.run("warm-up", SMALL)
    for round in range(ROUNDS):
        rate, lag, _ = world.run(f"quiet-{round}", SMALL)
        quiet.append(rate)
        last.append(lag)
        rate, _, kills = world.run(f"disturbed-{round}", SMALL, kill_every=SMALL / rate / wanted)
        disturbed.append(rate)
        killed += kills
        say(f"round {round}: {quiet[-1]:,.0f} and {rate:,.0f} items per second, {kills} kills, last result after {lag:.2f} s")
    return quiet, disturbed, last, killed


def time_until_queued(world, rows):
    # One item at a time, so that nearly all of them wait.
    world.submit("waiting", rows, concurrency=1)
    begun = time.monotonic()
    done = rows - 100
    while world.count("job = 'waiting' AND outcome = 'queued'") < done:
        if time.monotonic() - begun > 600:
            sys.exit("the rows are not queued after 10 minutes")
        time.sleep(0.1)
    took = time.monotonic() - begun
    say(f"{rows:,} rows are queued in ClickHouse after {took:.1f} s")
    world.call("/api/v1/jobs/waiting/cancel", b"")
    return took


class World:
    """A server, a mock model and a ClickHouse that may be killed."""

    def __init__(self, folder, profile):
        self.folder, self.binary = folder, TARGET / profile / "windrow"
        self.clickhouse_port, self.port = free_port(), free_port()

    def __enter__(self):
        (self.folder / "data" / "files").mkdir(parents=True)
        (self.folder / "clickhouse").mkdir()
        self.start_clickhouse()
        command = [self.binary, "mock", "model", "--port", "0", "--latency", "50ms"]
        self.model = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.model_url = self.model.stdout.readline().strip()
        url = f"http://windrow:windrow@127.0.0.1:{self.clickhouse_port}/copy"
        command = [self.binary, "--data", self.folder / "data", "--clickhouse", url, "serve", "--listen", f"127.0.0.1:{self.port}"]
        environment = {**os.environ, "OPENAI_API_KEY": "none-needed"}
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        self.server.stdout.readline()
        return self

    def __exit__(self, *_):
        for process in [self.server, self.model, self.clickhouse]:
            process.kill()
            process.wait()

    def start_clickhouse(self):
        command = [ROOT / "target/clickhouse-env/bin/python", ROOT / "scripts/clickhouse_server.py", str(self.clickhouse_port),
                   self.folder / "clickhouse/data"]
        self.clickhouse = subprocess.Popen(command, cwd=self.folder / "clickhouse", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            with contextlib.suppress(OSError):
                self.ask("SELECT 1", "default")
                return
            time.sleep(0.05)

    def kill_clickhouse(self):
        self.clickhouse.kill()
        self.clickhouse.wait()
        self.start_clickhouse()

    def ask(self, sql, database="copy"):
        url = f"http://127.0.0.1:{self.clickhouse_port}/?database={database}&user=windrow&password=windrow"
        with urllib.request.urlopen(urllib.request.Request(url, sql.encode()), timeout=120) as reply:
            return reply.read().decode()

    def count(self, condition):
        with contextlib.suppress(OSError):
            return int(self.ask(f"SELECT count() FROM windrow_items FINAL WHERE {condition}"))
        return -1

    def call(self, path, body=None, kind="application/json"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, {"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)

    def submit(self, name, rows, concurrency):
        with open(self.folder / "data" / "files" / f"{name}.jsonl", "w") as dataset:
            dataset.writelines(f'{{"question": "row {row} of {name}", "answer": "yes"}}\n' for row in range(rows))
        job = (f"kind: experiment\nname: {name}\ndataset: {name}.jsonl\ntarget:\n  openai: {{ model: mock, base_url: \"{self.model_url}\", "
               "api_key: \"${env:OPENAI_API_KEY}\" }\n  prompt: \"{{ question }}?\"\nevaluators:\n  - exact: { expect: \"{{ answer }}\" }\n"
               f"concurrency: {concurrency}\n")
        self.call("/api/v1/jobs", job.encode(), "text/yaml")

    def run(self, name, rows, kill_every=None):
        """Items per second, seconds from the end of the run until its last result is in ClickHouse, and kills."""
        self.submit(name, rows, concurrency=16)
        begun, kills = time.monotonic(), 0
        next_kill = begun + kill_every if kill_every else float("inf")
        while self.call(f"/api/v1/jobs/{name}")["state"] not in ("completed", "failed"):
            if time.monotonic() > next_kill:
                self.kill_clickhouse()
                kills += 1
                next_kill += kill_every
            time.sleep(0.02)
        ended = time.monotonic()
        while self.count(f"job = '{name}' AND finished_ms > 0") < rows:
            if time.monotonic() - ended > 120:
                sys.exit(f"{name}: results are missing in ClickHouse after 2 minutes")
            time.sleep(0.02)
        return rows / (ended - begun), time.monotonic() - ended, kills

    def wait_until_equal(self):
        until = time.monotonic() + 600
        while True:
            checked = self.call("/api/v1/analytics/check")
            if checked["equal"]:
                return len(checked["jobs"])
            if time.monotonic() > until:
                sys.exit(f"not equal: {json.dumps([job for job in checked['jobs'] if not job['equal']], indent=1)}")
            time.sleep(1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
