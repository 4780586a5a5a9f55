/* What the pages of the server share: text, nodes, curves, requests and the theme. */
"use strict";

const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/* ---- text ---- */

function bytes(n) {
  if (n === null || n === undefined) return "";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let i = 0;
  while (n >= 999.5 && i < 5) { n /= 1000; i++; }
  return (i === 0 || n >= 99.95 ? n.toFixed(0) : n.toPrecision(3)) + "\u00a0" + units[i];
}

function duration(ns) {
  if (ns === null || ns === undefined) return "";
  const s = ns / 1e9;
  if (s < 0.9995) return (s * 1000).toPrecision(3) + "\u00a0ms";
  if (s < 59.95) return s.toPrecision(3) + "\u00a0s";
  const whole = Math.round(s), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
  if (h >= 48) return Math.floor(h / 24) + "\u00a0d " + h % 24 + "\u00a0h";
  return h ? h + "\u00a0h " + String(m).padStart(2, "0") + "\u00a0min" : m + "\u00a0min " + String(whole % 60).padStart(2, "0") + "\u00a0s";
}

const cores = v => v === null || v === undefined ? "" : v.toFixed(v < 10 ? 2 : 1);
const count = v => v === null || v === undefined ? "" : v.toLocaleString("en");

function when(text) {
  const t = new Date(text), day = new Date(), p = n => String(n).padStart(2, "0");
  const time = p(t.getHours()) + ":" + p(t.getMinutes()) + ":" + p(t.getSeconds());
  if (t.toDateString() === day.toDateString()) return time;
  return t.getFullYear() + "-" + p(t.getMonth() + 1) + "-" + p(t.getDate()) + " " + time;
}

/* How long a job has taken. One that runs goes on after its last sample. */
const took = row => duration(row.state === "running" ? Math.max(row.wall_ns, (Date.now() + ahead - Date.parse(row.start)) * 1e6) : row.wall_ns);

/* ---- nodes ---- */

function make(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (name === "text") node.textContent = value;
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child));
  return node;
}

function drawn(tag, options) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  return node;
}

/* The server writes a backslash as two, so that it differs from the escape of a control character. */
const plain = text => text.replace(/\\\\/g, "\\");
const titled = row => (row.is_machine ? "the machine " : "") + plain(row.title);
const report = id => "/jobs/" + encodeURIComponent(id) + "/report";

function figure(name, big, small, share) {
  const node = make("div", {class: "figure"}, make("h3", {text: name}),
    make("p", {class: "big"}, make("span", {text: big}), small ? make("small", {text: " " + small}) : null));
  if (share !== null && share !== undefined) {
    const meter = drawn("svg", {class: "meter" + (share > 0.95 ? " full" : share > 0.85 ? " high" : ""), viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true"});
    meter.append(drawn("rect", {width: 100, height: 5}), drawn("rect", {class: "part", width: Math.max(0, Math.min(100, share * 100)), height: 5}));
    node.append(meter);
  }
  return node;
}
const page = id => "/jobs/" + encodeURIComponent(id);

/* The kernel counts time in steps, so a rate can exceed the number of cores: 2.03 of 2. */
const within = (v, most) => v === null || v === undefined ? null : most ? Math.min(v, most) : v;

/* A curve of points [time, value] in a box of 100 by 52, up to most; a value of null is a gap. ticks: where lines of the
 * time axis are, in percent. */
function drawPath(svg, points, most, from, length, ticks = []) {
  const runs = [[]];
  for (const [t, v] of points) {
    if (v === null) { if (runs[runs.length - 1].length) runs.push([]); continue; }
    runs[runs.length - 1].push(((t - from) / length * 100).toFixed(2) + "," + (50 - v / most * 46).toFixed(2));
  }
  const x = at => at.split(",")[0];
  svg.replaceChildren(drawn("line", {x1: 0, x2: 100, y1: 50.5, y2: 50.5}), ...ticks.map(x => drawn("line", {x1: x, x2: x, y1: 0, y2: 50.5})),
    ...runs.filter(at => at.length > 1).flatMap(at => [
      drawn("path", {class: "area", d: "M" + x(at[0]) + ",50L" + at.join("L") + "L" + x(at[at.length - 1]) + ",50Z"}), drawn("path", {d: "M" + at.join("L")})]));
}

const newCurve = label => drawn("svg", {class: "curve", viewBox: "0 0 100 52", preserveAspectRatio: "none", role: "img", "aria-label": label});

/* A curve with its axes: the value at its upper edge, and since when it is. */
function boxed(svg) {
  const top = make("span", {class: "most"}), since = make("span");
  return {node: make("div", {class: "boxed"}, top, svg, make("div", {class: "span"}, since, make("span", {text: "now"}))),
    say: (most, length) => { top.textContent = most; since.textContent = "\u2212" + duration(length); svg.parentNode.title = most + " at the upper edge, the last " + duration(length); }};
}

/* ---- the server ---- */

let ahead = 0; /* how far the server's clock is ahead of the browser's, in milliseconds, if that is much */

async function get(path) {
  try {
    const answer = await fetch(path, {credentials: "same-origin"}), away = Date.parse(answer.headers.get("date")) - Date.now();
    ahead = Math.abs(away) > 5000 ? away : 0;
    return answer.ok ? await answer.json() : null;
  } catch (error) {
    return null;
  }
}

/* Makes points of the buckets of a range: the highest value of each, at its end, so that peaks are visible. What is not
 * read at its end yet is no gap: the next value follows. */
function pointsOf(range, k) {
  const points = range.series[k].max.map((v, i) => [range.from_ns + (i + 1) * (range.to_ns - range.from_ns) / range.buckets, v]);
  while (points.length && points[points.length - 1][1] === null) points.pop();
  return points;
}

/* What a mark means: before the value, and in words. */
const MARKS = {lower_bound: ["\u2265\u2009", "at least"], estimate: ["\u2248\u2009", "about"], upper_bound: ["\u2264\u2009", "at most"]};

/* ---- the theme ---- */

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function beginTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const name = () => { if (!document.documentElement.dataset.theme) $("theme").textContent = dark.matches ? "Light" : "Dark"; };
  dark.onchange = name;
  name();
  $("theme").onclick = () => setTheme($("theme").textContent === "Dark" ? "dark" : "light");
}
