# Run `make` for a list of targets. Each target installs what it needs; you need Rust, git, make and Python 3.
# Tests need PostgreSQL, MariaDB, Redis and ClickHouse, which scripts/services installs and starts.

SEEDS ?= 5000

.DEFAULT_GOAL := menu
.PHONY: certify certify-build soak menu demo demo-ops demo-ingest test check docs ui sim torture torture-ingest bench bench-ops bench-ingest bench-queues bench-aged bench-serve bench-closing bench-analytics bench-analytics-live torture-analytics quick nextest python-env promtool chromium axe ui-dev screenshots bench-ui

menu:
	@echo "make demo          run two evaluations against a bundled mock model; no API key needed"
	@echo "make demo-ops      change 200 connectors in waves, kill the process, resume, roll back"
	@echo "make demo-ingest   pull 50,000 records from an API, kill the process twice, resume at the page"
	@echo "make test          run all tests: unit, conformance, simulation, command line, torture"
	@echo "make quick         the tests that need no server, root, browser or network; under two minutes once built"
	@echo "make check         check formatting, lints, dependencies (licences, advisories), generated docs and the built web UI"
	@echo "make docs          write the generated docs"
	@echo "make ui            build the web UI into ui/dist (committed); needs Node"
	@echo "make ui-dev        start a server with generated data, and the web UI with live reload"
	@echo "make screenshots   take the screenshots of docs/ui.md"
	@echo "make sim SEEDS=n   simulate the engine with n seeds (default $(SEEDS))"
	@echo "make torture       run three nodes under 100 faults on PostgreSQL and on MariaDB; needs root, 10 minutes"
	@echo "make certify       run against real Kafka Connect with Debezium, MySQL 9.7, MariaDB 11.8 with Galera, PostgreSQL 18; needs root"
	@echo "make soak          run mixed work for an hour (SOAK_MINUTES) with a kill every minute; writes docs/benchmarks.md"
	@echo "make bench-queues  compare throughput on 1, 2 and 4 nodes with graphile-worker and BullMQ, without and with durable commits"
	@echo "make bench-aged    measure claims and archiving with 10,000 and with 10,000,000 finished items; 30 minutes, 20 GB"
	@echo "make bench-serve   measure the server with slow readers and with 10,000 requests per second"
	@echo "make bench-closing close a run of five million rows while another run goes on"
	@echo "make bench-ui      measure the results of an experiment in Chromium at 10k and 100k rows; writes docs/benchmarks.md"
	@echo "make bench-analytics  ask ClickHouse and SQLite the same questions over 10 million cells; writes docs/benchmarks.md"
	@echo "make bench-analytics-live  measure how far ClickHouse is behind runs, and their rate while it is killed 20 times"
	@echo "make bench-ops     measure bulk operations per second against a local service"
	@echo "make bench-ingest  compare records per second and memory with dlt (PyPI) on the same source; writes docs/benchmarks.md"
	@echo "make torture-ingest  ingest a million records into every database and kill the process 20 times"
	@echo "make torture-analytics  kill ClickHouse and its relay 20 times each during a run, and compare every row"
	@echo "make bench         measure throughput, memory and restart; writes docs/benchmarks.md and target/bench.json"

demo:
	cargo build --locked -p windrow
	python3 scripts/demo.py

demo-ops:
	cargo build --locked -p windrow
	python3 scripts/demo_ops.py

demo-ingest:
	cargo build --locked -p windrow
	python3 scripts/demo_ingest.py

soak:
	cargo build --locked --release -p windrow
	python3 scripts/soak.py

test: nextest python-env promtool chromium axe
	@scripts/services run cargo nextest run --workspace --locked

quick: nextest
	@cargo nextest run --workspace --locked --profile quick

check: nextest
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo nextest run --workspace --locked -E "test(is_fresh)"
	scripts/deny
	scripts/prices --check
	scripts/ui check

docs: nextest
	WINDROW_WRITE_DOCS=1 cargo nextest run --workspace --locked -E "test(is_fresh)"

ui:
	scripts/ui build

ui-dev:
	cargo build --locked -p windrow
	scripts/ui install
	python3 scripts/ui_dev.py

screenshots: chromium
	cargo build --locked -p windrow
	node scripts/screenshots.mjs

sim: nextest
	WINDROW_SIM_SEEDS=$(SEEDS) cargo nextest run --locked --release -p windrow-engine --test sim --no-capture

bench:
	cargo bench --locked -p windrow --bench walk

bench-ops:
	cargo bench --locked -p windrow --bench walk -- operation_http operation_http_100k

bench-ingest:
	cargo build --locked --release -p windrow
	python3 benches/ingest/compare.py

torture-ingest: nextest
	WINDROW_INGEST_RECORDS=1000000 scripts/services run cargo nextest run --locked -p windrow --no-capture -E "test(killed_at_random_moments)"

bench-closing: nextest
	WINDROW_CLOSING_ROWS=5000000 WINDROW_CLOSING_MS=200 cargo nextest run --locked --release -p windrow-store --no-capture -E "test(closing_a_large_run)"

torture-analytics: nextest
	WINDROW_ANALYTICS_KILLS=20 scripts/services run cargo nextest run --locked -p windrow-analytics --no-capture -E "test(killed)"

torture:
	cargo build --locked -p windrow
	scripts/torture_nodes.py --store postgres
	scripts/torture_nodes.py --store mariadb
	scripts/torture_nodes.py --store postgres --only cancel_query --items 5000 --faults 20
	scripts/torture_nodes.py --store mariadb --only cancel_query --items 5000 --faults 20
	scripts/torture_nodes.py --store postgres --only freeze --items 10000 --faults 20
	scripts/torture_nodes.py --store mariadb --only freeze --items 10000 --faults 20

certify-build: nextest
	cargo build --locked -p windrow
	cargo nextest run --workspace --locked --test store --no-run

certify: certify-build
	scripts/certify/run.py $(CASES)

bench-queues:
	scripts/services run benches/queues/run.py
	WINDROW_SERVICES_DURABLE=1 scripts/services run benches/queues/run.py

bench-aged:
	scripts/services run benches/queues/aged.py

bench-analytics:
	cargo build --locked -p windrow
	benches/analytics/run.py

bench-analytics-live:
	cargo build --locked --release -p windrow
	benches/analytics/live.py

bench-ui: chromium
	cargo build --locked --release -p windrow
	node scripts/bench_ui.mjs
	node scripts/bench_admin_ui.mjs

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

axe:
	@scripts/ui install
