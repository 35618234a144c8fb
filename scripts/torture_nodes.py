#!/usr/bin/env python3
"""Three nodes share one run on PostgreSQL or MariaDB. Meanwhile nodes are killed, paused for longer than their leases and
disconnected from the network, the database and Redis are killed and restarted, and queries are cancelled. No item may be
lost, archived twice or paid for twice, and no limit exceeded. With --only cancel_query, queries are cancelled 20 times a
second; every call must then be made once, and no node may exit. With --only freeze, nodes are paused inside a transaction;
the others may be silent for at most --silent seconds. Needs root: every node runs in its own network namespace.

  scripts/torture_nodes.py --store postgres [--items 20000] [--faults 100] [--only KIND] [--silent 3] [--seed N] [--windrow PROGRAM]
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
# How long a node stays paused inside a transaction.
FROZEN_S = 5
# Duration of the run per fault.
PACE_S, PACE_OF_FREEZES_S = 2.5, 9
# Faults and how often each is chosen.
KINDS = {"kill": 36, "stop": 18, "cut": 18, "database": 11, "redis": 7, "cancel_query": 10}
# One such fault tries to cancel 20 queries within a second. Fewer than this on average would show nothing.
CANCELLED_AT_LEAST = 10


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", choices=["postgres", "mariadb"], required=True)
    options.add_argument("--items", type=int, default=20_000)
    options.add_argument("--faults", type=int, default=100)
    options.add_argument("--only", choices=[*KINDS, "freeze"], help="inject faults of this kind only")
    options.add_argument("--silent", type=float, default=3, help="how long nodes may be silent while one is paused inside a transaction")
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
        pace = PACE_OF_FREEZES_S if args.only == "freeze" else PACE_S
        endpoint = Endpoint(place.host, args.items, max(0.02, args.faults * pace * LIMIT / args.items), chance)
        await endpoint.start()
        database = Database(args.store, place, undo)
        nodes = [Node(number, place, database, undo) for number in range(1, NODES + 1)]
        for node in nodes:
            node.start()
        submit(nodes[0], endpoint, args.items)
        tally, silences = collections.Counter(), []
        watch = asyncio.create_task(until_over(place, database, nodes, args.only != "cancel_query"))
        while not watch.done() and (tally.total() < args.faults or too_few_cancelled(args, database)):
            if args.only != "cancel_query":
                await asyncio.sleep(chance.uniform(0.1, 1.5))
            kind = args.only or chance.choices(list(KINDS), list(KINDS.values()))[0]
            if kind == "freeze":
                silences += await freeze(chance, nodes, database, endpoint)
            else:
                await fault(kind, chance, nodes, database)
            tally[kind] += 1
        if database.cancelled:
            print(f"{database.cancelled} queries cancelled", flush=True)
        print(f"{tally.total()} faults: {dict(tally)}", flush=True)
        if too_few_cancelled(args, database):
            sys.exit(f"torture_nodes: {database.cancelled} queries cancelled when the run ended; use more --items")
        if tally.total() < args.faults:
            state = database.rows("SELECT state, succeeded, failed, reason FROM runs")
            sys.exit(f"the run ended ({state}) before all faults were injected; use more --items")
        if args.only == "freeze":
            show(silences, args.silent, args.faults)
        await asyncio.wait_for(watch, 600)
        endpoint.server.close()
        check(database, endpoint, args.items, once=args.only == "cancel_query")


def too_few_cancelled(args, database):
    return args.only == "cancel_query" and database.cancelled < CANCELLED_AT_LEAST * args.faults


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
        case "cancel_query":
            await asyncio.to_thread(database.cancel_queries)


async def freeze(chance, nodes, database, endpoint):
    """Pauses a node that has written something and not committed it. Returns how long the others were silent, unless it was
    in no transaction, or nothing was left for the others to do."""
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
        if frozen := await asyncio.to_thread(database.has_open_transaction, node.address):
            break
        node.process.send_signal(signal.SIGCONT)
        await asyncio.sleep(chance.uniform(0.005, 0.05))
    if not frozen:
        return []
    await asyncio.sleep(FROZEN_S)
    silent = endpoint.silence(others, began)
    queued = await asyncio.to_thread(database.number, "SELECT queued FROM runs")
    node.process.send_signal(signal.SIGCONT)
    await asyncio.sleep(1)
    return [silent] if queued > 0 else []


def show(silences, allowed, faults):
    if len(silences) < max(1, faults // 4):
        sys.exit(f"torture_nodes: only {len(silences)} of {faults} pauses could be measured; use more --items")
    silences = sorted(silences)
    middle = silences[len(silences) // 2]
    print(f"{len(silences)} pauses inside a transaction: the others were silent for {middle:.1f} s (median), {silences[-1]:.1f} s at most",
          flush=True)
    if silences[-1] > allowed:
        sys.exit(f"torture_nodes: the other nodes were silent for {silences[-1]:.1f} s, allowed are {allowed:g} s")


class Place:
    """The host address that every namespace can reach, and the directory of all files."""

    def __init__(self, args, home, undo):
        self.home, self.program = home, args.windrow
        # Where no node is to lose a lease, none expires.
        self.lease_s = 30 if args.only == "cancel_query" else LEASE_S
        self.net = f"10.{77 if args.store == 'postgres' else 78}"
        self.host = f"{self.net}.0.1"
        self.name = f"wd{os.getpid()}"
        ip("addr", "add", f"{self.host}/32", "dev", "lo")
        undo.callback(ip, "addr", "del", f"{self.host}/32", "dev", "lo")


# Both look for an active query for up to 50 ms, 20 times a second. They loop on the server, because a client takes longer
# to start than most queries to run.
def cancel_postgres(seconds):
    return f"""
SET client_min_messages = error;
DO $$ DECLARE hit int := 0; victim int; turn timestamptz; finish timestamptz := clock_timestamp() + interval '{seconds} s'; BEGIN
    WHILE clock_timestamp() < finish LOOP
        turn := clock_timestamp() + interval '50 ms';
        victim := NULL;
        WHILE victim IS NULL AND clock_timestamp() < turn LOOP
            PERFORM pg_stat_clear_snapshot();
            SELECT pid INTO victim FROM pg_stat_activity
             WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1;
            IF victim IS NULL THEN PERFORM pg_sleep(0.002); END IF;
        END LOOP;
        IF victim IS NOT NULL AND pg_cancel_backend(victim) THEN hit := hit + 1; END IF;
        PERFORM pg_sleep(greatest(0, extract(epoch FROM turn - clock_timestamp())));
    END LOOP;
    PERFORM set_config('torture.hit', hit::text, false);
END $$;
SELECT current_setting('torture.hit')
"""


def cancel_mysql(processes="information_schema.processlist"):
    return f"""
CREATE PROCEDURE cancel_queries(seconds INT) BEGIN
    DECLARE victim BIGINT;
    DECLARE hit INT DEFAULT 0;
    DECLARE turn, finish DATETIME(6);
    -- The connection may have ended.
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    SET finish = sysdate(6) + INTERVAL seconds SECOND;
    WHILE sysdate(6) < finish DO
        SET turn = sysdate(6) + INTERVAL 50000 MICROSECOND;
        SET victim = NULL;
        WHILE victim IS NULL AND sysdate(6) < turn DO
            SET victim = (SELECT id FROM {processes}
                           WHERE command IN ('Execute', 'Query') AND user = 'windrow' AND id <> connection_id() ORDER BY rand() LIMIT 1);
            IF victim IS NULL THEN DO sleep(0.002); END IF;
        END WHILE;
        IF victim IS NOT NULL THEN
            KILL QUERY victim;
            SET hit = hit + 1;
        END IF;
        DO sleep(greatest(0, timestampdiff(MICROSECOND, sysdate(6), turn)) / 1000000);
    END WHILE;
    SELECT hit;
END //
"""


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
        self.cancelled = 0
        if store == "mariadb":
            subprocess.run([*self.client(), "--delimiter=//"], input=cancel_mysql(), check=True, text=True)

    def services(self, *words):
        subprocess.run([ROOT / "scripts/services", *words], env=self.environment, check=True)

    def crash(self):
        self.services("crash", self.store)

    def client(self):
        """The database's own client, so that the check does not depend on Windrow."""
        if self.store == "postgres":
            return ["psql", "-h", self.host, "-p", self.port, "-U", "windrow", "-d", "postgres", "-At", "-F", "\t"]
        return ["mariadb", "-h", self.host, "-P", self.port, "-u", "windrow", "-pwindrow", "--skip-ssl", "-N", "-B", "windrow"]

    def rows(self, sql):
        words = ["-c", "SET search_path TO windrow", "-c", sql] if self.store == "postgres" else ["-e", sql]
        output = subprocess.run([*self.client(), *words], env={**os.environ, "PGPASSWORD": "windrow"},
                                stdout=subprocess.PIPE, check=True, text=True).stdout
        return [line.split("\t") for line in output.splitlines() if line != "SET"]

    def cancel_queries(self):
        """Cancels queries of the nodes for a second."""
        with contextlib.suppress(subprocess.CalledProcessError):
            sql = cancel_postgres(1) if self.store == "postgres" else "CALL cancel_queries(1)"
            self.cancelled += int(self.rows(sql)[-1][0])

    def has_open_transaction(self, address):
        """Whether a connection from there has changed rows and waits for its next statement."""
        if self.store == "postgres":
            sql = (f"SELECT count(*) FROM pg_stat_activity WHERE client_addr = '{address}' AND state = 'idle in transaction' "
                   "AND backend_xid IS NOT NULL")
        else:
            # The server shows the same list for a tenth of a second.
            time.sleep(0.12)
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
                   "127.0.0.1:7373", "--lease", f"{self.place.lease_s}s", "--workers", str(WORKERS)]
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
    """A mock model with latency. It counts calls by question, and the highest number of concurrent calls, and notes who
    called when."""

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


async def until_over(place, database, nodes, may_exit):
    """Waits for the end of the run. Restarts nodes that exited, as a supervisor does, if they may exit."""
    while True:
        await asyncio.sleep(0.5)
        for node in nodes:
            if node.process.poll() not in (None, -signal.SIGKILL):
                if not may_exit:
                    sys.exit(f"torture_nodes: a node exited:\n{pathlib.Path(node.log.name).read_text()[-2000:]}")
                node.start()
        with contextlib.suppress(subprocess.CalledProcessError, IndexError):
            asked = asyncio.to_thread(database.rows, "SELECT state, succeeded, total FROM runs")
            if (await asked)[0][0] in ("completed", "completed_with_failures", "failed", "terminated"):
                return


def check(database, endpoint, items, once):
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
    if once and (calls != items or lost):
        wrong.append(f"{calls} calls, expected {items}; {lost} attempts lost, expected none")
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
