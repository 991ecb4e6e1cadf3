# Each target builds its own virtual environment when it needs one: on a fresh machine
# `make demo` or `make test` is the only command to type. With another Python, beside the first:
# `make test PYTHON=python3.13 VENV=.venv-3.13`, and without torch `EXTRAS=test`.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev
WORKERS ?= auto
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
BROWSER := $(VENV)/browser-installed
FRAMEWORKS := $(VENV)/frameworks-installed
REVIEW := $(VENV)/review-installed
DOCS := $(VENV)/docs-installed
DIST := $(VENV)/dist-installed
LOWEST := .venv-lowest/installed

.PHONY: help demo reproduce test test-all test-lowest lint check docs dist follow bench golden mutants fuzz kill clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into $(VENV), once: a few minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

demo: $(STAMP) ## the main job on real data: attack, score, select, train, show
	$(BIN)/python -m examples.demo

TABLE ?= pruning
SCALE ?= smoke
reproduce: $(STAMP) ## a table of the paper with its claims: make reproduce TABLE=pruning SCALE=mid
	$(BIN)/python -m experiments $(TABLE) --scale $(SCALE)

# Two workers, each with a thread for every core in boosted trees and matrices, wait for each
# other: one thread a process takes less than half the time.
test test-all test-lowest lint: export OMP_NUM_THREADS := 1
test test-all test-lowest lint: export OPENBLAS_NUM_THREADS := 1

test: $(STAMP) ## the default test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder --durations 10

$(BROWSER): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@touch $@

$(FRAMEWORKS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[frameworks]'
	@touch $@

test-all: test $(BROWSER) $(FRAMEWORKS) ## the default suite, then slow tests, a real Chromium, the frameworks
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m slow tests experiments
	$(BIN)/python -m pytest -m browser tests/browser
	$(BIN)/python -m pytest -m frameworks tests

$(LOWEST): pyproject.toml constraints.txt tools/lowest.py
	@echo "installing the lowest versions into .venv-lowest, once: a few minutes"
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python tools/lowest.py > .venv-lowest/lowest.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -c .venv-lowest/lowest.txt -e '.[dev]'
	@touch $@

test-lowest: $(LOWEST) ## the default suite with the lowest version of every base dependency
	.venv-lowest/bin/python -m pytest -n $(WORKERS) --dist loadscope

lint: $(STAMP) ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_layers.py

check: lint test ## everything that CI runs

$(DOCS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(DOCS) ## the site in build/site; a broken link is an error
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

$(DIST): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	@touch $@

dist: $(DIST) ## wheel and source archive in dist, checked as a package index would
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/hadolint packaging/docker/Dockerfile
	$(BIN)/python -c "from rattler_build import Stage0Recipe as R; R.from_file('packaging/conda/recipe.yaml').render()"

follow: dist ## the wheel in an empty environment, the first page and the README to the letter
	rm -rf .venv-follow
	$(PYTHON) -m venv .venv-follow
	.venv-follow/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	.venv-follow/bin/python tools/follow.py docs/index.md README.md

bench: $(STAMP) ## speed and memory beside the plain way, each as a ratio in one run
	$(BIN)/python benchmarks/run.py

mutants: $(STAMP) ## which changed operators and numbers no test notices (half an hour; not in CI)
	OPENBLAS_NUM_THREADS=1 nice -n 19 $(BIN)/python tools/mutants.py

$(REVIEW): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[review]'
	@touch $@

golden: $(STAMP) ## write tests/golden again: what every door says, to be read
	PYTHONPATH=tools $(BIN)/python tools/golden.py

fuzz: $(REVIEW) ## 10,000 calls of every command with damaged inputs (minutes; not in CI)
	nice -n 19 $(BIN)/python tools/fuzz.py

kill: $(STAMP) ## 300 kills -9 at random points: the same command ends in the same bytes (half an hour)
	nice -n 19 $(BIN)/python tools/kill.py

clean: ## remove the virtual environment and everything generated
	rm -rf .venv .venv-* build dist bench-out reproduced .pytest_cache .mypy_cache .ruff_cache .hypothesis
