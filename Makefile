# Each target prints what it runs. `make demo` and `make test` need Python 3.11 or newer and a C compiler.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
EXTRAS ?= test

.PHONY: demo test bench lint sanitize dist clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

demo: $(BIN)/python
	$(BIN)/python -m pip install -q ".[plot]"
	$(BIN)/pfnnc demo

test: $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[$(EXTRAS)]"
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) build dist demo pfnnc/*.so *.egg-info
