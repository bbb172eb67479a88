# The two commands of the README, each from nothing: `make demo` and `make test`.
PYTHON ?= python3
# One more than processors: some tests wait for Ray, Spark, a browser or another process.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
DEMO := .venv-demo
TEST := .venv
DOCS := .venv-docs
# Tests start many processes, each of which would compile what it imports anew.
export PYTHONDONTWRITEBYTECODE :=
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: demo test static dynamic pins-1 pins-0 quick slow portable site format check fuzz kill bench clean

demo: $(DEMO)/.installed
	@$(DEMO)/bin/sqrl demo

# What is read and what is run are checked side by side: many tests wait for Ray, Spark or a browser.
test: $(TEST)/.installed
	@$(MAKE) --no-print-directory --jobs 2 static dynamic

static:
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/ruff check .
	$(TEST)/bin/lint-imports --no-logo
	$(TEST)/bin/mypy

# The tests of the product and of the paper, and all examples in docstrings and pages. First, in one
# process: those that compile every kernel. It collects all others too, so that what Python and numba
# keep of their compiling is there before several processes would each do it. The others begin with
# what conftest.py names as large, and linear algebra has one thread: several processes are at work,
# and threads that wait for each other only keep processors busy.
KERNELS := tests/kernels/test_plain_and_compiled.py
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
dynamic: export OMP_NUM_THREADS := 1
dynamic: export OPENBLAS_NUM_THREADS := 1
dynamic:
	$(TEST)/bin/python -c "import torch._dynamo"
	$(TEST)/bin/pytest -q -k $(notdir $(KERNELS))
	$(TEST)/bin/pytest -q $(PARALLEL) --ignore $(KERNELS)

# The tests of a developer's loop: those of the product that start nothing large.
quick: $(TEST)/.installed
	@$(TEST)/bin/ruff format --check --quiet .
	@$(TEST)/bin/ruff check --quiet .
	$(TEST)/bin/pytest -q -n auto --dist loadfile -m "not costly" tests

# Whole benchmarks on little data, and what takes long; then all other tests, where properties are
# tried on three times as many examples, and levels measured in two or three times as many runs.
ALONE := tests/benchmarks paper/tests tests/scan tests/kernels tests/extract tests/test_gallery.py tests/hardening
slow: $(TEST)/.installed
	SQRL_SLOW=1 $(TEST)/bin/pytest -q $(ALONE)
	SQRL_SLOW=1 $(TEST)/bin/pytest -q $(PARALLEL) tests $(addprefix --ignore ,$(ALONE))

# Product tests as other processors and other numbers of threads would run them.
portable: $(TEST)/.installed
	$(TEST)/bin/python benchmarks/portable.py -n auto --dist loadfile -m "not costly" tests
	$(TEST)/bin/python benchmarks/portable.py -n auto --dist loadfile tests/adapt tests/methods tests/explain tests/kernels

# The documentation, into site/: warnings are errors, and every link is followed.
site: $(DOCS)/.installed
	$(DOCS)/bin/python website/build_site.py

check: test

format: $(TEST)/.installed
	$(TEST)/bin/ruff format .
	$(TEST)/bin/ruff check --fix .

# Damaged files, odd options and random rules for so many seconds of processor; then the corpus.
SECONDS ?= 60
SEED ?= 0
fuzz: $(TEST)/.installed
	$(TEST)/bin/python fuzz/run.py --replay
	$(TEST)/bin/python fuzz/run.py --seconds $(SECONDS) --seed $(SEED) -o benchmarks/results/fuzz.json

# Commands that are killed, or disturbed in other ways, and what they leave behind.
kill: $(TEST)/.installed
	$(TEST)/bin/python benchmarks/kills.py --seed $(SEED)

bench: $(TEST)/.installed
	$(TEST)/bin/python benchmarks/learn.py

$(DEMO)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/pip install $(PIP_FLAGS) --editable .
	@touch $@

$(TEST)/.installed: pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install $(PIP_FLAGS) --upgrade pip
	@$(MAKE) --no-print-directory --jobs 2 pins-1 pins-0
	$(TEST)/bin/pip install $(PIP_FLAGS) --no-build-isolation --editable ".[all,dev]" --editable "./paper[text]"
	@touch $@

# Two processes, by lines of odd and of even number, find and unpack what constraints.txt pins, the
# pages' own packages left out. The step after finds all of it there, what builds the project
# included, and only looks whether it fits. Old versions of pip need twice as long to read the index.
pins-1 pins-0:
	@awk '/Only .make site/ {exit} /==/ && NR % 2 == $(subst pins-,,$@)' constraints.txt | \
		xargs $(TEST)/bin/pip install $(PIP_FLAGS) --no-warn-conflicts --no-deps

$(DOCS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install $(PIP_FLAGS) --editable ".[docs]"
	@touch $@

clean:
	rm -rf $(DEMO) $(TEST) $(DOCS) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
