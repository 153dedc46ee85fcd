# Everything lives in .venv (tools) and var (data); both are ignored by git and safe to delete.
PYTHON ?= python3.11
VENV   := .venv
PTS    := $(VENV)/bin/pts
READY  := $(VENV)/.ready
SITE   := $(VENV)/site/.ready
# Tests start Python some hundred times: without bytecode each of them would compile the project.
unexport PYTHONDONTWRITEBYTECODE
ON_TWO_CORES := --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 10
# Files of which no test is asked for are left out by their marks: what they import takes seconds, in each of two processes.
FILES_OF_TESTS := grep --recursive --include 'test_*.py'

INSTALL := xargs -P 2 -I PART $(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes -r $(VENV)/requirements.PART

.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Install Python packages, a Java runtime and the JVM jars into .venv

demo: $(READY) ## Start broker, job and a simulated feed, and watch packages move (Ctrl-C ends all of it)
	$(PTS) demo

test: $(READY) $(SITE) ## Run the tests, on two cores: all but the long ones
	$(VENV)/bin/pytest $(ON_TWO_CORES) -m "not long"

test-all: $(READY) ## Run the long tests: processes that are killed, Airflow's replays, upgrades, faults
	$(VENV)/bin/pytest $(ON_TWO_CORES) -m long $$($(FILES_OF_TESTS) --files-with-matches 'mark\.long' tests | sort)

test-fast: $(READY) ## Run the tests that need no Spark, broker, browser, server or whole lake, on two cores
	$(VENV)/bin/pytest $(ON_TWO_CORES) -m "not spark and not integration and not slow and not long" $$($(FILES_OF_TESTS) --files-without-match --exclude-dir integration '^pytestmark = .*mark\.\(slow\|long\)' tests | sort)

lint: $(READY) ## Check format, types and import rules
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(READY) ## Format the code
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

mutations: $(READY) ## Break each rule of the tables on purpose: a test must fail for each
	$(VENV)/bin/python -m lab.mutations

faults: $(READY) ## Kill, freeze, fill and damage the real stack: nothing may be lost (make faults N=500 ONLY=kill-job, or CASE=kill-job:17)
	$(VENV)/bin/python -m lab.faults $(if $(N),--cases $(N)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(CASE)

fuzz: $(READY) ## Judge a million random records three times, and require one verdict (make fuzz N=20000 SEED=7)
	$(VENV)/bin/python -m lab.faults.fuzz $(if $(N),--count $(N)) $(if $(SEED),--seed $(SEED))

poison: $(READY) ## Measure what bad and large records cost (make poison N=100000)
	$(VENV)/bin/python -m lab.faults.poison $(if $(N),--records $(N))

soak: $(READY) ## Run the job for half an hour with all maintenance beside it: it must stay as it is (make soak MINUTES=5)
	$(VENV)/bin/python -m lab.faults.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(PLOTS),--plots $(PLOTS))

bench: $(READY) ## Compare the job with its peers, see docs/benchmarks.md (make bench ARGS="--scans 50000 --repeats 1")
	$(VENV)/bin/python -m lab.benchmarks $(ARGS)

lock: $(READY) ## Resolve requirements.lock again from pyproject.toml
	$(VENV)/bin/uv pip compile --quiet --python-version 3.11 --generate-hashes --extra dev pyproject.toml -o requirements.lock
	$(VENV)/bin/uv pip compile --quiet --python-version 3.11 --generate-hashes --group site -o infra/site.lock

sbom: $(READY) ## Write dist/sbom.cdx.json: all Python packages and jars, with hashes and licences (CycloneDX)
	$(VENV)/bin/python -m infra.sbom

advisories: $(READY) ## Ask OSV for known vulnerabilities of all of them; what it cannot be asked fails, too
	$(VENV)/bin/python -m infra.advisories $(ARGS)

site: $(SITE) ## Build docs/ as pages that are read without a network: var/site/index.html
	$(VENV)/site/bin/zensical build --clean --strict

docs: $(READY) ## Regenerate the pages of docs/ that are derived from the code
	$(VENV)/bin/python -m pipelines.tables.docs > docs/tables.md
	$(VENV)/bin/python -m expectations.docs > docs/expectations.md
	$(VENV)/bin/python -m lab.mutations --docs > docs/mutations.md
	$(VENV)/bin/python -m pipelines.cli.docs cli > docs/reference/cli.md
	$(VENV)/bin/python -m pipelines.cli.docs settings > docs/reference/settings.md
	$(VENV)/bin/python -m pipelines.cli.docs exit-codes > docs/reference/exit-codes.md
	$(VENV)/bin/python -m pipelines.cli.docs metrics > docs/reference/metrics.md
	$(VENV)/bin/python infra/decisions.py > docs/adr/index.md

screenshots: $(READY) ## Take the pictures in docs/images again, of the real pages (needs Chromium, some ten minutes; ONLY=board)
	$(VENV)/bin/python -m infra.screenshots $(ONLY)

clean: ## Delete the tools (not the data under var)
	rm -rf $(VENV)

# Versions and hashes are in the lock, so that pip decides nothing, and two of it share the work; itself it replaces before.
$(READY): requirements.lock pyproject.toml infra/jars.lock infra/setup.py infra/aot_cache.py $(wildcard infra/java/*.scala)
	@command -v $(PYTHON) >/dev/null || { echo "setup: $(PYTHON) was not found. Install Python 3.11 or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV) || { echo "setup: $(PYTHON) could not create $(VENV). It needs the venv module (Debian: python3.11-venv)." >&2; rm -rf $(VENV); exit 1; }
	@echo "setup: installing Python packages"
	@awk '/^[a-z]/ {part = /^(pip|setuptools)==/ ? 0 : 1 + (number++ % 2)} {print > ("$(VENV)/requirements." part + 0)}' requirements.lock
	@{ echo 0 | $(INSTALL) && printf '1\n2\n' | $(INSTALL); } || { echo "setup: the packages of requirements.lock could not be installed. Check that the Python package index can be reached, then run make again." >&2; exit 1; }
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@$(VENV)/bin/python infra/setup.py
	@echo "setup: recording a short run of the job, from which Java will start faster"
	@$(VENV)/bin/python infra/aot_cache.py > $(VENV)/aot_cache.log 2>&1 || { echo "setup: the run failed. What it said is in $(VENV)/aot_cache.log." >&2; exit 1; }
	@touch $@

# The site's generator is nobody else's: set-up is as long without it.
$(SITE): infra/site.lock
	@command -v $(PYTHON) >/dev/null || { echo "site: $(PYTHON) was not found. Install Python 3.11 or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "site: installing the generator"
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r infra/site.lock || { echo "site: the packages of infra/site.lock could not be installed. Check that the Python package index can be reached, then run make again." >&2; exit 1; }
	@touch $@

.PHONY: help setup demo test test-all test-fast lint format mutations faults fuzz poison soak bench lock site sbom advisories docs screenshots clean
