"""Every action of `kafka-connect`, and its way back, looked at through Connect's own API."""

from processes import until
from windrow import Folder

from . import case, expect

RUNNING, PAUSED, STOPPED = ("RUNNING", ["RUNNING"]), ("PAUSED", ["PAUSED"]), ("STOPPED", [])


def sources(connect, *names):
    """Running file sources on the first cluster that have sent all their lines."""
    for name in names:
        connect.east.create(name, connect.file_source(name))
        until(f"{name} has offsets", lambda: connect.east.offsets(name))


def remove(connect, *names):
    for name in names:
        for cluster in connect.clusters:
            cluster.ask("DELETE", f"/connectors/{name}")


def states(cluster, names, wanted):
    found = {name: cluster.state(name) for name in names}
    expect(all(state == wanted for state in found.values()), f"expected {wanted} on {cluster.name}, found {found}")


@case("connect")
def connectors_pause_start_stop_and_restart(servers):
    """start, stop, pause and restart of four connectors, and the way back."""
    connect, folder, names = servers.connect.ready(), Folder("states"), [f"state-{n}" for n in range(4)]
    sources(connect, *names)
    east = connect.east

    def run(what):
        folder.run(what, {"select": "state-*"}, {"url": east.url, "do": what})

    run("pause")
    # At this moment, not soon after: a state is reached when all tasks are in it.
    states(east, names, PAUSED)
    run("restart")
    states(east, names, PAUSED)
    run("start")
    states(east, names, RUNNING)
    folder.windrow("jobs", "rollback", "start")
    states(east, names, PAUSED)
    folder.windrow("jobs", "rollback", "pause")
    states(east, names, RUNNING)
    run("restart")
    states(east, names, RUNNING)
    run("stop")
    states(east, names, STOPPED)
    folder.windrow("jobs", "rollback", "stop")
    states(east, names, RUNNING)
    remove(connect, *names)
    return "4 connectors, 8 operations"


@case("connect")
def configurations_change_and_come_back(servers):
    """change_config and switch_az with keys, refusal by Connect's validation, and the way back byte for byte."""
    connect, folder, names = servers.connect.ready(), Folder("config"), ["config-0", "config-1"]
    sources(connect, *names)
    east = connect.east
    before = {name: east.config(name) for name in names}
    for what, size in [("change_config", "7"), ("switch_az", "9")]:
        folder.run(what.replace("_", "-"), {"select": "config-*"}, {"url": east.url, "do": what, "set": {"batch.size": size}})
        found = {name: east.config(name) for name in names}
        expect(found == {name: {**config, "batch.size": size} for name, config in before.items()}, f"{what}: {found}")
        states(east, names, RUNNING)
        folder.windrow("jobs", "rollback", what.replace("_", "-"))
        found = {name: east.config(name) for name in names}
        expect(found == before, f"after the rollback of {what}: {found}, before: {before}")
    folder.operation("broken", {"select": "config-*"}, {"url": east.url, "do": "change_config", "set": {"topic": None}})
    said = folder.windrow("run", "broken.yaml", expect=4)
    expect("topic" in said, f"the reason does not name the key: {said}")
    expect({name: east.config(name) for name in names} == before, "a refused change was made")
    remove(connect, *names)
    return "2 connectors, 5 operations"


@case("connect")
def offsets_are_reset(servers):
    """reset_offsets sends the file again from the position, and its way back sends nothing again."""
    connect, folder, name = servers.connect.ready(), Folder("offsets"), "rewound"
    sources(connect, name)
    east, partition = connect.east, {"filename": str(connect.place / f"{name}.txt")}

    def lines():
        return len(connect.kafka.topic(f"lines-{name}"))

    until("all lines are sent", lambda: lines() == 20, 30)
    end = east.offsets(name)
    # Ten lines of ten letters: "rewound 0" and its newline.
    offsets = [{"partition": partition, "offset": {"position": 100}}]
    folder.run("reset", [name], {"url": east.url, "do": "reset_offsets", "offsets": offsets})
    states(east, [name], RUNNING)
    until("ten lines are sent again", lambda: lines() >= 30, 30)
    until("its offset is at the end again", lambda: east.offsets(name) == end, 30)
    folder.windrow("jobs", "rollback", "reset")
    expect(east.offsets(name) == end, f"after the rollback: {east.offsets(name)}, before: {end}")
    expect(lines() == 30, f"{lines()} lines, expected 30: 20, and 10 again")
    remove(connect, name)
    return "10 of 20 lines again, none more"


@case("connect")
def a_legacy_job_is_migrated(servers):
    """migrate creates a connector at an offset; its way back deletes it."""
    connect, folder, name = servers.connect.ready(), Folder("migrate"), "migrated"
    config = connect.file_source(name)
    offsets = [{"partition": {"filename": config["file"]}, "offset": {"position": 110}}]
    folder.run("migrate", [name], {"url": connect.east.url, "do": "migrate", "config": config, "offsets": offsets})
    states(connect.east, [name], RUNNING)
    until("nine lines are sent", lambda: len(connect.kafka.topic(f"lines-{name}")) >= 10, 30)
    folder.windrow("jobs", "rollback", "migrate")
    expect(connect.east.state(name) is None, "the connector is still there after the rollback")
    return "created at its offset, and deleted"
