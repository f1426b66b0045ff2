# Every verb prepares .venv by itself; PG=16 picks the embedded PostgreSQL, DOTQ_TEST_DSN another server.
PYTHON ?= python3
BIN := .venv/bin
READY = @$(PYTHON) tests/harness/bootstrap.py
export DOTQ_TEST_PG ?= $(PG)

.DEFAULT_GOAL := help
.PHONY: help demo test test-docker test-matrix check sql dev dev-down psql mutate clean

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## A tour of the queue on the embedded dev server (or on DATABASE_URL)
	$(READY) dev
	@$(BIN)/dotq demo

test: ## All tests on an embedded PostgreSQL (PG=16|18, K=expression, ARGS=more for pytest)
	$(READY) test
	@$(BIN)/python -m pytest $(if $(K),-k '$(K)') $(ARGS)

test-docker: ## The same tests against PostgreSQL in a container (BASE=image)
	$(READY) test
	@DOTQ_TEST_BACKEND=docker DOTQ_TEST_BASE='$(BASE)' $(BIN)/python -m pytest $(if $(K),-k '$(K)') $(ARGS)

test-matrix: ## The same tests on PostgreSQL 15, 16, 17 and 18
	$(READY) test
	@$(BIN)/python tests/harness/matrix.py $(if $(K),-k '$(K)') $(ARGS)

check: ## Linters, types, SQL checkers, generated files
	$(READY) check
	@$(BIN)/python tests/harness/check.py

sql: ## Print the whole schema as one SQL file
	$(READY) dev >&2
	@$(BIN)/dotq sql

dev: ## Start the dev server and install the schema
	$(READY) dev
	@$(BIN)/dotq dev up
	@DOTQ_DATABASE_URL=$$($(BIN)/dotq dev url) $(BIN)/dotq migrate

dev-down: ## Stop the dev server
	$(READY) dev
	@$(BIN)/dotq dev down

psql: ## Open psql on the dev server
	$(READY) dev
	@$(BIN)/dotq dev psql

mutate: ## Break the SQL functions one by one and see that a test notices
	$(READY) test
	@$(BIN)/python tests/harness/mutate.py $(ARGS)

clean: ## Remove the virtual environment and caches
	@rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache build dist
	@find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
