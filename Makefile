# Every target sets up its own environment in .venv, once; pyproject.toml says what goes in.
# On a bare machine: git, make and Python 3.10 or newer. ARGS goes to the command: make mnist ARGS="--epochs 2"

PYTHON ?= python3
VENV   := .venv
JOBS   ?= 2
# how many mutants of kernels make test-deep tries
MUTANTS ?= 4
ARGS   ?=
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)

NOTEBOOKS := $(wildcard notebooks/*.ipynb)

.DEFAULT_GOAL := help
.PHONY: help mnist doctor course lab test lint unit nbval notebooks test-deep test-full bench docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

mnist: $(VENV)/.base ## train the course CNN on the shipped digits; weights and pictures go to out/
	$(BIN)/gpugrad train $(ARGS)

doctor: $(VENV)/.base ## list the OpenCL devices, run a kernel on each, name the fix for what is wrong
	$(BIN)/gpugrad doctor $(ARGS)

course: $(VENV)/.base ## which exercises of the course are solved
	$(BIN)/gpugrad course $(ARGS)

lab: $(VENV)/.lab ## open the lessons in JupyterLab, in a copy of your own (gpugrad-lessons/)
	$(BIN)/gpugrad lab $(ARGS)

test: lint unit nbval ## lint, types, unit tests, lessons

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/.test $(VENV)/.lab
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)

nbval: $(VENV)/.test $(VENV)/.lab
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --nbval $(NOTEBOOKS)

notebooks: $(VENV)/.lab ## run every lesson and store its output anew
	$(BIN)/python tools/notebooks.py $(ARGS)

test-deep: $(VENV)/.test $(VENV)/.oracle $(VENV)/.lab $(VENV)/.browser ## the slow tests: Oclgrind, figures in a browser, mutants
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "deep and not full" $(ARGS)
	$(BIN)/python tests/mutate.py --sample $(MUTANTS) --seed 1 --jobs $(JOBS)

test-full: test $(VENV)/.oracle $(VENV)/.lab $(VENV)/.browser $(VENV)/.docs ## make test and make test-deep, with every mutant
	OCLGRIND_SAMPLE=0 $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m deep $(ARGS)
	$(BIN)/python tests/mutate.py --jobs $(JOBS)

bench: $(VENV)/.bench ## time gpugrad beside NumPy and PyTorch
	$(BIN)/gpugrad bench $(ARGS)

docs: $(VENV)/.docs ## build the site into docs/_build/html; it runs the lessons that have changed (needs no network)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/lessons out .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What pip, which is told to be quiet, downloads for each set of packages.
base    := NumPy, PyOpenCL, PoCL, Matplotlib and others
lab     := JupyterLab
test    := pytest, ruff, mypy and others
browser := Playwright
oracle  := libclang
docs    := Sphinx
bench   := PyTorch, which is large

# A stamp file for each set of packages; it is older than pyproject.toml when that has changed.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "gpugrad needs Python 3.10 or newer, and '$(PYTHON)' is not. Name another: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: its venv module is missing."; \
	  echo "On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@echo "Setting up $(VENV): downloading $(base). This takes a few minutes, once."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.%: $(VENV)/.base
	@echo "Adding to $(VENV): downloading $($*). This takes a few minutes, once."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
