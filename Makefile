# Each target builds its own virtual environment when it needs one: on a fresh machine
# `make demo` or `make test` is the only command to type.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
BROWSER := .venv/browser-installed
FRAMEWORKS := .venv/frameworks-installed

.PHONY: help demo test test-all lint check bench mutants clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into .venv, once: a few minutes"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## the main job on real data: attack, score, select, train, show
	$(BIN)/dris demo

test: $(STAMP) ## the default test suite
	$(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder --durations 10

$(BROWSER): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@touch $@

$(FRAMEWORKS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lightning,huggingface,ray,review]'
	@touch $@

test-all: test $(BROWSER) $(FRAMEWORKS) ## the default suite, then slow tests, a real Chromium, the frameworks
	$(BIN)/python -m pytest -n auto --dist loadscope -m slow tests
	$(BIN)/python -m pytest -m browser tests/browser
	$(BIN)/python -m pytest -m frameworks tests

lint: $(STAMP) ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_layers.py

check: lint test ## everything that CI runs

bench: $(STAMP) ## speed and memory beside the plain way, each as a ratio in one run
	$(BIN)/python benchmarks/run.py

mutants: $(STAMP) ## which changed operators and numbers no test notices (half an hour; not in CI)
	OPENBLAS_NUM_THREADS=1 nice -n 19 $(BIN)/python tools/mutants.py

clean: ## remove the virtual environment and everything generated
	rm -rf .venv build demo-out bench-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
