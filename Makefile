# The front door. Every target sets up what it needs; nothing is installed outside .venv and .cache.
# A Python of the distribution first: it is compiled with profiles, and one that was compiled without takes a fifth more time.
PYTHON ?= $(shell for each in /usr/bin/python3 python3; do $$each -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done || echo python3)
VENV := .venv
BIN := $(VENV)/bin
CORES := $(shell getconf _NPROCESSORS_ONLN)
# Half of the time a test waits: for a server to start, for a watch, for a clock. With two workers a core, a sixth of the cores is idle.
WORKERS := $(shell expr 5 \* $(CORES) / 2)
.DEFAULT_GOAL := help
# Python keeps what it compiled, whatever the caller's environment says: the tests start thousands of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help up demo setup dev check style types imports format test test-fast docs cluster kubectl gitea vault programs servers browser bench lock dist image-check matrix sbom clean

help: ## Show what can be done here
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: setup ## Start the control plane (ARGS="--port 7444 --data DIR" to change its options)
	@exec $(BIN)/homeostat up $(ARGS)

demo: setup ## Start a plane with all operators, broken in five ways, to look around in: docs/demo.md
	@exec $(BIN)/homeostat demo $(ARGS)

setup: $(VENV)/.core ## Make .venv with what the plane needs

dev: $(VENV)/.dev

check: dev ## Format, lint, types and import contracts
	@$(MAKE) --no-print-directory --jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) types style imports

style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# mypy gives its processes 3 s to start. Where a busy machine takes longer, it ends with 2, and one process will do.
types:
	$(BIN)/mypy -n $(CORES) || { [ $$? -eq 2 ] && $(BIN)/mypy; }

imports:
	$(BIN)/lint-imports --no-cache

format: dev ## Format the code, fix what can be fixed, write the generated files again
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tools.describe_operators
	$(BIN)/python -m tools.generate_manifests
	$(BIN)/python -m tools.index_finding

# The folders that do without processes, sockets and other programs.
FAST := tests/objects tests/cel tests/server tests/api

# Temporary files in memory, where 4 GB of it are free: planes and databases sync what they write.
test: export TMPDIR := $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ] 2>/dev/null && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
test: dev ## Set up what the tests need, then run all of them: 14 minutes (ARGS="tests/store -k watch" runs some, with what is there)
	$(if $(ARGS),,@$(BIN)/python -m tools.prepare_tests)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(ARGS),$(ARGS),--cache-clear || $(BIN)/python -m tools.rerun_failed $$?)

test-fast: dev ## Run the tests of pure code and of the API: under a minute
	$(BIN)/pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not slow" --hypothesis-profile fast $(FAST) $(ARGS)

docs: $(VENV)/.docs ## Build the documentation as a site: .cache/site/site/index.html
	$(BIN)/python -m tools.build_site

cluster: dev ## Build a real kube-apiserver and etcd for the tests, with Go
	$(BIN)/python -m tools.build_cluster

kubectl: dev ## Build the last four versions of kubectl for the tests, with Go
	$(BIN)/python -m tools.build_kubectl

gitea: dev ## Build a real Gitea for the test of pull requests, with Go: ten minutes of one core, the first time
	$(BIN)/python -m tools.build_gitea

vault: dev ## Build a real Vault for the tests of secret stores, with Go: fifteen minutes of one core, the first time
	$(BIN)/python -m tools.build_vault

programs: dev ## Build kube-controller-manager, kube-scheduler, helm and two operators for the tests, with Go and Cargo
	$(BIN)/python -m tools.build_programs

servers: dev ## Fetch RabbitMQ, sshd, slapd and Prometheus for the tests, from Debian
	$(BIN)/python -m tools.fetch_servers

browser: dev ## Fetch Chromium for the tests of the dashboard, from Debian
	$(BIN)/python -m tools.fetch_browser

bench: dev ## Measure the plane under load and print a table
	$(BIN)/python -m benchmarks $(ARGS)

lock: $(VENV)/.uv ## Resolve the dependencies again into requirements/
	$(BIN)/uv pip compile -q --upgrade pyproject.toml --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/core.txt
	$(BIN)/uv pip compile -q --upgrade pyproject.toml --group dev --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/dev.txt
	$(BIN)/uv pip compile -q --upgrade pyproject.toml --group docs --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/docs.txt
	$(BIN)/uv pip compile -q --upgrade pyproject.toml --extra all -c requirements/dev.txt --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/all.txt
	echo 'hatchling>=1.27' | $(BIN)/uv pip compile -q --upgrade - -c requirements/dev.txt --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/build.txt

dist: dev ## Build a wheel and a source distribution into dist
	$(BIN)/hatchling build

image-check: dev ## Build the image with buildah, start it and use it: some minutes, as root (BASE=... is its base image)
	$(BIN)/python -m tools.check_image $(BASE)

matrix: dev ## Run tests with each Python, PostgreSQL and kubectl that is here, and write what passed (VERSIONS='Python helm' runs some)
	$(BIN)/python -m tools.support_matrix $(VERSIONS)

sbom: dev ## Write the bill of materials of the locked dependencies to dist/sbom.json (CycloneDX)
	@mkdir -p dist
	$(BIN)/python -m tools.write_sbom > dist/sbom.json

clean: ## Remove .venv, caches and builds
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "homeostat needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@echo "Making $(VENV) ... (the first time only; some 30 seconds, nothing is installed elsewhere)" >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/pip install -q --disable-pip-version-check 'uv>=0.8'
	@touch $@

$(VENV)/.core: $(VENV)/.uv requirements/core.txt pyproject.toml
	@echo "Installing into $(VENV) what the plane needs ..." >&2
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --compile-bytecode --require-hashes -r requirements/core.txt
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps -e .
	@$(BIN)/python -m compileall -q -j $(CORES) homeostat
	@touch $@

# What each worker of the tests imports first: five processes would compile it at the same time.
IN_EACH_WORKER := _pytest pytest pluggy hypothesis sortedcontainers xdist execnet pytest_asyncio

$(VENV)/.dev: $(VENV)/.core requirements/dev.txt
	@echo "Installing into $(VENV) what tests and checks need ..." >&2
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --require-hashes -r requirements/dev.txt
	@cd $(VENV)/lib/python3*/site-packages && ../../../bin/python -m compileall -q -j $(CORES) $(IN_EACH_WORKER)
	@touch $@

$(VENV)/.docs: $(VENV)/.core requirements/docs.txt
	@echo "Installing into $(VENV) what the site needs ..." >&2
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --require-hashes -r requirements/docs.txt
	@touch $@
