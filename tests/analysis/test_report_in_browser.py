"""The report in a real browser: it draws, sorts and obeys, and nothing goes wrong on the way."""

import json
import re
import shutil
import subprocess
import tempfile

import pytest
from report_pages import Page, write_runs
from test_report import HOSTILE, write_hostile_run

from vdqn_runner.analysis.report import command

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1200,900", "--virtual-time-budget=60000",
]  # fmt: skip
SECONDS = 300

# Runs once all charts are drawn, and leaves what it saw in the page.
PROBE = """
<script>
(function () {
  "use strict";
  var seen = {};
  function table() {
    return Array.from(document.querySelectorAll("table.sortable")).find(function (one) {
      return one.caption.textContent.startsWith("Mean over seeds");
    });
  }
  function press(column) { table().tHead.rows[0].cells[column].querySelector("button").click(); }
  function order(column) {
    return Array.from(table().tBodies[0].rows).map(function (row) {
      return row.cells[column].dataset.key === undefined ? null : row.cells[column].dataset.key;
    });
  }
  function aria(column) { return table().tHead.rows[0].cells[column].getAttribute("aria-sort"); }
  function place() { return document.getElementById("curves-0"); }
  function traces(key, part) {
    return place().data.filter(function (one) {
      return one.meta.key === key && one.meta.part === part;
    });
  }
  function key(name) { place().dispatchEvent(new KeyboardEvent("keydown", { key: name })); }
  function buttons() { return document.querySelector(".legend").querySelectorAll("button"); }
  function range() { return place()._fullLayout.xaxis.range.slice(); }
  function look() {
    seen.before = order(3);
    press(3);
    seen.ascending = order(3);
    seen.states = [aria(3)];
    press(3);
    seen.descending = order(3);
    seen.states.push(aria(3));
    press(0);
    seen.texts = order(0);
    seen.states.push(aria(3), aria(0));
    var last = table().tHead.rows[0].cells.length - 1;
    press(last);
    seen.missing = order(last);
    press(last);
    seen.missingDown = order(last);

    var first = buttons()[0].textContent;
    seen.shown = traces(first, "center").map(function (one) { return one.visible !== false; });
    buttons()[0].click();
    seen.hidden = traces(first, "center").concat(traces(first, "seeds"), traces(first, "band"))
      .map(function (one) { return one.visible; });
    seen.pressed = buttons()[0].getAttribute("aria-pressed");
    var second = buttons()[1].textContent;
    function opacity() { return traces(second, "seeds")[0].opacity; }
    seen.seeds = [opacity()];
    buttons()[buttons().length - 1].click();
    seen.seeds.push(opacity());
    buttons()[buttons().length - 1].click();
    seen.seeds.push(opacity());

    seen.ranges = [range()];
    key("+");
    seen.ranges.push(range());
    key("0");
    seen.ranges.push(range());

    // The pointer at a mean shows its seeds, beside it still, and away from it no longer. Told to
    // the chart itself: its own events depend on how soon the browser draws.
    var layer = place().querySelector(".nsewdrag"), at = traces(second, "center")[0];
    function point(dx) {
      Plotly.Fx.hover(place(), { xval: at.x[2] + dx, yval: at.y[2], target: layer }, "xy");
    }
    seen.hover = [];
    point(0);
    later(function () {
      seen.hover.push(opacity());
      point(0.01);
      later(function () {
        seen.hover.push(opacity());
        Plotly.Fx.unhover(place(), { target: layer });
        later(function () {
          seen.hover.push(opacity());
          leave();
        });
      });
    });
  }
  function later(next) { setTimeout(next, 500); }
  function leave() {
    var out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(seen);
    document.body.appendChild(out);
    setTimeout(function () { throw new Error("thrown on purpose"); }, 0);
  }
  var timer = setInterval(function () {
    if (document.documentElement.dataset.drawn !== "yes") return;
    clearInterval(timer);
    look();
  }, 50);
})();
</script>
"""

# Tells whether a script of the run's texts has run, and what the label at a curve says.
HOVER = """
<script>
setTimeout(function () {
  document.title = String(window.x);
  var place = document.getElementById("curves-0");
  var i = place.data.findIndex(function (one) { return one.meta.part === "center"; });
  Plotly.Fx.hover(place, [{ curveNumber: i, pointNumber: 1 }]);
  setTimeout(function () {
    var out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(place.querySelector(".hovertext").textContent);
    document.body.appendChild(out);
  }, 500);
}, 1000);
</script>
"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH")


def dumped(file):
    """The page as the browser has it once nothing is left to do."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", file.as_uri()],
            capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(runs, file):
    assert command.main([str(runs), "-o", str(file)]) == 0
    return file


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    top = tmp_path_factory.mktemp("browser")
    return written(write_runs(top / "runs"), top / "report.html")


def without_policy(html):
    text, n = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    assert n == 1
    return text


def errors(page, html):
    hidden = "hidden" in page.by_id("errors")
    text = re.search(r'<div id="errors"[^>]*>(.*?)</div>', html, re.S)[1]
    return "" if hidden and not text else text


def test_all_charts_are_drawn_and_nothing_goes_wrong(report):
    html = dumped(report)
    page = Page(html)
    assert errors(page, html) == ""
    drawn = [a["id"] for _, a in page.elements if "js-plotly-plot" in (a.get("class") or "")]
    assert sorted(drawn) == sorted(page.data["charts"]) and len(drawn) == 10
    roots = [a for tag, a in page.elements if tag == "svg" and a.get("class") == "main-svg"]
    assert len(roots) >= len(drawn)
    # A line has a band, a trace of its single seeds unless it is one of sigma, and its mean; an
    # evaluation is one trace with error bars, and so is the training curve beside it.
    expected = 0
    for place, chart in page.data["charts"].items():
        each = {"curves": 3, "visits": 3, "sigma": 2, "evaluations": 1}[place.partition("-")[0]]
        expected += each * len(chart["lines"])
    paths = [a for tag, a in page.elements if "trace scatter" in (a.get("class") or "")]
    assert len(paths) == expected
    titles = re.findall(r'class="xtitle"[^>]*>([^<]*)<', html)
    assert titles == ["Iteration (10 episodes)"] * len(drawn)
    legends = [tag for tag, a in page.elements if tag == "button" and a.get("aria-pressed")]
    assert len(legends) == (4 + 1) + 4 + (3 + 1) + 2


def test_tables_sort_and_legends_and_keys_work_and_errors_are_shown(report):
    file = report.with_name("probed.html")
    html = without_policy(report.read_text("utf-8"))
    file.write_text(html.replace("</body>", PROBE + "</body>"), "utf-8")
    html = dumped(file)
    seen = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', html, re.S)[1])

    numbers = sorted(map(float, seen["before"]))
    assert seen["before"] != seen["ascending"]
    assert [float(key) for key in seen["ascending"]] == numbers
    assert [float(key) for key in seen["descending"]] == numbers[::-1]
    assert seen["texts"] == ["CartPole-v1"] + ["Chain, N = 8"] * 4
    assert seen["states"] == ["ascending", "descending", None, "ascending"]
    for keys, direction in ((seen["missing"], 1), (seen["missingDown"], -1)):
        known = [float(key) for key in keys if key is not None]
        assert known == sorted(known, reverse=direction < 0) and len(known) == 4
        assert keys[4:] == [None]

    assert seen["shown"] == [True] and seen["hidden"] == [False] * 3
    assert seen["pressed"] == "false"
    assert [opacity > 0.3 for opacity in seen["seeds"]] == [False, True, False]
    assert [opacity > 0.3 for opacity in seen["hover"]] == [True, True, False]
    whole, zoomed, back = seen["ranges"]
    assert zoomed[0] > whole[0] and zoomed[1] < whole[1] and back == whole

    text = errors(Page(html), html)
    assert text.count("<p>") == 1 and "thrown on purpose" in text


def test_texts_of_runs_run_nothing_even_without_the_policy(tmp_path):
    file = written(write_hostile_run(tmp_path / "runs"), tmp_path / "report.html")
    file.write_text(without_policy(file.read_text("utf-8")), "utf-8")
    file.write_text(file.read_text("utf-8").replace("</body>", HOVER + "</body>"), "utf-8")
    html = dumped(file)
    page = Page(html)
    assert "<title>undefined</title>" in html
    # The name of the curve is in the label as it stands, no tag of it left out.
    label = json.loads(
        re.search(r'<pre id="probe">(.*?)</pre>', html, re.S)[1]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
    )
    assert HOSTILE.replace("%{", "%\u200b{") in label
    assert errors(page, html) == ""
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert len([a for _, a in page.elements if "js-plotly-plot" in (a.get("class") or "")]) == 2
