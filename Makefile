# Everything a newcomer runs.  Needs Python (>= 3.11) and make; the rest goes into .venv.

PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
PYTEST_ARGS ?=
# A process per core, and no more than a laptop's memory holds.
PYTEST := -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal --disable-warnings
BENCH_ARGS ?=

# The tests start hundreds of processes: each would compile the library anew where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-waiting test-interop bench lint asv-check test-oldest clean
.DELETE_ON_ERROR:

demo: $(VENV)/.has-examples
	$(RUN) examples/demo.py

test: $(VENV)/.has-test
	$(RUN) $(PYTEST) $(PYTEST_ARGS)

# As users have it: NumPy computes until a plan is worth its price.  (`make test` plans at once.)
test-waiting: $(VENV)/.has-test
	LAZYARR_PLAN=auto $(RUN) $(PYTEST) tests/differential tests/semantics $(PYTEST_ARGS)

# Programs of SciPy, scikit-learn, pandas and Matplotlib; without them `make test` skips these.
test-interop: $(VENV)/.has-interop
	$(RUN) $(PYTEST) tests/interop $(PYTEST_ARGS)

bench: $(VENV)/.has-bench
	$(RUN) asv_bench/table.py $(BENCH_ARGS)

lint: $(VENV)/.has-dev
	$(RUN) -m ruff check .
	$(RUN) -m mypy

# Every asv benchmark is discovered, set up and run once, in this environment.
asv-check: $(VENV)/.has-bench
	$(RUN) asv_bench/check.py

# The subset that depends on NumPy's version, on the oldest one supported.
OLDEST := .venv-oldest
VERSIONED := $(wildcard tests/semantics tests/differential tests/array_api tests/process tests/test_reduce*.py)
test-oldest: $(OLDEST)/.has-oldest
	$(OLDEST)/bin/python $(PYTEST) $(VERSIONED) $(PYTEST_ARGS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# What is installed is compiled where it is imported: most of it never is.
INSTALL := -m pip install --quiet --no-compile --editable

# The extras that come with others.
dev_HAS := test examples bench
bench_HAS := examples
interop_HAS := test

$(VENV)/.has-%: pyproject.toml | $(VENV)/bin/python
	$(RUN) $(INSTALL) '.[$*]'
	touch $(addprefix $(VENV)/.has-,$* $($*_HAS))

$(OLDEST)/.has-oldest: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) '.[test]' 'numpy==2.0.*'
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist examples/out
