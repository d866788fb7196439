"""No misspelled word in what git tracks."""
import subprocess
import sys

from book import ROOT


def misspelled(files, cwd):
    call = subprocess.run([sys.executable, "-m", "codespell_lib", *files], cwd=cwd, capture_output=True,
                          text=True)
    return call.stdout.splitlines()


def test_spelling():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    texts = [name for name in tracked if name.endswith((".md", ".ipynb", ".py", ".yml", ".css", ".html", ".toml"))]
    assert len(texts) > 40 and not misspelled(texts, ROOT)


def test_a_misspelled_word_is_found(tmp_path):
    wrong = "reci" + "eve"  # in two pieces, or it would be found here
    (tmp_path / "x.md").write_text(f"A {wrong}.", encoding="utf-8")
    assert wrong in misspelled(["x.md"], tmp_path)[0]
