#!/usr/bin/env python3
"""Measures the cost of a claim, a report and an archived item with 10,000 and with 10,000,000 finished items, on PostgreSQL
and MariaDB; and on PostgreSQL with an old open transaction. `make bench-aged`.

  FINISHED=10000000     number of finished items at the end
  aged.py postgres      one database only
"""

import json
import os
import subprocess
import sys

from run import ROOT, walk

FEW = 10_000
MANY = int(os.environ.get("FINISHED", "10000000"))
JOB = 10_000
# Above the ids of the items that were executed before.
BASE = 1_000_000
ROUNDS = 3
FREE_ITEMS = 100_000
# Scans are bounded if the longer run is not slower in proportion to its length.
HELD_ITEMS = [100_000, 400_000]

# Finished items as a run leaves them, in jobs of 10,000; `n` is the number of the item.
FILL = [
    "INSERT INTO runs (id, job_id, workspace, no, mode, state, spec_hash, priority, rank, region, concurrency, max_losses, "
    "fresh, planned, created_at, ended_at) SELECT {job}, {job}, 'old', 1, 'submit', 'succeeded', 'x', 5, 0, '', 50, 3, 0, 1, 0, 1 "
    "FROM {numbers} WHERE n % {per_job} = 0",
    "INSERT INTO items (id, job_id, run_id, ordinal, {key}, state, tries, archived, latency_ms, finished_at) "
    "SELECT n, {job}, {job}, n % {per_job}, {hash}, 1, 1, n * 1024 + 1, 5, 1 FROM {numbers}",
    "INSERT INTO inputs (item_id, body) SELECT n, concat('{{\"question\":\"What is the capital of country ', n, '?\"}}') FROM {numbers}",
    "INSERT INTO attempts (id, run_id, due_at, fence, owner, started_at, ended_at, state, outcome, priority) "
    "SELECT n * 1024 + 1, {job}, 1, 1, 1, 1, 1, 4, 0, 5 FROM {numbers}",
    "INSERT INTO steps (id, {key}, kind, name, turn, state, on_unknown, input, output, started_at, ended_at) "
    "SELECT (n * 1024 + 1) * 2097152 + 1, {hash}, 'target', '', 0, 1, 0, '{{\"model\":\"none\"}}', '{{\"content\":\"It is.\"}}', 1, 1 "
    "FROM {numbers}",
]


class Server:
    """Runs SQL with the database's own client."""

    def __init__(self, name, url, words):
        self.name, self.url, self.words = name, url, words

    def fill(self, first, last):
        step = 500_000
        for start in range(first, last, step):
            end = min(start + step, last)
            print(f"  {self.name}: {end - start:,} more finished items …", file=sys.stderr)
            numbers = self.words["numbers"].format(first=start, last=end - 1)
            # Ids below those of later runs: new rows follow the old ones, as in production.
            job = f"(-1000000 - n {self.words['div']} {JOB})"
            words = {**self.words, "numbers": numbers, "per_job": JOB, "job": job}
            self.sql("; ".join(statement.format(**words) for statement in FILL))
        self.sql(f"UPDATE sequences SET last = {last} WHERE name = 'items' AND last < {last}")
        self.sql(self.words["settle"])

    def sql(self, text):
        command = self.words["client"](self.url)
        subprocess.run(command, input=text.encode(), stdout=subprocess.DEVNULL, check=True)

    def costs(self):
        """The best of a few rounds for each store call."""
        best = {}
        for _ in range(ROUNDS):
            for name, value in walk(f"{self.name}_verbs", **{self.name: self.url}).items():
                best[name] = min(value, best.get(name, value))
        return best


def postgres():
    url = f"{os.environ['WINDROW_TEST_POSTGRES']}?sslmode=disable&schema=aged_{os.getpid()}"

    def client(url):
        plain, schema = url.split("?")[0], url.rsplit("=", 1)[1]
        return ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-c", f"SET search_path TO {schema}", "-f", "-", plain]

    return Server("postgres", url, {
        "client": client, "numbers": "generate_series(CAST({first} AS BIGINT), {last}) AS u(n)", "div": "/", "key": "key",
        "hash": "decode(md5(CAST(n AS TEXT)), 'hex')", "settle": "VACUUM ANALYZE items, inputs, attempts, steps, runs",
    })


def mariadb():
    name = f"aged_{os.getpid()}"
    server = os.environ["WINDROW_TEST_MARIADB"].rsplit("/", 1)[0]

    def client(_):
        user, place = server.removeprefix("mysql://").split("@")
        (user, password), (host, port) = user.split(":"), place.split(":")
        return ["mariadb", f"-h{host}", f"-P{port}", f"-u{user}", f"-p{password}", name]

    return Server("mariadb", f"{server}/{name}?sslmode=disable", {
        "client": client, "numbers": "(SELECT CAST(seq AS SIGNED) AS n FROM seq_{first}_to_{last}) AS u", "div": "DIV", "key": "`key`",
        "hash": "UNHEX(MD5(n))", "settle": "ANALYZE TABLE items, inputs, attempts, steps, runs",
    })


def held_open(server):
    """Measures a run without and with an older open transaction."""
    figures = {"postgres.items_per_s_free": walked(server, "free", FREE_ITEMS)}
    for items in HELD_ITEMS:
        keeper = subprocess.Popen(["psql", "-q", server.url.split("?")[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        keeper.stdin.write(b"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n")
        keeper.stdin.flush()
        keeper.stdout.readline()
        figures[f"postgres.items_per_s_held_{items}"] = walked(server, f"held_{items}", items)
        keeper.communicate(b"ROLLBACK;\n")
    return figures


def walked(server, label, items):
    return walk("postgres_100k", items=items, postgres=server.url.replace("aged_", f"{label}_"))["postgres.items_per_s"]


def main():
    figures = {}
    asked = sys.argv[1:] or ["postgres", "mariadb"]
    for server in [{"postgres": postgres, "mariadb": mariadb}[name]() for name in asked]:
        walk(f"{server.name}_verbs", **{server.name: server.url})
        server.fill(BASE, BASE + FEW)
        few = server.costs()
        server.fill(2 * BASE + FEW, 2 * BASE + MANY)
        many = server.costs()
        for name, value in many.items():
            figures[f"{name}_{FEW}"], figures[f"{name}_{MANY}"] = few[name], value
            print(f"{name:32} {few[name]:8.1f} → {value:8.1f}   × {value / few[name]:.2f}", flush=True)
        if server.name == "postgres":
            figures.update(held_open(server))
    print(json.dumps(figures, indent=2))
    (ROOT / "target" / "bench-aged.json").write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
