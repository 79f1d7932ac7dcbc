# Every command a user or contributor needs; `make help` lists them. Works from a fresh clone with Rust, Python 3.11+,
# make and a C compiler. What is done once leaves a stamp in .venv/stamps and is not done again until its inputs change.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# Absolute, and one value for every call: cargo rebuilds PyO3 whenever it changes.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# The shell's own would meet hashes that it does not have.
unexport PIP_CONSTRAINT
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# What constraints.txt pins for the named groups; a file whose hash is not there is refused.
install = tools/install-packages $(BIN)/python $(1)

RUST_SOURCES := $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) 2>/dev/null) Cargo.toml Cargo.lock rust-toolchain.toml

# What to reproduce and how, for example: make reproduce WHAT=mtsc/fig-5 ARGS=--full
WHAT ?= all
ARGS ?=
# What random tests start from: the same every time, so that a failure is of the code and not of the day. Another number
# searches elsewhere: make cargo-test SEED=7.
SEED ?= 1
# Tests of sockets mostly wait, so that some run beside each other also where there are few cores.
TEST_THREADS := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); [ "$$n" -gt 4 ] && echo "$$n" || echo 4)
# Python tests of real packets wait for most of their time, too: one more runs than there are cores.
PYTEST_WORKERS := $(shell n=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); echo $$((n + 1)))
# How long `make fuzz` takes.
FUZZ_SECONDS ?= 300

# pip and maturin both write into the environment: when both are wanted under -j, they take turns.
ifneq ($(filter test mypy pytest docs,$(MAKECMDGOALS)),)
TURN := $(STAMPS)/dev
endif

# `make test` runs two jobs at once. What cargo builds takes turns, since cargo locks its folder, and meanwhile the other job is
# for what does not compile; pytest uses every core and comes last.
ifeq ($(MAKECMDGOALS),test)
MAKEFLAGS += --jobs=2
clippy: | fmt
rustdoc: | clippy $(STAMPS)/some-core
cargo-test: | rustdoc
wasm: | cargo-test
additions: | wasm
pytest: | ruff mypy architecture additions licences
endif

##@ For everyone

.PHONY: reproduce
reproduce: $(STAMPS)/core ## Rebuild the papers' tables and figures: a table here, and an HTML report that works offline
	$(BIN)/tailback reproduce $(WHAT) $(ARGS)

.PHONY: test
test: fmt $(STAMPS)/some-core clippy rustdoc cargo-test wasm ruff mypy architecture additions licences pytest ## Every test, lint, format, licence and architecture check
	@echo "make test: all checks passed"

.PHONY: bench
bench: $(STAMPS)/core ## Speed beside ns-2 (if installed), as ratios, into docs/benchmarks.md; ARGS=--quick for a look
	cargo build --release --quiet -p tailback-sim --example perf
	$(BIN)/python -m benches.compare $(ARGS)

.PHONY: accumulation
accumulation: $(STAMPS)/core ## The items of accumulation-based control, into docs/accumulation.md
	$(BIN)/python -m tools.write_items accumulation

.PHONY: mtsc
mtsc: $(STAMPS)/core ## The items of multiple time scale control, and estimators of H, into docs/mtsc.md
	$(BIN)/python -m tools.write_mtsc

.PHONY: probabilistic
probabilistic: $(STAMPS)/core ## The items of probabilistic congestion control, into docs/probabilistic.md
	$(BIN)/python -m tools.write_items probabilistic

.PHONY: comparison
comparison: $(STAMPS)/core ## All schemes on one set of networks, into docs/comparison.md; ARGS=--quick for a look in a minute
	$(BIN)/python -m tools.write_comparison $(ARGS)

.PHONY: home
home: $(STAMPS)/core ## A household under five pairs of queues on four access lines, into docs/home.md; ARGS=--quick for a look, in out/home
	$(BIN)/python -m tools.write_home $(ARGS)

.PHONY: queues
queues: $(STAMPS)/core ## Disciplines under the scenarios of RFC 7928, into docs/howto/evaluate-queue.md; ARGS=--quick for a look, in out/queues
	$(BIN)/python -m tools.write_queues $(ARGS)

.PHONY: media
media: $(STAMPS)/core ## RFC 8867's test cases under three schemes for media, into docs/howto/evaluate-media.md; ARGS=--quick for a look, in out/media
	$(BIN)/python -m tools.write_media $(ARGS)

.PHONY: tdqm
tdqm: $(STAMPS)/core ## The items of TDQM and TCP Newark and the experiments beside them, into docs/tdqm.md
	$(BIN)/python -m tools.write_tdqm

.PHONY: packet-pair
packet-pair: $(STAMPS)/core ## Packet-pair's items and its comparison with TCP, into docs/packet-pair.md
	$(BIN)/python -m tools.write_packet_pair

.PHONY: validation
validation: $(STAMPS)/core ## TCP and queues beside ns-2's figures, row by row, into docs/validation.md
	$(BIN)/python -m tools.write_validation

.PHONY: parity
parity: $(STAMPS)/core ## Simulated and real networks side by side, and the router's figures, into docs/parity.md; ARGS=--runs=2, ARGS=--virtual
	$(BIN)/python -m tools.write_parity $(ARGS)

.PHONY: docs
docs: $(STAMPS)/docs $(STAMPS)/core ## The documentation as a web site that works offline: docs/_build/html/index.html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: wheel
wheel: $(STAMPS)/wheel $(STAMPS)/cargo ## A wheel for any Linux and a source distribution, in wheels/, tried outside the clone
	rm -rf wheels
	@# The linker for old systems is a package of this environment, which maturin looks for among programs.
	PATH="$(CURDIR)/$(BIN):$$PATH" TAILBACK_REVISION=$$(git rev-parse --short=12 HEAD 2>/dev/null || true) \
	  $(BIN)/maturin build --release --locked --quiet --sdist --zig --compatibility manylinux2014 --out wheels
	tools/try-wheel wheels $(BIN)/python

.PHONY: setup
setup: $(STAMPS)/core ## The environment and the compiled core only: then use .venv/bin/tailback

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo

##@ For contributors: the parts of `make test`

.PHONY: fmt
fmt: $(STAMPS)/cargo ## Rust is formatted
	cargo fmt --all --check

.PHONY: clippy
clippy: $(STAMPS)/cargo $(STAMPS)/python ## Rust lints, pedantic
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings

.PHONY: rustdoc
rustdoc: $(STAMPS)/cargo $(STAMPS)/python ## Pages of the Rust code can be made, with no link that leads nowhere
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --document-private-items --locked

.PHONY: cargo-test
cargo-test: $(STAMPS)/cargo $(STAMPS)/python ## Rust tests, examples in the documentation included
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$(TEST_THREADS)} PROPTEST_RNG_SEED=$(SEED) $(BIN)/python tools/run_rust_tests.py

.PHONY: wasm
wasm: $(STAMPS)/cargo ## Everything but sockets and Python compiles for a browser, where that target can be had
	tools/check-wasm

.PHONY: targets
targets: $(STAMPS)/cargo ## Everything but real packets compiles for Windows and macOS, where these targets can be had
	tools/check-targets

.PHONY: ruff
ruff: $(STAMPS)/dev ## Python lints and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: mypy
mypy: $(STAMPS)/dev ## Python types, strict
	$(BIN)/mypy

.PHONY: pytest
pytest: $(STAMPS)/dev $(STAMPS)/some-core ## Python tests, the documentation's examples included
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadfile $(ARGS)

.PHONY: architecture
architecture: $(STAMPS)/cargo $(STAMPS)/python ## Crates depend one way, clocks and unsafe stay where they may be, files say what they hold, pages name what exists
	$(BIN)/python tools/check_architecture.py

.PHONY: additions
additions: $(STAMPS)/cargo $(STAMPS)/python ## A scheme, a discipline, a source and a column can each be added in one place; ARGS=--run tests them too
	$(BIN)/python tools/check_additions.py $(ARGS)

.PHONY: licences
licences: $(STAMPS)/cargo $(STAMPS)/dev ## Every dependency's licence is one we may ship
	$(BIN)/python tools/check_licences.py

.PHONY: fuzz
fuzz: $(STAMPS)/checks ## Five minutes of all fuzz targets; FUZZ_SECONDS=30 for a look
	tools/fuzz $(FUZZ_SECONDS)

.PHONY: advisories
advisories: $(STAMPS)/checks $(STAMPS)/cargo ## Dependencies: known vulnerabilities, as far as databases can be had; and where they come from
	tools/check-advisories

.PHONY: format
format: $(STAMPS)/dev $(STAMPS)/cargo ## Format Rust and Python in place
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: lock
lock: $(STAMPS)/lock ## Pin what pyproject.toml asks for, with hashes, in constraints.txt; ARGS=--upgrade for the newest
	$(BIN)/python -m tools.lock $(ARGS)

.PHONY: clean
clean: ## Remove everything that make made
	rm -rf $(VENV) target docs/_build docs/generated out wheels python/tailback/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts fuzz/coverage fuzz/build.log fuzz/run.log benches/quinn/target
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Stamps ---------------------------------------------------------------------------------------------------------

$(STAMPS)/python: tools/find-python
	python=$$(tools/find-python); "$$python" -m venv $(VENV) || { rm -rf $(VENV); echo "Could not make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/cargo: tools/check-cargo rust-toolchain.toml | $(STAMPS)/python
	tools/check-cargo
	touch $@

$(STAMPS)/run: constraints.txt pyproject.toml | $(STAMPS)/python
	@echo "Installing pinned Python packages into $(VENV)"
	$(call install,build run pandas arrow)
	touch $@

# One pip at a time: each further group waits for the one before it.
$(STAMPS)/dev: $(STAMPS)/run
	$(call install,dev cluster oracle)
	touch $@

$(STAMPS)/docs: $(STAMPS)/run | $(STAMPS)/dev
	$(call install,docs)
	touch $@

$(STAMPS)/checks: $(STAMPS)/run | $(STAMPS)/dev
	$(call install,checks)
	touch $@

$(STAMPS)/wheel: $(STAMPS)/run | $(STAMPS)/dev
	$(call install,wheel)
	touch $@

# Not anew whenever constraints.txt changes, which it writes.
$(STAMPS)/lock: | $(STAMPS)/run
	$(call install,lock)
	touch $@

develop = VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --locked --quiet

$(STAMPS)/core: $(RUST_SOURCES) $(STAMPS)/run | $(STAMPS)/cargo $(TURN)
	@echo "Building the core (release)"
	$(develop) --release
	touch $@ $(STAMPS)/some-core

# For tests any core will do. Where there is none, it is built of what the Rust tests have compiled anyway, with their checks
# for overflow; whatever measures still asks for the other.
$(STAMPS)/some-core: $(RUST_SOURCES) $(STAMPS)/run | $(STAMPS)/cargo $(TURN)
	@echo "Building the core (for tests)"
	$(develop) --features as-tested
	touch $@
