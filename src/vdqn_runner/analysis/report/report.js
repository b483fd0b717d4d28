// Draws the charts from the data in the page, and sorts its tables. Nothing is loaded.
(function () {
  "use strict";

  // ---- tables -------------------------------------------------------------------------------

  var words = new Intl.Collator("en", { numeric: true });

  function compare(one, other) {
    var a = Number(one), b = Number(other);
    if (one !== "" && other !== "" && !isNaN(a) && !isNaN(b)) return a - b;
    return words.compare(one, other);
  }

  function sortBy(table, column, direction) {
    var body = table.tBodies[0];
    var rows = Array.from(body.rows);
    rows.sort(function (one, other) {
      var a = one.cells[column].dataset.key, b = other.cells[column].dataset.key;
      // A cell without a key is last in both directions.
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return direction * compare(a, b);
    });
    rows.forEach(function (row) { body.appendChild(row); });
    Array.from(table.tHead.rows[0].cells).forEach(function (cell, i) {
      if (i === column) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  }

  document.querySelectorAll("table.sortable").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (cell, column) {
      cell.querySelector("button").addEventListener("click", function () {
        sortBy(table, column, cell.getAttribute("aria-sort") === "ascending" ? -1 : 1);
      });
    });
  });

  // ---- colours ------------------------------------------------------------------------------

  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var printing = false;

  function isDark() { return dark.matches && !printing; }

  function channels(colour) {
    return [1, 3, 5].map(function (i) { return parseInt(colour.slice(i, i + 2), 16); });
  }

  function luminance(rgb) {
    var linear = rgb.map(function (c) {
      c /= 255;
      return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  // The colour of the figures; on a dark page as much white is mixed in as makes it legible, and
  // what is grey or black becomes the colour of text.
  function ink(colour, alpha) {
    var rgb = channels(colour);
    var grey = Math.max.apply(null, rgb) - Math.min.apply(null, rgb) < 16;
    if (isDark() && grey) rgb = channels(theme().text);
    for (var i = 0; isDark() && i < 20 && luminance(rgb) < 0.2; i++) {
      rgb = rgb.map(function (c) { return c + 0.1 * (255 - c); });
    }
    return "rgba(" + rgb.map(Math.round).join(",") + "," + alpha + ")";
  }

  function theme() {
    return isDark()
      ? { text: "#d7dade", grid: "#33383d", axis: "#7d858c", paper: "#1d2125" }
      : { text: "#22262a", grid: "#e6e7e9", axis: "#7a8087", paper: "#ffffff" };
  }

  // ---- from the data to what plotly draws ---------------------------------------------------

  var data = JSON.parse(document.getElementById("data").textContent);

  // Plotly reads tags in texts; names of runs have none.
  function plain(text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")
      .replace(/%\{/g, "%\u200b{");
  }

  function numbers(x) {
    if (Array.isArray(x)) return x;
    return Array.from({ length: x.count }, function (_, i) { return x.from + i * x.step; });
  }

  function short(value) {
    if (value === null || value === undefined) return "–";
    return String(Number(value.toPrecision(3))).replace("-", "−");
  }

  function counts(line, length) {
    return Array.isArray(line.n) ? line.n : new Array(length).fill(line.n);
  }

  // How many points rest on as many seeds as the first.
  function full(n) {
    var end = n.findIndex(function (count) { return count < n[0]; });
    return end < 0 ? n.length : end;
  }

  function band(line, x, from, to, alpha) {
    if (to - from < 2) return [];
    var back = function (values) { return values.slice(from, to).reverse(); };
    return [{
      x: x.slice(from, to).concat(back(x)),
      y: line.high.slice(from, to).concat(back(line.low)),
      fill: "toself", fillcolor: ink(line.colour, alpha), line: { width: 0 }, mode: "lines",
      hoverinfo: "skip", meta: { key: line.key, part: "band" }
    }];
  }

  function single(line, x) {
    var xs = [], ys = [], names = [];
    line.seeds.forEach(function (seed) {
      seed[1].forEach(function (value, i) {
        xs.push(x[i]);
        ys.push(value);
        names.push(seed[0]);
      });
      xs.push(null);
      ys.push(null);
      names.push(null);
    });
    return {
      x: xs, y: ys, customdata: names, mode: "lines", opacity: 0, hoverinfo: "skip",
      line: { width: 1, color: ink(line.colour, 0.75) },
      meta: {
        key: line.key, part: "seeds",
        hover: "seed %{customdata}: %{y:.4g} at %{x}<extra>" + plain(line.name) + "</extra>"
      }
    };
  }

  function center(line, x, n, from, to, alpha) {
    var details = x.map(function (_, i) {
      if (!line.low) return "";
      return " [" + short(line.low[i]) + ", " + short(line.high[i]) + "], " + n[i] +
        (n[i] === 1 ? " seed" : " seeds");
    });
    var trace = {
      x: x.slice(from, to), y: line.mean.slice(from, to), customdata: details.slice(from, to),
      mode: "lines", name: plain(line.name),
      line: {
        width: line.faint ? 1 : 2, dash: line.faint ? "solid" : line.dash,
        color: ink(line.colour, line.faint ? 0.5 : alpha)
      },
      hovertemplate: "%{y:.4g}%{customdata}<br>at %{x}<extra>" + plain(line.name) + "</extra>",
      meta: { key: line.key, part: "center" }
    };
    if (to - from === 1) trace.mode = "markers";
    if (line.mark) {
      trace.mode = "lines+markers";
      trace.line.width = 1.2;
      trace.marker = { symbol: line.mark, size: 7, color: ink(line.colour, 1) };
      trace.error_y = {
        type: "data", symmetric: false, thickness: 1, width: 2, color: ink(line.colour, 0.7),
        array: line.high.map(function (v, i) { return v - line.mean[i]; }).slice(from, to),
        arrayminus: line.low.map(function (v, i) { return line.mean[i] - v; }).slice(from, to)
      };
    }
    return trace;
  }

  function traces(chart) {
    var below = [], middle = [], above = [];
    chart.lines.forEach(function (line) {
      var x = numbers(line.x), n = counts(line, x.length), end = full(n);
      if (line.low && !line.mark) {
        below = below.concat(band(line, x, 0, end, 0.16));
        below = below.concat(band(line, x, Math.max(end - 1, 0), end < n.length ? n.length : 0, 0.07));
      }
      if (line.seeds && !line.mark) middle.push(single(line, x));
      if (line.mark) {
        above.push(center(line, x, n, 0, n.length, 1));
      } else {
        above.push(center(line, x, n, 0, end, 1));
        // The faint part starts at the last point of the full one, so that there is no hole.
        if (end < n.length) above.push(center(line, x, n, end - 1, n.length, 0.4));
      }
    });
    return below.concat(middle, above);
  }

  function layout(chart, width) {
    var look = theme();
    var axis = {
      gridcolor: look.grid, linecolor: look.axis, tickcolor: look.axis, zeroline: false,
      showline: true, ticks: "outside", ticklen: 4, automargin: true
    };
    var shapes = chart.reference === null ? [] : [{
      type: "line", xref: "paper", x0: 0, x1: 1, y0: chart.reference, y1: chart.reference,
      layer: "below", line: { width: 1, dash: "dot", color: look.axis }
    }];
    return {
      margin: { l: 52, r: 10, t: 26, b: 42 }, width: width, height: width ? 230 : 270,
      autosize: !width, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: look.text },
      showlegend: false, hovermode: "closest", shapes: shapes,
      hoverlabel: {
        bgcolor: look.paper, bordercolor: look.axis, namelength: -1,
        font: { color: look.text, size: 12 }
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: look.grid, activecolor: look.axis },
      xaxis: Object.assign({ title: { text: "Iteration (10 episodes)", standoff: 6 } }, axis),
      yaxis: Object.assign(
        { title: { text: chart.y, standoff: 6 }, type: chart.log ? "log" : "linear" },
        chart.log ? { exponentformat: "power", nticks: 6 } : {},
        chart.range ? { range: chart.range.slice() } : {}, axis
      )
    };
  }

  var settings = {
    responsive: true, displaylogo: false, doubleClick: "reset",
    // These alone: plotly's own choice has a button that sends the chart to a server.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    toImageButtonOptions: { format: "svg", filename: "chart" }
  };

  // ---- what is shown: single seeds, hidden lines --------------------------------------------

  var hidden = {};
  var allSeeds = {};

  function section(id) { return id.replace(/-\d+$/, ""); }

  function indices(place, wanted) {
    return place.data.reduce(function (found, trace, i) {
      return wanted(trace.meta) ? found.concat(i) : found;
    }, []);
  }

  function showSeeds(place, key, on) {
    var at = indices(place, function (meta) {
      return meta.part === "seeds" && (key === null || meta.key === key);
    });
    if (!at.length) return;
    // Lines that are shown only while the pointer is on their mean must not catch it; plotly lets
    // a trace with a template do so whatever its hoverinfo.
    var fixed = allSeeds[section(place.id)];
    var hover = at.map(function (i) { return fixed ? place.data[i].meta.hover : null; });
    var update = { opacity: on ? 0.55 : 0, hoverinfo: fixed ? "all" : "skip", hovertemplate: hover };
    Plotly.restyle(place, update, at);
  }

  function applyHidden(place) {
    var names = hidden[section(place.id)] || {};
    [true, false].forEach(function (visible) {
      var at = indices(place, function (meta) { return !names[meta.key] === visible; });
      if (at.length) Plotly.restyle(place, { visible: visible }, at);
    });
  }

  function places(name) {
    return Array.from(document.querySelectorAll(".chart")).filter(function (place) {
      return place.data && (name === undefined || section(place.id) === name);
    });
  }

  // ---- the keyboard -------------------------------------------------------------------------

  function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    var place = event.currentTarget;
    var range = place._fullLayout && place._fullLayout.xaxis.range;
    if (!range) return;
    var from = range[0], width = range[1] - range[0];
    var moves = {
      "+": [0.1, -0.2], "=": [0.1, -0.2], "-": [-0.125, 0.25],
      "ArrowLeft": [-0.1, 0], "ArrowRight": [0.1, 0]
    };
    if (event.key === "0") {
      Plotly.relayout(place, { "xaxis.autorange": true });
    } else if (moves[event.key]) {
      var start = from + moves[event.key][0] * width;
      Plotly.relayout(place, { "xaxis.range": [start, start + width * (1 + moves[event.key][1])] });
    } else {
      return;
    }
    event.preventDefault();
  }

  // ---- drawing ------------------------------------------------------------------------------

  function draw(place, width) {
    var chart = data.charts[place.id];
    var first = !place.data;
    var kept = first ? null : place._fullLayout.xaxis;
    var wanted = layout(chart, width);
    if (kept && !kept.autorange) wanted.xaxis.range = kept.range.slice();
    Plotly.react(place, traces(chart), wanted, settings);
    applyHidden(place);
    if (allSeeds[section(place.id)]) showSeeds(place, null, true);
    if (!first) return;
    place.on("plotly_hover", function (event) {
      var meta = event.points[0].data.meta;
      if (!allSeeds[section(place.id)] && meta.part === "center") showSeeds(place, meta.key, true);
    });
    place.on("plotly_unhover", function () {
      if (!allSeeds[section(place.id)]) showSeeds(place, null, false);
    });
    place.addEventListener("keydown", onKey);
  }

  var queue = Array.from(document.querySelectorAll(".chart"));

  function drawNext() {
    if (queue.length) draw(queue.shift());
    if (queue.length) window.setTimeout(drawNext, 0);
    else document.documentElement.dataset.drawn = "yes";
  }

  function redraw(width) {
    queue = [];
    document.querySelectorAll(".chart").forEach(function (place) { draw(place, width); });
    drawLegends();
    document.documentElement.dataset.drawn = "yes";
  }

  // ---- legends ------------------------------------------------------------------------------

  function sample(entry) {
    var space = "http://www.w3.org/2000/svg";
    var svg = document.createElementNS(space, "svg");
    var line = document.createElementNS(space, "line");
    svg.setAttribute("width", "30");
    svg.setAttribute("height", "8");
    svg.setAttribute("aria-hidden", "true");
    Object.entries({
      x1: 0, x2: 30, y1: 4, y2: 4, stroke: ink(entry.colour, 1), "stroke-width": 2.5,
      "stroke-dasharray": entry.dash === "solid" ? "none" : entry.dash.replace(/px/g, "")
    }).forEach(function (pair) { line.setAttribute(pair[0], pair[1]); });
    svg.appendChild(line);
    return svg;
  }

  function button(text, pressed, onToggle) {
    var made = document.createElement("button");
    made.type = "button";
    made.append(text);
    made.setAttribute("aria-pressed", String(pressed));
    made.addEventListener("click", function () {
      var on = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", String(on));
      onToggle(on);
    });
    return made;
  }

  function drawLegend(legend) {
    var name = legend.dataset.section;
    legend.replaceChildren();
    data.legends[name].forEach(function (entry) {
      var names = hidden[name] = hidden[name] || {};
      var made = button(entry.key, !names[entry.key], function (on) {
        names[entry.key] = !on;
        places(name).forEach(applyHidden);
      });
      made.prepend(sample(entry));
      legend.appendChild(made);
    });
    var seeds = Object.keys(data.charts).some(function (id) {
      return section(id) === name && data.charts[id].lines.some(function (line) {
        return line.seeds && !line.mark;
      });
    });
    if (!seeds) return;
    var all = button("Single seeds", Boolean(allSeeds[name]), function (on) {
      allSeeds[name] = on;
      places(name).forEach(function (place) { showSeeds(place, null, on); });
    });
    all.className = "seeds";
    legend.appendChild(all);
  }

  function drawLegends() { document.querySelectorAll(".legend").forEach(drawLegend); }

  // ---- links, theme, paper ------------------------------------------------------------------

  function openTarget() {
    var target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  }

  var closed = [];
  window.addEventListener("beforeprint", function () {
    printing = true;
    closed = Array.from(document.querySelectorAll("details.claim:not([open])"));
    closed.forEach(function (one) { one.open = true; });
    redraw(325);
  });
  window.addEventListener("afterprint", function () {
    printing = false;
    closed.forEach(function (one) { one.open = false; });
    redraw();
  });
  window.addEventListener("hashchange", openTarget);
  dark.addEventListener("change", function () { redraw(); });
  openTarget();
  drawLegends();
  drawNext();
})();
