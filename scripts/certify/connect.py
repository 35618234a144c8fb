"""One Kafka broker (KRaft), two Connect clusters ("east", "west") of one worker each, and Debezium reading a MySQL. The
state of connectors and topics is read by Connect's own API and Kafka's own consumer, never by Windrow."""

import json
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request

import fetch
from processes import Failed, Process, check, free_port, until

# The compiler for hot code costs more on two cores than it gains in a few minutes.
JVM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
       "-Dorg.slf4j.simpleLogger.showDateTime=true"]
FLUSH_S = 1
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
DEBEZIUM = "io.debezium.connector.mysql.MySqlConnector"


class Kafka:
    def __init__(self, place):
        self.place, self.java = place, fetch.java()
        self.jars = fetch.jars()
        self.port, controller = free_port(), free_port()
        settings = {
            "process.roles": "broker,controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "log.dirs": place / "kafka",
            "offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
            "offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1, "group.initial.rebalance.delay.ms": 0,
        }
        file = place / "kafka.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        identity = check([*self.program("64m"), "kafka.tools.StorageTool", "random-uuid"]).split()[-1]
        check([*self.program("128m"), "kafka.tools.StorageTool", "format", "-t", identity, "-c", file])
        self.process = Process("kafka", [*self.program("384m"), "kafka.Kafka", file], self.port)
        self.process.start()
        self.version = next(jar.stem.rsplit("-", 1)[1] for jar in (self.jars / "kafka").glob("kafka-clients-*.jar"))

    def program(self, heap):
        return [self.java, f"-Xmx{heap}", *JVM, "-cp", f"{self.jars}/kafka/*"]

    def topic(self, name):
        """Every message of a topic as (time in ms, value), in order."""
        words = [*self.program("128m"), "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", f"127.0.0.1:{self.port}",
                 "--topic", name, "--from-beginning", "--timeout-ms", "3000", "--property", "print.timestamp=true"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        pairs = [line.split("\t", 1) for line in done.stdout.splitlines() if line.startswith("CreateTime:")]
        return [(int(at.removeprefix("CreateTime:")), value) for at, value in pairs]

    def stop(self):
        self.process.stop()


class Cluster:
    """A Connect cluster of one worker, which can be killed and started again."""

    def __init__(self, name, kafka):
        self.name, self.port = name, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        settings = {
            "bootstrap.servers": f"127.0.0.1:{kafka.port}", "group.id": name, "listeners": self.url,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false",
            "plugin.path": kafka.jars / "plugins", "plugin.discovery": "service_load", "offset.flush.interval.ms": FLUSH_S * 1000,
            "scheduled.rebalance.max.delay.ms": 2000,
        }
        for kind in ["offset", "config", "status"]:
            settings |= {f"{kind}.storage.topic": f"{name}-{kind}", f"{kind}.storage.replication.factor": 1}
            if kind != "config":
                settings[f"{kind}.storage.partitions"] = 1
        file = kafka.place / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        words = [*kafka.program("384m"), "org.apache.kafka.connect.cli.ConnectDistributed", file]
        self.process = Process(f"connect-{name}", words, self.port)

    def ready(self):
        try:
            return self.process.alive() and self.get("/connectors") is not None
        except Failed:
            return False

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Failed(f"{method} {path} on {self.name}: {error.code} {error.read().decode()[:300]}") from error
        except OSError as error:
            raise Failed(f"{method} {path} on {self.name}: {error}") from error

    def get(self, path):
        return self.ask("GET", path)

    def create(self, name, config):
        self.ask("PUT", f"/connectors/{name}/config", config)
        until(f"{name} runs on {self.name}", lambda: self.state(name) == ("RUNNING", ["RUNNING"]))

    def state(self, name):
        """The state of a connector and those of its tasks; None if there is none."""
        status = self.get(f"/connectors/{name}/status")
        return status and (status["connector"]["state"], [task["state"] for task in status["tasks"]])

    def config(self, name):
        return self.get(f"/connectors/{name}/config")

    def offsets(self, name):
        return self.get(f"/connectors/{name}/offsets")["offsets"]

    def stop(self):
        self.process.stop()


class Connect:
    """The whole of it."""

    def __init__(self, mysql):
        self.place = fetch.HOME / "connect"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.mysql, self.kafka = mysql, Kafka(self.place)
        # Rows with numbers below zero belong to no case.
        self.warm_ups = 0
        self.east, self.west = Cluster("east", self.kafka), Cluster("west", self.kafka)
        self.clusters = [self.east, self.west]
        for cluster in self.clusters:
            cluster.process.start(wait=False)
        self.ready()
        debezium = next(jar.stem.rsplit("-", 1)[1] for jar in (self.kafka.jars / "plugins/debezium").glob("debezium-connector-mysql-*.jar"))
        self.version = f"{self.kafka.version}, Debezium {debezium}, MySQL {mysql.version}"

    def ready(self):
        """An earlier case may have killed a worker."""
        for cluster in self.clusters:
            until(f"Connect {cluster.name} is up", cluster.ready, 120, 0.5)
        return self

    def file_source(self, name, **more):
        file = self.place / f"{name}.txt"
        if not file.exists():
            file.write_text("".join(f"{name} {n}\n" for n in range(20)))
        return {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": f"lines-{name}", "name": name, **more}

    def debezium(self, name, number, password="windrow"):
        return {
            "connector.class": DEBEZIUM, "tasks.max": "1", "name": name, "database.hostname": "127.0.0.1",
            "database.port": str(self.mysql.port), "database.user": "cdc", "database.password": password, "database.server.id": str(number),
            "topic.prefix": name, "database.include.list": "shop", "snapshot.mode": "no_data", "include.schema.changes": "false",
            "schema.history.internal.kafka.bootstrap.servers": f"127.0.0.1:{self.kafka.port}",
            "schema.history.internal.kafka.topic": f"history-{name}", "schema.history.internal.store.only.captured.tables.ddl": "true",
            "poll.interval.ms": "100",
        }

    def stream(self, name, number, password="windrow"):
        """A Debezium connector that has begun to read: it runs before it knows where to begin."""
        self.east.create(name, self.debezium(name, number, password))

        def begun():
            self.warm_ups -= 1
            self.mysql.rows(f"INSERT INTO shop.orders VALUES ({self.warm_ups}, 0)")
            return self.kafka.topic(f"{name}.shop.orders")
        until(f"{name} reads MySQL", begun, 60, 0.5)

    def prepare_shop(self):
        """A table, and the user of Debezium."""
        self.mysql.rows("CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.orders (id BIGINT PRIMARY KEY, at BIGINT);"
                        "CREATE USER IF NOT EXISTS cdc@'%' IDENTIFIED BY 'windrow'; GRANT ALL ON *.* TO cdc@'%'")

    def row_events(self, name):
        """(time in ms, id) of every inserted row in the topic of a Debezium connector."""
        events = [(at, json.loads(value)) for at, value in self.kafka.topic(f"{name}.shop.orders")]
        return [(at, event["after"]["id"]) for at, event in events if event and event.get("after") and event["after"]["id"] > 0]

    def stop(self):
        for server in [*self.clusters, self.kafka]:
            server.stop()


class Inserts:
    """Inserts rows into the shop, ten a second, until it is left."""

    def __init__(self, mysql, first):
        self.mysql, self.next, self.over = mysql, first, threading.Event()
        self.first = first

    def __enter__(self):
        self.client = subprocess.Popen(self.mysql.client("shop"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.insert, daemon=True)
        self.thread.start()
        return self

    def insert(self):
        while not self.over.wait(0.1):
            self.client.stdin.write(f"INSERT INTO orders VALUES ({self.next}, {int(time.time() * 1000)});\n")
            self.client.stdin.flush()
            self.next += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.client.stdin.close()
        if self.client.wait() != 0:
            raise Failed(f"an insert failed: {self.client.stderr.read()}")
        self.ids = range(self.first, self.next)
