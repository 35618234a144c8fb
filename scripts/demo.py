#!/usr/bin/env python3
"""`make demo`: runs the examples against the bundled model endpoint, then says what to try.

The files in examples/ name port 8099. Where something else listens there, copies with a free port
are used instead.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WINDROW = TARGET / "debug" / "windrow"
WORK = ROOT / "target" / "demo"


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def start_endpoint():
    port = "8099" if port_is_free(8099) else "0"
    server = subprocess.Popen([WINDROW, "mock-model", "--port", port], stdout=subprocess.PIPE, text=True)
    return server, server.stdout.readline().strip()


def lay_out(url):
    """A fresh copy, so that the demo starts from nothing every time."""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT / "examples", WORK)
    for job in WORK.glob("*/*.yaml"):
        job.write_text(job.read_text().replace("http://127.0.0.1:8099/v1", url))


def windrow(*arguments):
    shown = " ".join(arguments)
    print(f"\n\033[1m$ windrow {shown}\033[0m" if sys.stdout.isatty() else f"\n$ windrow {shown}", flush=True)
    environment = {**os.environ, "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none-needed")}
    environment.pop("WINDROW_DATA", None)
    status = subprocess.run([WINDROW, *arguments], cwd=WORK, env=environment).returncode
    if status != 0:
        sys.exit(f"windrow ended with {status}")


def main():
    server, url = start_endpoint()
    try:
        lay_out(url)
        windrow("run", "capitals/capitals.yaml")
        windrow("run", "support-chat/support-chat.yaml")
        windrow("run", "capitals/capitals.yaml")
        windrow("jobs", "list")
    finally:
        server.terminate()
        server.wait()
    print(f"""
The third command made no call: every result was taken over from the first run.

To go on by hand:

  export PATH="{WINDROW.parent}:$PATH"
  export OPENAI_API_KEY=none-needed
  windrow mock-model &                          the endpoint of the demo
  cd examples/capitals
  windrow run capitals.yaml                     press Ctrl-C, or kill -9 it; then run it again
  windrow jobs items capitals                   every row, its state and its cost
  windrow jobs item capitals 23                 one row: attempts, steps, scores
  windrow jobs logs capitals                    what happened, and who did it
  windrow --help
""")


if __name__ == "__main__":
    main()
