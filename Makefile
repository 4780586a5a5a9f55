# SPDX-License-Identifier: Apache-2.0
# The common tasks. Meson does the work in build/.
#
#   make          build/baro and build/libbaro.so; baro runs from there, uninstalled
#   make deps     installs the packages that building, the demo and the tests need
#   make demo     builds, records a compile and shows its summary         (./demo)
#   make check    lint and all tests, plain and under sanitizers                (./check)
#   make help     the rest

BUILD = build
TIME = 60
MUTANTS = 50000
PREFIX = /usr/local
OPTIONS =

all: ## build/baro and build/libbaro.so
	@tools/build.sh $(BUILD) $(OPTIONS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' Makefile | expand -t 22

deps: ## install the packages that building, the demo and the tests need
	@tools/deps.sh build demo test

demo: ## build, record a compile, show what it used
	@./demo

check: ## lint and all tests, plain and under ASan and UBSan
	@./check

check-full: ## the same with the slow tests, a clang build, one without optional parts, and other kernels in QEMU
	@./check --full

asan: ## all tests under ASan and UBSan alone
	@./check --only-sanitized

fuzz: ## search with libFuzzer, TIME=60 seconds for each target; then 50,000 mutants of tapes
	@MUTANTS=$(MUTANTS) tools/fuzz.sh $(TIME)

mutants: ## MUTANTS=50000 mutants of tapes through every reader, under ASan and UBSan
	@tools/build.sh build-asan --werror -Doptimization=g "-Dc_args=-g1 -fno-sanitize=null,object-size,pointer-overflow" -Db_sanitize=address,undefined -Db_lundef=false
	@tools/mutants.sh build-asan $(MUTANTS)

crash: all ## kill -9 at 1,000 random moments and at every call of the writer; every call failed; 1,000 full disks
	@BARO_FULL=1 /usr/bin/python3 -m pytest -q -s tests/e2e/test_unbreakable.py

soak: all ## record a busy job, then the machine with restarts, for TIME=60 seconds each: memory must not grow
	@/usr/bin/python3 tools/soak.py $(BUILD)/baro $(TIME)
	@/usr/bin/python3 tools/soak_machine.py $(BUILD)/baro $(or $(TIME),60)

truth: all ## how often `baro diff` is right: changes that are found, and comparisons of equal runs that claim one; about 40 minutes
	@/usr/bin/python3 tools/compare-truth $(BUILD)

bench: all ## the table: what baro costs, compared with other tools (tools/deps.sh bench installs them)
	@tools/bench.sh $(BUILD)

lint: all ## layers, style, headers, exports, shell scripts
	@tools/run-suites lint@$(BUILD)

fmt: ## clang-format over the sources
	@clang-format-14 -i $$(find src include tests fuzz bench examples tools -name '*.[ch]')

docs: all ## docs/metrics.md, docs/json.md, man pages and completion from baro's tables
	@tools/docs.sh $(BUILD)

api-docs: ## pages of libbaro's functions from its headers, in build-api/html (tools/deps.sh api installs doxygen)
	@mkdir -p build-api
	@doxygen docs/api/Doxyfile
	@echo build-api/html/index.html

install: ## install what `make` built below PREFIX=/usr/local (DESTDIR is respected)
	@DESTDIR='$(DESTDIR)' tools/install.sh $(BUILD) $(PREFIX) $(OPTIONS)

release: ## what is released, into dist: source and static archives, Debian packages (RELEASING.md)
	@tools/release

check-release: ## checks dist: lintian, an empty root, a minimal Debian, made again (root; tens of minutes)
	@tools/check-release --twice

clean: ## remove what was built
	rm -rf build build-*

.PHONY: all help deps demo check check-full asan fuzz mutants crash soak truth bench lint fmt docs api-docs install release check-release clean
