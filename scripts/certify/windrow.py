"""The real binary: bulk operations from a folder of their own, and three serving nodes on one database."""

import asyncio
import json
import os
import pathlib
import random
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request

import fetch
import torture_nodes
from processes import Failed, Process, finish, free_port, spawn, until


PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", fetch.ROOT / "target")).resolve() / "debug" / "windrow"
LIMIT = torture_nodes.LIMIT
# No operation of a case takes as long.
COMMAND_S = 200


def environment(**more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith("WINDROW_")}, **more}


class Folder:
    """A folder with job files and the database `.windrow`. All output is kept, to look for clear text in it."""

    def __init__(self, name, **variables):
        self.place = fetch.HOME / "work" / name
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.environment = environment(**variables)
        self.said = ""

    def operation(self, name, targets, action, strategy=None):
        job = {"kind": "operation", "name": name, "targets": targets, "action": {"kafka-connect": action}, "retry": {"max": 2}, **(strategy or {})}
        (self.place / f"{name}.yaml").write_text(json.dumps(job))

    def windrow(self, *words, expect=0):
        done = finish([PROGRAM, *words], COMMAND_S, cwd=self.place, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said += done.stdout
        if done.returncode != expect:
            raise Failed(f"`windrow {' '.join(words)}` exited with {done.returncode}, expected {expect}:\n{done.stdout[-3000:]}")
        return done.stdout

    def start(self, *words):
        with open(self.place / "output", "a") as output:
            return spawn([PROGRAM, *words], cwd=self.place, env=self.environment, stdout=output, stderr=output)

    def run(self, name, targets, action, strategy=None):
        self.operation(name, targets, action, strategy)
        return self.windrow("run", f"{name}.yaml")


class Endpoint:
    """The mock model of scripts/torture_nodes.py, on a thread of its own."""

    def __init__(self, latency):
        self.model = torture_nodes.Endpoint("127.0.0.1", 0, latency, random.Random(1))
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.model.start(), self.loop).result(10)

    calls = property(lambda self: self.model.calls)
    url = property(lambda self: self.model.url)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


class Nodes:
    """Three nodes that share runs. Each may have its own member of a database cluster."""

    def __init__(self, name, urls, latency):
        self.place = fetch.HOME / "work" / name
        shutil.rmtree(self.place, ignore_errors=True)
        self.endpoint, self.items, self.jobs = Endpoint(latency), 0, 0
        self.nodes = []
        for n in range(3):
            data = self.place / f"node{n}"
            (data / "files").mkdir(parents=True)
            port = free_port()
            words = [PROGRAM, "--data", data, "serve", "--listen", f"127.0.0.1:{port}", "--lease", "30s", "--workers", "16"]
            more = {"WINDROW_DATABASE_URL": urls[n % len(urls)], "OPENAI_API_KEY": "sk-test"}
            self.nodes.append(Process(f"{name}-node{n}", words, port, environment=environment(**more)))
        # The first creates the tables.
        for node in self.nodes:
            node.start()

    def submit(self, items):
        """A job with rows of its own; returns when a node has taken it."""
        self.jobs += 1
        first = self.jobs * 1_000_000
        rows = "".join(f'{{"n": {first + n}}}\n' for n in range(items))
        for n in range(3):
            (self.place / f"node{n}/files/rows{self.jobs}.jsonl").write_text(rows)
        job = (f"kind: experiment\nname: job-{self.jobs}\ndataset: rows{self.jobs}.jsonl\nconcurrency: {torture_nodes.CONCURRENCY}\n"
               f"target:\n  openai: {{ model: any, limits: {{ concurrency: {LIMIT} }}, base_url: \"{self.endpoint.url}\", "
               "api_key: \"${env:OPENAI_API_KEY}\" }\n  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"answer {{ n }}\" }\n"
               "retry: { max: 1000, delays: [100ms] }\n")
        node = self.nodes[self.jobs % 3]

        def taken():
            request = urllib.request.Request(f"http://127.0.0.1:{node.port}/api/v1/jobs", job.encode(), {"Content-Type": "text/yaml"})
            try:
                urllib.request.urlopen(request, timeout=20).read()
                return True
            except urllib.error.HTTPError as error:
                self.refused = error.read().decode()
                return error.code == 409
            except OSError:
                return False
        until(f"job {self.jobs} is taken", taken, 40)
        self.items += items

    def calls(self):
        return self.endpoint.calls.total()

    def check_alive(self):
        for node in self.nodes:
            if not node.alive():
                raise Failed(f"{node.name} ended; its log ends:\n{node.tail()}")

    def until_over(self, rows, seconds):
        """Waits for the end of all runs."""
        def over():
            self.check_alive()
            try:
                states = [row[0] for row in rows("SELECT state FROM runs")]
            except Failed:
                return False
            ended = ("completed", "completed_with_failures", "failed", "terminated")
            return len(states) == self.jobs and all(state in ended for state in states)
        try:
            until("all runs end", over, seconds, 0.5)
        except Failed as late:
            raise Failed(f"{late}: {self.calls()} calls of {self.items}, runs {rows('SELECT id, state, total, queued, running, succeeded, failed FROM runs')}") from late

    def check(self, rows):
        """Nothing lost, nothing done twice, and counters that equal a recount."""
        def one(sql):
            return int(rows(sql)[0][0])
        found = {
            "runs that completed": one("SELECT count(*) FROM runs WHERE state = 'completed'"),
            "items that succeeded": one("SELECT count(*) FROM items WHERE state = 1 AND archived IS NOT NULL"),
            "attempts archived as a success": one("SELECT count(*) FROM attempts WHERE outcome = 0"),
            "items with an archived success": one("SELECT count(DISTINCT id >> 10) FROM attempts WHERE outcome = 0"),
            "unfinished attempts": one("SELECT count(*) FROM attempts WHERE state <> 4"),
            "scores": one("SELECT count(*) FROM scores WHERE part = 0"),
            "counters": [int(n) for n in rows("SELECT sum(total), sum(queued), sum(running), sum(succeeded), sum(failed) FROM runs")[0]],
            "runs with wrong counters": one("SELECT count(*) FROM runs WHERE total <> succeeded"),
            "calls": self.calls(),
            "questions asked": len(self.endpoint.calls),
        }
        wanted = {
            "runs that completed": self.jobs, "items that succeeded": self.items, "attempts archived as a success": self.items,
            "items with an archived success": self.items, "unfinished attempts": 0, "scores": self.items,
            "counters": [self.items, 0, 0, self.items, 0], "runs with wrong counters": 0, "calls": self.items, "questions asked": self.items,
        }
        wrong = [f"{name}: {found[name]}, expected {value}" for name, value in wanted.items() if found[name] != value]
        if wrong:
            raise Failed("\n".join(wrong))

    def stop(self):
        for node in self.nodes:
            node.stop()
        self.endpoint.stop()
        time.sleep(0.1)
