# Everything works in a virtual environment: .venv, or $TG_VENV.
VENV := $(or $(TG_VENV),.venv)
PYTHON ?= python3
BIN := $(VENV)/bin
# Tests often wait for a server or a process: one worker more than there are processors; `make test WORKERS=4`.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(min(8, 1 + max(2, os.cpu_count() or 2)))")
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# The package itself is built by the pinned tools, not by whatever is the newest today.
SELF := --no-deps --no-build-isolation --check-build-dependencies --editable
TEST_EXTRAS := pandas,meteor,retrieval,documents,graph,ner,build,web

SHELL := /bin/bash
# Tests start many processes: they must find what was compiled before.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long test-hf validate bench bench-install docs lint lock bounds clean

demo: $(VENV)/base.done  ## score the example answers and print where the page is
	$(BIN)/trueground score examples/answers.jsonl --by model --out runs/demo --overwrite

test: $(VENV)/test.done  ## lint, types, all tests that take no minutes and need no torch
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m checks
	# Without a cache mypy takes one processor half a minute: the tests begin beside it.
	$(BIN)/mypy > $(VENV)/mypy.log 2>&1 & types=$$!; $(PYTEST); tests=$$?; \
	  wait $$types; types=$$?; cat $(VENV)/mypy.log; exit $$((types || tests))

test-long: $(VENV)/long.done  ## kills at every write, doublings of all that is parsed, simulations, more examples of each property: some minutes
	$(PYTEST) -m "long or hypothesis" --hypothesis-profile long

test-hf: $(VENV)/hf.done  ## the tests that need torch or ONNX runtime: models on this machine
	$(PYTEST) tests/models tests/encoders tests/judges tests/metrics tests/wings/search \
	  tests/wings/papers/test_truly_ground_distractors.py tests/wings/papers/test_instruct_qa_dry_run.py

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m checks
	$(BIN)/mypy

# The human-labeled sets, which are no part of the project, and WordNet's files for METEOR.
DATA ?= ../shared/data/human
WORDNET ?= /usr/share/wordnet

validate: $(VENV)/test.done  ## metrics and judge against people: make the tables of docs/trust.md, print its path
	$(BIN)/python -m training.trust --data $(DATA) --wordnet $(WORDNET) --out runs/trust/found.json

bench: $(VENV)/test.done  ## measure, side by side in one run; see docs/performance.md
	$(BIN)/python bench/run.py

bench-install:  ## how many packages a fresh install of the base brings, and how long it takes
	$(PYTHON) -m venv --clear $(VENV)-fresh
	time $(VENV)-fresh/bin/python -m pip install --quiet .
	$(VENV)-fresh/bin/python -m pip list --format freeze --exclude pip --exclude setuptools | wc -l
	$(VENV)-fresh/bin/trueground --version

docs: $(VENV)/docs.done  ## build the documentation into site/
	$(BIN)/mkdocs build --strict

bounds:  ## test with the oldest versions that pyproject.toml allows, in a place of its own
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --constraint requirements/oldest.txt \
	  --editable ".[pandas,retrieval,documents,graph,web]" --requirement requirements/test.in
	# The language identifier asks for a newer numpy than the base does, and works with the old one.
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps py3langid==0.4.0
	# Not tested: texts that typer words otherwise, an index that names its bm25s, and denormal numbers.
	$(VENV)-oldest/bin/python -m pytest --numprocesses $(WORKERS) --dist worksteal \
	  --deselect "tests/pins/test_pins.py::test_the_surface_does_what_it_did[refused]" \
	  --deselect "tests/pins/test_pins.py::test_the_surface_does_what_it_did[lists]" \
	  --deselect "tests/pins/test_pins.py::test_the_surface_does_what_it_did[run]" \
	  --deselect "tests/stats/test_human_degenerate.py::test_huge_and_tiny_scores[1e-320]"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/base.done: pyproject.toml requirements/base.txt | $(VENV)/bin/python
	$(PIP) --require-hashes --requirement requirements/base.txt
	$(PIP) $(SELF) .
	touch $@

$(VENV)/test.done: $(VENV)/base.done requirements/test.txt
	$(PIP) --require-hashes --requirement requirements/test.txt
	touch $@

$(VENV)/long.done: $(VENV)/test.done requirements/long.txt
	$(PIP) --require-hashes --requirement requirements/long.txt
	touch $@

# torch has no hash here: its file differs by platform and brings CUDA's libraries on some.
$(VENV)/hf.done: $(VENV)/test.done requirements/hf.txt
	$(PIP) --require-hashes --no-deps --requirement requirements/hf.txt
	$(PIP) torch==2.13.0
	touch $@

$(VENV)/docs.done: $(VENV)/base.done requirements/docs.txt
	$(PIP) --require-hashes --requirement requirements/docs.txt
	touch $@

# All installs above are exact: versions and hashes are in requirements/*.txt, made from *.in and pyproject.toml.
# A version stays until its line is deleted, or all move with `make lock UPGRADE=--upgrade`.
UPGRADE ?=
LOCK = $(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate $(UPGRADE)
EXTRAS = $(foreach extra,$(subst $(comma), ,$(TEST_EXTRAS)),--extra $(extra))
comma := ,

lock:  ## resolve the pinned versions with their hashes again
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv==0.13.9
	$(LOCK) pyproject.toml requirements/base.in --output-file requirements/base.txt
	$(LOCK) --constraint requirements/base.txt $(EXTRAS) pyproject.toml requirements/base.in \
	  requirements/test.in --output-file requirements/test.txt
	$(LOCK) --constraint requirements/test.txt $(EXTRAS) pyproject.toml requirements/base.in \
	  requirements/test.in requirements/long.in --output-file requirements/long.txt
	$(LOCK) --constraint requirements/test.txt $(EXTRAS) --extra hf --extra onnx pyproject.toml \
	  requirements/base.in requirements/test.in requirements/hf.in --override requirements/unlocked.txt \
	  --no-emit-package torch --no-emit-package sentence-transformers --output-file requirements/hf.txt
	$(LOCK) --constraint requirements/base.txt pyproject.toml requirements/base.in \
	  requirements/docs.in --output-file requirements/docs.txt

clean:
	rm -rf $(VENV) $(VENV)-lock $(VENV)-oldest $(VENV)-fresh $(VENV)-neighbors site dist runs/demo
