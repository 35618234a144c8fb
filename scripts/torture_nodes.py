#!/usr/bin/env python3
"""Three nodes share one run on PostgreSQL or MariaDB. Meanwhile nodes are killed, paused for longer than their leases,
paused inside a transaction and disconnected from the network, and the database and Redis are killed and restarted. No
item may be lost, archived twice or paid for twice, no limit exceeded, and no node may silence the others. Needs root:
every node runs in its own network namespace.

  scripts/torture_nodes.py --store postgres [--items 20000] [--faults 100] [--only FAULT] [--seed N] [--windrow PROGRAM]
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NODES = 3
# Concurrency of the run, and of the credential across all nodes.
CONCURRENCY = 24
LIMIT = 20
LEASE_S = 2
# Worker slots per node.
WORKERS = 16
# A pause or disconnect of this length outlasts every lease.
AWAY_S = (LEASE_S + 0.5, LEASE_S + 2.5)
# How long a node stays paused inside a transaction, and how long the others may be silent meanwhile.
FROZEN_S = 5
SILENT_S = 3
# Duration of the run per fault.
PACE_S = {"freeze_in_transaction": 8}
USUAL_PACE_S = 3
FAULTS = {"kill": 36, "stop": 18, "freeze_in_transaction": 10, "cut": 18, "database": 10, "redis": 8}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", choices=["postgres", "mariadb"], required=True)
    options.add_argument("--items", type=int, default=20_000)
    options.add_argument("--faults", type=int, default=100)
    options.add_argument("--only", choices=FAULTS, help="inject faults of this kind only")
    options.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options.add_argument("--windrow", default=ROOT / "target" / "debug" / "windrow", type=pathlib.Path)
    args = options.parse_args()
    if os.getuid() != 0 or not shutil.which("ip"):
        sys.exit("torture_nodes: network namespaces need root and `ip` (Debian: apt-get install iproute2)")
    print(f"replay with --seed {args.seed}", flush=True)
    asyncio.run(torture(args))


async def torture(args):
    chance = random.Random(args.seed)
    with contextlib.ExitStack() as undo:
        home = pathlib.Path(tempfile.mkdtemp(prefix="torture-", dir=ROOT / "target"))
        home.chmod(0o755)
        undo.callback(shutil.rmtree, home, ignore_errors=True)
        place = Place(args, home, undo)
        pace = PACE_S.get(args.only, USUAL_PACE_S)
        endpoint = Endpoint(place.host, args.items, max(0.02, args.faults * pace * LIMIT / args.items), chance)
        await endpoint.start()
        database = Database(args.store, place, undo)
        nodes = [Node(number, place, database, undo) for number in range(1, NODES + 1)]
        for node in nodes:
            node.start()
        submit(nodes[0], endpoint, args.items)
        tally, silences = collections.Counter(), []
        watch = asyncio.create_task(until_over(place, database, nodes))
        while tally.total() < args.faults and not watch.done():
            await asyncio.sleep(chance.uniform(0.1, 1.5))
            kind = args.only or chance.choices(list(FAULTS), list(FAULTS.values()))[0]
            if kind == "freeze_in_transaction":
                silences += await freeze_in_transaction(chance, nodes, database, endpoint)
            else:
                await fault(kind, chance, nodes, database)
            tally[kind] += 1
        print(f"{tally.total()} faults: {dict(tally)}", flush=True)
        if silences:
            print(f"{len(silences)} pauses inside a transaction: the others were silent for at most {max(silences):.1f} s", flush=True)
        if args.only == "freeze_in_transaction" and len(silences) < args.faults / 2:
            sys.exit(f"only {len(silences)} of {args.faults} pauses could be measured")
        if any(silent > SILENT_S for silent in silences):
            sys.exit(f"torture_nodes: the other nodes were silent for {max(silences):.1f} s while one was paused")
        if tally.total() < args.faults:
            state = database.rows("SELECT state, succeeded, failed, reason FROM runs")
            sys.exit(f"the run ended ({state}) before all faults were injected; use more --items")
        await asyncio.wait_for(watch, 600)
        endpoint.server.close()
        check(database, endpoint, args.items)


async def fault(kind, chance, nodes, database):
    node = chance.choice(nodes)
    match kind:
        case "kill":
            node.process.kill()
            node.process.wait()
            await asyncio.sleep(chance.choice([0, 0.1, LEASE_S + 1]))
            node.start()
        case "stop":
            node.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(chance.uniform(*AWAY_S))
            node.process.send_signal(signal.SIGCONT)
        case "cut":
            node.link("down")
            await asyncio.sleep(chance.uniform(*AWAY_S))
            node.link("up")
        case "database":
            database.crash()
        case "redis":
            database.services("crash", "redis")


async def freeze_in_transaction(chance, nodes, database, endpoint):
    """Pauses a node that has written something and not committed it. Returns how long the others were silent, unless there
    was nothing left for them to do."""
    node = chance.choice(nodes)
    others = [other.address for other in nodes if other is not node]
    # Not while they recover from another fault.
    for _ in range(100):
        if endpoint.silence(others, time.monotonic() - 1) < 1:
            break
        await asyncio.sleep(0.2)
    for _ in range(200):
        node.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        if await asyncio.to_thread(database.has_open_transaction, node.address):
            break
        node.process.send_signal(signal.SIGCONT)
        await asyncio.sleep(chance.uniform(0.005, 0.05))
    await asyncio.sleep(FROZEN_S)
    silent = endpoint.silence(others, began)
    queued = await asyncio.to_thread(database.number, "SELECT queued FROM runs")
    node.process.send_signal(signal.SIGCONT)
    await asyncio.sleep(1)
    return [silent] if queued > 0 else []


class Place:
    """The host address that every namespace can reach, and the directory of all files."""

    def __init__(self, args, home, undo):
        self.home, self.program = home, args.windrow
        self.net = f"10.{77 if args.store == 'postgres' else 78}"
        self.host = f"{self.net}.0.1"
        self.name = f"wd{os.getpid()}"
        ip("addr", "add", f"{self.host}/32", "dev", "lo")
        undo.callback(ip, "addr", "del", f"{self.host}/32", "dev", "lo")


class Database:
    def __init__(self, store, place, undo):
        self.store = store
        self.environment = {
            **os.environ, "CARGO_TARGET_DIR": str(place.home / "services"), "WINDROW_SERVICES_LISTEN": "0.0.0.0",
        }
        self.services("up")
        undo.callback(self.services, "down")
        urls = dict(line.split("=", 1) for line in (place.home / "services/services/urls").read_text().splitlines())
        url = urls[f"WINDROW_TEST_{store.upper()}"].replace("127.0.0.1", place.host)
        self.port = url.rsplit(":", 1)[1].split("/")[0]
        self.host, self.url = place.host, f"{url}?sslmode=disable"
        self.redis = urls["WINDROW_TEST_REDIS"].replace("127.0.0.1", place.host)

    def services(self, *words):
        subprocess.run([ROOT / "scripts/services", *words], env=self.environment, check=True)

    def crash(self):
        self.services("crash", self.store)

    def rows(self, sql):
        """Queries with the database's own client, so that the check does not depend on Windrow."""
        if self.store == "postgres":
            command = ["psql", "-h", self.host, "-p", self.port, "-U", "windrow", "-d", "postgres", "-At", "-F", "\t",
                       "-c", f"SET search_path TO windrow", "-c", sql]
            environment = {**os.environ, "PGPASSWORD": "windrow"}
        else:
            command = ["mariadb", "-h", self.host, "-P", self.port, "-u", "windrow", "-pwindrow", "--skip-ssl", "-N", "-B",
                       "windrow", "-e", sql]
            environment = dict(os.environ)
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
        return [line.split("\t") for line in output.splitlines() if line != "SET"]

    def has_open_transaction(self, address):
        """Whether a connection from there has changed rows and waits for its next statement."""
        if self.store == "postgres":
            sql = (f"SELECT count(*) FROM pg_stat_activity WHERE client_addr = '{address}' AND state = 'idle in transaction' "
                   "AND backend_xid IS NOT NULL")
        else:
            sql = ("SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p "
                   f"ON p.id = t.trx_mysql_thread_id WHERE p.host LIKE '{address}:%' AND p.command = 'Sleep' AND t.trx_rows_modified > 0")
        return self.number(sql) > 0

    def number(self, sql):
        return int(self.rows(sql)[0][0])


class Node:
    def __init__(self, number, place, database, undo):
        self.place, self.database = place, database
        self.data = place.home / f"node{number}"
        (self.data / "files").mkdir(parents=True)
        self.address = f"{place.net}.{number}.2"
        self.space, self.ours, theirs = f"{place.name}n{number}", f"{place.name}h{number}", f"{place.name}p{number}"
        ip("netns", "add", self.space)
        undo.callback(ip, "netns", "del", self.space)
        ip("link", "add", self.ours, "type", "veth", "peer", "name", theirs, "netns", self.space)
        ip("addr", "add", f"{place.net}.{number}.1/24", "dev", self.ours)
        self.link("up")
        for words in [("addr", "add", f"{place.net}.{number}.2/24", "dev", theirs), ("link", "set", theirs, "up"),
                      ("link", "set", "lo", "up"), ("route", "add", "default", "via", f"{place.net}.{number}.1")]:
            ip("-n", self.space, *words)
        self.log = open(place.home / f"node{number}.log", "a")
        undo.callback(self.end)
        self.process = None

    def link(self, state):
        ip("link", "set", self.ours, state)

    def start(self):
        environment = {**os.environ, "WINDROW_DATABASE_URL": self.database.url, "WINDROW_REDIS_URL": self.database.redis,
                       "OPENAI_API_KEY": "sk-test"}
        command = ["ip", "netns", "exec", self.space, self.place.program, "--data", self.data, "serve", "--listen",
                   "127.0.0.1:7373", "--lease", f"{LEASE_S}s", "--workers", str(WORKERS)]
        self.process = subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log)

    def ask(self, method, path, body=b""):
        script = ("import sys, urllib.request as u; r = u.Request('http://127.0.0.1:7373' + sys.argv[2], method=sys.argv[1], "
                  "data=sys.stdin.buffer.read() or None, headers={'Content-Type': 'text/yaml'}); "
                  "print(u.urlopen(r, timeout=20).read().decode())")
        command = ["ip", "netns", "exec", self.space, sys.executable, "-c", script, method, path]
        return subprocess.run(command, input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Endpoint:
    """A mock model with latency. It counts calls by question, the highest number of concurrent calls, and notes who called
    when."""

    def __init__(self, host, items, latency, chance):
        self.host, self.latency, self.chance = host, latency, chance
        self.calls, self.open, self.most = collections.Counter(), 0, 0
        self.heard = collections.deque(maxlen=20_000)

    async def start(self):
        self.server = await asyncio.start_server(self.serve, self.host, 0)
        self.url = f"http://{self.host}:{self.server.sockets[0].getsockname()[1]}"

    def silence(self, callers, since):
        """The longest time without a call from any of them."""
        times = [since, *(at for at, caller in self.heard if caller in callers and at > since), time.monotonic()]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                body = json.loads(await reader.readexactly(length))
                question = body["messages"][-1]["content"]
                self.calls[question] += 1
                self.heard.append((time.monotonic(), writer.get_extra_info("peername")[0]))
                self.open += 1
                self.most = max(self.most, self.open)
                try:
                    # Stop waiting when the client disconnects.
                    gone = asyncio.ensure_future(reader.read(1))
                    done, _ = await asyncio.wait([gone], timeout=self.chance.uniform(0.5, 1.5) * self.latency)
                    if done:
                        return
                    gone.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await gone
                finally:
                    self.open -= 1
                answer = {"choices": [{"message": {"role": "assistant", "content": f"answer {question}"}, "finish_reason": "stop"}],
                          "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
                text = json.dumps(answer).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                await writer.drain()
        writer.close()


def submit(node, endpoint, items):
    rows = "".join(f'{{"n": {n}}}\n' for n in range(items))
    for other in node.data.parent.glob("node*/files"):
        (other / "rows.jsonl").write_text(rows)
    job = (f"kind: experiment\nname: tortured\ndataset: rows.jsonl\nconcurrency: {CONCURRENCY}\n"
           f"target:\n  openai: {{ model: any, limits: {{ concurrency: {LIMIT} }}, base_url: \"{endpoint.url}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}\n"
           "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"answer {{ n }}\" }\n"
           "retry: { max: 1000, delays: [100ms] }\n")
    for _ in range(100):
        with contextlib.suppress(subprocess.CalledProcessError):
            node.ask("POST", "/api/v1/jobs", job.encode())
            return
        time.sleep(0.2)
    sys.exit(f"the job was rejected: {node.ask('POST', '/api/v1/jobs', job.encode())}")


async def until_over(place, database, nodes):
    """Waits for the end of the run. Restarts nodes that exited, as a supervisor does."""
    while True:
        await asyncio.sleep(0.5)
        for node in nodes:
            if node.process.poll() not in (None, -signal.SIGKILL):
                node.start()
        with contextlib.suppress(subprocess.CalledProcessError, IndexError):
            asked = asyncio.to_thread(database.rows, "SELECT state, succeeded, total FROM runs")
            if (await asked)[0][0] in ("completed", "completed_with_failures", "failed", "terminated"):
                return


def check(database, endpoint, items):
    one = database.number
    found = {
        "run state": database.rows("SELECT state FROM runs")[0][0],
        "items that succeeded": one("SELECT count(*) FROM items WHERE state = 1 AND archived IS NOT NULL"),
        "attempts archived as a success": one("SELECT count(*) FROM attempts WHERE outcome = 0"),
        "items with an archived success": one("SELECT count(DISTINCT id >> 10) FROM attempts WHERE outcome = 0"),
        "unfinished attempts": one("SELECT count(*) FROM attempts WHERE state <> 4"),
        "scores": one("SELECT count(*) FROM scores WHERE part = 0"),
        "items paid for twice": one(
            "SELECT count(*) FROM (SELECT id >> 30 FROM steps WHERE state = 1 AND kind = 'target' GROUP BY id >> 30 HAVING count(*) > 1) AS twice"),
        "counters": [int(n) for n in database.rows("SELECT total, queued, running, succeeded, failed, cancelled, skipped FROM runs")[0]],
    }
    wanted = {
        "run state": "completed", "items that succeeded": items, "attempts archived as a success": items,
        "items with an archived success": items, "unfinished attempts": 0, "scores": items, "items paid for twice": 0,
        "counters": [items, 0, 0, items, 0, 0, 0],
    }
    calls, steps = endpoint.calls.total(), one("SELECT count(*) FROM steps WHERE kind = 'target' AND reused_from IS NULL")
    lost = one("SELECT count(*) FROM attempts WHERE outcome = 5")
    print(f"{calls} calls for {items} items ({calls - items} repeated after a loss), at most {endpoint.most} of {LIMIT} at once; "
          f"{lost} attempts were lost", flush=True)
    wrong = [f"{name}: {found[name]}, expected {value}" for name, value in wanted.items() if found[name] != value]
    if calls > steps:
        wrong.append(f"{calls} calls, but only {steps} were recorded before the call")
    if endpoint.most > LIMIT:
        wrong.append(f"{endpoint.most} concurrent calls, limit {LIMIT}")
    if wrong:
        sys.exit("torture_nodes: " + "\n".join(wrong))
    print("passed: no item lost, none archived or paid for twice, counters match a recount")


def ip(*words):
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    main()
