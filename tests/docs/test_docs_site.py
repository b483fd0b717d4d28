"""The site builds without a warning, its links lead somewhere, and nothing in it is fetched."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from documentation import ROOT

from vdqn_runner.config.fields import known_names
from vdqn_runner.config.files import groups, options

pytest.importorskip("mkdocs")
pytest.importorskip("material")

LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Page(HTMLParser):
    """Ids, links and loaded files of one page."""

    def __init__(self, file):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.loaded, self.words = {""}, [], [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        # The theme would print about itself. (--quiet would keep --strict from seeing warnings.)
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = built.stdout + built.stderr
    assert built.returncode == 0 and "WARNING" not in said, said
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """All pages by file, but that for addresses that do not exist: it knows only absolute ones."""
    return {file: Page(file) for file in sorted(site.rglob("*.html")) if file.name != "404.html"}


def target(page, link):
    """(file, fragment) that a link on a page leads to; None if that is not part of the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path, fragment = urldefrag(link)
    file = (page.parent / unquote(path)).resolve() if path else page
    return file, unquote(fragment)


def test_every_link_leads_somewhere(pages):
    count = 0
    for page, found in pages.items():
        for link in found.links:
            if (place := target(page, link)) is None:
                continue
            file, fragment = place
            assert file.is_file(), f"{page}: {link}"
            if fragment:
                assert fragment in pages[file].ids, f"{page}: {link}"
            count += 1
    assert count > 1000


def test_nothing_is_fetched_from_elsewhere(pages):
    for page, found in pages.items():
        for link in found.loaded:
            if link.startswith("data:"):
                continue
            place = target(page, link)
            assert place is not None and place[0].is_file(), f"{page}: {link}"


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")
def test_search_finds_words_in_pages_opened_from_a_disk(site, tmp_path):
    address = f"{(site / 'reference' / 'api.html').as_uri()}?q=reparameterisation"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [BROWSER, *flags, f"--user-data-dir={tmp_path}", "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = done.stdout.partition('class="md-search-result__list"')[2]
    assert "maths.html" in found.partition("</ol>")[0]


def test_every_page_is_reached_from_the_first(site, pages):
    reached, open_ = set(), [site / "index.html"]
    while open_:
        page = open_.pop()
        if page in reached or page not in pages:
            continue
        reached.add(page)
        places = [target(page, link) for link in pages[page].links]
        open_ += [place[0] for place in places if place is not None]
    assert reached == set(pages)


def test_no_mark_of_an_included_file_is_left(pages):
    for page, content in pages.items():
        assert "--8" not in content.text, page


def test_formulas_are_mathml(site):
    text = (site / "maths.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50
    assert "arithmatex" not in text and "\\frac" not in text and "$$" not in text


def test_a_square_stands_on_the_whole_bracket_and_primes_are_not_raised_twice(site):
    text = (site / "maths.html").read_text(encoding="utf-8")
    # A closing bracket alone with its exponent is not as tall as the one that opens.
    assert not re.search(r"<msup><mo[^>]*>[)\]]</mo>", text)
    primes = re.findall(r"<(\w+)[^>]*>\u2032</", text)
    assert set(primes) == {"mo"} and "<msubsup><mi>s</mi><mi>j</mi><mi>\u2032" not in text
    assert len(primes) > 3


def test_every_setting_is_in_the_reference(site, pages):
    text = pages[site / "reference" / "configuration.html"].text
    choices = {f"{group}={name}" for group in groups() for name in options(group)}
    missing = {name for name in set(known_names()) | choices if name not in text}
    # The groups themselves, and what names an option inside a settings file.
    assert missing <= {"env.kind", "algo.name", "tracker.kind"}
    assert "Adam's step size" in text and "weight of the entropy" in text


def test_every_command_is_in_the_reference(site, pages):
    text = pages[site / "reference" / "commands.html"].text
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = re.findall(r"^(vdqn-[a-z]+) = ", project, re.MULTILINE)
    assert len(names) >= 10
    for name in names:
        assert f"usage: {name}" in text
    for inner in ("ls", "show", "diff", "resume", "clean", "track"):
        assert f"usage: vdqn-runs {inner}" in text


def test_the_results_are_those_of_the_repository(site, pages):
    text = pages[site / "results.html"].text
    for file in ("README.md", "summary/summary.md"):
        words = (ROOT / "results" / file).read_text(encoding="utf-8")
        sentence = max(words.replace("|", "\n").splitlines(), key=len).strip()[:60]
        assert sentence.replace("`", "").replace("**", "") in text


def test_every_figure_of_the_results_is_shown(site, pages):
    shown = set(pages[site / "results.html"].loaded)
    figures = {f"figures/{path.name}" for path in (ROOT / "results" / "figures").glob("*.png")}
    assert len(figures) > 5 and figures <= shown


def test_files_that_the_site_takes_from_elsewhere_are_there(site):
    assert (site / "figures" / "figure3.png").read_bytes() == (
        ROOT / "results" / "figures" / "figure3.png"
    ).read_bytes()
    assert (site / "examples" / "explore.ipynb").is_file()
    assert not list(site.rglob("hooks"))
