"""The front page, the glossary, search, the ways in from elsewhere, and pages that are light."""
import os
import re
import shutil
import struct
import subprocess
import types

import download
import nbformat
import pytest
import yaml
from book import CHAPTERS, ROOT, figures, number_faults, read
from browsing import build, serve, violations
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbformat.v4 import new_markdown_cell, new_notebook
from run import KERNEL, repository

PHONE = {"width": 390, "height": 844}  # narrow pages move more
TITLES = {f"chapters/{path.stem}.html": read(path).cells[0].source.splitlines()[0].lstrip("# ") for path in CHAPTERS}
ELSEWHERE = {"cross-entropy", "logit", "scaled-dot-product-attention", "self-attention"}  # in no sentence


def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def address(site):
    return serve(site)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A small book whose settings say where it is published and where its source is."""
    folder = tmp_path_factory.mktemp("published")
    for name in ("_ext", "_static", "_templates"):
        (folder / name).symlink_to(ROOT / name)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["html"]["baseurl"] = "https://book.example/transformer/"
    config["sphinx"]["config"]["html_theme_options"]["repository_url"] = "https://github.com/someone/transformer/"
    (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: chapters/a\n- file: glossary\n",
                                     encoding="utf-8")
    (folder / "index.md").write_text("# Title\n\nOne <b>sentence</b> with `\"code\"` and $\\sqrt{d_k}$.\n",
                                     encoding="utf-8")
    (folder / "glossary.md").write_text("# Glossary\n\n```{glossary}\ntoken\n  A piece.\n\n  [A](chapters/a.ipynb)\n\n"
                                        "key\n  A vector.\n\n  [A](chapters/a.ipynb)\n\nmask\n  A matrix.\n```\n",
                                        encoding="utf-8")
    (folder / "chapters").mkdir()
    nbformat.write(new_notebook(metadata=KERNEL, cells=[new_markdown_cell(text) for text in (
        "# A\n\nThe goal is a token.", "## Part\n\nA token, `key`, [key](../index.md), key-value and keys, a mask.\n\n"
        "**Tokens** are pieces; **tokens** again.")]), folder / "chapters" / "a.ipynb")
    call = build(folder, folder / "out")
    assert call.returncode == 0, call.stdout + call.stderr
    return folder / "out" / "_build" / "html"


# --- the front page and the glossary ---------------------------------------------------------------------------------

def map_faults(page):
    """What the map of a front page says otherwise than the chapters, or leaves out."""
    return sorted({(link["href"], link.get_text()) for link in page.select("nav.map a")} ^ set(TITLES.items()))


def test_the_map_has_every_chapter_in_order(site):
    page = soup(site / "index.html")
    assert not map_faults(page)
    assert [link["href"] for link in page.select("nav.map a")] == list(TITLES)


def test_a_wrong_map_is_found(site):
    page = soup(site / "index.html")
    first, second = page.select("nav.map a")[:2]
    first.decompose()
    second.string = "Another title"
    assert len(map_faults(page)) == 3


def glossary(site):
    """The terms of a glossary, each with the pages that its entry names."""
    return {term["id"]: [link["href"] for link in term.find_next("dd").select("a[href^=chapters]")]
            for term in soup(site / "glossary.html").select("dl.glossary dt")}


def unlinked(site):
    """The terms that a chapter does not link, or more than once, though their entry names it."""
    pages = {page: (site / page).read_text(encoding="utf-8") for page in {*sum(glossary(site).values(), [])}}
    return [(name.removeprefix("term-"), page) for name, named in glossary(site).items() for page in named or [None]
            if page is None or pages[page].count(f'href="../glossary.html#{name}"') != 1]


def test_every_term_is_linked_from_its_chapter(site):
    assert {term for term, _ in unlinked(site)} == ELSEWHERE


def test_an_unlinked_term_is_found(published):
    assert unlinked(published) == [("mask", None)]


def test_a_term_is_linked_where_it_is_bold_or_else_first_said(published):
    """Below the head of the chapter, and never in code or inside another link or word."""
    links = soup(published / "chapters" / "a.html").select('article a[href*="#term"]')
    assert [(link.get_text(), link["title"], link.parent.name) for link in links] == [
        ("keys", "A vector.", "p"), ("Tokens", "A piece.", "strong")]


def test_the_glossary_is_sorted_and_holds_no_number():
    text = (ROOT / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\w.*(?=\n  )", text, re.MULTILINE)
    assert terms == sorted(terms, key=str.casefold) and len(terms) > 40
    assert not number_faults(text, [], {})


# --- search ----------------------------------------------------------------------------------------------------------

def found(browser, address, query):
    page = browser.new_page()
    page.goto(f"{address}search.html?q={query.replace(' ', '+')}")
    page.wait_for_function("() => /found|not match/.test(document.querySelector('.search-summary')?.textContent)")
    links = page.locator("#search-results li > a").evaluate_all("all => all.map(e => e.getAttribute('href'))")
    page.close()
    return links


def test_search_answers_a_question(browser, address):
    assert found(browser, address, "why divide by the square root")[0].startswith("chapters/05_")
    assert not found(browser, address, "why divide by the cube root")


def test_what_search_finds_is_accessible(browser, address):
    page = browser.new_page()
    page.goto(f"{address}search.html?q=softmax")
    page.wait_for_selector("#search-results .context")  # an excerpt
    assert not violations(page)
    page.close()


def errors_from_disk(browser, path):
    """What the search page logs where no server sends it, and what it finds."""
    page = browser.new_page()
    errors = []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{path.as_uri()}?q=softmax")
    page.wait_for_function("() => /found/.test(document.querySelector('.search-summary')?.textContent)")
    listed = page.locator("#search-results").inner_text()
    page.close()
    return errors, listed


def test_search_works_from_a_disk(browser, site):
    errors, listed = errors_from_disk(browser, site / "search.html")
    assert not errors and "Dot products and softmax" in listed


def test_excerpts_that_a_disk_refuses_are_found(browser, site, tmp_path):
    book = shutil.copytree(site, tmp_path / "book")
    text = (book / "search.html").read_text(encoding="utf-8")
    (book / "search.html").write_text(text.replace('location.protocol != "file:"', "true"), encoding="utf-8")
    assert errors_from_disk(browser, book / "search.html")[0]


# --- other doors -----------------------------------------------------------------------------------------------------

def doors(path):
    return [link["href"] for link in soup(path).select("a.download-notebook")]


def test_colab_and_binder_need_the_repository(site, published):
    *elsewhere, download = doors(site / "chapters" / f"{CHAPTERS[0].stem}.html")
    assert download == f"../_sources/chapters/{CHAPTERS[0].name}" and len(elsewhere) == (2 if repository() else 0)
    assert doors(published / "chapters" / "a.html") == [
        "https://colab.research.google.com/github/someone/transformer/blob/main/chapters/a.ipynb",
        "https://mybinder.org/v2/gh/someone/transformer/main?urlpath=lab/tree/chapters/a.ipynb",
        "../_sources/chapters/a.ipynb"]
    assert not doors(published / "index.html")


def test_three_doors_fit_a_phone(browser, published):
    page = browser.new_page(viewport=PHONE)
    page.goto(serve(published) + "chapters/a.html")
    assert page.locator(".download-notebook").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.close()


def test_binder_and_docker_install_what_the_readme_does():
    install = "uv pip install --system --no-cache --torch-backend=cpu -r requirements.txt"
    docker, post = (ROOT / "Dockerfile").read_text(encoding="utf-8"), ROOT / ".binder" / "postBuild"
    assert install in docker and f"\n{install}\n" in post.read_text(encoding="utf-8")
    tracked = subprocess.run(["git", "ls-files", "--stage", post], cwd=ROOT, check=True, capture_output=True, text=True)
    assert tracked.stdout.startswith("100755")  # not every system keeps this in its files
    for line in re.findall(r"^COPY (?:--\S+ )?(.+) \S+$", docker, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()), line
    lists = (*ROOT.glob("requirements*.txt"), ROOT / "constraints.txt", ROOT / ".binder" / "requirements.txt")
    pinned = [name for file in lists
              for name in re.findall(r"^([\w.-]+)==", file.read_text(encoding="utf-8"), re.MULTILINE)]
    assert len(pinned) == len(set(pinned)) and "uv" in pinned
    pythons = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert re.search(r"FROM python:(\S+)-slim", docker)[1] in pythons
    assert (ROOT / ".binder" / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-") in pythons


def test_the_download_has_all_that_a_chapter_needs(site, tmp_path):
    shutil.unpack_archive(site / "inside-the-transformer.zip", tmp_path)
    book = tmp_path / "inside-the-transformer"
    assert [path.name for path in sorted((book / "chapters").glob("*.ipynb"))] == [path.name for path in CHAPTERS]
    notebook = read(book / "chapters" / CHAPTERS[12].name)  # reads stored weights
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": book / "chapters"}}).execute()
    lists = re.findall(r"-r ([\w-]+\.txt)", (book / "README.txt").read_text(encoding="utf-8"))
    assert lists == ["requirements.txt", "requirements-extra.txt"] and all((book / name).is_file() for name in lists)
    needed = (book / "requirements.txt").read_text(encoding="utf-8")
    assert "-r " not in needed and "torch==" in needed


def test_a_file_from_before_1980_is_packed(tmp_path, monkeypatch):
    """As some systems date what they unpack. A zip file cannot say so."""
    (tmp_path / "LICENSE").write_text("old", encoding="utf-8")
    os.utime(tmp_path / "LICENSE", (0, 0))
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    monkeypatch.setattr(download, "ROOT", tmp_path)
    download.pack(types.SimpleNamespace(outdir=tmp_path, builder=types.SimpleNamespace(format="html")), None)
    shutil.unpack_archive(tmp_path / f"{download.NAME}.zip", tmp_path / "out")
    assert (tmp_path / "out" / download.NAME / "LICENSE").read_text(encoding="utf-8") == "old"


def cards(path):
    return {tag.get("property") or tag["name"]: tag["content"] for tag in soup(path).select("meta[content]")
            if re.match("og:|twitter:|description", tag.get("property") or tag.get("name", ""))}


def test_a_link_shows_a_card(site, published):
    card = cards(site / "chapters" / f"{CHAPTERS[4].stem}.html")
    assert card["og:title"] == TITLES[f"chapters/{CHAPTERS[4].stem}.html"] and "og:url" not in card
    assert card["og:description"].startswith("You will be able to compute attention") and "√d" in card["description"]
    assert card["og:image"] == "../_static/card.png"
    card = cards(published / "index.html")
    assert card["og:description"] == 'One sentence with "code" and √dk.'
    assert card["twitter:card"] == "summary_large_image"
    assert card["og:image"] == "https://book.example/transformer/_static/card.png"
    assert card["og:url"] == "https://book.example/transformer/index.html"
    assert not cards(site / "search.html")


def test_the_card_has_the_size_that_is_asked_for(site):
    picture = (site / "_static" / "card.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", picture[16:24]) == (1200, 630)
    assert len(picture) < 300e3


def not_found_faults(browser, html, address):
    """What goes wrong with a page that a server sends for an address, deep in a folder, that does not exist."""
    faults = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme, viewport=PHONE)
        page.on("request", lambda request: faults.append(request.url) if request.resource_type != "document" else None)
        page.on("console", lambda message: faults.append(message.text))
        page.route("**/no/such/*", lambda route: route.fulfill(body=html, content_type="text/html"))
        page.goto(address + "chapters/no/such/page.html")
        faults += violations(page)
        for link in page.locator("a").evaluate_all("all => all.map(e => e.href)"):
            if page.request.get(link).status != 200:
                faults.append(link)
        page.close()
    return faults


def test_a_page_that_is_not_found(browser, address, site, published):
    assert not not_found_faults(browser, (site / "404.html").read_text(encoding="utf-8"), address)
    assert [link["href"] for link in soup(published / "404.html").select("a")] == [
        "https://book.example/transformer/index.html", "https://book.example/transformer/search.html"]
    relative = ("<html lang=en><title>x</title><link rel=icon href=data:,><link rel=stylesheet href=_static/x.css>"
                "<main><h1>x</h1><a href=index.html>y</a></main>")
    faults = not_found_faults(browser, relative, address)
    assert any("_static/x.css" in fault for fault in faults) and f"{address}chapters/no/such/index.html" in faults


def test_the_citation_says_what_the_project_says():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert (citation["title"], citation["authors"]) == (config["title"], [{"name": config["author"]}])
    assert f'version = "{citation["version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert citation["license"] == ["CC-BY-4.0", "MIT"]


# --- on GitHub -------------------------------------------------------------------------------------------------------

KEPT = {"b", "details", "figcaption", "figure", "pre", "summary"}  # those of its allowed elements that a figure has


def on_github(html):
    """What its viewer of notebooks leaves of an output: no drawing, no style, no element that it does not know."""
    page = BeautifulSoup(html, "html.parser")
    for part in page.select("svg, style, script"):
        part.decompose()
    for part in page.find_all():
        if part.name not in KEPT:
            part.unwrap()
    return page


def test_a_figure_without_its_drawing_still_tells_its_numbers():
    for path in CHAPTERS:
        for cell in read(path).cells:
            for data in (output.get("data", {}) for output in cell.get("outputs", ())):
                if "text/html" in data:
                    page = on_github(data["text/html"])
                    assert len(page.figcaption.get_text()) > 20 and page.details.summary
                    assert page.pre.get_text() == data["text/plain"].partition("\n")[2]
    assert on_github("<svg><style>x</style><text>1</text></svg><main><b>2</b></main>").decode() == "<b>2</b>"
