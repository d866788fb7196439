"""Do the numbers of the book hold on the oldest and the newest versions in the README, and on other processors?

    python tools/versions.py            every version, then every setting
    python tools/versions.py --quick    three settings that differ much, with the quickest tests

Each version gets an environment of its own in .versions/, and the tests that compare numbers. Figures are compared by
`make test` only: their markup follows the version of matplotlib.

A setting makes the libraries compute as they do on another processor, or with another number of threads: the same code,
whose sums are added up in another order. Under each the chapters are executed too, and have to print what they store.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {
    "oldest": ("python3.11", {"numpy": "1.26.4", "torch": "2.5.1"}),
    "newest": ("python3.13", {}),  # what is pinned
}
# PyTorch multiplies matrices with MKL or oneDNN and has loops of its own (ATen) for the rest; NumPy has OpenBLAS.
SETTINGS = {
    "one thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "two threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    "MKL the same everywhere": {"MKL_CBWR": "COMPATIBLE"},
    "MKL for SSE4.2": {"MKL_CBWR": "SSE4_2"},
    "MKL for AVX2": {"MKL_CBWR": "AVX2"},
    "all for AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "all for an old processor": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41",
                                 "OPENBLAS_CORETYPE": "Nehalem", "MKL_CBWR": "COMPATIBLE"},
}
QUICK = ["two threads", "MKL for SSE4.2", "all for an old processor"]
QUICK_TESTS = [*(f"tests/test_{name}.py" for name in ("attention", "model", "modern", "properties")),
               "tests/test_check.py::test_right_in_another_form"]
TESTS = [*(f"tests/test_{name}.py" for name in (
    "statements", "attention", "model", "modern", "properties", "rounding", "generate", "bench", "bert", "heads", "training",
    "check")), "tests/test_chapters.py::test_prose_numbers"]


def requirements(older):
    """All requirements as one text, with some versions replaced."""
    lines = [line for name in ("book", "run", "test") for line in
             (ROOT / f"requirements{'' if name == 'run' else f'-{name}'}.txt").read_text().splitlines()
             if "==" in line]
    for name, version in older.items():
        lines = [re.sub(rf"^{name}==\S+", f"{name}=={version}", line) for line in lines]
    return "\n".join(lines)


def run(name, python, older):
    """One line on how a version went."""
    what = f"{name}: {python}, " + (", ".join(f"{name} {version}" for name, version in older.items()) or "as pinned")
    if not shutil.which(python) or subprocess.run([python, "--version"], capture_output=True).returncode:
        return f"not run  {what}: no {python} on this machine"
    place = ROOT / ".versions" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "requirements.txt").write_text(requirements(older))
    bin = place / "venv" / "bin"
    return said(what, [[python, "-m", "venv", place / "venv"],
                       [bin / "pip", "install", "--quiet", "-r", place / "requirements.txt"],
                       tested(bin / "python", TESTS)])


def under(name, *runs):
    """One line on how a setting went, in which pytest runs as often as there are lists of tests."""
    known = {key for setting in SETTINGS.values() for key in setting}
    environment = {key: value for key, value in os.environ.items() if key not in known}
    what = f"{name}: " + " ".join(f"{key}={value}" for key, value in SETTINGS[name].items())
    return said(what, [tested(sys.executable, tests) for tests in runs], environment | SETTINGS[name])


def tested(python, tests):
    return [python, "-m", "pytest", "-p", "no:cacheprovider", *tests]


def said(what, steps, environment=None):
    """Take the steps until one fails: the line that tells."""
    passed = 0
    for step in steps:
        call = subprocess.run(step, cwd=ROOT, env=environment, capture_output=True, text=True)
        if call.returncode:
            return f"FAILED   {what}\n{call.stdout[-4000:]}{call.stderr[-2000:]}"
        passed += sum(map(int, re.findall(r"(\d+) passed", call.stdout)))
    return f"holds    {what}: {passed} passed"


def main(arguments):
    if arguments == ["--quick"]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(lambda name: under(name, QUICK_TESTS), QUICK))
        print("\n".join(lines))
    else:
        lines = []
        jobs = [(run, name, *RUNS[name]) for name in RUNS] + [(under, name, TESTS, ["chapters"]) for name in SETTINGS]
        for call, *what in jobs:
            lines.append(call(*what))
            print(lines[-1], flush=True)
    sys.exit(any(line.startswith("FAILED") for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
