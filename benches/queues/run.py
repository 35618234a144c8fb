#!/usr/bin/env python3
"""Measures no-op items through Windrow on PostgreSQL and MariaDB, with full history, on 1, 2 and 4 nodes, and through
graphile-worker (PostgreSQL) and BullMQ (Redis), one after the other on this machine. `make bench-queues` runs it twice: on
servers that do not flush commits to the disk, and with WINDROW_SERVICES_DURABLE=1 on servers that do.

  ITEMS=100000      number of items
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ITEMS = int(os.environ.get("ITEMS", "100000"))
# Without batching graphile-worker processes one job at a time; fewer are enough.
FEW = max(ITEMS // 10, 1)
NODES = [2, 4]
DURABLE = os.environ.get("WINDROW_SERVICES_DURABLE") == "1"


def main():
    for name in ["WINDROW_TEST_POSTGRES", "WINDROW_TEST_MARIADB", "WINDROW_TEST_REDIS"]:
        if name not in os.environ:
            sys.exit(f"{name} is not set: run this by `make bench-queues`, which starts the servers")
    if not (HERE / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=HERE, check=True)
    postgres, redis = os.environ["WINDROW_TEST_POSTGRES"], os.environ["WINDROW_TEST_REDIS"]
    figures = {}
    for turn in range(2):
        for found in measured(postgres, redis):
            for name, value in found.items():
                figures[name] = max(value, figures.get(name, 0.0))
    print(json.dumps(figures, indent=2))
    kept = "bench-queues-durable.json" if DURABLE else "bench-queues.json"
    (ROOT / "target" / kept).write_text(json.dumps(figures, indent=2) + "\n")
    print()
    flushes = "every commit flushed" if DURABLE else "commits not flushed"
    compared = [(name, "", "") for name in ["graphile_worker_batched", "graphile_worker_default", "bullmq"]]
    compared.append(("graphile_worker_batched", "_without_planning", "_without_adding"))
    for name, without, theirs_without in compared:
        ours, theirs = figures[f"postgres.items_per_s{without}"], figures[f"{name}.items_per_s{theirs_without}"]
        label = name + (", when all is queued" if without else "")
        print(f"Windrow on PostgreSQL, {flushes}: {ours / theirs:5.2f} × {label} ({ours:,.0f} vs. {theirs:,.0f} items/s)")
    for database in ["postgres", "mariadb"]:
        for nodes in NODES:
            alone, shared = figures[f"{database}.items_per_s"], figures[f"{database}.items_per_s_{nodes}_nodes"]
            print(f"{nodes} nodes on {database}, {flushes}: {shared / alone:5.2f} × one node ({shared:,.0f} vs. {alone:,.0f} items/s)")


def measured(postgres, redis):
    """One round of all systems, so that a slow minute of the machine affects all of them."""
    yield ask(["node", "graphile.mjs", postgres, "batched", str(ITEMS)])
    yield windrow("postgres_100k")
    yield ask(["node", "graphile.mjs", postgres, "default", str(FEW)])
    yield ask(["node", "bullmq.mjs", redis, str(ITEMS)])
    yield windrow("mariadb_100k")
    for nodes in NODES:
        yield windrow("postgres_nodes", nodes)
        yield windrow("mariadb_nodes", nodes)


def windrow(piece, nodes=1):
    """Uses its own tables."""
    fresh = f"bench_{os.getpid()}_{windrow.count}"
    windrow.count += 1
    postgres = f"{os.environ['WINDROW_TEST_POSTGRES']}?sslmode=disable&schema={fresh}"
    mariadb = f"{os.environ['WINDROW_TEST_MARIADB'].rsplit('/', 1)[0]}/{fresh}?sslmode=disable"
    return walk(piece, nodes=nodes, postgres=postgres, mariadb=mariadb)


def walk(piece, items=ITEMS, nodes=1, **urls):
    environment = {**os.environ, "WINDROW_BENCH_ITEMS": str(items), "WINDROW_BENCH_NODES": str(nodes)}
    environment.update({f"WINDROW_BENCH_{name.upper()}": url for name, url in urls.items()})
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "windrow", "--bench", "walk", "--", "piece", piece]
    return ask(command, ROOT, environment)


windrow.count = 0


def ask(command, folder=HERE, environment=None):
    print(f"measuring {' '.join(command[-3:])} …", file=sys.stderr)
    output = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(output.splitlines()[-1])
    for name, value in found.items():
        print(f"  {name} = {value:,.1f}", file=sys.stderr)
    return found


if __name__ == "__main__":
    main()
