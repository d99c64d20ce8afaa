# Tidepool.  "make help" lists the targets.

VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps

# meson and ninja are the environment's own
export PATH := $(CURDIR)/$(BIN):$(PATH)

# what the installed command is made from
SOURCES := $(shell find core sim python -type f -not -path '*/tests/*' -not -name '*.pyc') \
	meson.build meson.options pyproject.toml VERSION

.DEFAULT_GOAL := install
.PHONY: install help demo test test-c test-python test-long lint format fuzz bench docs \
	postgres postgres-patches test-server test-stress test-suites test-postgres clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- installation ----

install: $(STAMPS)/installed ## build and install the tidepool command into .venv (the default)

$(STAMPS)/venv: pyproject.toml scripts/system-packages
	@mkdir -p $(STAMPS)
	scripts/system-packages build
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --group build
	@touch $@

$(STAMPS)/installed: $(STAMPS)/venv $(SOURCES)
	$(BIN)/pip install --quiet --no-build-isolation '.[cluster,workloads]'
	@touch $@
	@echo "installed: $(BIN)/tidepool"

$(STAMPS)/dev: $(STAMPS)/venv
	scripts/system-packages test
	$(BIN)/pip install --quiet --group dev
	@touch $@

# ---- use ----

demo: $(STAMPS)/installed postgres ## one workload on the server under six algorithms, and simulated: table, pictures in demo-out/
	$(BIN)/python -m tidepool.demo demo-out $(if $(PREFIX),--bin '$(PREFIX)/bin')

# ---- the server ----

BUILD := release
# options of PostgreSQL's build, such as -Dldap=disabled
OPTIONS :=
# where to install it, if not below build
PREFIX :=
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))

postgres: $(STAMPS)/venv ## build PostgreSQL with buffer pools into build/pgsql (BUILD=debug: with assertions, BUILD=stock: without our changes, BUILD=timed: measures holds of the lock; PREFIX=path, OPTIONS="-Dldap=disabled", TARBALL=path)
	scripts/system-packages postgres $(OPTIONS)
	postgres/build $(BUILD) $(OPTIONS) $(if $(PREFIX),-Dprefix='$(PREFIX)') $(TARBALL)

postgres-patches: ## write the commits of build/postgres/src back to postgres/patches
	postgres/tree export build/postgres/src

# ---- tests ----

test: test-c test-python ## all tests that a developer runs (about five minutes)

# with AddressSanitizer and UndefinedBehaviorSanitizer
build/sanitized/build.ninja: $(STAMPS)/dev
	$(BIN)/meson setup --wipe build/sanitized -Dpython=false -Dunit_tests=enabled \
		-Dbuildtype=debugoptimized -Db_ndebug=false -Db_sanitize=address,undefined >/dev/null

# with ThreadSanitizer, which excludes the others: the tests that start threads
build/threads/build.ninja: $(STAMPS)/dev
	$(BIN)/meson setup --wipe build/threads -Dpython=false -Dunit_tests=enabled \
		-Dbuildtype=debugoptimized -Db_ndebug=false -Db_sanitize=thread >/dev/null

test-c: build/sanitized/build.ninja build/threads/build.ninja ## unit tests in C and bounded fuzzing, under sanitizers
	$(BIN)/meson test -C build/sanitized --print-errorlogs
	$(BIN)/meson test -C build/threads --print-errorlogs --suite threads

test-python: $(STAMPS)/installed $(STAMPS)/dev ## policies against models, simulator, traces, command
	$(BIN)/pytest -q -n 2

test-long: $(STAMPS)/installed $(STAMPS)/dev ## the same with many more random cases
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -q -n 2

test-server: $(STAMPS)/installed $(STAMPS)/dev ## build the server with assertions, and the unpatched one; test pools, counters, extensions, crashes
	scripts/system-packages postgres $(OPTIONS)
	postgres/build debug $(OPTIONS) $(TARBALL)
	postgres/build stock $(OPTIONS) $(TARBALL)
	scripts/monitoring-programs build/monitoring
	$(BIN)/pytest -q -n 4 tests/server

test-stress: $(STAMPS)/installed $(STAMPS)/dev ## crash a server under load in ROUNDS rounds (one with each of ALGORITHMS: six minutes) and verify it; POOLS=1 also changes named pools
	scripts/system-packages postgres $(OPTIONS)
	postgres/build debug $(OPTIONS) $(TARBALL)
	PYTHONPATH=tests $(BIN)/python -m server.stress $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ALGORITHMS),--algorithms $(ALGORITHMS)) $(if $(POOLS),--pools)

test-suites: $(STAMPS)/installed ## PostgreSQL's regress and isolation suites under ALGORITHMS (plain configuration, pools, and all); WAYS=1: each in six ways of reading; POOLS=1: over five named pools, with recovery's TAP tests; SSD=1: with an SSD tier of two sizes, all I/O methods, and TAP tests
	scripts/system-packages postgres $(OPTIONS)
	postgres/build debug $(OPTIONS) $(TARBALL)
	$(BIN)/python postgres/check $(if $(WAYS)$(SSD),--ways) $(if $(POOLS),pools,$(if $(SSD),ssd ssd_small,$(ALGORITHMS)))
	$(if $(POOLS)$(SSD),scripts/system-packages postgres-suite)
	$(if $(POOLS)$(SSD),postgres/build suite $(OPTIONS) $(TARBALL))
	$(if $(POOLS),$(BIN)/python postgres/suite --pools)
	$(if $(SSD),for pages in 64 65536; do for method in sync worker io_uring; do \
		$(BIN)/python postgres/suite --ssd $$pages --io-method $$method || exit 1; done; done)

test-postgres: $(STAMPS)/installed ## PostgreSQL's whole test suite, TAP included, with default settings (20 minutes)
	scripts/system-packages postgres postgres-suite $(OPTIONS)
	postgres/build suite $(OPTIONS) $(TARBALL)
	$(BIN)/python postgres/suite

lint: $(STAMPS)/installed $(STAMPS)/dev ## formatting, lint, types
	scripts/system-packages lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --scripts-are-modules postgres/check postgres/suite scripts/prices
	scripts/indent --check

format: $(STAMPS)/dev ## format C and Python
	scripts/system-packages lint
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	scripts/indent

fuzz: $(STAMPS)/installed $(STAMPS)/dev ## fuzz the trace readers for long (SECONDS=300 a target)
	scripts/system-packages fuzz
	tests/fuzz/run.sh $(or $(SECONDS),300)
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -q tests/traces/test_damage.py

bench: $(STAMPS)/installed $(STAMPS)/dev ## run the benchmarks (some need root: they say so and are left out); tables here, CSV and pictures in bench/out/
	$(MAKE) postgres BUILD=release PREFIX=
	$(MAKE) postgres BUILD=stock PREFIX=
	for script in $$(grep -l __main__ bench/*.py); do \
		$(BIN)/python $$script || [ $$? = 77 ] || exit 1; done

$(STAMPS)/docs: $(STAMPS)/venv
	$(BIN)/pip install --quiet --group docs
	@touch $@

docs: $(STAMPS)/installed $(STAMPS)/docs postgres ## the documentation as a site, with a reference made from the code, in build/site
	$(BIN)/python docs/site/build.py build/site $(if $(PREFIX),--bin '$(PREFIX)/bin')

clean: ## remove everything that was built
	postgres/tree saved build/postgres/src
	rm -rf $(VENV) build demo-out bench/out
