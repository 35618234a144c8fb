#!/usr/bin/env python3
"""`make demo`: runs two examples against the bundled mock model, then suggests what to try next.

The files in examples/ use port 8099. If that port is taken, the demo runs copies with a free port.
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


def copy_examples(url):
    """Copies the examples, so that every demo starts with an empty data directory."""
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
        sys.exit(f"windrow exited with {status}")


def main():
    server, url = start_endpoint()
    try:
        copy_examples(url)
        windrow("run", "capitals/capitals.yaml")
        windrow("run", "support-chat/support-chat.yaml")
        windrow("run", "capitals/capitals.yaml")
        windrow("jobs", "list")
    finally:
        server.terminate()
        server.wait()
    print(f"""
The third command made no calls: it reused every result of the first run.

To continue by hand:

  export PATH="{WINDROW.parent}:$PATH"
  export OPENAI_API_KEY=none-needed
  windrow mock model &                          start the mock model
  cd examples/capitals
  windrow run capitals.yaml                     press Ctrl-C or use kill -9, then run the same command again
  windrow results capitals                      all rows with outcome, scores and cost
  windrow jobs item capitals 23                 one row: attempts, steps, scores
  windrow jobs logs capitals                    events of the job
  windrow --help
""")


if __name__ == "__main__":
    main()
