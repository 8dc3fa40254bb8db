# Everything below needs only Python 3.11 or newer and make; test-real, lab and bench also need Go, once.
# MCS_KUBERNETES=1.37 makes the tests and the lab use that minor of Kubernetes instead of 1.34.
PYTHON ?= python3.11
BIN := .venv/bin
INSTALLED := .venv/.installed
LAB := build/lab
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test test-real test-nodes test-nightly conformance lab lab-mcs lab-down check check-static bench bench-burst bench-dns bench-fleet bench-federation sync-chart clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Create .venv with the pinned dependencies, unless it is current

# The build tools come first, pinned: an isolated build would fetch whatever versions are newest.
$(INSTALLED): pyproject.toml constraints.txt
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) not found; another one: make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt hatchling editables
	$(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## Start three clusters, the controller and DNS on this machine; Ctrl-C ends them
	$(BIN)/mcs sandbox

test: $(INSTALLED) ## Run the fast tests: no service, root right or network needed
	$(BIN)/pytest --ignore=tests/real --ignore=tests/bench

# The tests that need API servers only do not wait for the programs of the nodes.
test-real: $(INSTALLED) ## Run the tests against real API servers, building those first
	$(BIN)/python -m tests.lab.binaries
	MCS_REQUIRE_REAL=1 $(BIN)/pytest tests/real -m 'not nodes'

test-nodes: $(INSTALLED) ## Run the tests on two whole clusters with real nodes, conformance among them; needs root
	$(BIN)/python -m tests.lab.binaries
	$(BIN)/python -m tests.lab.binaries nodes
	MCS_REQUIRE_REAL=1 $(BIN)/pytest tests/real -m nodes

# The programs of both minors are built first; the parts of a minor that could not be built fail by themselves.
test-nightly: $(INSTALLED) ## Run what is too long for every change, or PARTS="chaos laws" of it; needs root
	-$(BIN)/python -m tests.lab.binaries nodes
	-MCS_KUBERNETES=1.37 $(BIN)/python -m tests.lab.binaries nodes
	-$(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[dev,fuzz]'
	$(BIN)/python -m tests.nightly $(PARTS)

conformance: $(INSTALLED) ## Run the MCS conformance specifications in both shapes; reports go to build/conformance/; needs root
	$(BIN)/python -m tests.lab.binaries nodes
	MCS_REQUIRE_REAL=1 $(BIN)/pytest tests/real/conformance

lab: $(INSTALLED) ## Start two whole clusters with nodes and leave build/lab/kubeconfig; needs root
	$(BIN)/python -m tests.lab.by_hand up $(LAB)

lab-mcs: $(INSTALLED) ## The same with the controller, and with DNS behind each cluster's CoreDNS
	$(BIN)/python -m tests.lab.by_hand up $(LAB) --mcs

lab-down: $(INSTALLED) ## End the clusters of lab or lab-mcs
	$(BIN)/python -m tests.lab.by_hand down $(LAB)

check: check-static test ## Run every check: format, lint, types, floors, layout, then the fast tests

check-static: $(INSTALLED) ## Run the checks that execute nothing of the product
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet tests/unit/test_project_layout.py

bench: $(INSTALLED) ## Measure on real API servers; results also go to build/bench/
	$(BIN)/python -m tests.lab.binaries
	$(BIN)/python -m tests.bench.run

bench-dns: $(INSTALLED) ## Measure DNS next to CoreDNS and NSD; needs the Debian packages dnsperf and nsd
	$(BIN)/python -m tests.lab.binaries
	$(BIN)/python -m tests.bench.run dns dns-workers dns-size dns-changes dns-features

bench-burst: $(INSTALLED) ## Measure a thousand exports at once next to a bare write of the same objects
	$(BIN)/python -m tests.lab.binaries
	$(BIN)/python -m tests.bench.run burst

bench-fleet: $(INSTALLED) ## Measure good members beside bad ones, and 100 members next to 10, on the sandbox
	$(BIN)/python -m tests.bench.run fleet fleet-size

bench-federation: $(INSTALLED) ## Measure plans of federated sets of up to 1,000 clusters and 10,000 objects
	$(BIN)/python -m tests.bench.run federation-plan

sync-chart: ## Copy crds/ into the chart, which must hold the same
	rm -f charts/mcs/crds/*.yaml
	cp crds/*.yaml charts/mcs/crds/

clean: ## Remove .venv and everything generated here (the cache of built programs stays)
	test ! -e $(LAB)/pid || $(BIN)/python -m tests.lab.by_hand down $(LAB)
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find mcs dns tests -name __pycache__ -type d -prune -exec rm -rf {} +
