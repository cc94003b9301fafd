# Everything happens in .venv; `make demo` and `make test` set it up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# pytest workers: two unless told otherwise, one thread each
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1
# where there is a GPU, lightning warns of every run that does not use it, and warnings are errors in the tests
CPU := CUDA_VISIBLE_DEVICES=

# studies whose results are kept in docs/results; those that share runs with an earlier one take them from there
RESULTS ?= lecture lecture-real multi30k agreement extrapolation complexity components

.PHONY: help install demo test test-slow test-gpu check results format clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(STAMP) ## set up .venv with the tested versions (quick when nothing has changed)

$(STAMP): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint requirements.lock hatchling editables
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --no-build-isolation --editable '.[dev]'
	touch $(STAMP)

demo: install ## train the quick study on two cores and say how its report is opened
	$(BIN)/ablations run quick

test: install ## run the tests
	$(CPU) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --ignore tests/gpu

test-slow: install ## run the tests that take minutes: kills, full disks, clusters
	$(CPU) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow --ignore tests/gpu

test-gpu: install ## run the checks that need a GPU; without one they are skipped
	$(BIN)/python -m pytest tests/gpu

check: install ## lint, format and type check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy ablations models datamodules reports tests

results: install ## train what is missing of docs/results and rewrite it, and the tables made of it (hours; needs ABLATIONS_DATA)
	set -e; for study in $(RESULTS); do $(BIN)/ablations run $$study; $(BIN)/ablations record $$study; done
	$(BIN)/python -m ablations.handbook
	$(BIN)/python -m ablations.blocks

format: install ## let ruff mend what it can
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

clean: ## remove what tools leave behind (never runs/)
	rm -rf .mypy_cache .ruff_cache .pytest_cache dist
	find ablations models datamodules reports tests -name __pycache__ -type d -prune -exec rm -rf {} +
