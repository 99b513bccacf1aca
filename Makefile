PYTHON := .venv/bin/python

.PHONY: test bench-rdp support golden

test:
	python3 scripts/test.py

# Speed and tightness of the Renyi accountant beside its peers, in one run; writes docs/benchmark-rdp.{json,md}.
bench-rdp:
	python3 benchmarks/rdp.py

# Which combinations give a number; writes docs/support.md.
support:
	$(PYTHON) -m tests.contracts.support
