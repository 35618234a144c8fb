"""A Windrow worker in Python.

    worker = Worker("my-capability")

    @worker.target
    def answer(row, config): ...

    @worker.evaluator("similarity")
    def similarity(output, row, config): ...

    worker.run("http://127.0.0.1:7373")

The server stores all state. The worker records each step before and after it. If any worker has finished the step
before, the server returns the recorded result instead. This process can be killed at any time: the server requeues its
items, and finished steps are not repeated.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

sys.path.insert(0, os.environ.get("WINDROW_STUBS", str(Path(__file__).parent / "stubs")))
from windrow.v1 import worker_pb2 as pb  # noqa: E402
from windrow.v1 import worker_pb2_grpc  # noqa: E402

MAX_MESSAGE = 64 << 20
WAIT_MS = 2_000
#: Error classes for which the item is retried. With any other error of an evaluator the verdict is `error`.
RETRYABLE = {"network", "timeout", "rate_limited", "server"}


class Failure(Exception):
    """A failure with an error class, which the job's retry policy uses."""

    def __init__(self, kind, message, retry_after_ms=None):
        super().__init__(message)
        self.kind, self.retry_after_ms = kind, retry_after_ms


class Stopped(Exception):
    """The run is ending, or the lease of the item has expired."""


class Worker:
    def __init__(self, *capabilities, slots=8):
        self.capabilities, self.slots = capabilities, slots
        self.answer, self.evaluators = None, {}
        self.definitions, self.journals, self.stopping = {}, {}, threading.Event()

    def target(self, function):
        """`function(row, config)` returns a text, or {"content": …, "usage": {"tokens_in": …}}."""
        self.answer = function
        return function

    def evaluator(self, name):
        """`function(output, row, config)` returns a bool, a number, or {"value": …, "pass": …, "reason": …}."""

        def register(function):
            self.evaluators[name] = function
            return function

        return register

    def run(self, server, api_key=None, name=None):
        """Runs until SIGTERM or Ctrl-C, then finishes and reports the running items."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())
        self.server = Server(server, api_key)
        self.register(name or socket.gethostname())
        threading.Thread(target=self.heartbeat, daemon=True).start()
        with ThreadPoolExecutor(self.slots) as pool:
            while not self.stopping.is_set():
                for item in self.lease():
                    journal = Journal(self.server, item)
                    self.journals[item.lease.attempt] = journal
                    pool.submit(self.execute, journal)
        self.server.call("Goodbye", pb.GoodbyeRequest(session=self.session))

    def register(self, name):
        self.name = name
        registered = self.server.call("Register", pb.RegisterRequest(
            name=name, host=socket.gethostname(), pid=os.getpid(), version="python-1",
            capabilities=self.capabilities, places=self.slots))
        self.session, self.heartbeat_s = registered.session, registered.beat_ms / 1000
        print(f"worker {self.session} registered with {self.slots} slots", flush=True)

    def lease(self):
        free = self.slots - len(self.journals)
        if free <= 0:
            time.sleep(0.01)
            return []
        request = pb.LeaseRequest(session=self.session, want=free, wait_ms=WAIT_MS)
        try:
            return self.server.call("Lease", request).items
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            self.register(self.name)  # the server has expired this session
            return []

    def heartbeat(self):
        """Renews the leases, except those of items that exceeded their timeout."""
        while True:
            time.sleep(self.heartbeat_s)
            journals = [journal for journal in list(self.journals.values()) if not journal.is_overdue()]
            request = pb.HeartbeatRequest(session=self.session, leases=[journal.item.lease for journal in journals])
            try:
                statuses = self.server.call("Heartbeat", request).leases
            except grpc.RpcError as error:
                print(f"heartbeat failed: {error.details()}", file=sys.stderr)
                continue
            for journal, lease in zip(journals, statuses):
                journal.stopped = not lease.alive or lease.stop

    def execute(self, journal):
        try:
            self.execute_item(journal)
        except Stopped:
            journal.report(give_back=pb.GiveBack())
        except Exception as error:
            journal.report(failed=as_failure(error))
        finally:
            del self.journals[journal.item.lease.attempt]

    def execute_item(self, journal):
        """Executes one item: calls the target, then each evaluator of the job file."""
        definition, row = self.definition(journal.item.definition), json.loads(journal.item.input_json)
        config = definition["target"]["config"]
        answer = journal.step("target", "", {"row": row, "config": config}, lambda: as_answer(self.answer(row, config)))
        scores = [self.score(journal, evaluator, answer, row) for evaluator in definition["evaluators"]]
        journal.complete(scores, answer.get("latency_ms", 0))

    def score(self, journal, evaluator, answer, row):
        name, config = evaluator["name"], evaluator["config"]
        inputs = {"output": answer["content"], "row": row, "config": config}

        def judge():
            if name not in self.evaluators:
                raise Failure("handler", f"this worker has no evaluator {name!r}")
            return as_finding(self.evaluators[name](answer["content"], row, config)), {}

        try:
            finding = journal.step("evaluator", name, inputs, judge)
        except Failure as failure:
            if failure.kind in RETRYABLE:
                raise
            finding = {"verdict": "error", "value": None, "reason": str(failure)}
        return pb.Score(name=name, verdict=finding["verdict"], value=finding["value"], reason=finding["reason"])

    def definition(self, key):
        if key not in self.definitions:
            answer = self.server.call("GetDefinition", pb.GetDefinitionRequest(definition=key))
            self.definitions[key] = json.loads(answer.definition_json)
        return self.definitions[key]


class Journal:
    """Records the steps of one item under its lease."""

    def __init__(self, server, item):
        self.server, self.item, self.next = server, item, item.next_step
        self.used, self.began, self.stopped = pb.Usage(), time.monotonic(), False

    def is_overdue(self):
        return time.monotonic() - self.began > self.item.timeout_ms / 1000

    def step(self, kind, name, determined_by, make):
        """Returns the recorded output of a step, or calls `make`, which returns an output and its usage."""
        if self.stopped:
            raise Stopped
        no, self.next = self.next, self.next + 1
        intent = pb.StepIntent(kind=kind, name=name, input_json=json.dumps(determined_by))
        begun = self.server.call("BeginStep", pb.BeginStepRequest(lease=self.item.lease, no=no, intent=intent))
        if begun.HasField("recalled"):
            self.add(begun.recalled.usage)
            return json.loads(begun.recalled.output_json)
        if not begun.HasField("go_on"):
            raise Stopped
        try:
            output, usage = make()
        except Exception as error:
            self.report([finish(no, failed=as_failure(error))])
            raise error if isinstance(error, Failure) else Failure("handler", f"{type(error).__name__}: {error}")
        usage = pb.Usage(**usage)
        self.report([finish(no, done=pb.StepDone(output_json=json.dumps(output), usage=usage))])
        self.add(usage)
        return output

    def complete(self, scores, latency_ms):
        self.report(hand_in=pb.HandIn(outcome="succeeded", scores=scores, usage=self.used, latency_ms=latency_ms))

    def report(self, steps=(), **ending):
        report = pb.ItemReport(lease=self.item.lease, steps=steps, **ending)
        receipt = self.server.call("Report", pb.ReportRequest(reports=[report])).receipts[0]
        if receipt == pb.RECEIPT_STALE:
            self.stopped = True

    def add(self, usage):
        self.used.tokens_in += usage.tokens_in
        self.used.tokens_out += usage.tokens_out
        self.used.cost_nanos += usage.cost_nanos


class Server:
    """The connection. Retries while the server is unreachable; every call is idempotent."""

    def __init__(self, url, api_key=None):
        size = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
        scheme, _, address = url.partition("://")
        if scheme == "https":
            channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(), size)
        else:
            channel = grpc.insecure_channel(address, size)
        self.stub = worker_pb2_grpc.WorkerStub(channel)
        self.metadata = [("authorization", f"Bearer {api_key}")] if api_key else []

    def call(self, name, request):
        pause = 0.1
        while True:
            try:
                return getattr(self.stub, name)(request, timeout=40, metadata=self.metadata)
            except grpc.RpcError as error:
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    raise
                time.sleep(pause)
                pause = min(pause * 2, 3)


def finish(no, **result):
    return pb.StepWrite(no=no, finish=pb.StepFinish(result=pb.StepResult(**result)))


def as_answer(returned):
    """Converts the return value of a target into an answer and its usage."""
    answer = {"content": returned} if isinstance(returned, str) else dict(returned)
    return answer, answer.pop("usage", {})


def as_finding(returned):
    """Converts the return value of an evaluator into a verdict, a value and a reason."""
    returned = returned if isinstance(returned, dict) else {"value": float(returned)}
    value = returned.get("value", float(returned.get("pass", False)))
    passed = returned.get("pass", value >= 0.5)
    return {"verdict": "pass" if passed else "fail", "value": value, "reason": returned.get("reason", "")}


def as_failure(error):
    kind = error.kind if isinstance(error, Failure) else "handler"
    return pb.Failure(**{"class": kind}, message=str(error), retry_after_ms=getattr(error, "retry_after_ms", None))
