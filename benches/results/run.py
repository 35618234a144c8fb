#!/usr/bin/env python3
"""Questions to a result table of 1,000,000 rows and two evaluators through a server, while another run writes: on the embedded
database, PostgreSQL and MariaDB, side by side; and the memory of an export to Parquet. Writes docs/benchmarks.md.

  benches/results/run.py [--rows N] [--stores sqlite,postgres,mariadb] [--dry-run]

`make bench-results` builds target/release/windrow and starts the servers. WINDROW_BINARY names another program.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WINDROW_BINARY", ROOT / "target" / "release" / "windrow")
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results -->\n", "<!-- /results -->\n"
REPEATS = 3
# What issue 20 allows on the embedded database, in milliseconds.
BUDGETS = {"header and aggregates": 100, "first 50 rows": 200, "sorted by a score, filtered": 600, "sorted by latency, filtered": 600,
           "text search": 1500, "50 rows at nine tenths": 150, "facets": 600, "compare, first": 3000, "compare, again": 100}
VALUES = [5, 40, 3, 12, 100, 1000, 5000, 7]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--stores", default="sqlite,postgres,mariadb")
    parser.add_argument("--dry-run", action="store_true", help="print the table; leave docs/benchmarks.md as it is")
    arguments = parser.parse_args()
    stores = arguments.stores.split(",")
    figures = {store: measure(store, arguments.rows) for store in stores}
    text = table(figures, stores, arguments.rows)
    print(text)
    if not arguments.dry_run:
        page = PAGE.read_text()
        if BEGIN not in page:
            page += f"\n## Result tables through a server\n\n`make bench-results` writes this part.\n\n{BEGIN}{END}"
        head, rest = page.split(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.split(END)[1])


def table(figures, stores, rows):
    lines = [f"{rows:,} rows, 2 evaluators, {len(VALUES)} fields; the better of {REPEATS}, in milliseconds where no unit is named.\n\n",
             "| question | " + " | ".join(stores) + " | budget |\n", "|---" * (len(stores) + 1) + "|---:|\n"]
    for name in figures[stores[0]]:
        values = " | ".join(f"{figures[store][name]:,.0f}" for store in stores)
        lines.append(f"| {name} | {values} | {BUDGETS.get(name, '150' if 'MB' in name else '–')} |\n")
    return "".join(lines) + "\n"


def place(store, folder):
    """Options that name an empty database."""
    match store:
        case "sqlite":
            return ["--data", str(folder / "data")]
        case "postgres":
            url = f"{os.environ['WINDROW_TEST_POSTGRES']}?sslmode=disable&schema=results_{os.getpid()}"
        case "mariadb":
            url = f"{os.environ['WINDROW_TEST_MARIADB'].rsplit('/', 1)[0]}/results_{os.getpid()}?sslmode=disable"
        case other:
            sys.exit(f"no store {other}")
    return ["--data", str(folder / "data"), "--database", url]


def measure(store, rows):
    say(f"{store}: two runs of {rows:,} rows")
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = pathlib.Path(name)
        options = place(store, folder)
        write_rows(folder, rows)
        for run, field in enumerate(["one", "two"], 1):
            (folder / "job.yaml").write_text(job("bench", "rows.jsonl", field))
            seconds, _ = timed(lambda: windrow(folder, options, "run", "job.yaml", "--quiet"))
            say(f"  run {run}: {rows / seconds:,.0f} rows/s")
        figures = {}
        with serving(folder, options) as server, writing(folder, options):
            ask(server, figures, rows)
        _, peak = peaked(folder, options, "export", "bench#2", "-o", "all.parquet", "--quiet")
        figures["export to Parquet, peak MB"] = peak
        for figure, value in figures.items():
            say(f"  {figure}: {value:,.0f}")
        return figures


def ask(server, figures, rows):
    def view(**request):
        return server("POST", "/api/v1/jobs/bench/views", request)

    def page(answer, offset=0):
        return server("GET", f"/api/v1/jobs/bench/views/{answer['view']}/rows?limit=50&offset={offset}")

    def note(name, question):
        figures[name] = min(timed(lambda: question(no))[0] for no in range(REPEATS)) * 1000

    figures["the table is read, s"] = timed(view)[0]
    # Each repetition asks something else, so that none is answered from memory.
    whole = view(where="row > 0")
    assert whole["total"] == rows, whole["total"]
    note("header and aggregates", lambda no: view(where=f"row > -{no + 1}"))
    note("first 50 rows", lambda no: page(view(where=f"row > -{no + 11}")))
    note("sorted by a score, filtered", lambda no: page(view(where=f"field.f0 = w{no} and score.exact < 1", sort="-score.close")))
    note("sorted by latency, filtered", lambda no: page(view(where=f"field.f0 = w{no} and score.close < 0.9", sort="-latency_ms,row")))
    note("text search", lambda no: view(where=f"text contains \"question {no}7777 \""))
    ordered = view(sort="-score.close")
    note("50 rows at nine tenths", lambda no: page(ordered, rows // 10 * 9 + no))
    note("facets", lambda no: view(where=f"score.close > 0.{no + 1}", facets=[f"field.f{at}" for at in range(len(VALUES))]))
    note("groups of a field", lambda no: view(where=f"score.close > 0.{no + 1}", group="field.f1"))
    sides = urllib.parse.quote("bench#1,bench#2")
    first, found = timed(lambda: server("GET", f"/api/v1/comparison?runs={sides}"))
    assert found["changes"][0]["evaluators"]["exact"]["rows"] == rows, found
    figures["compare, first"] = first * 1000
    figures["compare, again"] = timed(lambda: server("GET", f"/api/v1/comparison?runs={sides}"))[0] * 1000
    figures["compare with --vs, s"] = timed(lambda: view(run=2, vs="#1"))[0]


def job(name, dataset, field):
    return (f"kind: experiment\nname: {name}\ndataset: {dataset}\ntarget: {{ recorded: {{ field: {field} }} }}\nevaluators:\n"
            "  - exact: { expect: \"{{ answer }}\" }\n  - levenshtein: { expect: \"{{ answer }}\", threshold: 0.9, name: close }\n"
            "concurrency: 128\n")


def write_rows(folder, rows):
    dice = random.Random(7)
    with open(folder / "rows.jsonl", "w") as file:
        for no in range(rows):
            fields = {f"f{at}": f"w{dice.randrange(many)}" for at, many in enumerate(VALUES)}
            answer = f"answer {no} {dice.randrange(10**9):>09}"
            wrong = [answer if dice.random() < 0.75 else answer[: dice.randrange(len(answer))] for _ in range(2)]
            text = f"The question {no} is {dice.randrange(10**9):0>150}"
            file.write(json.dumps({"id": no, "question": text, "answer": answer, "one": wrong[0], "two": wrong[1], **fields}) + "\n")
    few = json.dumps({"answer": "a", "one": "a"})
    (folder / "more.jsonl").write_text("".join(few[:-1] + f', "n": {no}}}\n' for no in range(20_000)))


def windrow(folder, options, *arguments):
    subprocess.run([PROGRAM, *options, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def peaked(folder, options, *arguments):
    """Seconds and peak memory in MB of a command."""
    began = time.perf_counter()
    process = subprocess.Popen([PROGRAM, *options, *arguments], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments[0]} failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


@contextlib.contextmanager
def serving(folder, options):
    command = [PROGRAM, *options, "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = process.stdout.readline().strip()

    def server(method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=1800) as reply:
            return json.load(reply)

    server.address = address
    try:
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextlib.contextmanager
def writing(folder, options):
    """Another run in another process, again and again."""
    over = threading.Event()
    (folder / "more.yaml").write_text(job("more", "more.jsonl", "one"))

    def write():
        while not over.is_set():
            windrow(folder, options, "run", "more.yaml", "--new", "--quiet")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def timed(question):
    began = time.perf_counter()
    answer = question()
    return time.perf_counter() - began, answer


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
