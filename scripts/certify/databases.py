"""MySQL 9.7, MariaDB 11.8 (alone and as three members of Galera), PostgreSQL 18 with a synchronous standby, and PgBouncer in
transaction mode. Every one has `url`, `rows(sql)` by its own client, and what cancels queries."""

import shutil
import signal
import subprocess

import fetch
from processes import Failed, Process, check, chroot, folder, free_port, until
from torture_nodes import cancel_mysql, cancel_postgres

PASSWORD = "windrow"
# Runs at every start.
MYSQL_SETUP = f"""CREATE DATABASE IF NOT EXISTS windrow;
CREATE USER IF NOT EXISTS windrow@'%' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO windrow@'%' WITH GRANT OPTION;
"""


class MySql:
    """MySQL of unstable, with GTIDs and a binary log as Debezium reads it."""

    def __init__(self, name):
        self.root = fetch.debian("servers", SERVERS)
        self.place, inside = folder(self.root, name)
        self.port = free_port()
        check(chroot(self.root, "/usr/sbin/mysqld", "--no-defaults", "--initialize-insecure", f"--datadir={inside}/data"))
        (self.place / "setup.sql").write_text(MYSQL_SETUP)
        self.process = Process(name, chroot(
            self.root, "/usr/sbin/mysqld", "--no-defaults", f"--datadir={inside}/data", f"--port={self.port}", "--bind-address=127.0.0.1",
            f"--socket={inside}/socket", f"--pid-file={inside}/pid", "--mysqlx=OFF", f"--init-file={inside}/setup.sql", "--server-id=1",
            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--innodb-buffer-pool-size=128M", "--max-connections=400",
            "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", "--secure-file-priv=NULL"), self.port)
        self.process.start()
        until(f"{name} has its user", self.ready)
        self.version = self.rows("SELECT version()")[0][0]

    url = property(lambda self: f"mysql://windrow:{PASSWORD}@127.0.0.1:{self.port}/windrow")
    node_url = property(lambda self: f"{self.url}?sslmode=disable")

    def client(self, *words):
        return chroot(self.root, "/usr/bin/mysql", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uwindrow", f"-p{PASSWORD}", "-N", "-B",
                      *words)

    def ready(self):
        return subprocess.run(self.client("-e", "SELECT 1", "windrow"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def rows(self, sql):
        return [line.split("\t") for line in check(self.client("windrow", "-e", sql)).splitlines()]

    def prepare_cancelling(self, processes="performance_schema.processlist"):
        check(self.client("windrow", "--delimiter=//"), input=cancel_mysql(processes))

    def cancel(self, seconds):
        return int(self.rows(f"CALL cancel_queries({seconds})")[-1][0])

    def interrupted(self):
        """Statements that ended because they were cancelled, as the server counts them."""
        sql = "SELECT sum(sum_error_raised) FROM performance_schema.events_errors_summary_global_by_error WHERE error_number IN (1317, 1105)"
        return int(self.rows(sql)[0][0])

    def stop(self):
        self.process.stop()


class MariaDb(MySql):
    """One MariaDB, or one member of a Galera cluster."""

    def __init__(self, name, copy_of=None):
        self.root = fetch.debian("mariadb", MARIADB)
        self.place, inside = folder(self.root, name)
        self.name, self.port = name, free_port()
        if copy_of:
            shutil.rmtree(self.place)
            check(["cp", "-a", copy_of.place, self.place])
        else:
            check(chroot(self.root, "/usr/bin/mariadb-install-db", "--no-defaults", f"--datadir={inside}/data", "--skip-test-db", "--force",
                         "--auth-root-authentication-method=normal"))
            (self.place / "setup.sql").write_text(MYSQL_SETUP)
        self.setup = f"{inside}/setup.sql"
        self.words = chroot(
            self.root, "/usr/sbin/mariadbd", "--no-defaults", f"--datadir={inside}/data", f"--port={self.port}", "--bind-address=127.0.0.1",
            f"--socket={inside}/socket", f"--pid-file={inside}/pid", "--innodb-buffer-pool-size=128M", "--max-connections=400",
            "--innodb-flush-log-at-trx-commit=2", "--character-set-server=utf8mb4")
        self.process = Process(name, [*self.words, f"--init-file={self.setup}"], self.port)

    def start(self):
        self.process.start()
        until(f"{self.name} has its user", self.ready)
        self.version = self.rows("SELECT version()")[0][0]
        return self

    def client(self, *words):
        return chroot(self.root, "/usr/bin/mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uwindrow", f"-p{PASSWORD}",
                      "--skip-ssl", "-N", "-B", *words)

    def prepare_cancelling(self):
        super().prepare_cancelling("information_schema.processlist")

    def interrupted(self):
        """MariaDB counts only what was sent."""
        return int(self.rows("SHOW GLOBAL STATUS LIKE 'Com_kill'")[0][1])


# A method of state transfer for members that start from a copy of the first and share its disk: nothing is transferred.
TRANSFER = """#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2 ;;
        --address) address=$2 ;;
        --gtid) gtid=$2 ;;
    esac
    shift
done
note=/tmp/transfer-$(echo "$address" | tr -c '0-9\n' -)
if [ "$role" = joiner ]; then
    rm -f "$note"
    echo "ready $address"
    until [ -s "$note" ]; do sleep 0.1; done
    cat "$note"
else
    # The server writes credentials, and gives up if nobody reads them.
    timeout 5 cat > /dev/null
    echo "$gtid" > "$note.new"
    mv "$note.new" "$note"
    echo "done $gtid"
fi
"""


class Galera:
    """Three members. The second and third start from copies of the first, so that none needs a state transfer."""

    def __init__(self):
        first = MariaDb("galera-0")
        script = first.root / "usr/bin/wsrep_sst_copy"
        script.write_text(TRANSFER)
        script.chmod(0o755)
        groups, transfers = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
        address = "gcomm://" + ",".join(f"127.0.0.1:{port}" for port in groups)

        def member(server, n, *more):
            provider = (f"gmcast.listen_addr=tcp://127.0.0.1:{groups[n]};base_port={groups[n]};ist.recv_addr=127.0.0.1:{transfers[n]};"
                        f"ist.recv_bind=127.0.0.1:{transfers[n]};gcache.size=32M")
            options = ["--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so", f"--wsrep-cluster-address={address}",
                       f"--wsrep-node-address=127.0.0.1:{groups[n]}", f"--wsrep-node-name=galera-{n}", f"--wsrep-provider-options={provider}",
                       "--wsrep-sst-method=copy", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", *more]
            server.process = Process(f"galera-{n}", [*server.words, *options], server.port)
            return server

        member(first, 0, "--wsrep-new-cluster", f"--init-file={first.setup}").start().stop()
        copies = [MariaDb(f"galera-{n}", copy_of=first) for n in [1, 2]]
        self.members = [member(first, 0, "--wsrep-new-cluster").start()]
        self.members += [member(copy, n).start() for n, copy in enumerate(copies, 1)]
        until("all members of Galera are synced", self.synced)
        self.version = f"{first.version}, three members"

    def synced(self):
        def status(member, name):
            return member.rows(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1]
        return all(status(one, "wsrep_cluster_size") == "3" and status(one, "wsrep_local_state_comment") == "Synced" for one in self.members)

    def stop(self):
        for member in self.members:
            member.stop()


class Postgres:
    """PostgreSQL of unstable."""

    def __init__(self, name, copy_of=None):
        self.root = fetch.debian("servers", SERVERS)
        self.place, self.inside = folder(self.root, name)
        self.name, self.port = name, free_port()
        self.program = next((self.root / "usr/lib/postgresql").glob("*/bin/postgres"), None)
        if not self.program:
            raise Failed("the package has no PostgreSQL server")
        self.bin = "/" + str(self.program.parent.relative_to(self.root))
        if copy_of:
            check(chroot(self.root, f"{self.bin}/pg_basebackup", "-D", f"{self.inside}/data", "-R", "-X", "stream", "--checkpoint=fast", "-d",
                         f"host=127.0.0.1 port={copy_of.port} user=windrow password={PASSWORD}"))
        else:
            (self.place / "password").write_text(PASSWORD)
            check(chroot(self.root, f"{self.bin}/initdb", "-D", f"{self.inside}/data", "-U", "windrow", f"--pwfile={self.inside}/password",
                         "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"))
        settings = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "max_connections": 400, "shared_buffers": "128MB",
            "dynamic_shared_memory_type": "mmap", "timezone": "UTC", "log_timezone": "UTC", "io_method": "worker",
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        self.process = Process(name, chroot(self.root, f"{self.bin}/postgres", "-D", f"{self.inside}/data", *options), self.port, signal.SIGINT)
        self.process.start()
        until(f"{name} answers", self.ready)
        self.version = self.rows("SHOW server_version")[0][0]

    url = property(lambda self: f"postgres://windrow:{PASSWORD}@127.0.0.1:{self.port}/postgres")
    node_url = property(lambda self: f"{self.url}?sslmode=disable")

    def client(self, *words):
        where = f"host=127.0.0.1 port={self.port} user=windrow password={PASSWORD} dbname=postgres"
        return chroot(self.root, f"{self.bin}/psql", where, "-X", "-q", "-A", "-t", "-F", "\t", *words)

    def ready(self):
        return subprocess.run(self.client("-c", "SELECT 1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def rows(self, sql):
        return [line.split("\t") for line in check(self.client("-c", "SET search_path TO windrow, public", "-c", sql)).splitlines()]

    def prepare_cancelling(self):
        pass

    def cancel(self, seconds):
        return int(self.rows(cancel_postgres(seconds))[-1][0])

    def interrupted(self):
        return self.process.log.read_text(errors="replace").count("canceling statement due to user request")

    def stop(self):
        self.process.stop()


class PostgresPair:
    """A primary that confirms nothing before its standby has it."""

    def __init__(self):
        self.primary = Postgres("postgres-primary")
        self.standby = Postgres("postgres-standby", copy_of=self.primary)
        self.primary.rows("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.rows("SELECT pg_reload_conf()")
        until("the standby is synchronous", lambda: self.primary.rows("SELECT sync_state FROM pg_stat_replication") == [["sync"]])
        ports = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        self.node_url = f"postgres://windrow:{PASSWORD}@{ports}/postgres?sslmode=disable&target_session_attrs=read-write"
        self.version = self.primary.version

    def fail_over(self):
        """The primary is killed with all its processes at once, and the standby promoted."""
        pids = [self.primary.process.process.pid, *children(self.primary.process.process.pid)]
        subprocess.run(["kill", "-9", *map(str, pids)], stderr=subprocess.DEVNULL)
        self.primary.process.ended()
        self.standby.rows("SELECT pg_promote()")

    def rows(self, sql):
        return self.standby.rows(sql)

    def stop(self):
        self.primary.stop()
        self.standby.stop()


def children(parent):
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], stdout=subprocess.PIPE, text=True).stdout
    return [int(pid) for pid in said.split()]


class PgBouncer:
    """In transaction mode: every transaction of a client may run on another connection."""

    def __init__(self, postgres):
        self.postgres, self.port = postgres, free_port()
        place, inside = folder(postgres.root, "pgbouncer")
        (place / "users.txt").write_text(f'"windrow" "{PASSWORD}"\n')
        (place / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={postgres.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\n"
            f"unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {inside}/users.txt\npool_mode = transaction\nmax_client_conn = 1000\n"
            "default_pool_size = 100\nmax_prepared_statements = 500\n"
            "track_extra_parameters = IntervalStyle, search_path\nlogfile =\n")
        self.process = Process("pgbouncer", chroot(postgres.root, "/usr/sbin/pgbouncer", f"{inside}/pgbouncer.ini"), self.port, signal.SIGINT)
        self.process.start()
        said = check(chroot(postgres.root, "/usr/sbin/pgbouncer", "--version"))
        self.version = said.split()[1]

    url = property(lambda self: f"postgres://windrow:{PASSWORD}@127.0.0.1:{self.port}/postgres")

    def stop(self):
        self.process.stop()


SERVERS = ["mysql-server-core", "mysql-client-core", "postgresql-18", "postgresql-client-18", "pgbouncer"]
MARIADB = ["mariadb-server-core", "mariadb-client-core", "galera-4"]
