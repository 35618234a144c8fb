"""Three nodes on one database, while the database fails or cancels queries."""

import time

from processes import until
from windrow import LIMIT, Nodes

from . import case, expect

CANCEL_S = 15
# Of 300 tries; below this, the case would show nothing.
HITS = 100


def cancelled_queries(name, database):
    items = 3000
    database.prepare_cancelling()
    nodes = Nodes(name, [database.node_url], latency=CANCEL_S * LIMIT / items)
    try:
        nodes.submit(items)
        until("calls are made", lambda: nodes.calls() > 50, 60)
        before = database.interrupted()
        sent = database.cancel(CANCEL_S)
        # On a slow machine fewer statements are running when they are cancelled.
        while (hits := database.interrupted() - before) < HITS and nodes.calls() < items:
            sent += database.cancel(1)
        expect(nodes.calls() < items, f"the run was over before all queries were cancelled: {sent} sent, {hits} hit")
        nodes.until_over(database.rows, 120)
        nodes.check(database.rows)
        expect(hits >= HITS, f"only {hits} queries were cancelled ({sent} sent); at least {HITS} are needed")
        return f"{items} calls, each once; {sent} cancelled, {hits} hit a statement; no node ended"
    finally:
        nodes.stop()


@case("postgres")
def cancelled_queries_on_postgres(servers):
    """pg_cancel_backend 20 times a second for 15 s, three nodes on PostgreSQL."""
    return cancelled_queries("cancel-postgres", servers.postgres.primary)


@case("mysql")
def cancelled_queries_on_mysql(servers):
    """KILL QUERY 20 times a second for 15 s, three nodes on MySQL 9.7."""
    return cancelled_queries("cancel-mysql", servers.mysql)


@case("mariadb")
def cancelled_queries_on_mariadb(servers):
    """KILL QUERY 20 times a second for 15 s, three nodes on MariaDB 11.8."""
    return cancelled_queries("cancel-mariadb", servers.mariadb)


@case("postgres")
def failover_of_postgres(servers):
    """The primary is killed in the middle of a run of three nodes, and its synchronous standby promoted."""
    pair, items = servers.postgres, 2000
    pair.primary.rows("DROP SCHEMA IF EXISTS windrow CASCADE")
    nodes = Nodes("failover", [pair.node_url], latency=10 * LIMIT / items)
    try:
        nodes.submit(items)
        until("a third of the calls are made", lambda: nodes.calls() > items / 3, 60)
        expect(nodes.calls() < items * 0.9, "the run was over before the failover")
        died = time.monotonic()
        pair.fail_over()
        waiting = nodes.calls() + LIMIT
        until("calls go on", lambda: nodes.calls() > waiting, 90, 0.05)
        silent = time.monotonic() - died
        nodes.until_over(pair.rows, 180)
        nodes.check(pair.rows)
        return f"{items} calls, each once; calls went on after {silent:.1f} s"
    finally:
        nodes.stop()


@case("galera")
def galera(servers):
    """Three nodes at three members of Galera, 20 runs."""
    members, runs, items = servers.galera.members, 20, 150
    nodes = Nodes("galera", [member.node_url for member in members], latency=0.05)
    try:
        for _ in range(runs):
            nodes.submit(items)
        nodes.until_over(members[0].rows, 240)
        nodes.check(members[0].rows)
        return f"{runs} runs, {runs * items} calls, each once; counters equal a recount"
    finally:
        nodes.stop()
