"""Do the numbers of the book hold on the oldest and on the newest versions that the README promises?

Each run gets an environment of its own in .versions/, and the tests that compare numbers. Figures are compared by
`make test` only: their markup follows the version of matplotlib.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {
    "oldest": ("python3.11", {"numpy": "1.26.4", "torch": "2.5.1"}),
    "newest": ("python3.13", {}),  # what is pinned
}
TESTS = ["tests/test_statements.py", "tests/test_attention.py", "tests/test_model.py", "tests/test_modern.py",
         "tests/test_chapters.py::test_prose_numbers"]


def requirements(older):
    """All requirements as one text, with some versions replaced."""
    lines = [line for name in ("book", "run", "test") for line in
             (ROOT / f"requirements{'' if name == 'run' else f'-{name}'}.txt").read_text(encoding="utf-8").splitlines()
             if "==" in line]
    for name, version in older.items():
        lines = [re.sub(rf"^{name}==\S+", f"{name}=={version}", line) for line in lines]
    return "\n".join(lines)


def run(name, python, older):
    """One line on how it went."""
    what = f"{name}: {python}, " + (", ".join(f"{name} {version}" for name, version in older.items()) or "as pinned")
    if not shutil.which(python) or subprocess.run([python, "--version"], capture_output=True).returncode:
        return f"not run  {what}: no {python} on this machine"
    place = ROOT / ".versions" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "requirements.txt").write_text(requirements(older), encoding="utf-8")
    bin = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    for step in ([python, "-m", "venv", place / "venv"],
                 [bin / "pip", "install", "--quiet", "-r", place / "requirements.txt"],
                 [bin / "python", "-m", "pytest", "-p", "no:cacheprovider", *TESTS]):
        call = subprocess.run(step, cwd=ROOT, capture_output=True, text=True)
        if call.returncode:
            return f"FAILED   {what}\n{call.stdout[-4000:]}{call.stderr[-2000:]}"
    passed = re.search(r"\d+ passed", call.stdout)
    return f"holds    {what}: {passed[0]}"


def main():
    lines = []
    for name, (python, older) in RUNS.items():
        lines.append(run(name, python, older))
        print(lines[-1], flush=True)
    sys.exit(any(line.startswith("FAILED") for line in lines))


if __name__ == "__main__":
    main()
