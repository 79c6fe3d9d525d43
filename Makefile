# make demo and make test set up all they need in .venv, once; a change of pyproject.toml or constraints.txt sets up anew.
#
#   PYTHON=python3.12     the interpreter to build .venv with; unset: the first one that is 3.11 or later
#   TORCH_INDEX=URL       where PyTorch comes from; unset: as pip is configured. On Linux without an NVIDIA GPU
#                         https://download.pytorch.org/whl/cpu saves a download of several gigabytes.
#   PAIR=de-en            make demo: en-de, de-en, en-zh or zh-en

VENV ?= .venv
PYTHON ?=
TORCH_INDEX ?=
PAIR ?= en-de

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CORE := $(VENV)/.core-is-ready
DEV := $(VENV)/.dev-is-ready
SIDE_BY_SIDE := --numprocesses logical --maxprocesses 8 --dist worksteal
PINNED_TORCH := $(shell sed -n '/^torch==/p' constraints.txt)

.PHONY: help demo test thorough lint soak bench clean

help:
	@echo "make demo      train a small translator in about two minutes and try it (PAIR=en-de|de-en|en-zh|zh-en)"
	@echo "make test      run the tests"
	@echo "make thorough  the tests that take minutes: hundreds of kills, damaged files and hostile models"
	@echo "make lint      ruff and pyright"
	@echo "make soak      the long tests: many kills, large files"
	@echo "make bench     the benchmarks that finish in minutes (benchmarks/quality.py takes hours)"
	@echo "make clean     remove .venv and everything built"

demo: $(CORE)
	$(BIN)/hexapla demo --pair $(PAIR)

test: $(DEV)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

thorough: $(DEV)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m thorough --timeout=600

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

soak: $(DEV)
	$(BIN)/python -m pytest -m soak --timeout=0

bench: $(DEV)
	for benchmark in $(filter-out benchmarks/machine.py benchmarks/marian.py benchmarks/decode.py benchmarks/quality.py,$(wildcard benchmarks/*.py)); do \
		$(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CORE): pyproject.toml constraints.txt
	@python=$$(for name in $(PYTHON) $(if $(PYTHON),,python3 python3.14 python3.13 python3.12 python3.11 python); do \
		"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done); \
	if [ -z "$$python" ]; then \
		echo "make: $(or $(PYTHON),python3): no Python 3.11 or later; install one, or name one: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
	echo "setting up $(VENV) with $$($$python --version) (once)"; \
	"$$python" -m venv --clear $(VENV) || { \
		echo "make: $(VENV): $$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PIP) install $(if $(TORCH_INDEX),--no-deps --index-url $(TORCH_INDEX)) -c constraints.txt '$(PINNED_TORCH)'
	$(PIP) install -c constraints.txt --editable .
	@touch $@

$(DEV): $(CORE)
	$(PIP) install -c constraints.txt --editable '.[dev,plots]'
	@touch $@
