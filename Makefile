# `make` alone lists the targets.
#
# PYTHON creates .venv, WORKERS is the number of processes that run the tests, HERMES_JOBS_HOME is the home of `make run`.
# uv, where it is installed, creates .venv in a tenth of pip's time.
# Test processes share compiled modules, so PYTHONDONTWRITEBYTECODE is unset for pytest.

PYTHON ?= python3
WORKERS ?= 4
BIN := .venv/bin
UV := $(shell uv --version >/dev/null 2>&1 && echo uv)
INSTALL := $(if $(UV),uv pip install --quiet --python $(BIN)/python,$(BIN)/pip install --quiet --disable-pip-version-check)
# Who has nothing left takes tests from others: workers end together.
DEALT := --dist worksteal
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest
OWN_HOME := $(if $(HERMES_JOBS_HOME),,HERMES_JOBS_HOME=.home )
SENTENCE := What happened in this folder this week?

.DEFAULT_GOAL := help
.PHONY: help setup run lint format test test-slow test-all samples faults simulate replays other-python nightly demo-failures conformance soak bench bench-compare docs pictures constraints clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/dev ## Create .venv with everything for development

run: export HERMES_JOBS_HOME ?= $(CURDIR)/.home
run: .venv/plain ## Send one message and see the answer; needs no key
	@echo '$$ hermes-jobs send "$(SENTENCE)"'
	@$(BIN)/hermes-jobs send "$(SENTENCE)"
	@echo
	@echo 'Try next:      $(OWN_HOME)$(BIN)/hermes-jobs chat'
	@echo 'A real model:  $(OWN_HOME)$(BIN)/hermes-jobs setup'

lint: .venv/dev ## Check style, format, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: .venv/dev ## Run the fast tests
	$(PYTEST) -m "not slow" -n $(WORKERS) $(DEALT)

test-slow: .venv/dev ## Run the slow tests, and those that need Redis or PostgreSQL
	$(PYTEST) -m "slow or postgres or redis" -n $(WORKERS) $(DEALT)

test-all: .venv/dev ## Run all tests of CI, including the slow ones
	$(PYTEST) -n $(WORKERS) $(DEALT)

samples: .venv/dev ## Run the samples that CI leaves out
	$(PYTEST) -m nightly --ignore tests/faults -n $(WORKERS) $(DEALT)

faults: .venv/dev ## Kill workers, brokers and schedulers, and check that nothing is lost
	FAULTS=full $(PYTEST) tests/faults

simulate: .venv/dev ## Try 4,000 random examples of workers that die, stop and lose the log
	SIMULATIONS=4000 $(PYTEST) --timeout=7200 -n 2 tests/engine/test_simulation.py tests/engine/test_simulated_compression.py

replays: .venv/dev ## Run ten thousand random replays and check that none runs a writing tool
	REPLAYS=10000 $(PYTEST) --timeout=3600 tests/replays/test_harmless.py

other-python: ## Run the kernel's tests on the newest other Python of this machine
	.ci/other_python

nightly: faults samples simulate replays other-python ## Run what CI has a sample of: every kill, simulations, replays, Python

demo-failures: .venv/dev ## Play ten failures of agents on Celery, with a plain agent and with hermes-jobs
	$(BIN)/python -m tests.demo.failures

conformance: .venv/dev ## Play the official MCP conformance suite (npm) with the client and the server
	$(BIN)/python -m tests.conformance

soak: .venv/dev ## Run everything at once for half an hour, with kills (SOAK=5: five minutes)
	$(BIN)/python -m tests.soak $(SOAK)

bench: .venv/dev ## Print one page of ratios to baselines
	$(BIN)/python -m tests.benchmarks

bench-compare: .venv/dev ## Measure the commit REV and this checkout by turns (ROUNDS=1: once)
	$(BIN)/python -m tests.benchmarks.compare $(REV) $(ROUNDS)

docs: .venv/dev ## Regenerate the generated parts of the documentation
	$(BIN)/python -m tests.docs.generate

pictures: .venv/dev ## Make the documentation's pictures of terminals and web pages again
	$(BIN)/python -m tests.docs.pictures
	$(BIN)/python -m tests.docs.web_pictures

constraints: .venv/dev ## Write the installed versions to constraints.txt
	@echo '# The versions that CI tests with. To install them: pip install -c constraints.txt -e .' > constraints.txt
	$(if $(UV),uv pip freeze --python $(BIN)/python,$(BIN)/pip freeze) --exclude-editable >> constraints.txt

clean: ## Remove .venv, caches and the home of `make run`
	rm -rf .venv .home .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: packages are installed again only when pyproject.toml has changed.

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit("hermes-jobs needs Python 3.11 or newer; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(if $(UV),uv venv --quiet --seed --python $(PYTHON) .venv,$(PYTHON) -m venv .venv)

.venv/plain: pyproject.toml | .venv/bin/pip
	$(INSTALL) -e .
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/pip
	$(INSTALL) -e '.[dev,postgres]'
	@touch .venv/plain $@
