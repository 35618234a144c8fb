"""Windrow against dlt on the same source, one after the other in one run: records per second, peak memory,
and pages fetched again after a kill. Writes target/bench-ingest.json and its section of docs/benchmarks.md.

usage: compare.py [RECORDS]     (1,000,000 unless said otherwise; the page is written only then)
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WINDROW = ROOT / "target/release/windrow"
DLT_ENV = ROOT / "target/dlt-env"
FULL = 1_000_000
PAGE = 1_000
REPEATS = 3

MEANING = {
    "dlt.records_per_s": "records/s by dlt {dlt}: REST client, parquet loader; best of {repeats}",
    "dlt.peak_mb": "its peak memory, MB",
    "dlt.pages_again_after_kill": "pages fetched again after a kill half way, of {pages}",
    "parquet.records_per_s": "records/s by `windrow run` into Parquet files; best of {repeats}",
    "parquet.over_dlt": "ratio to dlt; at least 3",
    "parquet.peak_mb": "its peak memory, MB; at most 150",
    "parquet.peak_mb_tenth": "peak memory with a tenth of the records, MB",
    "sqlite.records_per_s": "records/s by `windrow run` into a SQLite table, upserted by key; best of {repeats}",
    "sqlite.over_dlt": "ratio to dlt into Parquet files; at least 3",
    "sqlite.peak_mb": "its peak memory, MB; at most 150",
    "sqlite.peak_mb_tenth": "peak memory with a tenth of the records, MB",
    "sqlite.pages_again_after_kill": "pages fetched again after a kill half way, of {pages}",
}


class Source:
    """`windrow mock-source`, a process of its own."""

    def __init__(self, records):
        arguments = ["--port", "0", "--records", str(records), "--page-size", str(PAGE)]
        self.process = subprocess.Popen([WINDROW, "mock-source", *arguments], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def pages(self):
        with urllib.request.urlopen(f"{self.url}/_stats") as answer:
            return json.load(answer)["pages"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def measured(command, folder):
    """Seconds and peak MB of one process."""
    started = time.monotonic()
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - started
    if status != 0:
        sys.exit(f"{command} failed:\n{(folder / 'log').read_text()}")
    return took, usage.ru_maxrss / 1024


def killed(command, folder, source, pages):
    """Ends it with SIGKILL once so many pages were fetched."""
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    while source.pages() < pages:
        if process.poll() is not None:
            sys.exit(f"{command} ended before it was killed:\n{(folder / 'log').read_text()}")
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()


def windrow(kind):
    def prepare(folder, source):
        destination = {"parquet": "parquet: { path: out }", "sqlite": "sqlite: { path: orders.db }"}[kind]
        (folder / "plan.yaml").write_text(
            "kind: ingest\nname: orders\nsource:\n  rest:\n"
            f"    url: {source.url}/records\n    records: $.records\n"
            "    pagination: { token: { param: page_token, next: $.next } }\n"
            f"key: id\ndestination:\n  {destination}\n"
        )
        return [WINDROW, "run", "plan.yaml", "--quiet"]

    return prepare


def dlt(folder, source):
    return [DLT_ENV / "bin/python", HERE / "dlt_side.py", source.url, str(folder)]


def rows(folder):
    """What is in the destination, whichever it is."""
    if (folder / "orders.db").exists():
        with sqlite3.connect(folder / "orders.db") as db:
            return db.execute("SELECT count(*), count(DISTINCT id) FROM orders").fetchone()
    count = (
        "import sys, glob, pyarrow.parquet as p\n"
        "ids = [i for f in glob.glob(sys.argv[1] + '/out/**/orders/*.parquet', recursive=True)"
        " for i in p.read_table(f, columns=['id']).column('id').to_pylist()]\n"
        "print(len(ids), len(set(ids)))"
    )
    said = subprocess.run([DLT_ENV / "bin/python", "-c", count, folder], capture_output=True, text=True, check=True)
    return tuple(int(number) for number in said.stdout.split())


def in_folder(work):
    folder = Path(tempfile.mkdtemp(prefix="bench-ingest-", dir=ROOT / "target"))
    try:
        return work(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pass_over(prepare, records):
    def work(folder):
        with Source(records) as source:
            took, peak = measured(prepare(folder, source), folder)
        if rows(folder) != (records, records):
            sys.exit(f"{rows(folder)} rows and ids instead of {records}")
        return records / took, peak

    return in_folder(work)


def pages_again(prepare, records):
    def work(folder):
        with Source(records) as source:
            killed(prepare(folder, source), folder, source, records // PAGE // 2)
            measured(prepare(folder, source), folder)
            return source.pages() - records // PAGE

    return in_folder(work)


def dlt_version():
    pinned = (HERE / "requirements.txt").read_text()
    installed = DLT_ENV / "installed.txt"
    if not installed.exists() or installed.read_text() != pinned:
        shutil.rmtree(DLT_ENV, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", DLT_ENV], check=True)
        pip = [DLT_ENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        installed.write_text(pinned)
    return pinned.strip().split("==")[1]


def table(figures, words):
    lines = ["| figure | value | what |", "|---|---:|---|"]
    for name, value in sorted(figures.items()):
        shown = f"{value:.2f}" if value < 100 and value != int(value) else f"{value:.0f}"
        lines.append(f"| `{name}` | {shown} | {MEANING[name].format(**words)} |")
    return "\n".join(lines)


def write_section(text):
    """In place of the one that is there, or at the end."""
    page = ROOT / "docs/benchmarks.md"
    parts = page.read_text().split("\n## ")
    parts = [part for part in parts if not part.startswith("Ingest\n")]
    page.write_text("\n## ".join(part.rstrip("\n") + "\n" for part in parts) + "\n## Ingest\n\n" + text + "\n")


def main():
    records = int(sys.argv[1]) if len(sys.argv) > 1 else FULL
    words = {"dlt": dlt_version(), "repeats": REPEATS, "pages": records // PAGE}
    figures = {}
    for name, prepare in [("dlt", dlt), ("parquet", windrow("parquet")), ("sqlite", windrow("sqlite"))]:
        passes = [pass_over(prepare, records) for _ in range(REPEATS)]
        figures[f"{name}.records_per_s"] = max(rate for rate, _ in passes)
        figures[f"{name}.peak_mb"] = max(peak for _, peak in passes)
        if name != "dlt":
            figures[f"{name}.over_dlt"] = figures[f"{name}.records_per_s"] / figures["dlt.records_per_s"]
            figures[f"{name}.peak_mb_tenth"] = pass_over(prepare, records // 10)[1]
        if name != "parquet":
            figures[f"{name}.pages_again_after_kill"] = pages_again(prepare, records)
        print(name, figures, flush=True)
    (ROOT / "target/bench-ingest.json").write_text(json.dumps(figures, indent=2) + "\n")
    shown = table(figures, words)
    print(shown)
    if records == FULL:
        write_section(
            f"`make bench-ingest` writes this section: {records:,} records in token pages of {PAGE:,} from `windrow mock source`, "
            "which shares the two cores with its reader. Every pass is verified: each record was written exactly once.\n\n"
            + shown
        )


main()
