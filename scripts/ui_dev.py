#!/usr/bin/env python3
"""`make ui-dev`: starts a server with generated data (all kinds of jobs in all states, datasets, an alert) and Vite with
live reload before it. `--serve-only` prints the address of the server and leaves Vite out; scripts/screenshots uses it.
WINDROW names the binary (default: target/debug/windrow)."""

import http.server
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WINDROW = os.environ.get("WINDROW", str(TARGET / "debug" / "windrow"))
WORK = TARGET / "ui-dev"
EXPERIMENT = """kind: experiment
name: {name}
labels: {{ creator: {creator}, service: evals }}
dataset: {{ name: {dataset} }}
target:
  openai: {{ model: mock, base_url: "{model}", api_key: "${{env:OPENAI_API_KEY}}" }}
  prompt: "{prompt}"
evaluators:
{evaluators}
concurrency: {concurrency}
{more}"""
MATRIX = """kind: experiment
name: sums-matrix
dataset: {{ name: sums }}
targets:
  small: {{ openai: {{ model: mock, base_url: "{small}", api_key: "${{env:OPENAI_API_KEY}}" }} }}
  large: {{ openai: {{ model: mock-large, base_url: "{large}", api_key: "${{env:OPENAI_API_KEY}}" }} }}
prompts:
  plain: "{{{{ question }}}}"
  one-more: "Add one: {{{{ question }}}} plus 1"
trials: 3
evaluators:
  - exact: {{ expect: "{{{{ answer }}}}" }}
concurrency: 32
"""
INVOICES = """kind: ingest
name: ingest-invoices
labels: {{ creator: ann, service: finance }}
source:
  rest:
    url: {source}/invoices
    params: {{ shop: "{{{{ slice.value }}}}" }}
    records: $.records
    pagination: {{ token: {{ param: page, next: $.next }} }}
slices: {{ values: [de, fr, nl, it, pl, at] }}
key: id
columns: {{ total: decimal }}
max_rejected: 20%
concurrency: 3
retry: {{ max: 1, delays: [10ms] }}
destination:
  sqlite: {{ path: invoices.db }}
{more}"""
EXACT = '  - exact: {{ expect: "{{{{ {} }}}}" }}'
NEARLY = '\n  - levenshtein: {{ expect: "{{{{ {} }}}}", name: nearly }}'
GATES = "gates:\n  - exact.mean >= 0.9\n  - errors < 1%\n  - latency.p90 < 2s\n"

started = []


def start(*arguments, **environment):
    """Starts a program of Windrow and returns the first line it prints."""
    process = subprocess.Popen([WINDROW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=WORK,
                               env={**os.environ, "OPENAI_API_KEY": "sk-mock", "WINDROW_DATA": str(WORK / "data"), **environment})
    started.append(process)
    return process.stdout.readline().strip()


class Server:
    def __init__(self, url):
        self.url = url

    def ask(self, method, path, body=None, kind="application/json"):
        data = body if isinstance(body, (bytes, type(None))) else (body if isinstance(body, str) else json.dumps(body)).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, method=method, headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(request) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.read().decode()}")

    def submit(self, file):
        return self.ask("POST", "/jobs", file, "text/yaml")

    def act(self, job, action, body=None):
        return self.ask("POST", f"/jobs/{job}/{action}", body if body is not None else {})

    def import_rows(self, name, rows, source):
        body = "".join(json.dumps(row) + "\n" for row in rows)
        return self.ask("POST", f"/datasets/{name}?source={source}", body, "application/x-ndjson")

    def wait(self, job, holds, seconds=120):
        deadline = time.monotonic() + seconds
        while not holds(self.ask("GET", f"/jobs/{job}")["latest_run"]):
            if time.monotonic() > deadline:
                sys.exit(f"{job} takes too long")
            time.sleep(0.05)

    def finish(self, job):
        self.wait(job, lambda run: run["ended_at"] is not None)


def sums(count, seed=7):
    random.seed(seed)
    pairs = [(random.randint(2, 99), random.randint(2, 99)) for _ in range(count)]
    return [{"id": f"sum-{n}", "question": f"What is {a} + {b}?", "answer": str(a + b), "topic": "sums"} for n, (a, b) in enumerate(pairs)]


def experiment(name, dataset, model, prompt, expect, creator="ann", concurrency=32, more="", nearly=True):
    evaluators = EXACT.format(expect) + (NEARLY.format(expect) if nearly else "")
    return EXPERIMENT.format(name=name, dataset=dataset, model=model, prompt=prompt, evaluators=evaluators, creator=creator,
                             concurrency=concurrency, more=more)


def example(path, replacements):
    text = (ROOT / "examples" / path).read_text()
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text


def datasets(server):
    capitals = [json.loads(line) for line in (ROOT / "examples/capitals/capitals.jsonl").read_text().splitlines()]
    server.import_rows("capitals", capitals[:40], "first%20import")
    server.import_rows("capitals", [{**row, "capital": row["capital"].upper()} if n in (3, 9) else row for n, row in enumerate(capitals)], "europe")
    server.import_rows("capitals", capitals, "spelling")
    chat = [json.loads(line) for line in (ROOT / "examples/support-chat/support-chat.jsonl").read_text().splitlines()]
    server.import_rows("support", chat, "examples")
    server.import_rows("sums", sums(400), "generated")
    server.import_rows("many-sums", sums(20_000, 8), "generated")


def experiments(server, steady, flaky, slow, denied):
    capital = dict(prompt="Capital of {{ country }}?", expect="capital")
    question = dict(prompt="{{ question }}", expect="answer")
    server.submit(experiment("capitals", "capitals", steady, **capital))
    server.submit(experiment("ci-gate", "capitals", steady, creator="ci", more="trials: 3\n" + GATES, **capital))
    server.submit(experiment("arithmetic", "sums", flaky, creator="mira", **question))
    server.submit(experiment("chat-tone", "sums", denied, creator="kai", concurrency=4, nearly=False, **question))
    server.submit(example("support-chat/support-chat.yaml", {"dataset: support-chat.jsonl": "dataset: { name: support }", "http://127.0.0.1:8099/v1": steady}))
    for job in ("capitals", "ci-gate", "arithmetic", "chat-tone", "support-chat"):
        server.finish(job)
    server.ask("PUT", "/jobs/capitals/schedule", {"cron": "0 6 * * *"})
    server.act("arithmetic", "retry")
    for asked in ("{{ question }}", "Add one: {{ question }} plus 1"):
        server.submit(experiment("sums-prompt", "sums", steady, asked, "answer", more="gates:\n  - exact.mean >= baseline - 0.01\n"))
        server.finish("sums-prompt")
    server.submit(MATRIX.format(small=steady, large=flaky))
    # A model with a price, so that it spends of its budget.
    priced = experiment("math-word-problems", "many-sums", slow, concurrency=48, more="budget: { cost: 5.00 }\n", **question)
    server.submit(priced.replace("model: mock", "model: gpt-4o-mini"))
    server.submit(experiment("nightly-sums", "sums", slow, creator="jo", concurrency=4, **question))
    server.wait("nightly-sums", lambda run: run["items"]["succeeded"] > 40)
    server.act("nightly-sums", "pause", {"reason": "wait for the new key"})


def reviews(server):
    label = lambda where, labels, reason: server.ask("POST", "/jobs/sums-prompt/labels", {"where": where, "labels": labels, "reason": reason})
    label("row <= 40 and outcome = pass", {"exact": "pass"}, "")
    label("row <= 40 and outcome = fail", {"exact": "fail"}, "off by one")
    label("row = 6", {"exact": "pass", "note": "the question is ambiguous"}, "both readings are right")


def operations(server, connect):
    place = {"http://127.0.0.1:8083": connect}
    server.submit(example("bulk-config/bulk-config.yaml", {**place, "bake: 500ms": "bake: 100ms", "  health": "  # health"}))
    server.finish("bulk-config")
    waves = {**place, "name: bulk-config": "name: orders-tasks-max", '"2"': '"3"', "canary: 5": "canary: 5\n  approval: after_first", "  health": "  # health"}
    server.submit(example("bulk-config/bulk-config.yaml", waves))
    server.wait("orders-tasks-max", lambda run: run["items"]["succeeded"] + run["items"]["failed"] >= 5)


def conflict(server, connect):
    """A rollback that finds a connector changed by somebody else."""
    server.submit(example("bulk-config/bulk-config.yaml", {"http://127.0.0.1:8083": connect, "bulk-config": "orders-conflict", "bake: 500ms": "bake: 0s", "  health": "  # health"}))
    server.finish("orders-conflict")
    place = f"{connect}/east/connectors/orders-0004/config"
    with urllib.request.urlopen(place) as response:
        config = {**json.loads(response.read()), "tasks.max": "8"}
    request = urllib.request.Request(place, data=json.dumps(config).encode(), method="PUT", headers={"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()
    server.act("orders-conflict", "rollback")
    server.finish("orders-conflict")


def ingests(server, source, slow_source):
    server.submit(example("ingest-orders/ingest-orders.yaml", {"http://127.0.0.1:8098": source}))
    server.finish("ingest-orders")
    server.submit(example("ingest-orders/ingest-orders.yaml", {"http://127.0.0.1:8098": slow_source, "ingest-orders": "ingest-tickets", "orders.db": "tickets.db"}))


class Shops(http.server.BaseHTTPRequestHandler):
    """Invoices by shop and page. Some totals are no numbers, a field becomes a text, and one shop fails until it is healed."""

    PAGES, SIZE = 12, 100
    healed = False

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        shop, page = query["shop"][0], int(query.get("page", ["1"])[0])
        time.sleep(0.03)
        status = 500 if shop == "it" and page == 5 and not Shops.healed else 200
        body = json.dumps(self.page(shop, page)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def page(self, shop, page):
        numbers = range((page - 1) * self.SIZE + 1, page * self.SIZE + 1)
        return {"records": [self.invoice(shop, page, n) for n in numbers], **({"next": str(page + 1)} if page < self.PAGES else {})}

    def invoice(self, shop, page, n):
        total = f"{n},90" if n % 157 == 0 else n * 1.5
        return {"id": f"{shop}-{n:05}", "shop": shop, "total": total, "discount": "SUMMER" if shop == "nl" and page > 6 and n % 9 == 0 else 0}

    def log_message(self, *_):
        pass


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def invoices(server):
    source = serve(Shops)
    server.submit(INVOICES.format(source=source, more=""))
    server.finish("ingest-invoices")
    Shops.healed = True
    server.submit(INVOICES.format(source=source, more="skip: id == 'de-00001'\n"))
    server.finish("ingest-invoices")
    server.ask("PUT", "/jobs/ingest-invoices/schedule", {"cron": "tz=Europe/Berlin 0 * * * *"})
    first = {"slice": "fr", "position": "7"}
    server.act("ingest-invoices", "checkpoints/edit", first)
    server.act("ingest-invoices", "checkpoints/restore", {"slice": "fr", "version": 12})


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts what webhooks send, except failed runs."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500 if b"run.failed" in body else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


def administration(server):
    receiver = serve(Receiver)
    server.ask("POST", "/webhooks", {"url": f"{receiver}/windrow", "events": ["run.*", "alert.*"]})
    server.ask("PUT", "/secrets/openai", {"value": "sk-generated"})


def generate():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    server = Server(start("serve", "--listen", os.environ.get("LISTEN", "127.0.0.1:0"), "--jobs", "8", "--threshold", "slow_run=20s"))
    mock = lambda *arguments: start("mock", *arguments, "--port", "0")
    steady = mock("model", "--latency", "20ms")
    flaky = mock("model", "--latency", "20ms", "--faults", "400:5%,500:2%")
    slow = mock("model", "--latency", "4s", "--faults", "400:1%,429:2%:retry_after=2s")
    denied = mock("model", "--latency", "20ms", "--faults", "400:60%")
    connect = mock("connect", "--connectors", "120", "--faults", "409:2%,after:2%", "--broken", "3%").removesuffix("/east")
    source = mock("source", "--records", "20000").removesuffix("/records")
    slow_source = mock("source", "--records", "200000", "--page-size", "200", "--latency", "1s").removesuffix("/records")
    datasets(server)
    administration(server)
    experiments(server, steady, flaky, slow, denied)
    reviews(server)
    operations(server, connect)
    conflict(server, mock("connect", "--connectors", "12").removesuffix("/east"))
    ingests(server, source, slow_source)
    invoices(server)
    server.ask("POST", "/backups")
    return server


def main():
    try:
        server = generate()
        print(server.url, flush=True)
        if "--serve-only" in sys.argv:
            started[0].wait()
        else:
            subprocess.run(["npm", "run", "--silent", "dev"], cwd=ROOT / "ui", env={**os.environ, "WINDROW_SERVER": server.url})
    except KeyboardInterrupt:
        pass
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
