# Everything lands in .venv, frontend/node_modules and .local; nothing outside this directory is touched.
PYTHON ?= python3
VENV := .venv/bin
FRONTEND := frontend/package.json frontend/index.html frontend/vite.config.ts frontend/tsconfig.json \
	$(shell find frontend/src frontend/public -type f 2>/dev/null)

.PHONY: run test check bench seed conformance fuzz chaos clean demo-reset install

run: ports .venv/.run frontend/dist/index.html .local/kafka ## the whole product on real input, until Ctrl-C
	@exec $(VENV)/python -m demo.run

test: install frontend/dist/index.html .local/kafka ## every test, against real parts; ARGS are pytest's
	@$(VENV)/python -m tests $(ARGS)

check: install ## linters, types and import contracts
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports
	npm --prefix frontend run --silent check

bench: install .local/kafka ## BENCH names one; without it all run
	$(VENV)/python -m benchmarks $(BENCH)

seed: install ## ROWS (1000000) made-up dead letters into the PostgreSQL of the dashboard benchmark, or into DATABASE_URL
	$(VENV)/python -m benchmarks.seed $(or $(ROWS),1000000)

conformance: .venv/.dev .local/kafka ## real Kafka Connect and the engine side by side; ARGS are words in names of configurations
	$(VENV)/python -m tests.conformance $(ARGS)

fuzz: install ## arbitrary bytes into everything that reads bytes, for SECONDS (60)
	$(VENV)/python -m tests.fuzz $(SECONDS)

chaos: install .local/kafka ## RUNS (10) of every workload under kill -9 and SIGSTOP; ARGS as --seed 7 --only sink,stream
	$(VENV)/python -m tests.chaos --runs $(or $(RUNS),10) $(ARGS)

install: needs .venv/.dev frontend/node_modules/.installed

demo-reset: ## forget the demo's records, tables and sign-in; keep what was downloaded
	rm -rf .local/broker .local/connectors .local/*.sqlite3* .local/demo-password .local/celerybeat-schedule* .local/connect-test.txt

clean:
	rm -rf .venv .local frontend/node_modules frontend/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: needs ports
needs:
	@$(PYTHON) -m demo.preflight

ports:
	@$(PYTHON) -m demo.preflight --ports

.venv/.run: requirements.txt | needs
	test -x $(VENV)/python || $(PYTHON) -m venv .venv
	$(VENV)/pip install --quiet --disable-pip-version-check -r requirements.txt
	-$(VENV)/python -m engine.spark.archive # without it Spark only starts more slowly
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.run
	$(VENV)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

frontend/node_modules/.installed: frontend/package-lock.json | needs
	npm --prefix frontend ci --no-audit --no-fund --loglevel=error
	@touch $@

frontend/dist/index.html: $(FRONTEND) frontend/node_modules/.installed
	npm --prefix frontend run --silent build
	@touch $@

.local/kafka: | .venv/.run
	$(VENV)/python -m demo.jars
