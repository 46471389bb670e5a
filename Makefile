# The commands of the README. Needs Python 3.11+ and make; everything else comes into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: venv lock demo up test lint format bench soak soak-properties soak-fuzz soak-load soak-backlog soak-chaos soak-faults soak-points soak-guards clean

venv: $(STAMP)

$(STAMP): requirements.lock
	$(PYTHON) -c 'import sys; sys.exit("afterturn needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $(STAMP)

# Exact versions with hashes for every platform; nothing younger than a week gets in.
lock: venv
	$(PY) -m uv pip compile pyproject.toml --group dev --universal --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --python-version 3.11 --upgrade \
		--exclude-newer $$($(PY) -c 'import datetime as d; print(d.date.today() - d.timedelta(days=7))') \
		--quiet --output-file requirements.lock

demo: venv
	@$(PY) -m afterturn demo

PORT ?= 8700

up: venv
	@$(PY) -m afterturn up --port $(PORT)

test: venv lint
	$(PY) -m pytest -n 2 --dist loadfile -m 'not soak' --durations 25

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
