#!/usr/bin/env python3
"""Asks the same questions of ClickHouse and of the embedded database, over the same rows in the real tables of each, and
writes both times into docs/benchmarks.md.

  benches/analytics/run.py [--cells N] [--dry-run]      10,000,000 cells by default: 10 runs, two evaluators

Needs target/debug/windrow (`make bench-analytics` builds it) and the ClickHouse engine of scripts/services.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- analytics -->\n", "<!-- /analytics -->\n"
JOB, RUNS, REPEATS = 77, 10, 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--dry-run", action="store_true", help="print the table; leave docs/benchmarks.md as it is")
    arguments = parser.parse_args()
    rows = arguments.cells // RUNS // 2
    with tempfile.TemporaryDirectory(dir=TARGET) as folder, clickhouse(pathlib.Path(folder)) as ask:
        folder = pathlib.Path(folder)
        create_tables(folder, ask.url)
        say(f"filling {arguments.cells:,} cells: {RUNS} runs of {rows:,} rows, two evaluators")
        fill_clickhouse(ask, rows)
        database = fill_sqlite(folder / "data" / "windrow.db", rows)
        table = measure(ask, database, rows)
        database.close()
    text = (f"{arguments.cells:,} cells: {RUNS} runs of {rows:,} rows, two evaluators; median of {REPEATS}.\n\n"
            "| question | ClickHouse | SQLite | ratio |\n|---|---|---|---|\n" + "".join(table) + "\n")
    print(text)
    if not arguments.dry_run:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.split(END)[1])


def measure(ask, database, rows):
    table = []
    for name, theirs, ours in questions(rows):
        first, there = timed(lambda: theirs(ask, database) if callable(theirs) else ask(theirs))
        second, here = timed(lambda: database.execute(ours).fetchall())
        if len(first.splitlines()) != len(second):
            sys.exit(f"{name}: ClickHouse answers {len(first.splitlines())} rows, SQLite {len(second)}")
        table.append(f"| {name} | {there * 1000:,.0f} ms | {here * 1000:,.0f} ms | {here / there:.1f} |\n")
        say(table[-1].strip())
    return table


def questions(rows):
    run = f"job_id = {JOB} AND run_id = {RUNS}"
    compare = (f"SELECT countIf(b.verdict_1 = 'pass' AND a.verdict_1 = 'fail'), countIf(b.verdict_1 = 'fail' AND a.verdict_1 = 'pass'), "
               f"avg(a.score_1 - b.score_1) FROM (SELECT item_id, verdict_1, score_1 FROM windrow_results FINAL WHERE workspace = 'default' AND "
               f"job_id = {JOB} AND run_id = 2) AS a JOIN (SELECT item_id, verdict_1, score_1 FROM windrow_results FINAL WHERE workspace = 'default' AND "
               f"job_id = {JOB} AND run_id = 1) AS b ON a.item_id = b.item_id")
    attempt = "(i.id << 10) | {}"
    score = "s.attempt_id = {} AND s.part = 0 AND s.turn = 0 AND s.name = 'exact'"

    def first_page(ask, database):
        """As Windrow does: ClickHouse knows which items, and the database has their rows."""
        ids = ask(f"SELECT item_id FROM windrow_items FINAL WHERE workspace = 'default' AND job_id = {JOB} AND score_1 < 0.5 "
                  "AND fields['language'] = 'en' ORDER BY cost_nanos DESC, item_id LIMIT 50").split()
        database.execute(f"SELECT i.id, n.body, s.value FROM items i JOIN inputs n ON n.item_id = i.id JOIN scores s ON "
                         f"{score.format('i.archived')} WHERE i.id IN ({', '.join(ids)})").fetchall()
        return "\n".join(ids)

    return [
        ("filter, sort, first page", first_page,
         f"SELECT i.id, s.value FROM items i JOIN scores s ON {score.format('i.archived')} JOIN inputs n ON n.item_id = i.id "
         f"WHERE i.job_id = {JOB} AND s.value < 0.5 AND n.body ->> 'language' = 'en' ORDER BY i.cost_nanos DESC, i.id LIMIT 50"),
        ("page at offset 100,000 of the sorted rows", f"SELECT item_id FROM windrow_items FINAL WHERE workspace = 'default' AND job_id = {JOB} "
         f"ORDER BY latency_ms DESC, item_id LIMIT 50 OFFSET {min(100_000, rows // 2)}",
         f"SELECT id FROM items WHERE job_id = {JOB} ORDER BY latency_ms DESC, id LIMIT 50 OFFSET {min(100_000, rows // 2)}"),
        ("group by a field", f"SELECT fields['language'] AS language, count(), avg(score_1) FROM windrow_items FINAL "
         f"WHERE workspace = 'default' AND job_id = {JOB} GROUP BY language",
         f"SELECT n.body ->> 'language' AS language, count(*), avg(s.value) FROM items i JOIN inputs n ON n.item_id = i.id "
         f"JOIN scores s ON {score.format('i.archived')} WHERE i.job_id = {JOB} GROUP BY language"),
        (f"paired compare of 2 × {rows:,}", compare,
         f"SELECT sum(b.verdict = 0 AND s.verdict = 1), sum(b.verdict = 1 AND s.verdict = 0), avg(s.value - b.value) FROM items i "
         f"JOIN scores s ON {score.format(attempt.format(2))} JOIN scores b ON "
         f"{score.replace('s.', 'b.').format(attempt.format(1))} WHERE i.job_id = {JOB}"),
        ("trend over all runs", f"SELECT run_id, avg(score_1), countIf(verdict_2 = 'pass'), sum(cost_nanos) FROM windrow_results FINAL "
         f"WHERE workspace = 'default' AND job_id = {JOB} GROUP BY run_id ORDER BY run_id",
         f"SELECT s.attempt_id & 1023 AS run, avg(s.value), sum(t.verdict = 0) FROM scores s JOIN scores t ON "
         f"t.attempt_id = s.attempt_id AND t.part = 0 AND t.turn = 0 AND t.name = 'kind' WHERE s.name = 'exact' GROUP BY run ORDER BY run"),
    ]


def timed(question):
    times, answer = [], None
    for _ in range(REPEATS):
        began = time.perf_counter()
        answer = question()
        times.append(time.perf_counter() - began)
    return answer, statistics.median(times)


@contextlib.contextmanager
def clickhouse(folder):
    subprocess.run([ROOT / "scripts" / "services", "up"], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "clickhouse").mkdir()
    server = subprocess.Popen([ROOT / "target/clickhouse-env/bin/python", ROOT / "scripts/clickhouse_server.py", str(port),
                               folder / "clickhouse/data"], cwd=folder / "clickhouse", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(sql, database="copy"):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/?database={database}&user=windrow&password=windrow", sql.encode())
        with urllib.request.urlopen(request, timeout=600) as reply:
            return reply.read().decode()

    ask.url = f"http://windrow:windrow@127.0.0.1:{port}/copy"
    try:
        while True:
            with contextlib.suppress(OSError):
                ask("SELECT 1", "default")
                break
            time.sleep(0.05)
        yield ask
    finally:
        server.kill()
        server.wait()


def create_tables(folder, url):
    """By Windrow itself, in both."""
    command = [TARGET / "debug" / "windrow", "--data", folder / "data", "--clickhouse", url, "serve", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = server.stdout.readline().strip()
    while json.load(urllib.request.urlopen(f"{address}/api/v1/analytics"))["state"] != "current":
        time.sleep(0.05)
    server.send_signal(signal.SIGINT)
    server.wait()


def fill_clickhouse(ask, rows):
    columns = ("workspace, job_id, run_id, item_id, job, kind, run, row, row_key, trial, state, outcome, tries, turns, latency_ms, tokens_in, "
               "tokens_out, cost_nanos, finished_ms, input, output, fields, scores.name, scores.turn, scores.verdict, scores.value, "
               "scores.reason, score_1, verdict_1, score_2, verdict_2, revision")
    value = "((cityHash64(number, run, 'exact') % 1000) / 1000)"
    other = "((cityHash64(number, run, 'kind') % 1000) / 1000)"
    verdict = "if({} >= 0.3, 'pass', 'fail')".format
    select = (f"'default', {JOB}, run, number + 1, 'big', 'experiment', run, number + 1, lower(hex(MD5(toString(number)))), 1, 'succeeded', "
              f"{verdict(value)}, run, 1, 50 + cityHash64(number, run) % 2000, 120, 40, 1000 + cityHash64(number) % 100000, 1700000000000 + number, "
              "repeat('input of a row ', 13), repeat('output of a row', 13), map('language', ['en', 'de', 'fr', 'zh'][number % 4 + 1]), "
              f"['exact', 'kind'], [0, 0], [{verdict(value)}, {verdict(other)}], [{value}, {other}], ['', ''], {value}, {verdict(value)}, "
              f"{other}, {verdict(other)}, run")
    for run in range(1, RUNS + 1):
        from_numbers = f"SELECT {select} FROM (SELECT number, {run} AS run FROM numbers({rows}))"
        ask(f"INSERT INTO windrow_results ({columns}) {from_numbers}")
        if run == RUNS:
            ask(f"INSERT INTO windrow_items ({columns}) {from_numbers}")


def fill_sqlite(path, rows):
    if not path.exists():
        path = next(path.parent.glob("*.db"))
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -1000000")
    database.create_function("h", 3, lambda n, run, salt: ((n * 2654435761 + run * 40503 + salt * 97) >> 7) & 0x7fffffff, deterministic=True)
    numbers = f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})"
    database.execute("BEGIN")
    database.execute(f"{numbers} INSERT INTO items (id, job_id, run_id, ordinal, key, state, tries, archived, latency_ms, tokens_in, tokens_out, "
                     f"cost_nanos, finished_at) SELECT n, {JOB}, {RUNS}, n - 1, CAST(printf('%016d', n) AS BLOB), 1, {RUNS}, (n << 10) | {RUNS}, "
                     f"50 + h(n, {RUNS}, 0) % 2000, 120, 40, 1000 + h(n, 0, 0) % 100000, 1700000000000 + n FROM numbers")
    database.execute(f"{numbers} INSERT INTO inputs (item_id, body) SELECT n, json_object('language', CASE n % 4 WHEN 0 THEN 'en' WHEN 1 THEN 'de' "
                     "WHEN 2 THEN 'fr' ELSE 'zh' END, 'text', 'input of a row ') FROM numbers")
    database.execute(f"{numbers}, runs(run) AS (SELECT 1 UNION ALL SELECT run + 1 FROM runs WHERE run < {RUNS}), names(name, salt) AS "
                     "(VALUES ('exact', 1), ('kind', 2)) INSERT INTO scores (attempt_id, part, turn, name, verdict, value, reason) "
                     "SELECT (n << 10) | run, 0, 0, name, CASE WHEN h(n, run, salt) % 1000 >= 300 THEN 0 ELSE 1 END, "
                     "(h(n, run, salt) % 1000) / 1000.0, '' FROM numbers CROSS JOIN runs CROSS JOIN names")
    database.execute("COMMIT")
    return database


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
