#!/usr/bin/env python3
"""Runs Windrow against real servers: Kafka 4 with two Connect clusters and Debezium, MySQL 9.7, MariaDB 11.8 with Galera,
PostgreSQL 18 with a synchronous standby, PgBouncer in transaction mode. Downloads them once, into target/certify. Needs root.

  scripts/certify/run.py [CASE …]    all cases, or those whose name contains a word

Ends within 15 minutes: what has not passed by then has failed.
Exits with 1 if a case failed, and with 77 if no case failed but a server could not be installed."""

import fcntl
import json
import os
import shutil
import signal
import sys
import time
import traceback

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import databases  # noqa: E402
import fetch  # noqa: E402
from cases import CASES, actions, moving, nodes, passwords, stores  # noqa: E402,F401
from connect import Connect  # noqa: E402
from processes import Failed, OutOfTime, stop_all  # noqa: E402

NOT_INSTALLED = 77
# All cases together take half of this on two cores.
LIMIT_S = 15 * 60


class Servers:
    """Starts each server when a case first needs it, and remembers why one cannot be had."""

    def __init__(self):
        self.up, self.missing = {}, {}

    def __getattr__(self, name):
        if name in self.missing:
            raise fetch.Missing(self.missing[name])
        if name not in self.up:
            try:
                self.up[name] = getattr(self, f"start_{name}")()
            except fetch.Missing as missing:
                self.missing[name] = str(missing)
                raise
        return self.up[name]

    def start_mysql(self):
        return databases.MySql("mysql")

    def start_source(self):
        return databases.MySql("source")

    def start_connect(self):
        return Connect(self.source)

    def start_postgres(self):
        return databases.PostgresPair()

    def start_pgbouncer(self):
        return databases.PgBouncer(self.plain_postgres)

    def start_plain_postgres(self):
        return databases.Postgres("postgres")

    def start_mariadb(self):
        return databases.MariaDb("mariadb").start()

    def start_galera(self):
        return databases.Galera()

    def release(self, needed):
        """Stops what no further case needs: memory and processors are few."""
        for name in list(self.up):
            if name not in needed and not (name == "source" and "connect" in needed) and not (name == "plain_postgres" and "pgbouncer" in needed):
                self.up.pop(name).stop()


def main(words):
    chosen = [(one, needs) for one, needs in CASES if not words or any(word in one.__name__ for word in words)]
    if not chosen:
        sys.exit(f"certify: no such case; there are {', '.join(one.__name__ for one, _ in CASES)}")
    one_at_a_time()
    for ending in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(ending, lambda *_: sys.exit(143))
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(LIMIT_S)
    deadline = time.monotonic() + LIMIT_S
    shutil.rmtree(fetch.HOME / "work", ignore_errors=True)
    servers, results = Servers(), []
    try:
        for n, (one, needs) in enumerate(chosen):
            results.append(perform(one, needs, servers, deadline))
            servers.release({name for _, later in chosen[n + 1:] for name in later})
    finally:
        signal.alarm(0)
        stop_all()
    (fetch.HOME / "results.json").write_text(json.dumps(results, indent=1))
    return report(results, servers)


def one_at_a_time():
    """Two runs would use the same folders. The lock ends with this process."""
    fetch.HOME.mkdir(parents=True, exist_ok=True)
    lock = os.open(fetch.HOME / "lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"certify: another run uses {fetch.HOME}")


def out_of_time(*_):
    raise OutOfTime(f"all cases together did not end within {LIMIT_S} s")


def perform(one, needs, servers, deadline):
    began, found = time.monotonic(), {"case": one.__name__, "what": one.__doc__}
    try:
        if began >= deadline:
            out_of_time()
        found["servers"] = {name: getattr(servers, name).version for name in needs}
        found |= {"outcome": "passed", "said": one(servers)}
    except fetch.Missing as missing:
        found |= {"outcome": "not installed", "said": str(missing)}
    except (Failed, OutOfTime) as failed:
        found |= {"outcome": "FAILED", "said": str(failed)}
    except Exception:
        found |= {"outcome": "FAILED", "said": traceback.format_exc()}
    found["seconds"] = round(time.monotonic() - began, 1)
    print(f"{found['outcome']:>13}  {found['seconds']:6.1f} s  {one.__name__}: {found['said']}", flush=True)
    return found


def report(results, servers):
    failed = [one["case"] for one in results if one["outcome"] == "FAILED"]
    versions = {name: version for one in results for name, version in one.get("servers", {}).items()}
    print(f"\n{sum(one['outcome'] == 'passed' for one in results)} of {len(results)} cases passed in {sum(one['seconds'] for one in results):.0f} s, with "
          + "; ".join(f"{name} {version}" for name, version in versions.items()))
    for name, reason in servers.missing.items():
        print(f"not installed: {name}: {reason}")
    if failed:
        print(f"failed: {', '.join(failed)}; logs of the servers: {fetch.HOME}/logs")
        return 1
    return NOT_INSTALLED if servers.missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
