# `make` alone says what there is. Needs Python 3.11 or newer and make; the rest goes to .venv.

SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help run test test-python docs figures figures-quick studies learning-rates systems results bench clean
.DELETE_ON_ERROR:

help: ## show this list
	@sed -n 's/^\([a-z.-]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; \
	do printf '  make %-15s %s\n' "$$name" "$$text"; done

$(VENV): $(STAMP) ## create .venv with the pinned versions

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	touch $@

run: $(STAMP) ## train VDQN on a chain of 50 states and draw its curve (some minutes)
	$(BIN)/vdqn-run name=first env=chain env.n=50 algo=vdqn algo.lr=0.01 n_seeds=5 episodes=500
	$(BIN)/vdqn-plot runs/first -o figures/first

test: $(STAMP) ## check style and types, run the tests (they build the documentation too)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & first=$$!; $(BIN)/mypy --python-version 3.13; last=$$?; wait $$first && exit $$last
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-python: ## the same in .venv-NAME, with another Python: PYTHON=python3.13
	$(MAKE) test VENV=.venv-$(notdir $(PYTHON))

docs: $(STAMP) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

figures: $(STAMP) ## train what the paper's figures lack (about an hour on two cores), draw them
	$(BIN)/vdqn-run experiment=fig2
	$(BIN)/vdqn-run experiment=fig3
	$(BIN)/vdqn-run experiment=fig5
	$(BIN)/vdqn-figures runs -o figures/paper

QUICK := name=quick n_seeds=2
figures-quick: $(STAMP) ## the same with 2 seeds and few episodes (some minutes)
	$(BIN)/vdqn-run experiment=fig2 $(QUICK) episodes=60
	$(BIN)/vdqn-run experiment=fig3 $(QUICK) episodes=100
	$(BIN)/vdqn-run experiment=fig5 $(QUICK) episodes=100
	$(BIN)/vdqn-figures runs/quick -o figures/quick

studies: $(STAMP) ## train the studies beside the figures (some hours on two cores), draw all
	$(BIN)/vdqn-run experiment=scaling
	$(BIN)/vdqn-run experiment=lambda
	$(BIN)/vdqn-run experiment=map_is_dqn_reference
	$(BIN)/vdqn-run experiment=map_is_dqn
	$(BIN)/vdqn-run experiment=cold_posterior
	$(BIN)/vdqn-run experiment=inference
	$(BIN)/vdqn-run experiment=ablation_theta
	$(BIN)/vdqn-run experiment=ablation_noisynet
	$(BIN)/vdqn-run experiment=ablation_timeout
	$(BIN)/vdqn-run experiment=deep_sea
	$(BIN)/vdqn-run experiment=deep_sea algo=vdqn algo.lam=0.0002,0.002
	$(BIN)/vdqn-figures runs -o figures/paper

learning-rates: $(STAMP) ## train the tuning runs and write conf/paper_lr.yaml anew
	$(BIN)/vdqn-run experiment=lr_chain
	$(BIN)/vdqn-run experiment=lr_control
	$(BIN)/python scripts/choose_lr.py runs/lr

systems: $(STAMP) ## tune and train twelve systems on chains and deep seas (some hours), compare them
	$(BIN)/vdqn-run experiment=lr_systems
	$(BIN)/python scripts/choose_system_lr.py runs/lr_systems
	$(BIN)/vdqn-run experiment=deep_exploration
	$(BIN)/vdqn-compare runs/deep_exploration -o figures/compare

results: $(STAMP) ## draw and judge the runs that are kept in results/runs again
	$(BIN)/vdqn-figures results/runs -o results/figures
	$(BIN)/vdqn-claims results/runs -o results/claims
	$(BIN)/vdqn-summary results/runs --name paper -o results/summary
	$(BIN)/vdqn-compare results/runs/deep_exploration -o results/compare

bench: $(STAMP) ## measure speed beside other implementations (half an hour; installs them)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[bench]'
	$(BIN)/python -m scripts.bench --out results/bench

clean: ## remove .venv and caches; runs and figures stay
	rm -rf $(VENV) .venv-* build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
