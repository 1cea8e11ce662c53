# Strabo: `make help` lists what can be done.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := avro topics agents_sdk runtime tests

.DEFAULT_GOAL := help
.PHONY: help setup run test check bench mutants clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/.runtime ## run the task auction live (ARGS="--kill-worker", "--instances 100", "--keep")
	@$(BIN)/strabo demo $(ARGS)

setup: .venv/.test ## a .venv with strabo, its tools and its tests' tools in it

test: .venv/.test ## every test; needs Java 17 and Maven for the tests on Apache Kafka
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

check: .venv/.test ## ruff, mypy, import-linter and the fast tests, in under a minute
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q -n 2 tests/unit tests/language --ignore tests/language/conformance -m "not slow and not kafka"

bench: .venv/.test ## speed and memory against a baseline in the same run; writes build/bench.json
	@$(BIN)/python -m tests.benchmarks $(ARGS)

mutants: .venv/.test ## mutation testing of engine and language (ARGS="--sample 300 --seed 1"); writes build/mutants.json
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[mutation]' -c constraints.txt
	@$(BIN)/python -m tests.mutation $(ARGS)

clean: ## remove the virtual environment and what builds left
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The environment is made once, and again when the dependencies change.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "strabo: $(PYTHON) is missing or older than 3.11; install Python 3.11 or newer, or run make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "strabo: $(PYTHON) has no venv module; install it (on Debian: apt-get install python3-venv), then run make again" >&2; exit 2; }
	@$(PYTHON) -m venv .venv

.venv/.runtime: pyproject.toml constraints.txt | .venv/bin/python
	@echo "strabo: installing into .venv (once)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[runtime]' -c constraints.txt
	@touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	@echo "strabo: installing into .venv (once)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[runtime,test]' -c constraints.txt
	@touch .venv/.runtime $@
