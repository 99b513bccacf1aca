// The plots: numbers come from /curve, uPlot draws them, and the trade-off curve can be dragged or moved by keys.
"use strict";

(function () {
  const form = document.getElementById("calculator");
  const area = document.querySelector("#plots .plots");
  if (!form || !area || !window.uPlot) return;
  area.hidden = false;

  const DASHES = [[2, 3], [7, 4]];

  const figures = [...area.querySelectorAll("[data-plot]")];
  const state = new Map(figures.map(function (figure) { return [figure, { plot: null, data: null, asked: null, at: 0 }]; }));
  let round = 0, pending = 0;
  window.renyiPlotting = function () { return pending > 0; };

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = function (name) { return style.getPropertyValue(name).trim(); };
    return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), card: of("--card"), series: [of("--accent"), of("--second")] };
  }

  function colour(line, theme) {
    return line.series < 0 ? theme.soft : theme.series[line.series % theme.series.length];
  }

  function sign(line, theme) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 26 12");
    svg.setAttribute("class", "sign");
    svg.setAttribute("aria-hidden", "true");
    const shape = document.createElementNS(svg.namespaceURI, line.mark ? "circle" : "path");
    const given = line.mark ? { cx: 13, cy: 6, r: 4 } : { d: "M1 6H25" };
    for (const name in given) shape.setAttribute(name, given[name]);
    shape.setAttribute("fill", "none");
    shape.setAttribute("stroke", colour(line, theme));
    shape.setAttribute("stroke-width", "2");
    if (line.dash) shape.setAttribute("stroke-dasharray", line.dash.join(" "));
    svg.append(shape);
    return svg;
  }

  function ticks(u, values) {
    return values.map(function (value) {
      if (value === null) return "";
      if (value === 0) return "0";
      return Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(3)));
    });
  }

  function scale(axis, values) {
    const kept = axis.log ? values.filter(function (value) { return value > 0; }) : values;
    let low = Math.min(...kept), high = Math.max(...kept);
    if (axis.log) {
      // A whole number of decades would waste most of a plot that spans less than one.
      return { time: false, distr: 3, range: [low / 1.15, high * 1.15] };
    }
    if (axis.low !== null) low = axis.low;
    if (axis.high !== null) high = axis.high;
    return { time: false, range: [low, high > low ? high * (axis.high === null ? 1.05 : 1) : low + 1] };
  }

  function draw(figure) {
    const own = state.get(figure), data = own.data, box = figure.querySelector(".drawing");
    if (!data) return;
    if (own.plot) own.plot.destroy();
    const theme = colours();
    const lines = data.lines.filter(function (line) { return line.x.length; });
    // No two broken lines of a plot are broken alike, so that the legend can tell them apart.
    lines.filter(function (line) { return line.dashed; }).forEach(function (line, index) { line.dash = DASHES[index % DASHES.length]; });
    const joined = uPlot.join(lines.map(function (line) { return [line.x, line.y]; }));
    const dragged = figure.dataset.plot === "trade-off";
    const axis = function (one, size) {
      return { label: one.label.replace(/ \((share of .*|no unit|count)\)$/, ""), stroke: theme.soft, grid: { stroke: theme.line, width: 1 }, ticks: { stroke: theme.line, width: 1 },
        font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 20, size: size, values: ticks };
    };
    own.plot = new uPlot({
      width: box.clientWidth, height: 272, legend: { show: false },
      cursor: { show: !dragged, drag: { setScale: false, x: false, y: false }, points: { show: false } },
      scales: { x: scale(data.x, lines.flatMap(function (l) { return l.x; })), y: scale(data.y, lines.flatMap(function (l) { return l.y; })) },
      axes: [axis(data.x, 42), axis(data.y, 58)],
      series: [{}].concat(lines.map(function (line) {
        return { stroke: colour(line, theme), width: line.mark ? 0 : line.dashed ? 1.5 : 2, dash: line.dash, spanGaps: true,
          paths: line.mark ? function () { return null; } : undefined,
          points: { show: line.mark || line.dots, size: line.mark ? 10 : 5, width: 2, fill: line.mark ? theme.card : colour(line, theme), stroke: colour(line, theme) } };
      })),
      hooks: { draw: dragged ? [function (u) { handle(u, own, theme); }] : [] },
    }, joined, box);
    const list = figure.querySelector(".legend");
    list.replaceChildren(...lines.filter(function (line) { return line.label; }).map(function (line) {
      const item = document.createElement("li");
      item.append(sign(line, theme), line.label);
      return item;
    }));
    figure.querySelector("figcaption").textContent = data.note;
    box.setAttribute("aria-label", data.title + ": " + lines.map(function (line) { return line.label; }).filter(Boolean).join("; "));
    if (dragged) drags(figure, own);
  }

  function curve(own) {
    return own.data.lines.find(function (line) { return line.label.startsWith("best attack"); });
  }

  // The point that is dragged, with lines to both axes.
  function handle(u, own, theme) {
    const line = curve(own), x = u.valToPos(line.x[own.at], "x", true), y = u.valToPos(line.y[own.at], "y", true), to = u.ctx;
    to.save();
    to.strokeStyle = theme.ink;
    to.fillStyle = theme.series[0];
    to.setLineDash([3, 3]);
    to.beginPath();
    to.moveTo(x, u.bbox.top + u.bbox.height);
    to.lineTo(x, y);
    to.lineTo(u.bbox.left, y);
    to.stroke();
    to.setLineDash([]);
    to.beginPath();
    to.arc(x, y, 7 * devicePixelRatio, 0, 2 * Math.PI);
    to.fill();
    to.restore();
  }

  function drags(figure, own) {
    const slider = figure.querySelector("input"), read = figure.querySelector("output"), line = curve(own);
    figure.querySelector(".drag").hidden = false;
    slider.max = line.x.length - 1;
    function move(index) {
      own.at = Math.max(0, Math.min(line.x.length - 1, index));
      own.alarms = line.x[own.at];
      slider.value = own.at;
      read.textContent = own.data.said[own.at];
      slider.setAttribute("aria-valuetext", own.data.said[own.at]);
      own.plot.redraw(false);
    }
    function nearest(rate) {
      let best = 0;
      line.x.forEach(function (x, index) { if (Math.abs(x - rate) < Math.abs(line.x[best] - rate)) best = index; });
      return best;
    }
    slider.oninput = function () { move(Number(slider.value)); };
    const over = own.plot.over;
    function follow(event) { move(nearest(own.plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x"))); }
    over.addEventListener("pointerdown", function (event) { over.setPointerCapture(event.pointerId); follow(event); });
    over.addEventListener("pointermove", function (event) { if (over.hasPointerCapture(event.pointerId)) follow(event); });
    move(nearest(own.alarms === undefined ? 0.01 : own.alarms));
  }

  function ask(figure, query, mine) {
    const own = state.get(figure);
    if (own.asked) own.asked.abort();
    own.asked = new AbortController();
    pending += 1;
    figure.classList.add("waiting");
    return fetch("/curve?kind=" + figure.dataset.plot + "&" + query, { signal: own.asked.signal }).then(function (response) {
      return response.json();
    }).then(function (data) {
      if (mine !== round) return;
      figure.classList.remove("waiting");
      if (data.refused) {
        own.data = null;
        if (own.plot) own.plot.destroy();
        own.plot = null;
        figure.querySelector(".legend").replaceChildren();
        figure.querySelector("figcaption").textContent = data.refused;
        return;
      }
      own.data = data;
      draw(figure);
    }).catch(function (error) {
      if (error.name !== "AbortError") figure.querySelector("figcaption").textContent = "The server did not answer.";
    }).finally(function () { pending -= 1; });
  }

  function renew() {
    round += 1;
    const query = new URLSearchParams(new FormData(form)).toString();
    for (const figure of figures) ask(figure, query, round);
  }

  let timer = 0;
  form.addEventListener("input", function () { clearTimeout(timer); timer = setTimeout(renew, 400); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { figures.forEach(draw); });
  let width = area.clientWidth;
  new ResizeObserver(function () {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    for (const figure of figures) {
      const own = state.get(figure);
      if (own.plot) own.plot.setSize({ width: figure.querySelector(".drawing").clientWidth, height: 272 });
    }
  }).observe(area);
  renew();
})();
