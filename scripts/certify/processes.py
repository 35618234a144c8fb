"""Processes of servers: started, waited for, killed, started again, and stopped at the end in any case."""

import shutil
import signal
import socket
import subprocess
import time

import fetch

START_S = 120


class Failed(Exception):
    """A case that did not hold, or a server that did not start."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


class Process:
    """A server process with a log, on one port."""

    started = []

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
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            env=self.environment, cwd=self.cwd, start_new_session=True)
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
        self.process.wait()

    def stop(self):
        if not self.alive():
            return
        self.process.send_signal(self.farewell)
        try:
            self.process.wait(10)
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


def check(words, **more):
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"`{' '.join(map(str, words[:6]))} …` exited with {done.returncode}:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    return done.stdout


def stop_all():
    for process in reversed(Process.started):
        process.stop()
