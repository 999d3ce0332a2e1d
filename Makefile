# Each target prints what it runs. `make demo` and `make test` need Python 3.11 or newer and a C compiler.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= test
BIN = $(VENV)/bin
CFLAGS_CORE = -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -fvisibility=hidden -pthread
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Werror
SANITIZERS = address,undefined
CORE = $(wildcard csrc/core/*.c)

.PHONY: demo test bench lint sanitize sanitize-here torch lib wasm dist clean

demo: $(BIN)/python
	$(BIN)/python -m pip install -q ".[plot]"
	$(BIN)/pfnnc demo

test: $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[$(EXTRAS)]"
	$(BIN)/python -m pytest

bench: $(BIN)/python
	$(BIN)/python -m pip install -q ".[test]"
	for file in benchmarks/bench_*.py; do echo "$$file"; $(BIN)/python $$file || exit 1; done

lint: $(BIN)/python
	$(BIN)/python -m pip install -q ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for file in $(CORE); do $(CC) $(CFLAGS_CORE) $(WARNINGS) -fsyntax-only $$file || exit 1; done

# The suite on a core built with AddressSanitizer and UndefinedBehaviorSanitizer, in an environment of its own and away
# from the sources; a browser does not run under a preloaded sanitizer.
sanitize:
	$(MAKE) VENV=$(VENV)-sanitize sanitize-here

sanitize-here: $(BIN)/python
	$(BIN)/python -m pip install -q "setuptools>=77" "numpy>=2.0" ".[test]"
	PFNNC_SANITIZE=$(SANITIZERS) $(BIN)/python setup.py -q build --build-base build/sanitize --build-lib build/sanitize/lib
	cd build/sanitize && LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(CURDIR)/build/sanitize/lib $(CURDIR)/$(BIN)/pytest -q -m "not slow" \
	-c $(CURDIR)/pyproject.toml --rootdir=$(CURDIR) --ignore=$(CURDIR)/tests/test_play.py $(CURDIR)/tests

# PyTorch's CPU build, the oracle of the network's tests, in the version they were written against.
torch: $(BIN)/python
	$(BIN)/python -m pip install -q torch==2.13.0

lib: build/lib/libpfnnc.a build/lib/libpfnnc.so

build/lib/%.o: csrc/core/%.c $(wildcard csrc/core/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_CORE) -c $< -o $@

build/lib/libpfnnc.a: $(CORE:csrc/core/%.c=build/lib/%.o)
	$(AR) rcs $@ $^

build/lib/libpfnnc.so: $(CORE:csrc/core/%.c=build/lib/%.o)
	$(CC) -shared -pthread $^ -lm -o $@

# The core for the page of `pfnnc play`, by the C compiler that PyPI has.
WASM_CORE = control cpu crowd error features forward frame ik kernel kernel_portable layers network rollout rotation \
	rotation_kernels rotation_many shares skeleton sparse store thread transpose
wasm: $(BIN)/python
	$(BIN)/python -m pip install -q ziglang==0.17.1
	$(BIN)/python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -std=c11 -O2 -msimd128 -ffp-contract=off \
	-fno-math-errno -fno-trapping-math -fvisibility=hidden -ffunction-sections -fdata-sections -Wl,--gc-sections \
	-Wl,--strip-all -Icsrc/core csrc/wasm/player.c $(WASM_CORE:%=csrc/core/%.c) -o pfnnc/viewer/player.wasm

dist: $(BIN)/python
	$(BIN)/python -m pip install -q build
	$(BIN)/python -m build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) $(VENV)-sanitize build dist demo pfnnc/*.so *.egg-info
