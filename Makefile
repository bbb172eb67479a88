# The two commands of the README, each from nothing: `make demo` and `make test`.
PYTHON ?= python3
DEMO := .venv-demo
TEST := .venv
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: demo test static dynamic format check bench clean

demo: $(DEMO)/.installed
	@$(DEMO)/bin/sqrl demo

# What is read and what is run are checked side by side: many tests wait for Ray, Spark or a browser.
test: $(TEST)/.installed
	@$(MAKE) --no-print-directory --jobs 2 static dynamic

static:
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/ruff check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports --no-logo

dynamic:
	$(TEST)/bin/pytest -q -n auto --dist loadfile

check: test

format: $(TEST)/.installed
	$(TEST)/bin/ruff format .
	$(TEST)/bin/ruff check --fix .

bench: $(TEST)/.installed
	$(TEST)/bin/python benchmarks/learn.py

$(DEMO)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/pip install $(PIP_FLAGS) --editable .
	@touch $@

$(TEST)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install $(PIP_FLAGS) --editable ".[all,dev]"
	@touch $@

clean:
	rm -rf $(DEMO) $(TEST) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
