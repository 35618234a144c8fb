"""A password of a connector changes, and is seen nowhere."""

from windrow import Folder

from . import case, expect
from .actions import RUNNING, remove, states

OLD, NEW = "windrow", "n3w-Pa55-from-the-environment"


@case("connect")
def a_password_changes_and_is_seen_nowhere(servers):
    """change_config of database.password: no clear text in output, log or database, and the way back restores it."""
    connect, name = servers.connect.ready(), "secret-cdc"
    connect.prepare_shop()
    # Distinct from every other word of this machine, so that finding it proves a leak.
    old = "0ld-Pa55-of-the-connector"
    connect.mysql.rows(f"ALTER USER cdc@'%' IDENTIFIED BY '{old}'")
    connect.mysql.rows(f"ALTER USER cdc@'%' IDENTIFIED BY '{NEW}' RETAIN CURRENT PASSWORD")
    connect.stream(name, 401, old)
    folder = Folder("password", NEW_PASSWORD=NEW)
    folder.operation("secret", [name], {"url": connect.east.url, "do": "change_config", "set": {"database.password": "${env:NEW_PASSWORD}"}})
    folder.windrow("plan", "secret.yaml")
    folder.windrow("run", "secret.yaml")
    expect(connect.east.config(name)["database.password"] == NEW, "the password was not changed")
    states(connect.east, [name], RUNNING)
    look = [["jobs", "show", "secret"], ["jobs", "targets", "secret", "--format", "json"], ["jobs", "item", "secret", name],
            ["jobs", "logs", "secret"], ["jobs", "why", "secret"]]
    for words in look:
        folder.windrow(*words)
    folder.windrow("jobs", "rollback", "secret")
    expect(connect.east.config(name)["database.password"] == old, "the rollback did not restore the password")
    states(connect.east, [name], RUNNING)
    for words in look:
        folder.windrow(*words)
    expect("database.password" in folder.said, f"nothing says that the password changes: {folder.said}")
    files = [file for file in folder.place.rglob("*") if file.is_file()]
    expect(any(file.suffix == ".db" for file in files), f"the database was not found among {files}")
    for password in [old, NEW]:
        expect(password not in folder.said, f"a password was printed:\n{folder.said}")
        leaks = [str(file) for file in files if password.encode() in file.read_bytes()]
        expect(not leaks, f"a password is in {leaks}")
    connect.mysql.rows(f"ALTER USER cdc@'%' IDENTIFIED BY '{OLD}'")
    remove(connect, name)
    return f"{len(look) * 2 + 3} outputs and {len(files)} files"
