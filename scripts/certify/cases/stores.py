"""The conformance suite of the store, on servers that `make test` does not have."""

import os
import re
import subprocess

import fetch
from processes import Failed, finish

from . import case

# On two cores the suites take two minutes; a busy machine needs longer.
SUITE_S = 500


def conformance(pattern, **urls):
    services = fetch.ROOT / "target/services/urls"
    known = dict(line.split("=", 1) for line in services.read_text().splitlines()) if services.exists() else {}
    command = ["cargo", "nextest", "run", "--workspace", "--locked", "--test", "store", "--no-fail-fast",
               "--status-level", "fail", "-E", pattern]
    done = finish(command, SUITE_S, cwd=fetch.ROOT, env={**os.environ, **known, **urls}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    summary = re.search(r"(\d+) tests? run: (\d+) passed", done.stdout)
    if done.returncode != 0 or not summary:
        raise Failed(done.stdout[-6000:])
    return f"{summary[2]} of {summary[1]} cases"


@case("mysql")
def store_conformance_on_mysql(servers):
    """The store's conformance suite on MySQL 9.7."""
    return conformance("test(/mariadb/) and not test(/redis/)", WINDROW_TEST_MARIADB=servers.mysql.url)


@case("pgbouncer")
def store_conformance_through_pgbouncer(servers):
    """The store's conformance suite through PgBouncer in transaction mode."""
    return conformance("test(/postgres/)", WINDROW_TEST_POSTGRES=servers.pgbouncer.url)
