PYTHON ?= python3
WORKERS := 2
TEST := tests
LOCK_FLAGS :=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK_VENV := .venv-lock
CODE := $(wildcard src tests benchmarks examples)
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --inline-snapshot=disable
COMPILE = $(LOCK_VENV)/bin/uv --no-config pip compile --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command "make lock" --quiet $(LOCK_FLAGS)
USABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

# Compiled modules are kept: hundreds of the tests' processes start with them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast chaos bench check format lint types floors snippets fix lock clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## Watch a run be killed, taken over and finished, without a key or a network
	@$(BIN)/remit demo

test: $(READY) ## Run all tests but the chaos ones (TEST=path to narrow, WORKERS=0 for one process)
	$(PYTEST) -rs $(TEST)

test-fast: $(READY) ## Run the tests that take no time
	$(PYTEST) -rs -m "not slow and not chaos" $(TEST)

chaos: $(READY) ## Run the tests that break things at random (REMIT_SEED=123 for one seed, REMIT_SECONDS=60 for how long)
	$(BIN)/python -m pytest -rs -m chaos $(TEST)

bench: $(READY) ## Measure what a step costs
	$(BIN)/python benchmarks/run.py

check: $(READY) ## Format, lint, types, floors and the documentation's snippets
	@$(MAKE) --no-print-directory --keep-going format lint types floors snippets
	@echo "check: all five passed"

format: $(READY)
	@echo "check: format (ruff format)"
	@$(BIN)/ruff format --check --quiet --diff $(CODE) || { echo "check: format failed, 'make fix' mends it" >&2; exit 1; }

lint: $(READY)
	@echo "check: lint (ruff check)"
	@$(BIN)/ruff check --quiet $(CODE) || { echo "check: lint failed" >&2; exit 1; }

types: $(READY)
	@echo "check: types (mypy)"
	@$(BIN)/mypy $(CODE) || { echo "check: types failed" >&2; exit 1; }

floors: $(READY)
	@echo "check: floors (import-linter)"
	@$(BIN)/lint-imports --no-logo --no-cache || { echo "check: floors failed" >&2; exit 1; }

snippets: $(READY)
	@echo "check: snippets (tests/docs)"
	@$(BIN)/python -m pytest -q -rs tests/docs || { echo "check: snippets failed" >&2; exit 1; }

fix: $(READY) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix --quiet $(CODE) || true
	$(BIN)/ruff format --quiet $(CODE)

lock: ## Resolve requirements/*.lock anew (LOCK_FLAGS=--upgrade takes newer versions)
	@test -x $(LOCK_VENV)/bin/uv || { $(PYTHON) -m venv --clear $(LOCK_VENV) && $(LOCK_VENV)/bin/python -m pip install -qq uv; }
	$(COMPILE) pyproject.toml requirements/dev.in --extra all --output-file requirements/dev.lock
	$(COMPILE) requirements/local.in --no-deps --output-file requirements/local.lock

clean: ## Remove the environments, the caches and what was built
	rm -rf $(VENV) $(LOCK_VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Without the last line's stamp an environment counts as half made and is begun anew.
$(READY): requirements/dev.lock requirements/local.lock pyproject.toml
	@if [ -e $@ ]; then rm $@; exit 0; fi; \
	for candidate in "$(PYTHON)" python3.13 python3.12 python3.11; do \
		if "$$candidate" -c '$(USABLE)' 2>/dev/null; then found=$$candidate; break; fi; \
		echo "make: $$candidate is not Python 3.11 to 3.13, trying the next" >&2; \
	done; \
	if [ -z "$$found" ]; then \
		echo "make: remit needs Python 3.11, 3.12 or 3.13: install one, or name it: make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi; \
	echo "make: setting up $(VENV) with $$found"; \
	"$$found" -m venv --clear $(VENV)
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.lock
	@$(PIP_INSTALL) --require-hashes --no-deps --only-binary :all: -r requirements/local.lock || \
		echo "make: no local model here, the tests that run one will be skipped" >&2
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@
