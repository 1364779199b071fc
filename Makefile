# Each target works on a fresh machine that has Python 3.11 or later, make and a package registry.
#   make demo ARGS="--devices 2000"     make test ARGS="tests/shared -x"     make lint PYTHON=python3.13

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
SOURCES := client server shared simulations tests docs examples

# Stamps, so that a second run installs nothing. What decides an install is in these two files.
DEMO_READY := .venv/installed-simulations
DEV_READY := .venv/installed-dev
INSTALLED_FROM := pyproject.toml shared/rumor_shared/version.py

.PHONY: help demo test lint bench yardsticks figures docs

help:
	@echo "make demo   play 20,000 devices against a real collector (ARGS goes to 'rumor demo')"
	@echo "make test   run the tests, in random order and in parallel (ARGS goes to pytest)"
	@echo "make lint   check style, types and the direction of imports"
	@echo "make docs   write the reference pages anew, and build the documentation into site/"
	@echo "make bench  measure speed and memory beside peers, and write docs/performance.md (minutes)"
	@echo "make figures   draw every figure of the simulations and attacks into figures/ (minutes)"
	@echo "make yardsticks   reproduce published numbers and write docs/accuracy.md (minutes)"

demo: $(DEMO_READY)
	@$(BIN)/rumor demo $(ARGS)

test: $(DEV_READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(DEV_READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV_READY)
	$(BIN)/python -m docs.generators
	$(BIN)/python -m sphinx -W --keep-going -q -E -a -b html docs site
	@echo "Open site/index.html"

bench: $(DEV_READY)
	$(BIN)/python -m benchmarks --write docs/performance.md $(ARGS)

# Tables, PNG and SVG of every experiment and of every attack on the example registry.
figures: $(DEMO_READY)
	$(BIN)/rumor simulate --out figures/simulated $(ARGS)
	$(BIN)/rumor attack examples/metrics.toml --out figures/attacked

yardsticks: $(DEMO_READY)
	$(BIN)/python -m rumor_simulations.yardsticks --write docs/accuracy.md $(ARGS)

# pip and not python, which is there already when a venv without ensurepip failed half-way.
$(BIN)/pip:
	$(PYTHON) -m venv .venv

# Standard output belongs to the demo: `make demo ARGS=--json` prints one object.
$(DEMO_READY): $(INSTALLED_FROM) | $(BIN)/pip
	@echo "Installing what the demo needs into .venv" >&2
	@$(BIN)/python -m pip install --quiet --editable '.[simulations]' >&2
	@touch $@

$(DEV_READY): $(INSTALLED_FROM) | $(BIN)/pip
	@echo "Installing what development needs into .venv" >&2
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' >&2
	@touch $(DEMO_READY) $@
