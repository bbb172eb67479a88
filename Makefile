# The two commands of the README, each from nothing: `make demo` and `make test`.
PYTHON ?= python3
DEMO := .venv-demo
TEST := .venv
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: demo test slow format check bench clean

demo: $(DEMO)/.installed
	@$(DEMO)/bin/sqrl demo

test: $(TEST)/.installed
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/ruff check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports --no-logo
	$(TEST)/bin/pytest -q -n auto --dist loadfile

# The benchmarks' own tests, which run them on little data.
slow: $(TEST)/.installed
	SQRL_SLOW=1 $(TEST)/bin/pytest -q tests/test_benchmarks.py tests/test_scale_benchmark.py

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

$(TEST)/.installed: pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install $(PIP_FLAGS) --editable ".[all,dev]" --editable "./paper[text]"
	@touch $@

clean:
	rm -rf $(DEMO) $(TEST) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
