# The menu. Each entry does its own set-up on a machine with Rust, git, make and Python 3.
# Tests need PostgreSQL, MariaDB and Redis, which scripts/services installs and starts.

SEEDS ?= 5000

.DEFAULT_GOAL := menu
.PHONY: menu demo demo-ops demo-ingest test check docs ui sim torture torture-ingest bench bench-ops bench-ingest bench-queues bench-aged bench-serve nextest python-env promtool chromium

menu:
	@echo "make demo          evaluate a small dataset end to end, against a model endpoint on this machine"
	@echo "make demo-ops      change 200 connectors in waves, kill it half way, go on, take it back"
	@echo "make demo-ingest   pull 50,000 records from an API, kill it twice, go on at the page"
	@echo "make test          all tests: unit, conformance, simulation, command line, torture"
	@echo "make check         formatting, lints, generated docs and the built web UI up to date"
	@echo "make docs          write the generated docs"
	@echo "make ui            build the web UI into ui/dist, which is committed; needs Node"
	@echo "make sim SEEDS=n   n seeds of the engine's simulation (now $(SEEDS))"
	@echo "make torture       three nodes under 100 faults each on PostgreSQL and MariaDB; needs root, 10 minutes"
	@echo "make bench-queues  the walk on PostgreSQL and MariaDB beside graphile-worker and BullMQ"
	@echo "make bench-aged    claims and archiving with 10,000 and with 10,000,000 finished items; half an hour, 20 GB"
	@echo "make bench-serve   the server under readers that hardly read, and under 10,000 requests a second"
	@echo "make bench-ops     bulk operations per second over a local service"
	@echo "make bench-ingest  records per second and memory against dlt (PyPI) on the same source; writes docs/benchmarks.md"
	@echo "make torture-ingest  a million records, killed 20 times on the way, into every database"
	@echo "make bench         throughput, memory, restart; writes docs/benchmarks.md and target/bench.json"

demo:
	cargo build --locked -p windrow
	python3 scripts/demo.py

demo-ops:
	cargo build --locked -p windrow
	python3 scripts/demo_ops.py

demo-ingest:
	cargo build --locked -p windrow
	python3 scripts/demo_ingest.py

test: nextest python-env promtool chromium
	@scripts/services run cargo nextest run --workspace --locked

check: nextest
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo nextest run --workspace --locked -E "test(is_fresh)"
	scripts/ui check

docs: nextest
	WINDROW_WRITE_DOCS=1 cargo nextest run --workspace --locked -E "test(is_fresh)"

ui:
	scripts/ui build

sim: nextest
	WINDROW_SIM_SEEDS=$(SEEDS) cargo nextest run --locked --release -p windrow-engine --test sim --no-capture

bench:
	cargo bench --locked -p windrow --bench walk

bench-ops:
	cargo bench --locked -p windrow --bench walk -- operation_http

bench-ingest:
	cargo build --locked --release -p windrow
	python3 benches/ingest/compare.py

torture-ingest: nextest
	WINDROW_INGEST_RECORDS=1000000 scripts/services run cargo nextest run --locked -p windrow --no-capture -E "test(killed_at_random_moments)"

torture:
	cargo build --locked -p windrow
	scripts/torture_nodes.py --store postgres
	scripts/torture_nodes.py --store mariadb

bench-queues:
	scripts/services run benches/queues/run.py

bench-aged:
	scripts/services run benches/queues/aged.py

bench-serve:
	cargo bench --locked -p windrow --bench serve

nextest:
	@cargo nextest --version >/dev/null 2>&1 || cargo install --locked cargo-nextest

python-env:
	@scripts/python-env

promtool:
	@scripts/promtool

chromium:
	@scripts/need chromium chromium
