# `make` alone says what there is. Needs Python 3.11 or newer and make; the rest goes to .venv.

SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help run test figures bench clean
.DELETE_ON_ERROR:

help: ## show this list
	@sed -n 's/^\([a-z.]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; \
	do printf '  make %-10s %s\n' "$$name" "$$text"; done

$(VENV): $(STAMP) ## create .venv with the pinned versions

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	touch $@

run: $(STAMP) ## train VDQN on a chain of 50 states and draw its curve (some minutes)
	$(BIN)/vdqn-run name=first env=chain env.n=50 algo=vdqn algo.lr=0.01 n_seeds=5 episodes=500
	$(BIN)/vdqn-plot runs/first -o figures/first

test: $(STAMP) ## check style and types, run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

figures: $(STAMP) ## train two small experiments and draw their figures (some minutes)
	$(BIN)/vdqn-run experiment=quick_chain
	$(BIN)/vdqn-plot runs/quick_chain -o figures/quick_chain
	$(BIN)/vdqn-run experiment=quick_control
	$(BIN)/vdqn-plot runs/quick_control -o figures/quick_control

bench: $(STAMP) ## measure speed beside other implementations (half an hour; installs them)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[bench]'
	$(BIN)/python -m scripts.bench --out results/bench

clean: ## remove .venv and caches; runs and figures stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
