"""The tool that runs the numeric tests as other processors round: a setting reaches them, a failing one is reported."""
import pytest
import versions

QUICK_TEST = """import os


def test_it():
    assert {key: os.environ.get(key) for key in ("MKL_CBWR", "OPENBLAS_CORETYPE")} != {
        "MKL_CBWR": "SSE4_2", "OPENBLAS_CORETYPE": None}
"""


def test_a_setting_that_fails_is_reported(tmp_path, monkeypatch, capsys):
    """Only that one, whatever the caller itself has set."""
    (tmp_path / "test_it.py").write_text(QUICK_TEST, encoding="utf-8")
    monkeypatch.setattr(versions, "QUICK_TESTS", [tmp_path / "test_it.py"])
    monkeypatch.setattr(versions, "QUICK", ["two threads", "MKL for SSE4.2"])
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with pytest.raises(SystemExit) as end:
        versions.main(["--quick"])
    assert end.value.code
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.startswith(("holds    ", "FAILED   "))]
    assert lines[0] == "holds    two threads: OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2: 1 passed"
    assert lines[1:] == ["FAILED   MKL for SSE4.2: MKL_CBWR=SSE4_2"] and "test_it" in printed


def test_all_hold_where_none_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    monkeypatch.setattr(versions, "QUICK_TESTS", [tmp_path / "test_it.py"])
    monkeypatch.setattr(versions, "QUICK", versions.QUICK[:1])
    with pytest.raises(SystemExit) as end:
        versions.main(["--quick"])
    assert not end.value.code and capsys.readouterr().out.endswith("1 passed\n")
