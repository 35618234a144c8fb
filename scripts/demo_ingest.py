#!/usr/bin/env python3
"""`make demo-ingest`: pulls 50,000 records from the bundled mock API while requests fail, kills the process twice, resumes
at the last committed page, and fetches only new records after the source has grown."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WINDROW = TARGET / "debug" / "windrow"
WORK = ROOT / "target" / "demo-ingest"
RECORDS, PAGE = 50_000, 500


def windrow(*arguments):
    print(f"\n$ windrow {' '.join(arguments)}", flush=True)
    status = subprocess.run([WINDROW, *arguments], cwd=WORK).returncode
    if status != 0:
        sys.exit(f"windrow exited with {status}")


def stats(origin):
    with urllib.request.urlopen(f"{origin}/_stats") as answer:
        return json.load(answer)


def killed_after(origin, pages):
    print("\n$ windrow run ingest-orders.yaml     (killed with SIGKILL)", flush=True)
    run = subprocess.Popen([WINDROW, "run", "ingest-orders.yaml", "--quiet"], cwd=WORK)
    until = stats(origin)["pages"] + pages
    while stats(origin)["pages"] < until and run.poll() is None:
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait()


def main():
    os.environ.pop("WINDROW_DATA", None)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    arguments = ["--port", "0", "--records", str(RECORDS), "--page-size", str(PAGE), "--faults", "503:3%"]
    server = subprocess.Popen([WINDROW, "mock-source", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        origin = server.stdout.readline().strip()
        plan = (ROOT / "examples" / "ingest-orders" / "ingest-orders.yaml").read_text()
        plan = plan.replace("http://127.0.0.1:8098", origin).replace("skip: status == 'test'\n", "")
        (WORK / "ingest-orders.yaml").write_text(plan + "retry: { max: 8, delays: [50ms] }\n")
        killed_after(origin, 20)
        killed_after(origin, 30)
        windrow("run", "ingest-orders.yaml")
        rows = sqlite3.connect(WORK / "orders.db").execute("SELECT count(*), count(DISTINCT id) FROM ingest_orders")
        print(f"\n(rows, distinct ids): {rows.fetchone()}; {stats(origin)['pages']} pages fetched, {RECORDS // PAGE} needed")
        urllib.request.urlopen(urllib.request.Request(f"{origin}/_grow/{RECORDS + 700}", method="POST"))
        windrow("run", "ingest-orders.yaml")
        windrow("ingest", "lineage", "ingest-orders", "--batches", "2")
        windrow("ingest", "checkpoints", "ingest-orders", "--limit", "4")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
