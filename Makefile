# Every target sets up what it needs: a virtual environment in .venv, from constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# How many tests run at once.
JOBS   ?= auto
# Tests start hundreds of Python programs: none of them should compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kapstan needs Python 3.11 or newer; set PYTHON=/path/to/python3")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing kapstan and its development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

.PHONY: venv
venv: $(STAMP) ## Make the virtual environment in .venv

##@ The two commands to start with

.PHONY: demo
demo: $(STAMP) ## Show what kapstan does, on this machine, with nothing but Python (REAL=1: with Kubernetes' own programs)
	@$(BIN)/kapstan demo $(if $(REAL),--real)

.PHONY: test
test: lint unit integration ## Lint, types, unit tests, integration tests on both environments

##@ Development

.PHONY: lint
lint: $(STAMP) ## ruff, mypy --strict, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

.PHONY: fmt
fmt: $(STAMP) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: unit
unit: $(STAMP) ## Unit tests
	$(BIN)/pytest tests/unit -n $(JOBS)

.PHONY: integration
integration: $(STAMP) kube ## Integration tests on the embedded and the real API server, and the contract of providers
	@# These start hundreds of real servers: what fails while both cores are busy gets one more try, by itself.
	$(BIN)/pytest tests/integration tests/contract -n $(JOBS) || \
	  $(BIN)/pytest tests/integration tests/contract --last-failed --last-failed-no-failures none

.PHONY: test-slow
test-slow: $(STAMP) kube ## Tests that take minutes
	$(BIN)/pytest tests -m slow

# How long each decoder is fuzzed.
SECONDS ?= 60
.PHONY: fuzz
fuzz: $(STAMP) ## Coverage-guided fuzzing of what the embedded API server reads
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	@for target in $$($(BIN)/python -c 'from tests.fuzz.targets import TARGETS; print(*TARGETS)'); do \
	  $(BIN)/python -m tests.fuzz $$target --seconds $(SECONDS) || exit 1; done

.PHONY: kube
kube: $(STAMP) ## Have the real Kubernetes binaries at hand (found, downloaded or built; cached)
	@$(BIN)/kapstan kube fetch

.PHONY: bench
bench: $(STAMP) kube ## Benchmarks, ours and the peers' in one run
	$(BIN)/python -m benchmarks

.PHONY: clean
clean: ## Remove the virtual environment and caches of this checkout
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-zA-Z_-]+:.*?##/ {printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
