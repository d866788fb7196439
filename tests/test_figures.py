"""figures/ holds what the chapters store."""
import figures
from book import ROOT


def stale(found):
    """Names of files that differ from what the chapters store."""
    wanted = figures.files()
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def stored():
    return {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "figures").iterdir()}


def test_no_figure_is_stale():
    assert not stale(stored()), "run `make figures`"


def test_stale_figures_are_found():
    found = stored()
    found["05-04.svg"] = found["05-04.svg"].replace("0.48", "0.49")
    del found["01-01.svg"]
    found["99-01.svg"] = ""
    assert stale(found) == ["01-01.svg", "05-04.svg", "99-01.svg"]
