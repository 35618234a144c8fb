"""Downloads the servers once, into target/certify: Debian packages of unstable, unpacked into a folder that `chroot` runs
from, and jars of Maven Central. Nothing of the machine itself is changed."""

import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "certify"
MIRROR = "http://deb.debian.org/debian"
MAVEN = "https://repo1.maven.org/maven2"
# PostgreSQL refuses to run as root.
USER = 65500
# How long all downloads of a run may take together. What is not here by then is missing.
DOWNLOAD_S = 300
# How long a mirror may say nothing.
SILENT_S = 20
# What packages run at, and so do not name among their dependencies.
ESSENTIAL = ["dash", "coreutils", "sed", "grep", "mawk", "hostname"]


class Missing(Exception):
    """A server that cannot be installed here, with the reason."""


class Budget:
    """Measures downloads against the time that they may take."""

    spent, since = 0, None

    def __enter__(self):
        self.since = time.monotonic()

    def __exit__(self, *_):
        self.spent += time.monotonic() - self.since
        self.since = None

    def remaining(self):
        """Seconds that downloads may still take."""
        left = DOWNLOAD_S - self.spent - (time.monotonic() - self.since)
        if left <= 0:
            raise Missing(f"the downloads took longer than {DOWNLOAD_S} s")
        return left


BUDGET = Budget()


def debian(name, packages):
    """A folder with the packages and all they need, to run with `chroot`."""
    root, wanted = HOME / "roots" / name, " ".join(packages)
    marker = root / "windrow-packages"
    if marker.exists() and marker.read_text() == wanted:
        return root
    if os.getuid() != 0 or not all(map(shutil.which, ["apt-get", "dpkg", "chroot"])):
        raise Missing(f"{wanted}: needs root, apt-get, dpkg and chroot")
    new = root.with_suffix(".new")
    for old in [root, new]:
        shutil.rmtree(old, ignore_errors=True)
    with BUDGET:
        skeleton(new)
        for package in download(name, [*packages, *ESSENTIAL]):
            command(["dpkg", "-x", package, new])
    (new / "usr/bin/awk").unlink(missing_ok=True)
    (new / "usr/bin/awk").symlink_to("mawk")
    (new / "windrow-packages").write_text(wanted)
    new.rename(root)
    return root


def skeleton(root):
    for folder in ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "dev", "proc", "tmp", "etc", "run"]:
        (root / folder).mkdir(parents=True)
    for folder in ["bin", "sbin", "lib", "lib64"]:
        (root / folder).symlink_to(f"usr/{folder}")
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text(f"root:x:0:0::/:/bin/sh\nserver:x:{USER}:{USER}::/:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\nserver:x:{USER}:\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    for name, minor in [("null", "3"), ("zero", "5"), ("random", "8"), ("urandom", "9")]:
        command(["mknod", "-m", "666", root / "dev" / name, "c", "1", minor])


def download(name, packages):
    """The paths of the packages, by a configuration of apt of our own in which nothing is installed yet."""
    apt = HOME / "apt"
    archives = apt / "archives" / name
    for folder in [apt / "lists/partial", archives / "partial"]:
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text(f"deb [signed-by={key}] {MIRROR} sid main\n")
    options = {
        "Dir::Etc::SourceList": apt / "sources.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State": apt,
        "Dir::State::Lists": apt / "lists", "Dir::State::status": apt / "status", "Dir::Cache": apt,
        "Dir::Cache::archives": archives, "Acquire::Languages": "none", "Acquire::Retries": "2",
        "Acquire::http::Timeout": SILENT_S, "APT::Update::Error-Mode": "any", "APT::Install-Recommends": "false", "APT::Sandbox::User": "root",
    }
    words = ["apt-get", "-qq", *[word for name, value in options.items() for word in ("-o", f"{name}={value}")]]
    command([*words, "update"])
    # Packages of an earlier list would be unpacked too.
    shutil.rmtree(archives)
    (archives / "partial").mkdir(parents=True)
    command([*words, "install", "-y", "--download-only", *packages])
    return sorted(archives.glob("*.deb"))


def jars():
    """The folder with `kafka/` and `plugins/`."""
    folder = HOME / "jars"
    lines = (ROOT / "scripts/certify/jars.txt").read_text().splitlines()
    wanted = [line.split() for line in lines if not line.startswith("#")]
    with BUDGET, concurrent.futures.ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(one_jar, folder, *jar) for jar in wanted]
        try:
            for jar in concurrent.futures.as_completed(waiting):
                jar.result()
        finally:
            # Where one cannot be had, the others are not asked for.
            pool.shutdown(cancel_futures=True)
    return folder


def one_jar(folder, place, path, digest):
    file = folder / place / path.rsplit("/", 1)[1]
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    content = get(f"{MAVEN}/{path}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise Missing(f"{path}: Maven Central has another file than the one in jars.txt")
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.rename(file)


def get(url):
    for left in [2, 1, 0]:
        try:
            with urllib.request.urlopen(url, timeout=min(SILENT_S, BUDGET.remaining())) as answer:
                return answer.read()
        except (OSError, http.client.HTTPException) as error:
            if left == 0:
                raise Missing(f"{url}: {error}") from error
            time.sleep(1)


def java():
    """A Java of version 17 or later; installs one if there is none."""
    if not shutil.which("java"):
        with BUDGET, contextlib.suppress(Missing):
            command([ROOT / "scripts/need", "java", "openjdk-17-jre-headless"])
    program = shutil.which("java")
    if not program:
        raise Missing("Java 17: `java` is missing and could not be installed")
    said = subprocess.run([program, "-version"], stderr=subprocess.PIPE, text=True).stderr
    major = int(said.split('"')[1].split(".")[0])
    if major < 17:
        raise Missing(f"Java 17: {program} is version {major}")
    return program


def command(words):
    """Runs a command of an installation; it ends with its children when the time of all downloads is over."""
    words = list(map(str, words))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=BUDGET.remaining())
        except BaseException as reason:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(reason, subprocess.TimeoutExpired):
                raise Missing(f"`{words[0]}` took longer than all downloads may take, {DOWNLOAD_S} s") from reason
            raise
    if process.returncode != 0:
        raise Missing(f"`{words[0]}` failed: {said[-1000:].strip()}")
