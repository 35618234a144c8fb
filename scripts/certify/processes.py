"""Processes of servers: started, waited for, killed, started again, and stopped at the end in any case."""

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import fetch

START_S = 120


class Failed(Exception):
    """A case that did not hold, or a server that did not start."""


class OutOfTime(BaseException):
    """The time of the whole run is over. No condition that is waited for may take this for its own failure."""


def free_port(taken=set()):
    """A port below those that the system gives to outgoing connections, so that a server which is killed gets it again."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in taken:
                taken.add(port)
                return port


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(what, condition, seconds=60, every=0.2):
    """Waits for a condition and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(every)


GUARD = """import os, signal, sys
groups = set()
for line in sys.stdin:
    sign, group = line.split()
    (groups.add if sign == "+" else groups.discard)(int(group))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Guard:
    """A process that outlives this one, however that ends, and then kills what was started. Its input ends with us."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", GUARD], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                        start_new_session=True)

    def tell(self, sign, process):
        self.process.stdin.write(f"{sign} {process.pid}\n")
        self.process.stdin.flush()


def spawn(words, **more):
    """A process in a group of its own that ends with this one."""
    if not Process.guard:
        Process.guard = Guard()
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, start_new_session=True, **more)
    Process.guard.tell("+", process)
    return process


class Process:
    """A server process with a log, on one port."""

    started, guard = [], None

    def __init__(self, name, words, port, farewell=signal.SIGTERM, environment=None, cwd=None):
        self.name, self.words, self.port, self.farewell = name, list(map(str, words)), port, farewell
        self.environment, self.cwd = environment, cwd
        folder = fetch.HOME / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{name}.log"
        self.log.unlink(missing_ok=True)
        self.process = None

    def start(self, wait=True):
        with open(self.log, "a") as output:
            self.process = spawn(self.words, stdout=output, stderr=output, env=self.environment, cwd=self.cwd)
        Process.started.append(self)
        if wait:
            self.wait()
        return self

    def wait(self):
        deadline = time.monotonic() + START_S
        while not answers(self.port):
            if not self.alive() or time.monotonic() > deadline:
                raise Failed(f"{self.name} did not start; its log ends:\n{self.tail()}")
            time.sleep(0.1)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def tail(self):
        return self.log.read_text(errors="replace")[-2000:]

    def kill(self):
        """SIGKILL."""
        self.process.kill()
        self.ended()

    def ended(self):
        self.process.wait()
        Process.guard.tell("-", self.process)

    def stop(self):
        if not self.alive():
            return
        self.process.send_signal(self.farewell)
        try:
            self.process.wait(10)
            self.ended()
        except subprocess.TimeoutExpired:
            self.kill()


def chroot(root, *words):
    return ["chroot", f"--userspec={fetch.USER}:{fetch.USER}", str(root), *map(str, words)]


def folder(root, name):
    """An empty folder inside the root, and its path as the server sees it."""
    place = root / "run" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.chown(place, fetch.USER, fetch.USER)
    return place, f"/run/{name}"


def finish(words, seconds, **more):
    """Runs a command to its end."""
    words = list(map(str, words))
    try:
        return subprocess.run(words, timeout=seconds, text=True, **more)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"`{' '.join(words[:6])} …` did not end within {seconds} s; it said:\n{(late.stdout or b'').decode(errors='replace')[-1500:]}") from late


def check(words, **more):
    done = finish(words, 120, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    if done.returncode != 0:
        raise Failed(f"`{' '.join(map(str, words[:6]))} …` exited with {done.returncode}:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    return done.stdout


def stop_all():
    for process in reversed(Process.started):
        process.stop()
