"""A plain client of the protocol: asserts every response, and prints what it has tested."""

import json
import os
import sys
import time

import grpc

sys.path.insert(0, os.environ["WINDROW_STUBS"])
from windrow.v1 import scheduler_pb2, scheduler_pb2_grpc, worker_pb2 as pb, worker_pb2_grpc  # noqa: E402

channel = grpc.insecure_channel(sys.argv[1])
worker = worker_pb2_grpc.WorkerStub(channel)
scheduler = scheduler_pb2_grpc.SchedulerStub(channel)


def health():
    check = channel.unary_unary("/grpc.health.v1.Health/Check", lambda raw: raw, lambda raw: raw)
    assert check(b"", timeout=10) == b"\x08\x01", "SERVING"


def trigger():
    found = scheduler.TriggerEvent(scheduler_pb2.TriggerEventRequest(kind="test", job="python-worker"), timeout=10)
    [run] = found.runs
    assert (run.job, run.workspace) == ("python-worker", "default"), run
    everything = scheduler.TriggerEvent(scheduler_pb2.TriggerEventRequest(), timeout=10)
    assert [found.run for found in everything.runs] == [run.run]
    named = scheduler.TriggerEvent(scheduler_pb2.TriggerEventRequest(run=run.run), timeout=10)
    assert named.runs[0].run == run.run
    refused(grpc.StatusCode.NOT_FOUND, scheduler.TriggerEvent, scheduler_pb2.TriggerEventRequest(job="nobody"))


def create_batch():
    """B14: the event brings its batch, as the request or as the job file, or names one."""
    request, created = scheduler_pb2.TriggerEventRequest, scheduler_pb2.EVENT_TYPE_CREATE_BATCH
    trigger = scheduler.TriggerEvent
    batch = {
        "batch_name": "stop-two", "batch_type": "cdc_job_stop", "targets": ["a", {"target_name": "b", "target_id": "7"}],
        "params": {"url": "http://127.0.0.1:9"}, "cmdb_service": "cdc", "env": "live", "region": "eu", "az": "az1",
        "extra_info": {"ticket": "OPS-7"},
    }
    event = request(event_type=created, req_data=json.dumps(batch).encode())
    once = (("idempotency-key", "one"),)
    [run] = trigger(event, metadata=once, timeout=10).runs
    assert (run.job, run.queued + run.running + run.settled) in [("stop-two", 0), ("stop-two", 2)] and run.batch_id, run
    [again] = trigger(event, metadata=once, timeout=10).runs
    assert again.run == run.run, "a repeated event creates nothing"
    [named] = trigger(request(event_type=created, batch_id=run.batch_id), timeout=10).runs
    assert (named.run, named.batch_id) == (run.run, run.batch_id)
    file = "{kind: operation, name: file, targets: [a], action: {command: {apply: {run: ['true']}}}}"
    [other] = trigger(request(event_type=created, job_data=file.encode()), timeout=10).runs
    assert other.job == "file" and other.batch_id != run.batch_id
    invalid = [
        request(event_type=created),
        request(event_type=9),
        request(req_data=b"{}"),
        request(event_type=created, req_data=b"{}"),
        request(event_type=created, req_data=b"{}", job_data=b"a"),
        request(event_type=created, job_data=file.encode(), batch_id=1),
        request(job="a", run="b"),
    ]
    for event in invalid:
        refused(grpc.StatusCode.INVALID_ARGUMENT, trigger, event)
    refused(grpc.StatusCode.NOT_FOUND, trigger, request(event_type=created, batch_id=1))


def registered():
    request = pb.RegisterRequest(name="plain", host="here", pid=1, version="1", capabilities=["python-example"], places=9)
    return worker.Register(request, timeout=10).session


def lease(session, want=1):
    while True:
        items = worker.Lease(pb.LeaseRequest(session=session, want=want, wait_ms=5000), timeout=10).items
        if items:
            return items


def begin(item, no=0):
    intent = pb.StepIntent(kind="target", input_json=json.dumps({"item": item.item}))
    return worker.BeginStep(pb.BeginStepRequest(lease=item.lease, no=no, intent=intent), timeout=10)


def report(item, steps=(), **ending):
    request = pb.ReportRequest(reports=[pb.ItemReport(lease=item.lease, steps=steps, **ending)])
    return worker.Report(request, timeout=10).receipts[0]


def done(no, output):
    result = pb.StepResult(done=pb.StepDone(output_json=json.dumps(output), usage=pb.Usage(tokens_in=7)))
    return pb.StepWrite(no=no, finish=pb.StepFinish(result=result))


def again(session, item):
    """Leases the same item again, under another lease."""
    while True:
        found = [other for other in lease(session, 50) if other.item == item.item]
        if found:
            return found[0]


def fence():
    """A worker without heartbeats loses its item, and its later reports change nothing."""
    session = registered()
    [item] = lease(session)
    assert begin(item).HasField("go_on")
    assert report(item, [done(0, {"content": "Paris"})]) == pb.RECEIPT_ACCEPTED
    assert report(item, [done(0, {"content": "Paris"})]) == pb.RECEIPT_ACCEPTED, "a lost answer may be asked for again"
    while begin(item, 1).HasField("go_on"):
        time.sleep(0.05)
    successor = again(session, item)
    assert (successor.lease.attempt, successor.lease.fence) != (item.lease.attempt, item.lease.fence)
    assert begin(item, 2).refused == pb.RECEIPT_STALE
    assert report(item, hand_in=pb.HandIn(outcome="succeeded")) == pb.RECEIPT_STALE
    beat = worker.Heartbeat(pb.HeartbeatRequest(session=session, leases=[item.lease, successor.lease]), timeout=10)
    assert [standing.alive for standing in beat.leases] == [False, True]
    return session, successor


def reuse(session, item):
    """The second worker gets the result that the first one recorded."""
    begun = begin(item, item.next_step)
    assert json.loads(begun.recalled.output_json) == {"content": "Paris"}, begun
    assert begun.recalled.usage.tokens_in == 7
    score = pb.Score(name="similarity", verdict="pass", value=1.0)
    assert report(item, hand_in=pb.HandIn(outcome="succeeded", scores=[score])) == pb.RECEIPT_ACCEPTED
    assert report(item, hand_in=pb.HandIn(outcome="succeeded", scores=[score])) == pb.RECEIPT_REPEATED


def policy(session):
    """The run's retry policy decides: transient failures are retried, others are final."""
    [item] = lease(session)
    assert report(item, failed=pb.Failure(**{"class": "network"}, message="no route")) == pb.RECEIPT_ACCEPTED
    tried_again = again(session, item)
    assert tried_again.retries == 1 and tried_again.lease.attempt != item.lease.attempt
    auth = pb.Failure(**{"class": "invalid_request"}, message="never")
    assert report(tried_again, failed=auth) == pb.RECEIPT_ACCEPTED


def refusals(session):
    [item] = lease(session)
    unknown = pb.Score(name="beauty", verdict="pass", value=1.0)
    refused(grpc.StatusCode.INVALID_ARGUMENT, report, item, hand_in=pb.HandIn(outcome="succeeded", scores=[unknown]))
    refused(grpc.StatusCode.INVALID_ARGUMENT, report, item, hand_in=pb.HandIn(outcome="splendid"))
    refused(grpc.StatusCode.INVALID_ARGUMENT, worker.Register, pb.RegisterRequest(name="none"))
    refused(grpc.StatusCode.NOT_FOUND, worker.Lease, pb.LeaseRequest(session="ses_0ahxb8y7mm6fe", want=1))
    missing = channel.unary_unary("/windrow.v1.Nobody/Dance", lambda raw: raw, lambda raw: raw)
    refused(grpc.StatusCode.UNIMPLEMENTED, missing, b"")
    worker.Goodbye(pb.GoodbyeRequest(session=session), timeout=10)
    refused(grpc.StatusCode.NOT_FOUND, worker.Lease, pb.LeaseRequest(session=session, want=1))


def refused(code, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except grpc.RpcError as error:
        assert error.code() == code and error.details(), error
    else:
        raise AssertionError(f"not refused with {code}")


health()
trigger()
session, item = fence()
reuse(session, item)
policy(session)
refusals(session)
create_batch()
print("health trigger fence reuse policy refusals create_batch")
