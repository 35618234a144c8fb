"""Connectors move between clusters while MySQL takes inserts, and a GTID set is reset."""

import json
import random
import time

from connect import FLUSH_S, Inserts
from processes import Failed, until
from windrow import Folder

from . import case, expect
from .actions import RUNNING, remove, sources, states

FILES = [f"move-{n}" for n in range(4)]
STREAMS = ["move-cdc-0", "move-cdc-1"]
# Connect commits the offsets of what it sent once per interval; a commit may take as long again on a busy machine.
REPEATED_MS = 3 * FLUSH_S * 1000


@case("connect")
def connectors_move_there_and_back_under_kills(servers):
    """switch_run_system east → west and back, MySQL under inserts, windrow killed 5 times and each Connect worker once."""
    connect, folder = servers.connect.ready(), Folder("move")
    connect.prepare_shop()
    sources(connect, *FILES)
    for n, name in enumerate(STREAMS):
        connect.stream(name, 201 + n)
    names, kills = [*FILES, *STREAMS], []
    folder.operation("move", names, {"url": connect.east.url, "do": "switch_run_system", "to": connect.west.url},
                     {"concurrency": 2, "strategy": {"wave": 2, "max_failed": 0}})
    with Inserts(connect.mysql, 1) as inserts:
        time.sleep(2)
        under_kills(folder, ["run", "move.yaml"], 3, connect.east, kills)
        states(connect.west, names, RUNNING)
        states(connect.east, names, ("STOPPED", []))
        time.sleep(2)
        under_kills(folder, ["jobs", "rollback", "move"], 2, connect.west, kills)
        states(connect.east, names, RUNNING)
        expect(not any(connect.west.state(name) for name in names), "a connector is still on the other cluster after the rollback")
        time.sleep(2)
    told = [check_events(connect, name, inserts.ids, kills) for name in STREAMS]
    remove(connect, *names)
    return f"{len(inserts.ids)} of {len(inserts.ids)} row events in both streams, repeated: {' and '.join(map(str, told))}"


def under_kills(folder, words, times, worker, kills):
    """Runs a command to its end, killing it some times, and once the worker of a cluster in the middle."""
    for n in range(times):
        process = folder.start(*words)
        time.sleep(random.uniform(0.8, 2.5))
        if process.poll() is not None:
            raise Failed(f"`windrow {' '.join(words)}` was over before kill {n + 1}:\n{(folder.place / 'output').read_text()[-2000:]}")
        process.kill()
        process.wait()
        if n == 0:
            kills.append(time.time() * 1000)
            worker.process.kill()
            worker.process.start(wait=False)
    folder.windrow(*words)


def check_events(connect, name, ids, kills):
    """Every row arrived. What arrived twice had first arrived shortly before a worker was killed; returns how many did."""
    def arrived():
        events = connect.row_events(name)
        return events if {key for _, key in events} >= set(ids) else None
    try:
        events = until(f"all rows of {name} arrive", arrived, 60, 1)
    except Failed as late:
        missing = sorted(set(ids) - {key for _, key in connect.row_events(name)})
        raise Failed(f"{late}: {len(missing)} of {len(ids)} rows are missing: {missing[:20]}") from late
    first, again = {}, []
    for at, key in events:
        if key in first:
            again.append((key, first[key]))
        first.setdefault(key, at)
    strange = [(key, at) for key, at in again if not any(kill - REPEATED_MS <= at <= kill + 500 for kill in kills)]
    expect(not strange, f"{name}: {len(strange)} rows came twice, but not because a worker was killed: {strange[:10]}; kills {kills}")
    return len(again)


@case("connect")
def a_gtid_set_is_reset(servers):
    """reset_gtid sends again from exactly the first transaction after the set."""
    connect, folder, name = servers.connect.ready(), Folder("gtid"), "gtid-cdc"
    connect.prepare_shop()
    connect.stream(name, 301)
    first = 10_000_000

    def insert(n):
        """A transaction of two rows; returns the GTID set after it."""
        one = first + 2 * n
        connect.mysql.rows(f"BEGIN; INSERT INTO shop.orders VALUES ({one}, 0); INSERT INTO shop.orders VALUES ({one + 1}, 0); COMMIT")
        return connect.mysql.rows("SELECT @@global.gtid_executed")[0][0].replace("\\n", "")

    sets = [insert(n) for n in range(8)]
    ids = [first + n for n in range(16)]
    until("all rows arrive", lambda: [key for _, key in connect.row_events(name)] == ids, 60, 0.5)
    folder.run("reset", [name], {"url": connect.east.url, "do": "reset_gtid", "gtid": sets[4]})
    states(connect.east, [name], RUNNING)
    again = ids + ids[10:]
    found = []

    def arrived():
        nonlocal found
        found = [key for _, key in connect.row_events(name)]
        return len(found) >= len(again)
    try:
        until("the rows after the set arrive again", arrived, 60, 0.5)
    except Failed as late:
        raise Failed(f"{late}: {found[16:]}, expected {again[16:]}; offsets {json.dumps(connect.east.offsets(name))}") from late
    insert(8)
    again += [first + 16, first + 17]
    until("a new transaction arrives", lambda: len(connect.row_events(name)) >= len(again), 60, 0.5)
    found = [key for _, key in connect.row_events(name)]
    expect(found == again, f"found {found}, expected {again}")
    remove(connect, name)
    return "transactions 6 to 8 came again whole, 1 to 5 did not"
