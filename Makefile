# `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
# Set to build another environment than that of `make demo`: make demo ENV=tf-2.15-cpu
ENV ?=
# Set to try more inputs: make fuzz SECONDS=3600
SECONDS ?= 60
# Set to make the virtual environment from another Python than the operating system's: make setup PYTHON=python3.13
export PYTHON
UNIT := tests/unit tests/interpreters tests/golden tests/repo tests/fuzz envbuilder tools
# What needs no engine shares nothing, and runs on every core. Every run says which tests took longest.
PARALLEL := --numprocesses auto --dist worksteal --durations 10
# A file stays on one worker, with what it builds; files that use the engine stay on the same one.
GROUPED := --numprocesses auto --maxprocesses 4 --dist loadgroup --durations 10
# Only for tests that need no engine: images of gigabytes do not belong into memory.
SCRATCH := TMPDIR=$$(.ci/scratch)
# Bytecode is kept: every start of the command, and every worker, would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.complete: pyproject.toml .ci/requirements.txt .ci/install
	@echo "installing the tool and its development tools into .venv, which takes some minutes"
	"$$(.ci/python)" -m venv --clear .venv
	.ci/install $(BIN)/python
	touch $@

.PHONY: setup
setup: .venv/.complete ## Virtual environment with the tool and its development tools

.PHONY: pins
pins: setup ## Pin the newest development dependencies that are a week old, with hashes; review the diff
	$(BIN)/uv pip compile --quiet --upgrade --exclude-newer '7 days' --universal --python-version 3.11 --all-extras \
	    --generate-hashes --no-emit-index-url --no-annotate --no-header --output-file .ci/requirements.txt pyproject.toml

.PHONY: audit-dependencies
audit-dependencies: setup ## Compare the pinned dependencies with the database of known vulnerabilities, where it answers
	$(BIN)/python -m tools.audit_dependencies .ci/requirements.txt

.PHONY: engine
engine: setup ## Install and start a Docker engine if none answers (root, Debian)
	.ci/engine

.PHONY: demo
demo: setup ## Build and validate ENV (default: tf-2.4-cuda11.0, see .ci/demo) with whatever this machine has
	.ci/demo $(ENV)

.PHONY: test
test: engine ## All tests: unit, contract, golden, repo, and e2e with a real engine and real TensorFlow
	.ci/test-tools
	$(SCRATCH) $(BIN)/pytest $(PARALLEL) --hypothesis-profile=thorough $(UNIT)
	ENVBUILDER_REQUIRE_ENGINE=1 $(BIN)/pytest $(GROUPED) tests/contract tests/e2e

.PHONY: unit
unit: setup ## Unit, golden, repository tests and doctests, and the probe in every Python: no engine, no network
	.ci/test-tools
	$(SCRATCH) $(BIN)/pytest $(PARALLEL) $(UNIT)

.PHONY: unit-pythons
unit-pythons: setup ## Unit tests that depend on the interpreter, with the oldest and the newest Python found here
	.ci/test-tools
	.ci/unit-pythons

.PHONY: fuzz
fuzz: setup ## Try new damaged inputs on each parser of outside data, SECONDS in all (60); finds go into tests/fuzz/corpus/
	ENVBUILDER_FUZZ_SECONDS=$(SECONDS) $(BIN)/pytest $(PARALLEL) --hypothesis-profile=explore tests/fuzz

.PHONY: properties
properties: setup ## Try new examples of each property until SECONDS (60) are over; a find becomes an @example
	.ci/test-tools
	end=$$(($$(date +%s) + $(SECONDS))); while \
	    $(BIN)/pytest $(PARALLEL) -m hypothesis --hypothesis-profile=explore tests/unit tests/interpreters || exit 1; \
	    [ "$$(date +%s)" -lt "$$end" ]; do :; done

.PHONY: e2e
e2e: engine ## Tests with a real engine and real TensorFlow
	.ci/test-tools
	ENVBUILDER_REQUIRE_ENGINE=1 $(BIN)/pytest $(GROUPED) tests/contract tests/e2e

.PHONY: golden
golden: setup ## Rewrite the golden files; review the diff as the product
	$(BIN)/pytest tests/golden --update-golden

.PHONY: lint
lint: setup ## Format, lint, types, import layers, syntax of the probe
	$(BIN)/ruff format --check envbuilder tests tools
	$(BIN)/ruff check envbuilder tests tools
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vermin --no-tips --no-parse-comments --violations -t=2.7- -t=3.5- envbuilder/incontainer/probe envbuilder/incontainer/multi_node \
	    envbuilder/incontainer/memory_hook.py envbuilder/incontainer/image_test.py envbuilder/incontainer/node_check.py
	$(BIN)/vermin --no-tips --no-parse-comments --violations -t=3.5- envbuilder/incontainer/compile_sources.py

.PHONY: format
format: setup ## Format the code and mend what can be mended
	$(BIN)/ruff format envbuilder tests tools
	$(BIN)/ruff check --fix envbuilder tests tools

.PHONY: matrices
matrices: setup ## Cross-check the catalog, without network; write docs/gpus.md anew
	$(BIN)/envbuilder list
	$(BIN)/python -m tools.gpu_page
	$(BIN)/pytest --quiet tests/repo tests/unit/catalog

.PHONY: row
row: setup ## Make and prove a row for a new release: RELEASE=tensorflow==2.22.0
	.ci/row "$(RELEASE)"

.PHONY: coverage
coverage: setup ## Lines and branches that tests without engine reach: per file, per district, in all
	.ci/test-tools
	$(BIN)/coverage erase
	$(SCRATCH) $(BIN)/coverage run -m pytest $(PARALLEL) $(UNIT)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	@for district in cli wiring cluster curation diagnostics image lock catalog oci core; do \
	    if [ -d envbuilder/$$district ]; then \
	        echo "$$district $$($(BIN)/coverage report --format=total --precision=1 --include="envbuilder/$$district/*") %"; \
	    fi; \
	done

.PHONY: release
release: setup ## Build wheel and source distribution into dist/, check both, and install the wheel elsewhere; publishes nothing
	$(BIN)/python -m tools.release

.PHONY: measures
measures: setup ## Size and shape of the package: lines, functions, complexity, types, docstrings; for each district
	$(BIN)/python -m tools.measures

.PHONY: docs
docs: setup ## Build the documentation site into build/docs/site; a broken link is an error
	$(BIN)/python -m tools.docs

.PHONY: bench
bench: engine ## Measure the catalog, and builds against pip in a Dockerfile and uv outside (about 15 minutes, 20 GB)
	.ci/test-tools
	$(BIN)/python -m tools.bench $(BENCH)

.PHONY: ci
ci: lint audit-dependencies docs demo test unit-pythons ## What CI runs
