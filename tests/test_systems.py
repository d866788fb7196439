"""What could hold on one system only: encodings, line ends, commands, the environment; and the workflows."""
import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from book import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
             for path in (ROOT / ".github" / "workflows").glob("*.yml")}


# --- files -----------------------------------------------------------------------------------------------------------

def encoding_faults(source):
    """Calls that open a text and leave its encoding to the system."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls
            if re.search(r"(^|\.)(read_text|write_text|open)$", ast.unparse(call.func))
            and not re.match(r"(Image|os|zipfile)\.", ast.unparse(call.func))  # what these open is no text
            and not any(re.fullmatch("'[rwax]b'", ast.unparse(value)) for value in call.args)
            and "encoding" not in [keyword.arg for keyword in call.keywords]]


def test_every_text_has_an_encoding():
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True)
    sources = [(ROOT / name).read_text(encoding="utf-8") for name in files.stdout.split()]
    assert len(sources) > 50 and not sum(map(encoding_faults, sources), [])


def test_a_missing_encoding_is_found():
    source = "open('a')\nopen('a', 'rb')\nopen('a', encoding='utf-8')\npath.read_text()\nsome().path.write_text('rb.')"
    assert encoding_faults(source) == ["open('a')", "path.read_text()", "some().path.write_text('rb.')"]


def test_every_text_ends_its_lines_alike():
    files = subprocess.run(["git", "ls-files", "--eol"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert not [line for line in files.stdout.splitlines()
                if not re.match(r"i/(lf|none) .* attr/text=auto eol=lf|i/-text .* attr/-text", line)]


# --- the environment -------------------------------------------------------------------------------------------------

@pytest.fixture
def made(tmp_path):
    """Runs make in a folder in which nothing needs to be installed. Returns its exit status and what it says."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements-book.txt", "constraints.txt"):
        (tmp_path / name).touch()

    def make(*python):
        call = subprocess.run(["make", ".venv/book.done", *python], cwd=tmp_path, capture_output=True, text=True)
        return call.returncode, call.stderr
    return make


@pytest.fixture
def pretend(tmp_path):
    """An interpreter that is this one, and says that its version is another."""
    def write(version):
        path, parts = tmp_path / f"python{version}", tuple(map(int, version.split(".")))
        path.write_text(f"""#!/bin/sh
[ "$1" = -c ] || exec {sys.executable} "$@"
exec {sys.executable} -c "import sys; sys.version, sys.version_info = '{version}', {parts}; exec(sys.argv[1])" "$2"
""", encoding="utf-8")
        path.chmod(0o755)
        return f"PYTHON={path}"
    return write


needs_make = pytest.mark.skipif(not shutil.which("make") or os.name == "nt", reason="make is for Linux and macOS")


@needs_make
def test_a_python_that_is_too_old_makes_no_environment(made, pretend, tmp_path):
    status, said = made(pretend("3.10"))
    assert status and "needs Python 3.11 or newer, and" in said and "is 3.10. Name a newer one" in said
    assert not (tmp_path / ".venv").exists()
    assert PROJECT["requires-python"] == ">=3.11"


@needs_make
def test_another_python_makes_another_environment(made, pretend, tmp_path):
    assert made(f"PYTHON={sys.executable}")[0] == 0
    mark = tmp_path / ".venv" / "mark"
    mark.touch()
    assert made(f"PYTHON={sys.executable}")[0] == made()[0] == 0 and mark.exists()
    assert made(pretend("3.99"))[0] == 0 and not mark.exists() and (tmp_path / ".venv" / "book.done").exists()


# --- commands --------------------------------------------------------------------------------------------------------

def commands(text):
    """The commands that a Markdown text says to run."""
    return [re.sub(r"\s+#.*", "", line) for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)
            for line in block.splitlines() if line]


def test_commands_without_make_run_in_any_shell():
    plain = [command for command in commands(README) if not command.startswith("make ")]
    assert len(plain) > 6 and not [command for command in plain if re.search(r"[*?~$|<>&;'\"\\]", command)]


# --- workflows -------------------------------------------------------------------------------------------------------

def steps(name, job):
    return [step for step in WORKFLOWS[name]["jobs"][job]["steps"] if "run" in step]


def test_the_workflow_runs_every_system_and_every_python():
    job = WORKFLOWS["test"]["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    assert {re.sub(r"-[\d.]+", "", system) for system in matrix["os"]} == {"ubuntu", "ubuntu-arm", "macos", "windows"}
    promised = [name.split()[-1] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    *gating, newest = matrix["python-version"]
    assert gating == promised and newest not in promised
    assert job["continue-on-error"] == f"${{{{ matrix.python-version == '{newest}' }}}}"
    assert job["runs-on"] == "${{ matrix.os }}" and not job["strategy"]["fail-fast"]
    assert newest in WORKFLOWS["newest"]["jobs"]["newest"]["strategy"]["matrix"]["python-version"]


def test_workflows_run_the_commands_of_the_readme():
    with_make, without = steps("test", "test")
    listed = commands(README)
    assert [f"make {target}" for target in with_make["run"].split()[1:]] == [
        command for command in listed if command in ("make book", "make test")]
    assert (with_make["if"], without["if"]) == ("runner.os != 'Windows'", "runner.os == 'Windows'")
    start, end = listed.index("python3 -m venv .venv"), listed.index(".venv/bin/python -m pytest -n auto")
    windows = [command.replace("python3", "python").replace(".venv/bin/", ".venv\\Scripts\\")
               for command in listed[start:end + 1]]
    assert without["run"].splitlines() == windows and len(windows) == 6
    assert [step["run"] for step in steps("test", "gate")] == [".ci/run"]


def test_workflows_may_only_read():
    assert [each["permissions"] for each in WORKFLOWS.values()] == 2 * [{"contents": "read"}]
