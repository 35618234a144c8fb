#!/usr/bin/env python3
"""`make demo-ops`: changes 200 connectors of the bundled mock Kafka Connect in waves while calls fail, kills the process,
resumes, and rolls everything back."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WINDROW = TARGET / "debug" / "windrow"
WORK = ROOT / "target" / "demo-ops"
FAULTS = "409:2%,after:2%,timeout:1%"


def windrow(*arguments):
    print(f"\n$ windrow {' '.join(arguments)}", flush=True)
    status = subprocess.run([WINDROW, *arguments], cwd=WORK).returncode
    if status != 0:
        sys.exit(f"windrow exited with {status}")


def calls(origin):
    with urllib.request.urlopen(f"{origin}/_calls") as answer:
        return json.load(answer).get("config", 0)


def main():
    os.environ.pop("WINDROW_DATA", None)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    command = [WINDROW, "mock-connect", "--port", "0", "--connectors", "200", "--faults", FAULTS, "--hang", "1s"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        origin = server.stdout.readline().strip().removesuffix("/east")
        job = (ROOT / "examples" / "bulk-config" / "bulk-config.yaml").read_text()
        (WORK / "bulk-config.yaml").write_text(job.replace("http://127.0.0.1:8083", origin))
        windrow("plan", "bulk-config.yaml", "--limit", "3")
        print("\n$ windrow run bulk-config.yaml     (killed with SIGKILL)", flush=True)
        run = subprocess.Popen([WINDROW, "run", "bulk-config.yaml"], cwd=WORK)
        while calls(origin) < 100 and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        run.wait()
        windrow("run", "bulk-config.yaml")
        print(f"\n200 connectors, {calls(origin)} changes made", flush=True)
        windrow("jobs", "rollback", "bulk-config")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
