PYTHON := .venv/bin/python

.PHONY: test full faults frozen lowest newest bench bench-rdp bench-exact bench-beside bench-mixed bench-per-record bench-clipping soundness hostile noise kills false-alarms bench-looks support theorems house package filter soak-ledger interop certificates audit kills-parallel agreement bench-page bench-parallel tutorials look screenshots

test:
	python3 scripts/test.py

# The tests in their long form, with a fresh seed, which is printed; writes docs/full-tests.json.
full:
	python3 -m scripts.full

# Planted faults, one at a time, each of which a test must notice; writes docs/faults.json and its table in docs/tests.md.
faults:
	$(PYTHON) -m scripts.faults

# Today's answers beside the frozen ones at all 3,324 points; writes docs/frozen.json.
frozen:
	$(PYTHON) -m tests.frozen

# The lower bounds of pyproject.toml, tried in .venv-lowest.
lowest:
	python3 -m scripts.lowest

# The test command on the newest of everything but torch, in .venv-newest.
newest:
	python3 -m scripts.newest

# Everybody beside everybody: epsilon, time, memory, failures; writes docs/benchmark.{json,md,png}.
bench:
	python3 benchmarks/peers.py

# Speed and tightness of the Renyi accountant beside its peers, in one run; writes docs/benchmark-rdp.{json,md}.
bench-rdp:
	python3 benchmarks/rdp.py

# Exact answers beside dp-accounting's privacy loss distributions, in one process; writes docs/benchmark-exact.{json,md}.
bench-exact:
	python3 benchmarks/exact.py

# Processor time beside an earlier commit, in one run; writes docs/benchmark-beside.json.
COMMIT := f32e2ab
bench-beside:
	$(PYTHON) -m benchmarks.beside $(COMMIT)

# Unlike releases beside an earlier commit, in processor time; writes docs/benchmark-mixed.json.
bench-mixed:
	$(PYTHON) -m benchmarks.mixed $(COMMIT)

# A million records' own guarantees beside single calls; writes docs/benchmark-per-record.json.
bench-per-record:
	$(PYTHON) benchmarks/per_record.py

# Their call, our call and both numbers, against the real packages in .venv-interop; writes docs/interop.json and the comparisons
# of docs/coming-from.md.
interop:
	python3 benchmarks/interop.py

# Which combinations give a number; writes docs/support.md.
support:
	$(PYTHON) -m tests.contracts.support

# Executes the six tutorials, each in a fresh kernel; writes their outputs, and a hash of the cells they belong to, into docs/tutorials.
tutorials:
	$(PYTHON) -m scripts.tutorials

# Files per folder, imports against the arrows, the way of four questions; writes its tables in docs/architecture.md.
house:
	$(PYTHON) -m scripts.house --write

# The archives as they would be published; the wheel, built from the source archive, is tried in an environment of its own.
package:
	python3 -m scripts.package

# Every numbered result of the papers, its function and its tests; writes docs/theorems.md and docs/papers/.
theorems:
	$(PYTHON) scripts/theorems.py

# 120,000 random points against ball arithmetic, then 30,000 through the accountants; writes docs/soundness.json.
soundness:
	$(PYTHON) -m tests.soundness.campaign
	$(PYTHON) -m tests.soundness.exact_campaign

# 20,000 hostile documents and 20,000 random events, each with limits on memory and time; writes docs/hostile.json.
hostile:
	$(PYTHON) -m tests.soundness.hostile_campaign

# What a filter costs on seven plans, and adversaries who try to break its promise; writes docs/filter.json and docs/budget.md.
filter:
	$(PYTHON) -m tests.ledger.filter_campaign

# A billion values of the noise, a million cells in ball arithmetic; writes docs/noise.json.
noise:
	$(PYTHON) -m tests.training.noise_campaign

# The whole of Run.step beside plain SGD and, if `pip install -c constraints.txt opacus` was run, every mode of Opacus, on four
# models and the smallest one; writes docs/benchmark-clipping.json.
bench-clipping:
	$(PYTHON) -m benchmarks.clipping

# 1,000 kills, and 1,000 interrupts, of a training run at every statement of a release; writes docs/kill-campaign.json and
# docs/interrupts.json.
kills:
	$(PYTHON) -m tests.training.kill_campaign
	$(PYTHON) -m tests.training.interrupt_campaign

# Processor time and traffic of training on one and on two processes beside DistributedDataParallel and fully_shard, and of draws over
# a thousand million units; writes docs/benchmark-parallel.json.
bench-parallel:
	$(PYTHON) -m benchmarks.parallel

# SIGKILL of one of two processes at 200 random moments, and going on with one or two; writes docs/kill-parallel.json. It can be
# stopped and goes on where it was.
kills-parallel:
	$(PYTHON) -m tests.training.parallel.kill_campaign

# 10,000 looks at honest models of 15 families and 2,000 at planted couplings; writes docs/false-alarms.json. It can be stopped
# and goes on where it was.
false-alarms:
	$(PYTHON) -m tests.training.false_alarm_campaign

# Time of a look, and memory of a look and of a confirmation, beside a plain step; writes docs/benchmark-looks.json.
bench-looks:
	$(PYTHON) -m benchmarks.looks

# Thirty tight certificates beside the truth and ten by one Renyi order beside Rdp, made and verified; writes docs/certificates.json. It
# can be stopped and goes on where it was.
certificates:
	$(PYTHON) -m tests.certificates.campaign

# The ledger under many processes, kill -9, failing disks and tampering, and its speed; writes docs/soak-ledger.json. It can be
# stopped and goes on where it was. It fails where a limit is missed, and its result lists which.
soak-ledger:
	$(PYTHON) -m tests.ledger.soak

# Audits of honest code and of planted faults; writes docs/audit.json. It can be stopped and goes on where it was.
audit:
	$(PYTHON) -m tests.training.auditing.campaign

# A thousand random runs asked of the page, the library and the command, twenty of them as programs, with one thread of linear
# algebra each, as the page has; writes docs/page-agreement.json.
agreement:
	OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.web.agreement

# How fast the page answers while its sliders move, and fifty visitors for a minute; writes docs/benchmark-page.json and a sentence
# of docs/page.md.
bench-page:
	$(PYTHON) -m benchmarks.page

# The site, and every page of it opened in a browser at two widths: what sticks out or is cut off; pictures of all in site-pictures/.
look:
	$(PYTHON) -m sphinx -W --keep-going -q docs site
	$(PYTHON) -m scripts.pages.look site site-pictures

# The pictures of the page in the documents, from a server that is started for them; writes docs/figures/page*.png.
screenshots:
	$(PYTHON) -m scripts.pages.screenshots
