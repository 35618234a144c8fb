"""Downloads the servers once, into target/certify: Debian packages of unstable, unpacked into a folder that `chroot` runs
from, and jars of Maven Central. Nothing of the machine itself is changed."""

import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "certify"
MIRROR = "http://deb.debian.org/debian"
MAVEN = "https://repo1.maven.org/maven2"
# PostgreSQL refuses to run as root.
USER = 65500
# What packages run at, and so do not name among their dependencies.
ESSENTIAL = ["dash", "coreutils", "sed", "grep", "mawk", "hostname"]


class Missing(Exception):
    """A server that cannot be installed here, with the reason."""


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
        "Dir::Cache::archives": archives, "Acquire::Languages": "none", "Acquire::Retries": "3",
        "APT::Install-Recommends": "false", "APT::Sandbox::User": "root",
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
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda jar: one_jar(folder, *jar), wanted))
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
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read()
        except OSError as error:
            if left == 0:
                raise Missing(f"{url}: {error}") from error
            time.sleep(1)


def java():
    """A Java of version 17 or later; installs one if there is none."""
    if not shutil.which("java"):
        with contextlib.suppress(OSError):
            subprocess.run([ROOT / "scripts/need", "java", "openjdk-17-jre-headless"])
    program = shutil.which("java")
    if not program:
        raise Missing("Java 17: `java` is missing and could not be installed")
    said = subprocess.run([program, "-version"], stderr=subprocess.PIPE, text=True).stderr
    major = int(said.split('"')[1].split(".")[0])
    if major < 17:
        raise Missing(f"Java 17: {program} is version {major}")
    return program


def command(words):
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Missing(f"`{' '.join(map(str, words[:1]))}` failed: {done.stdout[-1000:].strip()}")
