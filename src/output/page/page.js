/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the page interactive. Without it the page shows the same, except the tree at any moment. */
"use strict";
(() => {
  const $ = (s, at = document) => at.querySelector(s), $$ = (s, at = document) => [...at.querySelectorAll(s)];
  const svgNS = "http://www.w3.org/2000/svg";
  const make = (tag, attributes = {}, text = "") => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== "") e.textContent = text;
    return e;
  };
  const makeSvg = (tag, attributes, text = "") => {
    const e = document.createElementNS(svgNS, tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.textContent = text;
    return e;
  };

  /* ---- numbers as text: as src/base/fmt.c and src/output/chart/ticks.c write them ---- */
  const three = v => (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0));
  const count = n => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  const bytes = n => {
    const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let i = 0;
    while (i < 6 && n >= 999.5) { n /= 1000; i++; }
    return (i ? three(n) : Math.round(n)) + " " + units[i];
  };
  const pad = n => String(n).padStart(2, "0");
  const duration = ns => {
    if (ns < 1000) return Math.round(ns) + " ns";
    if (ns < 999500) return three(ns / 1e3) + " \u00b5s";
    if (ns < 999500000) return three(ns / 1e6) + " ms";
    if (ns < 99950000000) return three(ns / 1e9) + " s";
    const s = Math.round(ns / 1e9);
    if (s < 3600) return Math.floor(s / 60) + " min " + pad(s % 60) + " s";
    const m = Math.floor((s + 30) / 60);
    return Math.floor(m / 60) + " h " + pad(m % 60) + " min";
  };
  /* "+1h02min03.004s", rounded down, as --at takes it */
  const moment = ns => {
    const ms = Math.floor(Math.max(0, ns) / 1e6), s = Math.floor(ms / 1000), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return "+" + (h ? h + "h" : "") + (h ? pad(m) + "min" : m ? m + "min" : "") + (h || m ? pad(s % 60) : s % 60) + "." + String(ms % 1000).padStart(3, "0") + "s";
  };
  const units = [
    v => (v < 10 && v % 1 ? v.toFixed(1) : count(v)), v => (v < 10 ? v.toFixed(2) : v.toFixed(1)) + " cores", bytes, v => bytes(v) + "/s",
    v => (v < 10 ? v.toFixed(1) : count(v)) + "/s", v => (v * 100).toFixed(v < 0.0995 ? 1 : 0) + " %", v => duration(v * 1e9),
    v => v.toFixed(1) + " \u00b0C", v => (v / 1e9).toFixed(2) + " GHz", v => (v < 10 ? v.toFixed(1) : v.toFixed(0)) + " W",
    v => (v && Math.abs(v) < 1000 ? String(Number(v.toPrecision(4))) : count(v)),
  ];

  /* ---- the theme ---- */
  const root = document.documentElement, theme = $("#theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const named = () => { theme.textContent = isDark() ? "light" : "dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    named();
  });
  theme.hidden = false;
  named();
  root.classList.add("js");

  const data = JSON.parse($("#data").textContent);
  const tracks = $(".tracks");
  const from = data.from_ns, to = data.to_ns, span = Math.max(1, to - from);
  const P = data.processes || {}, names = data.names || []; /* none: a page of several tapes */
  const since = t => moment(t - data.start_ns);

  /* ---- clock time on the axes, instead of the time since the start: as the clock showed it where it was recorded ---- */
  let clock = data.is_attached;
  const wall = t => data.start_us / 1e3 + (t - data.start_ns) / 1e6 + data.zone_s * 1e3; /* milliseconds since 1970, there */
  const clockText = (t, digits) => new Date(Math.floor(wall(t) + 1e-4)).toISOString().slice(11, digits ? 20 + digits : 19);
  const told = t => (data.told ? data.told[Math.min(data.told.length - 1, Math.floor((t - from) / span * data.told.length))] : clock ? clockText(t, to - from < 600e9 ? 3 : 0) : since(t));

  /* ---- the time axis: what part of it is shown ---- */
  let a = from, b = to;
  const share = t => (t - a) / (b - a);
  const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 15e9, 3e10, 6e10, 12e10, 3e11, 6e11, 9e11,
    18e11, 36e11, 72e11, 144e11, 216e11, 432e11, 864e11, 1728e11, 6048e11];
  const tickText = (ns, step) => {
    if (step < 1e3) return ns + " ns";
    const digits = step >= 1e9 ? 0 : Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
    const s = ns / 1e9;
    if (b - data.start_ns < 100e9) return s.toFixed(digits) + " s";
    const whole = Math.floor(s + 1e-9), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
    return (h ? h + ":" + pad(m) : m) + ":" + pad(whole % 60) + (digits ? (s - whole).toFixed(digits).slice(1) : "");
  };
  const timeTicks = () => {
    const most = Math.max(2, Math.floor($(".time", tracks).getBoundingClientRect().width / 105));
    if (data.ticks) {
      const all = data.ticks.filter(([t]) => t >= a && t <= b), skip = Math.ceil(all.length / most);
      return all.filter((_, k) => k % skip === 0);
    }
    const step = steps.find(s => (b - a) / s <= most) || steps[steps.length - 1], ticks = [];
    if (clock) {
      const shift = (wall(data.start_ns) % 864e5) * 1e6 - data.start_ns; /* steps count from midnight */
      for (let k = Math.ceil((a + shift) / step); k * step - shift <= b; k++) {
        const t = k * step - shift, isMidnight = (k * step) % 864e11 === 0;
        ticks.push([t, isMidnight ? new Date(wall(t) + 1).toISOString().slice(5, 10) : clockText(t, step < 1e9 ? 3 : 0).slice(0, step % 6e10 ? undefined : 5)]);
      }
      return ticks;
    }
    for (let k = Math.ceil((a - data.start_ns) / step); k * step + data.start_ns <= b; k++) ticks.push([k * step + data.start_ns, tickText(k * step, step)]);
    return ticks;
  };
  const valueTicks = (chart, top, most) => {
    const raw = Math.max(top, 1e-9) / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw * 0.999), ticks = [];
    for (let k = 0; ; k++) {
      ticks.push(k * step);
      if (k * step >= top) return ticks;
    }
  };
  const top = (chart, i, j) => {
    let most = 0;
    for (let k = i; k <= j; k++) {
      let sum = 0;
      for (const c of chart.curves) {
        const v = c.v[k];
        if (v === null || v === undefined) continue;
        if (c.shape === 2) sum += v; else most = Math.max(most, v);
      }
      most = Math.max(most, sum);
    }
    return most;
  };

  const plots = $$(".track .plot", tracks).map(svg => {
    const inner = $(".in", svg), box = inner.getAttribute("viewBox").split(" ").map(Number), track = svg.closest(".track");
    const chart = track.dataset.chart === undefined ? null : data.charts[track.dataset.chart];
    return { svg, inner, track, chart, width: box[2], down: box[3], height: Number(svg.getAttribute("height")), end: Number(svg.dataset.end),
      begin: Number(svg.dataset.begin || 0), axis: $(".ya", svg), grid: $(".tg", svg), wasAxis: $(".ya", svg) && $(".ya", svg).innerHTML };
  });
  const drawAxis = (plot, end, ticks) => {
    const lines = [];
    ticks.forEach(v => {
      const y = plot.height * (1 - v / end);
      lines.push(makeSvg("line", { x1: 0, x2: "100%", y1: y, y2: y }));
      lines.push(makeSvg("text", { y: y + 4 }, units[plot.chart.unit](v).replace(" cores", "")));
    });
    plot.axis.replaceChildren(...lines);
  };
  const drawPlot = (plot, ticks) => {
    const whole = a === from && b === to;
    let y = 0, h = plot.down, end = plot.end;
    if (plot.chart && !whole && !plot.begin) {
      const n = plot.chart.buckets, i = Math.max(0, Math.floor((a - from) / span * n)), j = Math.min(n - 1, Math.floor((b - from) / span * n));
      const values = valueTicks(plot.chart, top(plot.chart, i, j), plot.height > 100 ? 4 : 3);
      end = Math.min(plot.end, values[values.length - 1]) || plot.end;
      h = plot.down * end / plot.end;
      y = plot.down - h;
      drawAxis(plot, end, values.filter(v => v <= end));
    } else if (plot.axis) {
      plot.axis.innerHTML = plot.wasAxis; /* what C wrote there */
    }
    plot.inner.setAttribute("viewBox", [(a - from) / span * plot.width, y, (b - a) / span * plot.width, h].join(" "));
    for (const mark of $$(".mark", plot.svg)) {
      const line = $("line", mark), text = $("text", mark), room = plot.svg.getBoundingClientRect().width, x = share(Number(mark.dataset.t)) * room, w = text.getComputedTextLength();
      /* beside the point, but within the plot */
      mark.classList.remove("left");
      text.setAttribute("x", x > 0.6 * room ? Math.max(-7 - w, -x) : Math.max(-x, Math.min(7, room - x - w)));
      mark.setAttribute("y", plot.height * (1 - (mark.dataset.y - plot.begin) / (end - plot.begin)));
      if (line) line.setAttribute("y2", plot.height * (mark.dataset.y - mark.dataset.below) / (end - plot.begin));
    }
    if (plot.grid) plot.grid.replaceChildren(...ticks.map(([t]) => makeSvg("line", { y1: 0, y2: "100%", x1: share(t) * 100 + "%", x2: share(t) * 100 + "%" })));
  };
  const place = e => {
    if (e.dataset.t !== undefined) {
      const x = share(Number(e.dataset.t));
      e.setAttribute("x", x * 100 + "%");
      e.toggleAttribute("hidden", x < 0 || x > 1);
      e.style.display = x < 0 || x > 1 ? "none" : "";
      return;
    }
    const x0 = Math.max(0, share(Number(e.dataset.b))), x1 = Math.min(1, share(Number(e.dataset.e)));
    e.style.display = x1 <= 0 || x0 >= 1 ? "none" : "";
    e.setAttribute("x", x0 * 100 + "%");
    e.setAttribute("width", Math.max(0.15, (x1 - x0) * 100) + "%");
  };
  const zoomed = make("span", { class: "zoomed", hidden: "" }), zoomText = make("span"), clocks = make("span", { class: "clocks" }), clockButton = make("button", { type: "button" });
  zoomed.append(zoomText, make("button", { type: "button" }, "whole run"));
  clocks.append(clockButton);
  $("h2", tracks.closest("section")).append(clocks, zoomed);
  const nameClock = () => {
    const east = data.zone_s / 60, zone = "UTC" + (east ? (east < 0 ? "\u2212" : "+") + Math.floor(Math.abs(east) / 60) + (east % 60 ? ":" + pad(Math.abs(east) % 60) : "") : "");
    clockButton.textContent = clock ? "since the start" : "clock time";
    clocks.hidden = data.axis !== undefined;
    $(".track.axis .th", tracks).textContent = data.axis ? data.axis : clock ? "clock, " + zone + ", " + new Date(wall(from)).toISOString().slice(0, 10) : "time since the start";
  };
  clockButton.addEventListener("click", () => { clock = !clock; nameClock(); view(a, b); });
  nameClock();
  const view = (x, y) => {
    const least = Math.max(1000, span / 1e5);
    if (y - x < least) { const middle = (x + y) / 2; x = middle - least / 2; y = middle + least / 2; }
    const w = Math.min(span, y - x);
    if (w !== b - a) pop.hidden = true;
    a = Math.min(Math.max(from, x), to - w);
    b = a + w;
    const ticks = timeTicks(), edge = data.ticks ? 34 / $(".time", tracks).getBoundingClientRect().width : 0.02;
    $(".time", tracks).replaceChildren(...ticks.map(([t, text]) => {
      const x = share(t);
      return makeSvg("text", { y: 15, x: x * 100 + "%", class: x < edge ? "first" : x > Math.min(0.97, 1 - edge) ? "last" : "" }, text);
    }));
    plots.forEach(plot => drawPlot(plot, ticks));
    $$("svg[data-t], svg[data-b]", tracks).forEach(place);
    zoomed.hidden = w >= span;
    zoomText.textContent = told(a) + " to " + told(b);
    cursors();
  };
  $("button", zoomed).addEventListener("click", () => view(from, to));

  /* ---- the cursor: one over all charts, with the values at its time ---- */
  let at = null, pinned = null;
  const areas = $$(".track:not(.axis) > .tp", tracks).map(tp => {
    const hover = make("div", { class: "cursor", hidden: "" }), pin = make("div", { class: "cursor pinned", hidden: "" });
    tp.append(hover, pin);
    return { tp, hover, pin };
  });
  const when = make("div", { class: "when", hidden: "" });
  $(".track.axis .tp", tracks).append(when);
  const legends = $$(".track.chart", tracks).map(track => {
    const cells = $$("b[data-curve]", track);
    return { legend: $(".legend", track), chart: data.charts[track.dataset.chart], cells, texts: cells.map(c => c.textContent) };
  });
  const values = t => {
    for (const { legend, chart, cells, texts } of legends) {
      legend.classList.toggle("live", t !== null);
      const i = t === null ? 0 : Math.min(chart.buckets - 1, Math.max(0, Math.floor((t - from) / span * chart.buckets)));
      cells.forEach((cell, k) => {
        if (t === null) { cell.textContent = texts[k]; return; }
        const c = chart.curves[cell.dataset.curve], v = c.v[i];
        cell.textContent = v === null || v === undefined ? "\u2013" : (c.sign ? c.sign[i] : "") + units[chart.unit](v);
      });
    }
  };
  const put = (e, t) => {
    const x = t === null ? -1 : share(t);
    e.hidden = x < 0 || x > 1;
    e.style.left = x * 100 + "%";
  };
  function cursors() {
    for (const { hover, pin } of areas) { put(hover, at); put(pin, pinned); }
    const t = at === null ? pinned : at;
    put(when, t);
    if (t !== null) when.textContent = told(t);
    values(t);
  }
  let due = false;
  const hover = t => {
    at = t;
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; cursors(); });
  };
  const timeAt = (tp, x) => {
    const box = tp.getBoundingClientRect();
    return a + Math.min(1, Math.max(0, (x - box.left) / box.width)) * (b - a);
  };

  /* ---- drag to zoom, click to pick a moment ---- */
  for (const { tp } of areas) {
    let begin = null, select = null;
    tp.addEventListener("pointermove", e => {
      hover(timeAt(tp, e.clientX));
      if (begin === null || Math.abs(e.clientX - begin) < 5) return;
      if (!select) { select = make("div", { class: "select" }); tp.append(select); }
      const box = tp.getBoundingClientRect(), x0 = Math.max(box.left, Math.min(begin, e.clientX)), x1 = Math.min(box.right, Math.max(begin, e.clientX));
      select.style.left = x0 - box.left + "px";
      select.style.width = x1 - x0 + "px";
    });
    tp.addEventListener("pointerleave", () => hover(null));
    tp.addEventListener("pointerdown", e => {
      if (e.button || e.pointerType === "touch") return;
      begin = e.clientX;
      tp.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    const end = e => {
      const was = begin;
      begin = null;
      if (select) {
        const x = timeAt(tp, was), y = timeAt(tp, e.clientX);
        select.remove();
        select = null;
        if (e.type === "pointerup") view(Math.min(x, y), Math.max(x, y));
      } else if (e.type === "pointerup" && (was !== null || e.pointerType === "touch")) {
        const k = e.target.closest("[data-k]");
        if (k && tp.closest(".bars")) focus(k.dataset.k);
        pick(timeAt(tp, e.clientX));
        popUp(timeAt(tp, e.clientX), e, tp.closest(".track"));
      }
    };
    tp.addEventListener("pointerup", end);
    tp.addEventListener("pointercancel", end);
    tp.addEventListener("dblclick", () => view(from, to));
    tp.addEventListener("wheel", e => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      const t = timeAt(tp, e.clientX), k = Math.exp(e.deltaY / 300);
      view(t - (t - a) * k, t + (b - t) * k);
    }, { passive: false });
  }

  /* ---- one command in all charts, bars and tables ---- */
  let focused = null;
  function focus(name) {
    focused = focused === name ? null : name;
    for (const e of $$("[data-k]")) {
      const on = focused !== null && e.dataset.k === focused, button = e.matches("button") ? e : $("[role=button]", e);
      e.classList.toggle("on", on);
      if (button) button.setAttribute("aria-pressed", on);
    }
    for (const track of $$(".track", tracks)) track.classList.toggle("focus", focused !== null && $(".on", track) !== null);
  }
  for (const e of $$(".legend button, .bars li[data-k]", tracks)) {
    const button = e.matches("button") ? e : $("span", e);
    button.setAttribute("aria-pressed", "false");
    e.addEventListener("click", () => focus(e.dataset.k));
    if (button === e) continue;
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      focus(e.dataset.k);
    });
  }

  /* ---- the tree at a moment ---- */
  const M = data.moments, tree = $("#tree");
  const nearest = t => M.reduce((best, m, i) => (Math.abs(m.t_ns - t) < Math.abs(M[best].t_ns - t) ? i : best), 0);
  const label = (e, text, name) => { const x = make("td", {}, ""); x.append(...e, name); return x; };
  const cell = (text, v) => make("td", v === undefined || v === null ? { class: "n" } : { class: "n", "data-v": v }, text);
  const sum = m => {
    let rss = m.more[1], cores = m.more[2], n = m.more[0];
    for (let k = 0; k < m.p.length; k += 3) { rss += (m.p[k + 1] || 0) * 1000; cores += m.p[k + 2]; n++; }
    return { rss, cores: cores / 1000, n };
  };
  const forest = m => {
    const has = new Map(), children = new Map(), rows = [];
    for (let k = 0; k < m.p.length; k += 3) has.set(m.p[k], k);
    for (const i of has.keys()) {
      let up = P.parent[i];
      while (up >= 0 && !has.has(up)) up = P.parent[up];
      if (!children.has(up)) children.set(up, []);
      children.get(up).push(i);
    }
    const walk = (i, lead, branch) => {
      if (i >= 0) rows.push({ i, k: has.get(i), branch });
      const below = (children.get(i) || []).sort((x, y) => P.begin_ns[x] - P.begin_ns[y] || x - y);
      below.forEach((c, n) => {
        const last = n === below.length - 1;
        walk(c, i < 0 ? "" : lead + (last ? "   " : "\u2502  "), i < 0 ? "" : lead + (last ? "\u2514\u2500 " : "\u251c\u2500 "));
      });
    };
    walk(-1, "", "");
    return rows;
  };
  const text = i => names[P.name[i]] || "(not known)", cmdline = i => (P.cmdline[i] === null ? "" : names[P.cmdline[i]] || "");
  const brief = line => line.replace(/^\/\S*\/(?=[^\s/])/, ""); /* without the folder of the program */
  /* The name, and what distinguishes it from others of the same name. */
  const titled = i => {
    const label = P.label[i] === null ? "" : names[P.label[i]] || "";
    return label ? [text(i), " ", make("small", {}, label)] : [text(i)];
  };
  let chosen = -1;
  const show = i => {
    if (!tree || i < 0 || i >= M.length) return;
    chosen = i;
    const m = M[i], all = sum(m);
    pinned = m.t_ns;
    $("h2", tree).firstChild.textContent = "Processes at " + told(m.t_ns);
    $(".tree-sum", tree).textContent = told(m.t_ns) + ": " + count(all.n) + " processes, " + (m.rss_is_lower_bound ? "\u2265" : "") + bytes(all.rss) + " rss, " + (all.cores < 10 ? all.cores.toFixed(2) : all.cores.toFixed(1)) + " cores";
    const rows = forest(m).map(r => {
      const row = make("tr", { "data-k": text(r.i) }), first = make("td");
      first.append(make("span", { class: "branch" }, r.branch), ...titled(r.i));
      const rss = m.p[r.k + 1], cores = m.p[r.k + 2] / 1000;
      row.append(first, cell(P.pid[r.i]), cell(cores.toFixed(2)), cell(rss === null ? "" : bytes(rss * 1000)), make("td", { class: "cmd", title: cmdline(r.i) }, brief(cmdline(r.i))));
      return row;
    });
    if (m.more[0]) {
      const row = make("tr");
      row.append(make("td", { class: "absent" }, count(m.more[0]) + " smaller ones"), cell(""), cell((m.more[2] / 1000).toFixed(2)), cell(bytes(m.more[1])), make("td"));
      rows.push(row);
    }
    $("tbody", tree).replaceChildren(...rows);
    cursors();
  };
  const pick = t => { if (M.length) show(nearest(t)); };

  /* ---- a click on a chart: the three heaviest processes, there ---- */
  const pop = make("div", { class: "pop", role: "status", hidden: "" });
  tracks.append(pop);
  const heaviest = (m, byMemory) => {
    const rows = [];
    for (let k = 0; k < m.p.length; k += 3) rows.push({ i: m.p[k], rss: (m.p[k + 1] || 0) * 1000, cores: m.p[k + 2] / 1000 });
    return rows.sort((x, y) => (byMemory ? y.rss - x.rss : y.cores - x.cores || y.rss - x.rss)).slice(0, 3);
  };
  const popUp = (t, e, track) => {
    if (!M.length || track.matches(".lanes, .bars")) return;
    const m = M[nearest(t)], all = sum(m), byMemory = /memory/.test(track.id), table = make("table"), box = tracks.getBoundingClientRect();
    for (const { i, rss, cores } of heaviest(m, byMemory)) {
      const row = make("tr"), name = make("td", { title: cmdline(i) });
      name.append(...titled(i));
      row.append(name, make("td", { class: "n" }, cores.toFixed(2)), make("td", { class: "n" }, rss ? bytes(rss) : ""));
      table.append(row);
    }
    pop.replaceChildren(make("b", {}, told(m.t_ns)), make("span", {}, " heaviest of " + count(all.n) + " by " + (byMemory ? "memory" : "cores")), table);
    pop.hidden = false;
    pop.style.left = Math.max(6, Math.min(e.clientX - box.left + 10, box.width - pop.offsetWidth - 6)) + "px";
    pop.style.top = e.clientY - box.top + 14 + "px";
  };
  document.addEventListener("pointerdown", () => { pop.hidden = true; });
  const peak = () => show(M.reduce((best, m, i) => (sum(m).rss > sum(M[best]).rss ? i : best), 0));
  if (tree && M.length) {
    const tools = $(".tree-at", tree);
    for (const [name, run] of [["\u2190 earlier", () => show(chosen < 0 ? 0 : chosen - 1)], ["later \u2192", () => show(chosen + 1)], ["memory peak", peak]]) {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", run);
      tools.append(button);
    }
    chosen = M.reduce((best, m, i) => (sum(m).rss > sum(M[best]).rss ? i : best), 0);
  }

  /* ---- tables: sort, search, and all processes from the data ---- */
  const columns = [
    i => [text(i)], i => [String(P.pid[i]), P.pid[i]], i => [since(P.begin_ns[i]), P.begin_ns[i]], i => [duration(P.lived_ns[i]), P.lived_ns[i]],
    ...[["cpu_ns", duration, []], ["rss_peak_bytes", bytes, P.rss_peak_is_lower_bound], ["io_read_bytes", bytes, P.io_is_lower_bound],
      ["io_write_bytes", bytes, P.io_is_lower_bound]].map(([key, write, least]) => i => {
      const v = P[key][i];
      return v === null ? ["", null] : v || !least[i] ? [write(v), v, least[i]] : ["\u2013", v];
    }),
    i => [P.status[i] === null ? "not ended" : data.statuses[P.status[i]] || ""], i => [cmdline(i)],
  ];
  const numeric = k => k > 0 && k < 8;
  const processRow = i => {
    const row = make("tr", { "data-k": text(i) });
    columns.forEach((column, k) => {
      const [t, v, isLeast] = column(i);
      const td = numeric(k) ? cell(t, v) : make("td", {}, k === 9 ? brief(t) : t);
      if (isLeast) { td.classList.add("off"); td.title = "at least"; }
      if (k === 0) td.replaceChildren(...titled(i));
      if (k === 8 && P.status[i] > 0) td.className = "fail";
      if (k === 9) { td.className = "cmd"; td.title = t; }
      row.append(td);
    });
    if (focused === text(i)) row.classList.add("on");
    return row;
  };
  const fromData = () => P.pid.map((_, i) => ({
    text: () => text(i) + " " + P.pid[i] + " " + columns[8](i)[0] + " " + cmdline(i),
    key: k => { const [t, v] = columns[k](i); return numeric(k) ? v : t; },
    row: () => processRow(i),
  }));
  const fromRows = table => $$("tbody tr", table).map(row => ({
    text: () => row.textContent,
    key: k => {
      const td = row.cells[k];
      return td.dataset.v !== undefined ? Number(td.dataset.v) : td.classList.contains("n") ? null : td.textContent;
    },
    row: () => row,
  }));
  for (const table of $$("table[data-table]")) {
    const isAll = table.dataset.table === "processes", section = table.closest("section, details"), body = $("tbody", table);
    if (table.dataset.table === "tree") continue;
    let rows = null, limit = 200, sorted = null, down = true, query = "";
    const load = () => (rows = rows || (isAll ? fromData() : fromRows(table)));
    const tools = make("span", { class: "tw-tools" }), search = make("input", { type: "search", placeholder: "search", "aria-label": "search this table" }), info = make("span", { "aria-live": "polite" });
    const more = make("button", { type: "button", hidden: "" }, "more");
    const draw = () => {
      let shown = load();
      if (query) shown = shown.filter(r => r.text().toLowerCase().includes(query));
      if (sorted !== null) {
        shown = shown.map((r, n) => [r.key(sorted), n, r]).sort(([x, n], [y, m]) => {
          if (x === y) return n - m;
          if (x === null || x === "") return 1;
          if (y === null || y === "") return -1;
          return (x < y ? -1 : 1) * (down ? -1 : 1);
        }).map(r => r[2]);
      }
      body.replaceChildren(...shown.slice(0, limit).map(r => r.row()));
      const all = isAll ? P.all : rows.length;
      info.textContent = shown.length < all ? count(shown.length) + " of " + count(all) : count(all);
      more.hidden = shown.length <= limit;
    };
    search.addEventListener("input", () => { query = search.value.toLowerCase(); limit = 200; draw(); });
    more.addEventListener("click", () => { limit += 500; draw(); });
    if (table.tBodies[0].rows.length > 7 && table.dataset.table !== "job") {
      tools.append(search, info, more);
      ($("h2", section) || $("summary", section)).after(tools);
      if ($("h2", section)) $("h2", section).append(tools);
      if (isAll && section.querySelector("[data-more]")) section.querySelector("[data-more]").hidden = true;
      info.textContent = count(isAll ? P.all : table.tBodies[0].rows.length);
      if (isAll && P.pid.length > table.tBodies[0].rows.length) more.hidden = false;
      if (isAll) { sorted = 4; limit = table.tBodies[0].rows.length; }
    }
    $$("thead th", table).forEach((th, k) => {
      th.setAttribute("aria-sort", isAll && k === 4 ? "descending" : "none");
      th.tabIndex = 0;
      const sort = () => {
        down = sorted === k && th.getAttribute("aria-sort") !== "none" ? !down : th.classList.contains("n");
        sorted = k;
        for (const other of $$("thead th", table)) other.setAttribute("aria-sort", "none");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        draw();
      };
      th.addEventListener("click", sort);
      th.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); sort(); } });
    });
    table.addEventListener("click", e => {
      const row = e.target.closest("tr[data-k]");
      if (row && !String(getSelection())) focus(row.dataset.k);
    });
  }

  /* ---- keys ---- */
  const keys = [
    ["\u2190 \u2192", "the moment before or after: the tree as it was"], ["p", "the moment with most memory"], ["+ \u2212", "zoom in and out around the cursor"],
    ["[ ]", "move to earlier or later"], ["0", "the whole run"], ["c", "the time since the start, or of the clock"], ["t", "light or dark"], ["/", "search the processes"], ["Esc", "nothing picked, nothing highlighted, the whole run"], ["?", "these keys"],
    ["drag", "zoom to a stretch of time"], ["click", "pick a moment, and its heaviest processes; on a name or a bar: highlight the command everywhere"], ["Ctrl + wheel", "zoom at the pointer"], ["double click", "the whole run"],
  ];
  const dialog = make("dialog", { "aria-label": "keys" }), list = make("table"), close = make("button", { type: "button" }, "close");
  const ofMoments = ["\u2190 \u2192", "p", "c", "/", "click"];
  for (const [key, what] of keys.filter(([key]) => M.length || !ofMoments.includes(key))) {
    const row = make("tr"), first = make("td");
    first.append(...key.split(" ").filter(k => k !== "+" || key !== "Ctrl + wheel").map(k => make("kbd", {}, k)).flatMap(k => [k, " "]));
    row.append(first, make("td", {}, what));
    list.append(row);
  }
  dialog.append(make("h2", {}, "Keys"), list, close);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  const help = $("#help");
  help.hidden = false;
  help.addEventListener("click", () => dialog.showModal());
  const zoom = k => {
    const t = at !== null ? at : pinned !== null && pinned >= a && pinned <= b ? pinned : (a + b) / 2;
    view(t - (t - a) * k, t + (b - t) * k);
  };
  const actions = {
    ArrowLeft: () => show(chosen - (pinned === null ? 0 : 1)), ArrowRight: () => show(chosen + (pinned === null ? 0 : 1)), p: peak, "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
    "[": () => view(a - (b - a) / 3, b - (b - a) / 3), "]": () => view(a + (b - a) / 3, b + (b - a) / 3), 0: () => view(from, to), c: () => { if (!clocks.hidden) clockButton.click(); }, t: () => theme.click(),
    "/": () => { const s = $("#processes input"); if (s) { s.focus(); s.scrollIntoView({ block: "center" }); } }, "?": () => dialog.showModal(),
    Escape: () => { pop.hidden = true; pinned = null; at = null; if (focused !== null) focus(focused); view(from, to); },
  };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.altKey || e.metaKey || dialog.open || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const action = Object.hasOwn(actions, e.key) ? actions[e.key] : null;
    if (!action) return;
    e.preventDefault();
    action();
  });
  addEventListener("resize", () => view(a, b));
  addEventListener("beforeprint", () => {
    pinned = at = null;
    for (const verdict of $$(".verdicts details")) verdict.open = true;
    view(from, to);
  });
  if (clock || matchMedia("(max-width: 640px)").matches) view(from, to); /* other ticks, or fewer */
})();
