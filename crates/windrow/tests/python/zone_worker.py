"""A worker that supplies a type of target (B9): zones, which are files in a folder. Uses only the protocol.

    python zone_worker.py HOST:PORT FOLDER
"""

import json
import os
import sys

import grpc

sys.path.insert(0, os.environ["WINDROW_STUBS"])
from windrow.v1 import worker_pb2 as pb, worker_pb2_grpc  # noqa: E402

worker = worker_pb2_grpc.WorkerStub(grpc.insecure_channel(sys.argv[1]))
folder = sys.argv[2]


def look(zone):
    with open(os.path.join(folder, zone)) as file:
        return file.read()


def change(zone, value):
    with open(os.path.join(folder, zone), "w") as file:
        file.write(value)


class Attempt:
    def __init__(self, item):
        self.item, self.no, self.writes = item, item.next_step, []

    def intent(self, kind, name):
        # Looks and calls are made again by every attempt, so no earlier one is reused.
        mine = json.dumps([self.item.lease.attempt, self.item.lease.fence, self.no])
        return pb.StepIntent(kind=kind, name=name, input_json="{}", determined_by_json=mine)

    def record(self, kind, output):
        """A look, recorded before whatever comes next."""
        done = pb.StepResult(done=pb.StepDone(output_json=json.dumps(output)))
        self.writes.append(pb.StepWrite(no=self.no, whole=pb.StepWhole(intent=self.intent(kind, ""), result=done)))
        self.no += 1

    def call(self, kind, name, make):
        """The intent is stored before the call is made."""
        self.report()
        begun = worker.BeginStep(pb.BeginStepRequest(lease=self.item.lease, no=self.no, intent=self.intent(kind, name)))
        assert begun.HasField("go_on"), begun
        make()
        done = pb.StepResult(done=pb.StepDone(output_json="null"))
        self.writes.append(pb.StepWrite(no=self.no, finish=pb.StepFinish(result=done)))
        self.no += 1

    def report(self, **ending):
        report = pb.ItemReport(lease=self.item.lease, steps=self.writes, **ending)
        receipt = worker.Report(pb.ReportRequest(reports=[report])).receipts[0]
        assert receipt in (pb.RECEIPT_ACCEPTED, pb.RECEIPT_REPEATED), receipt
        self.writes = []

    def end(self, outcome):
        self.report(hand_in=pb.HandIn(outcome=outcome))


def last_change(item):
    """What the last capture of this definition says, unless it was restored."""
    found = None
    for step in worker.GetHistory(pb.GetHistoryRequest(lease=item.lease)).steps:
        output = json.loads(step.output_json or "null")
        if step.kind == "capture" and output["definition"] == item.definition:
            found = {"before": output["before"], "touched": False, "reached": False}
        elif step.kind == "apply" and found:
            found["touched"] = True
        elif step.kind == "verify" and found:
            found["reached"] = True
        elif step.kind == "restore":
            found = None
    return found if found and found["touched"] else None


def execute(item):
    zone = json.loads(item.input_json)["name"]
    config = json.loads(worker.GetDefinition(pb.GetDefinitionRequest(definition=item.definition)).definition_json)
    value = config["action"]["config"]["value"]
    attempt, change_made = Attempt(item), last_change(item)
    if item.mode == "rollback":
        if change_made is None:
            return attempt.end("skipped")
        attempt.call("undo", "write", lambda: change(zone, change_made["before"]))
        attempt.record("restore", look(zone))
        return attempt.end("succeeded")
    before = look(zone)
    unfinished = change_made and not change_made["reached"]
    if before == value and not unfinished:
        return attempt.end("skipped")
    before = change_made["before"] if unfinished else before
    attempt.record("capture", {"before": before, "after": value, "definition": item.definition})
    attempt.call("apply", "write", lambda: change(zone, value))
    attempt.record("verify", look(zone))
    attempt.end("succeeded")


session = worker.Register(
    pb.RegisterRequest(name="operator", host="here", pid=os.getpid(), version="1", capabilities=["dns"], places=2)
).session
print("registered", flush=True)
while True:
    for item in worker.Lease(pb.LeaseRequest(session=session, want=2, wait_ms=1000)).items:
        execute(item)
