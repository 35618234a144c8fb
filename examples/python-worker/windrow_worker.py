"""A Windrow worker in Python.

    worker = Worker("my-capability")

    @worker.target
    def answer(row, config): ...

    @worker.evaluator("similarity")
    def similarity(output, row, config): ...

    worker.run("http://127.0.0.1:7373")

The server keeps the books. A step is announced before it is made and recorded after it; a step that was
made before, by whichever worker, is answered with its result instead. So this process may be killed
anywhere: its items go to others, and nothing that was finished is done again.
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
#: Errors of an evaluator that are worth another try of the item; all others are the verdict `error`.
PASSING = {"network", "timeout", "rate_limited", "server"}


class Failure(Exception):
    """Says how something failed, so that the job's retry policy can decide."""

    def __init__(self, kind, message, retry_after_ms=None):
        super().__init__(message)
        self.kind, self.retry_after_ms = kind, retry_after_ms


class Stopped(Exception):
    """The run is ending, or the item is somebody else's."""


class Worker:
    def __init__(self, *capabilities, places=8):
        self.capabilities, self.places = capabilities, places
        self.answer, self.judges = None, {}
        self.definitions, self.books, self.stopping = {}, {}, threading.Event()

    def target(self, function):
        """`function(row, config)` returns a text, or {"content": …, "usage": {"tokens_in": …}}."""
        self.answer = function
        return function

    def evaluator(self, name):
        """`function(output, row, config)` returns a bool, a number, or {"value": …, "pass": …, "reason": …}."""

        def register(function):
            self.judges[name] = function
            return function

        return register

    def run(self, server, api_key=None, name=None):
        """Works until SIGTERM or Ctrl-C; what runs then is finished and handed in."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())
        self.server = Server(server, api_key)
        self.register(name or socket.gethostname())
        threading.Thread(target=self.beat, daemon=True).start()
        with ThreadPoolExecutor(self.places) as pool:
            while not self.stopping.is_set():
                for item in self.lease():
                    book = Book(self.server, item)
                    self.books[item.lease.attempt] = book
                    pool.submit(self.work, book)
        self.server.call("Goodbye", pb.GoodbyeRequest(session=self.session))

    def register(self, name):
        self.name = name
        registered = self.server.call("Register", pb.RegisterRequest(
            name=name, host=socket.gethostname(), pid=os.getpid(), version="python-1",
            capabilities=self.capabilities, places=self.places))
        self.session, self.beat_s = registered.session, registered.beat_ms / 1000
        print(f"{self.session} works: {self.places} item(s) at a time", flush=True)

    def lease(self):
        free = self.places - len(self.books)
        if free <= 0:
            time.sleep(0.01)
            return []
        request = pb.LeaseRequest(session=self.session, want=free, wait_ms=WAIT_MS)
        try:
            return self.server.call("Lease", request).items
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            self.register(self.name)  # the server had given this session up
            return []

    def beat(self):
        """Leases live as long as this goes on. One that takes longer than its job allows is let go."""
        while True:
            time.sleep(self.beat_s)
            books = [book for book in list(self.books.values()) if not book.is_overdue()]
            request = pb.HeartbeatRequest(session=self.session, leases=[book.item.lease for book in books])
            try:
                standing = self.server.call("Heartbeat", request).leases
            except grpc.RpcError as error:
                print(f"no heartbeat: {error.details()}", file=sys.stderr)
                continue
            for book, lease in zip(books, standing):
                book.stopped = not lease.alive or lease.stop

    def work(self, book):
        try:
            self.do(book)
        except Stopped:
            book.report(give_back=pb.GiveBack())
        except Exception as error:
            book.report(failed=as_failure(error))
        finally:
            del self.books[book.item.lease.attempt]

    def do(self, book):
        """One row: the target answers, then each evaluator of the job file judges."""
        definition, row = self.definition(book.item.definition), json.loads(book.item.input_json)
        config = definition["target"]["config"]
        answer = book.step("target", "", {"row": row, "config": config}, lambda: answered(self.answer(row, config)))
        scores = [self.score(book, evaluator, answer, row) for evaluator in definition["evaluators"]]
        book.hand_in(scores, answer.get("latency_ms", 0))

    def score(self, book, evaluator, answer, row):
        name, config = evaluator["name"], evaluator["config"]
        seen = {"output": answer["content"], "row": row, "config": config}

        def judge():
            if name not in self.judges:
                raise Failure("handler", f"this worker has no evaluator {name!r}")
            return found(self.judges[name](answer["content"], row, config)), {}

        try:
            finding = book.step("evaluator", name, seen, judge)
        except Failure as failure:
            if failure.kind in PASSING:
                raise
            finding = {"verdict": "error", "value": None, "reason": str(failure)}
        return pb.Score(name=name, verdict=finding["verdict"], value=finding["value"], reason=finding["reason"])

    def definition(self, key):
        if key not in self.definitions:
            answer = self.server.call("GetDefinition", pb.GetDefinitionRequest(definition=key))
            self.definitions[key] = json.loads(answer.definition_json)
        return self.definitions[key]


class Book:
    """The records of one item. Every entry carries the item's lease."""

    def __init__(self, server, item):
        self.server, self.item, self.next = server, item, item.next_step
        self.used, self.began, self.stopped = pb.Usage(), time.monotonic(), False

    def is_overdue(self):
        return time.monotonic() - self.began > self.item.timeout_ms / 1000

    def step(self, kind, name, determined_by, make):
        """Makes a step, unless it was made before. `make` returns its output and what it used up."""
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

    def hand_in(self, scores, latency_ms):
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
    """The connection. A server that is away is waited for; every call may be repeated without harm."""

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


def answered(said):
    """What a target returned, in the shape that all targets' answers have."""
    answer = {"content": said} if isinstance(said, str) else dict(said)
    return answer, answer.pop("usage", {})


def found(said):
    """What an evaluator returned, as a verdict with a value and a reason."""
    said = said if isinstance(said, dict) else {"value": float(said)}
    value = said.get("value", float(said.get("pass", False)))
    passed = said.get("pass", value >= 0.5)
    return {"verdict": "pass" if passed else "fail", "value": value, "reason": said.get("reason", "")}


def as_failure(error):
    kind = error.kind if isinstance(error, Failure) else "handler"
    return pb.Failure(**{"class": kind}, message=str(error), retry_after_ms=getattr(error, "retry_after_ms", None))
