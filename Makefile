# Everything that a checkout needs is installed into the checkout: Python packages into .venv, Rust artefacts into
# target. Needs: Python >= 3.11, Rust, a C compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# Hundreds of processes import what the tests need: each compiles it again where an environment forbids to keep what was compiled.
export PYTHONDONTWRITEBYTECODE :=
# The same packages for linter and tests, so that both use one set of macros; the binding has no tests, and the benchmarks wait for `make bench`.
TESTED := --workspace --exclude wifair-bench
# Files are tested in the order of tests/conftest.py.
SIDE_BY_SIDE := --numprocesses logical --dist loadfile --no-loadscope-reorder
COMPONENTS := $(addsuffix /*.rs,$(addprefix crates/,wifair-queue/src/schemes wifair-queue/src/limits wifair-tcp/src/congestion wifair-wlan/src/rate wifair-wlan/src/phy wifair-sim/src/application))

# `make test` takes the native module that is there, and in a fresh clone the one that is built sooner.
MODULE := $(firstword $(wildcard $(VENV)/.built) $(VENV)/.tested)

.PHONY: demo comparison scope check test test-rust test-python test-system docs lint lint-rust lint-python tests-built supply coverage validate package bench bench-peers mutants fuzz load kernel clean

demo: $(VENV)/.built
	$(BIN)/wifair paper adaptive-pushout --quick --out results/adaptive-pushout

# Everything against everything in full, and the pages that quote it: an hour on two cores. It goes on where it was stopped.
comparison: $(VENV)/.built
	$(BIN)/wifair compare --all --full --out results/comparison --page docs/comparison.md --page README.md

# What the model's departures with a switch change, into docs/scope.md: a few minutes on two cores. It goes on where it was stopped.
scope: $(VENV)/.built
	$(BIN)/python docs/figures/departures.py

# For the hand at work: formatting, types, Rust tests, and the Python tests that are quick and need no browser, build or real time.
# Takes what is built.
check: $(MODULE) lint-python
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(COMPONENTS)
	cargo test $(TESTED) --quiet
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not whole and not system"

# What the tests need is built side by side; the tests themselves run one after the other, since some hold times against bounds.
test:
	$(MAKE) --jobs=2 --output-sync=target $(MODULE) tests-built lint-python
	cargo test $(TESTED)
	$(BIN)/pytest $(SIDE_BY_SIDE)

# The parts of `make test`, which CI runs side by side.
test-rust:
	cargo test $(TESTED)

test-python: $(MODULE)
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not system"

test-system: $(MODULE)
	$(BIN)/pytest -m system

lint: lint-rust lint-python
	cargo clippy -p wifair-bench --all-targets -- -D warnings

lint-rust:
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(COMPONENTS) # declared by a macro, which cargo fmt does not see
	cargo fmt --manifest-path fuzz/Cargo.toml --check # a workspace of its own, which needs a nightly compiler to be built
	cargo clippy $(TESTED) --all-targets -- -D warnings

tests-built: lint-rust
	cargo test $(TESTED) --no-run --quiet

lint-python: $(VENV)/.installed
	$(BIN)/ruff format --check python tests benches docs/figures docsite notebooks examples packaging fuzz
	$(BIN)/ruff check python tests benches docs/figures docsite notebooks examples packaging fuzz
	$(BIN)/mypy

# Licences, duplicate and wildcard versions, and sources of the crates: two seconds. Wants `cargo install cargo-deny`.
supply:
	cargo deny check licenses bans sources

# Which lines of the engine and which lines and branches of the Python package the tests run, into docs/coverage.md: a quarter of an hour on
# two cores. Wants cargo-llvm-cov and the component llvm-tools. Under measurement `wifair --help` takes longer than it may.
coverage: $(VENV)/.built
	mkdir -p build/coverage
	rm -f build/coverage/*.json
	cargo llvm-cov --workspace --exclude wifair-py --exclude wifair-bench --tests
	cargo llvm-cov report --json --summary-only --output-path build/coverage/engine.json
	$(BIN)/pytest $(SIDE_BY_SIDE) --cov --cov-report=term-missing --cov-report=json:build/coverage/package.json \
		--deselect tests/test_cli.py::test_help_is_fast --deselect tests/test_coverage.py
	$(BIN)/python benches/coverage.py docs/coverage.md

# Twenty thousand random scenarios on engine and oracle, more than a million exchanges of each a point, sixty thousand scenario
# files: an hour on two cores.
validate: $(VENV)/.built
	WIFAIR_VALIDATE=1 cargo test --profile validate $(TESTED)
	WIFAIR_VALIDATE=1 $(BIN)/pytest $(SIDE_BY_SIDE)

# Each fuzz target until it has covered nothing new for ten minutes (docs/fuzzing.md): some hours. Needs a nightly compiler and cargo-fuzz.
fuzz:
	$(PYTHON) fuzz/run.py

# The queues of Linux 6.12 and 6.1 next to the scheme mac80211 (kernel/README.md, under GPL-2.0): some minutes, part of them to unpack. Installs
# Debian's packages linux-source-6.12 and linux-source-6.1 where they are missing, as root.
kernel:
	$(MAKE) -C kernel

# The documentation site, in build/docs/site; a broken link is an error. Reading it fetches nothing.
docs: $(VENV)/.built
	$(BIN)/python -m docsite build/docs
	$(BIN)/zensical build --strict --clean --config-file build/docs/mkdocs.yml

# A source distribution, a wheel built from it and optimised by what packaging/train.py runs, and the proof that the wheel works where
# there is no Rust: nine minutes of processor time. Wants `rustup component add llvm-tools`.
package: $(VENV)/.installed
	rm -rf dist
	PATH="$(abspath $(BIN)):$$PATH" UV_CONSTRAINT=$(abspath constraints.txt) PIP_CONSTRAINT=$(abspath constraints.txt) \
		$(BIN)/maturin build --release --sdist --pgo --out dist
	$(BIN)/python packaging/check.py dist/wifair-*.whl

bench: $(VENV)/.built
	cargo bench -p wifair-bench
	$(PYTHON) benches/instructions.py
	$(BIN)/python benches/python_scheme.py

# ns-2 and ns-3 where they are, beside wifair: a quarter of an hour. Update the page: make bench-peers PEERS="--ns3 DIR --page docs/peers.md"
bench-peers: $(VENV)/.built
	$(BIN)/python benches/peers/run.py $(PEERS)

# Two hundred mutants of each of three crates meet the tests (docs/mutation.md): an hour. It goes on where it was stopped.
mutants:
	$(PYTHON) benches/mutants.py wifair-tcp
	$(PYTHON) benches/mutants.py wifair-queue
	$(PYTHON) benches/mutants.py wifair-wlan

# Time and memory against size, into docs/load.md with its figure: four minutes.
load: $(VENV)/.built
	$(BIN)/python benches/load.py --page docs/load.md

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv -c constraints.txt

$(VENV)/.installed: constraints.txt pyproject.toml | $(VENV)/bin/python
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -r constraints.txt
	touch $@

# An editable install: Python sources are used as they stand. The native module is built with all optimisations (.built) or with
# those of the Rust tests (.tested); one takes the other's place.
$(VENV)/.built: OPTIONS := --release
$(VENV)/.built $(VENV)/.tested: $(VENV)/.installed $(RUST_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin develop $(OPTIONS) --uv --quiet
	rm -f $(VENV)/.built $(VENV)/.tested
	touch $@

clean:
	rm -rf target $(VENV)
