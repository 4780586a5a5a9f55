/* The page of the host: reads the list of jobs, and keeps it up by the server's events. */
"use strict";

const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 25, POINTS = 90;
const SHOWN = 50, DENSE = 8;    /* of the jobs that run, at most; above this number each is a line */
const jobs = new Map();         /* those that run and are shown: id -> {row, node, curve: [[t_ns, cores], ...], tasks} */
const running = new Set();      /* the ids of those that run, as far as events named them */
let total = 0, offset = 0, search = "", cpus = 0, memory = 0;

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

/* The server writes a backslash as two, so that what it writes for control characters can be told from it. */
const plain = text => text.replace(/\\\\/g, "\\");
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

/* ---- the machine ---- */

async function readHost() {
  const host = await get("/api/v1/host");
  const sample = host && host.sample && host.sample.host;
  $("machine").hidden = !sample;
  if (host && host.host) {
    cpus = host.cpus;
    memory = host.memory_bytes;
    $("host").textContent = host.host;
    document.title = host.host + " - barograph";
    $("meta").replaceChildren(make("div", {}, make("dt", {text: "CPUs"}), make("dd", {text: count(cpus)})),
      make("div", {}, make("dt", {text: "memory"}), make("dd", {text: bytes(memory)})));
  }
  if (!sample) return;
  const used = sample.memory_used_bytes, wait = sample.pressure_cpu_some_ratio, io = sample.disk_read_bytes_per_second;
  $("figures").replaceChildren(
    figure("CPUs busy", sample.cores === null ? "\u2013" : cores(sample.cores), "of " + cpus, sample.cores === null ? null : sample.cores / cpus),
    figure("Memory in use", used === null ? "\u2013" : bytes(used), "of " + bytes(memory), used === null ? null : used / memory),
    figure("Waiting for a CPU", wait === null || wait === undefined ? "\u2013" : (wait * 100).toFixed(0) + "\u00a0%", "of the time", wait),
    figure("Disks", io === null || io === undefined ? "\u2013" : bytes(io + (sample.disk_write_bytes_per_second || 0)) + "/s", "read and written", null));
}

/* ---- jobs that run ---- */

function value(name) {
  const big = make("p", {class: "big", text: "\u2013"});
  return {node: make("div", {class: "value"}, make("h3", {text: name}), big), big};
}

/* The curve of a job is read when it can be seen, one after the other: the server reads a whole tape for it. */
let curves = Promise.resolve();
const inView = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const job = entry.isIntersecting && jobs.get(entry.target.dataset.id);
    if (!job) continue;
    inView.unobserve(entry.target);
    curves = curves.then(() => jobs.has(job.row.id) ? readCurve(job) : null);
  }
});

function newJob(row) {
  const job = {row, curve: [], values: {cores: value("Cores"), memory: value("Memory"), processes: value("Processes"), cpu: value("CPU time")}};
  job.since = make("span", {class: "since"});
  job.svg = drawn("svg", {class: "curve", viewBox: "0 0 100 52", preserveAspectRatio: "none", role: "img", "aria-label": "cores over time"});
  job.scale = make("h3", {text: "\u00a0"});
  job.tasks = make("table", {class: "tasks", hidden: ""});
  job.node = make("article", {class: "job", "data-id": row.id},
    make("div", {class: "top"}, make("a", {href: report(row.id), title: "Open the report"}, make("code", {text: plain(row.title)})), job.since),
    make("div", {class: "values"}, ...Object.values(job.values).map(v => v.node), make("div", {class: "value spark"}, job.scale, job.svg)), job.tasks);
  jobs.set(row.id, job);
  inView.observe(job.node);
  return job;
}

function showValue(v, text, lower, unit) {
  v.big.className = "big" + (lower ? " lower" : "");
  v.big.title = lower ? "at least: a part of it could not be read" : "";
  v.big.replaceChildren(text || "\u2013", unit ? make("small", {text: " " + unit}) : "");
}

function drawCurve(job) {
  const points = job.curve.slice(-POINTS), peak = Math.max(...points.map(p => p[1])), most = Math.max(0.1, peak);
  if (points.length < 2) return;
  const from = points[0][0], length = points[points.length - 1][0] - from || 1;
  job.scale.textContent = "peak " + cores(peak) + " in " + duration(length);
  const at = points.map(p => ((p[0] - from) / length * 100).toFixed(2) + "," + (50 - p[1] / most * 46).toFixed(2));
  job.svg.replaceChildren(drawn("line", {x1: 0, x2: 100, y1: 50.5, y2: 50.5}),
    drawn("path", {class: "area", d: "M0,50L" + at.join("L") + "L100,50Z"}), drawn("path", {d: "M" + at.join("L")}));
}

async function readCurve(job) {
  const range = await get("/api/v1/jobs/" + encodeURIComponent(job.row.id) + "/range?metric=job.cores&buckets=60");
  if (!range) return;
  const step = (range.to_ns - range.from_ns) / range.buckets, mean = range.series[0].mean;
  const before = mean.map((v, i) => [range.from_ns + (i + 1) * step, v]).filter(p => p[1] !== null);
  const last = before.length ? before[before.length - 1][0] : 0;
  job.curve = before.concat(job.curve.filter(p => p[0] > last));
  drawCurve(job);
}

async function readTasks(job) {
  const now = performance.now();
  if (!job.row.now || !job.row.now.tasks || isDense() || now - (job.asked || 0) < 1900) return;
  job.asked = now;
  const list = await get("/api/v1/jobs/" + encodeURIComponent(job.row.id) + "/tasks?columns=name,cores,cpu_ns,rss_bytes,processes,processes_started&limit=50");
  if (!list) return;
  const body = list.tasks.map(task =>
    make("tr", {}, make("td", {text: task.name}), make("td", {class: "n", text: cores(task.cores) || "\u2013"}), make("td", {class: "n", text: duration(task.cpu_ns)}),
      make("td", {class: "n", text: bytes(task.rss_bytes)}), make("td", {class: "n", text: count(task.processes)}), make("td", {class: "n", text: count(task.processes_started)})));
  job.tasks.hidden = false;
  job.tasks.replaceChildren(make("thead", {}, make("tr", {}, ...["Task", "Cores", "CPU time", "Memory", "Processes", "Started"].map((name, i) =>
    make("th", {scope: "col", class: i ? "n" : null, text: name})))), make("tbody", {}, ...body));
}

function showJob(row) {
  const job = jobs.get(row.id) || newJob(row), now = row.now, low = new Set(row.lower_bounds || []);
  job.row = row;
  job.since.replaceChildren(make("span", {text: "since "}), when(row.start) + " \u00b7 " + duration(row.wall_ns));
  showValue(job.values.cpu, duration(row.cpu_ns), low.has("cpu_ns"));
  if (now) {
    showValue(job.values.cores, cores(now.cores), false);
    showValue(job.values.memory, bytes(now.rss_bytes), now.rss_is_lower_bound);
    showValue(job.values.processes, count(now.processes), false, row.processes_started > now.processes ? count(row.processes_started) + " so far" : "");
    if (now.cores !== null && (!job.curve.length || now.t_ns > job.curve[job.curve.length - 1][0])) job.curve.push([now.t_ns, now.cores]);
    if (job.curve.length > 3 * POINTS) job.curve = job.curve.slice(-2 * POINTS);
    drawCurve(job);
    readTasks(job);
  }
  return job;
}

const isDense = () => jobs.size > DENSE;
const heads = make("div", {class: "heads", "aria-hidden": "true"}, ...["Command", "Cores", "Memory", "Processes", "CPU time", "Cores over time", "Since"].map(text => make("span", {text})));

function calm() {
  if (search) return make("p", {class: "calm", text: "No command that runs has this in it."});
  return make("p", {class: "calm"}, "Nothing is being recorded. ", make("code", {text: "baro run -- COMMAND"}), " records a command, and it appears here.");
}

function placeJobs() {
  const all = [...jobs.values()].sort((a, b) => a.row.start < b.row.start ? 1 : a.row.start > b.row.start ? -1 : a.row.id < b.row.id ? 1 : -1);
  const box = $("running"), nodes = [...(isDense() ? [heads] : []), ...all.map(job => job.node)];
  box.className = isDense() ? "dense" : "";
  nodes.forEach((node, i) => { if (box.children[i] !== node) box.insertBefore(node, box.children[i] || null); });
  while (box.children.length > nodes.length) box.lastChild.remove();
  $("running-count").textContent = count(total) === "0" ? "" : count(total);
  $("more").hidden = total <= all.length;
  $("more").textContent = "The newest " + all.length + " of " + count(total) + ". The search finds the others.";
  if (!all.length) box.append(calm());
}

async function readRunning() {
  const list = await get("/api/v1/jobs?state=running&limit=" + SHOWN + (search ? "&search=" + encodeURIComponent(search) : ""));
  if (!list) return;
  const ids = new Set(list.jobs.map(row => row.id));
  for (const id of [...jobs.keys()]) if (!ids.has(id)) jobs.delete(id);
  total = list.total;
  list.jobs.forEach(row => { running.add(row.id); showJob(row); });
  placeJobs();
}

/* ---- jobs that have ended ---- */

function cell(row, text, name, absent) {
  const low = row.lower_bounds && row.lower_bounds.includes(absent);
  const reason = !text && row.absent && row.absent[absent];
  return make("td", {class: "n" + (low && text ? " lower" : "") + (text ? "" : " soft"), "data-name": name, title: reason ? "not known: " + reason : null, text: text || "\u2013"});
}

function pills(row) {
  const bad = row.state === "unreadable" || row.state === "cut_off" || (row.result && row.result !== "exit 0" && row.result !== "ended" && row.result !== "detached");
  const text = row.state === "ended" ? row.result || "ended" : row.state === "cut_off" ? "cut off" : row.state;
  const node = make("div", {class: "pills"}, make("span", {class: "pill" + (bad ? " bad" : row.result === "exit 0" ? " good" : ""), text, title: row.error || null}));
  if (row.problems) node.append(make("span", {class: "pill warn", text: row.problems === 1 ? "1 problem" : row.problems + " problems", title: "see the verdict in its report"}));
  return make("td", {}, node);
}

function line(row) {
  const command = make("code", {text: plain(row.title), title: plain(row.title)});
  const first = make("td", {}, row.state === "unreadable" ? command : make("a", {href: report(row.id)}, command));
  return make("tr", {}, first, pills(row), make("td", {class: "n", text: row.start ? when(row.start) : ""}), cell(row, duration(row.wall_ns), "took"),
    cell(row, duration(row.cpu_ns), "CPU", "cpu_ns"), cell(row, cores(row.cores_mean), "cores", "cores_mean"), cell(row, bytes(row.rss_peak_bytes), "peak", "rss_peak_bytes"),
    cell(row, count(row.processes_started), "processes", "processes_started"));
}

async function readBefore() {
  const list = await get("/api/v1/jobs?state=over&offset=" + offset + "&limit=" + PAGE + (search ? "&search=" + encodeURIComponent(search) : ""));
  if (!list) return;
  const body = $("before").tBodies[0];
  body.replaceChildren(...list.jobs.map(line));
  $("none").hidden = list.jobs.length > 0;
  $("none").textContent = search ? "No command that has ended has this in it." : "No recording has ended yet.";
  document.querySelector(".tw").hidden = !list.jobs.length;
  $("before-count").textContent = list.total ? count(list.total) : "";
  $("newer").disabled = offset === 0;
  $("older").disabled = offset + PAGE >= list.total;
  $("page").textContent = list.total ? offset + 1 + "\u2013" + Math.min(offset + PAGE, list.total) + " of " + count(list.total) : "";
  document.querySelector(".pager").hidden = list.total <= PAGE;
}

/* ---- the server ---- */

async function get(path) {
  try {
    const answer = await fetch(path, {credentials: "same-origin"});
    return answer.ok ? await answer.json() : null;
  } catch (error) {
    return null;
  }
}

/* Many events at once, one reading. */
function soon(read) {
  let waiting = 0;
  return () => { waiting = waiting || setTimeout(() => { waiting = 0; read(); }, 300); };
}

const readBeforeSoon = soon(readBefore), readRunningSoon = soon(readRunning);

async function readAll() {
  running.clear();
  await readRunning();
  readBefore();
  readHost();
}

function ended(id) {
  running.delete(id);
  if (jobs.delete(id)) { total--; placeJobs(); }
  if (total > jobs.size) readRunningSoon();
  readBeforeSoon();
}

function changed(row) {
  if (row.state !== "running") ended(row.id);
  else if (jobs.has(row.id)) showJob(row);
  else if (!running.has(row.id)) { running.add(row.id); readRunningSoon(); }
}

/* The browser does not try again after an answer that is no stream: the token is asked for, or there are too many. */
async function refused(link) {
  const answer = await fetch("/healthz").catch(() => null);
  link.textContent = answer && answer.status === 401 ? "signed out: open this page with ?token=" : answer ? "too many viewers" : "no connection";
  setTimeout(follow, 5000);
}

function follow() {
  const events = new EventSource("/api/v1/live"), link = $("link");
  events.onopen = () => { link.className = "live"; link.textContent = "live"; readAll(); };
  events.onerror = () => {
    link.className = "lost";
    if (events.readyState === EventSource.CLOSED) refused(link);
    else link.textContent = "no connection";
  };
  events.addEventListener("job", event => changed(JSON.parse(event.data)));
  events.addEventListener("removed", event => ended(JSON.parse(event.data)));
  events.addEventListener("reload", readAll);
}

/* ---- what people do ---- */

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function begin() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const name = () => { if (!document.documentElement.dataset.theme) $("theme").textContent = dark.matches ? "Light" : "Dark"; };
  dark.onchange = name;
  name();
  $("theme").onclick = () => setTheme($("theme").textContent === "Dark" ? "dark" : "light");
  $("newer").onclick = () => { offset = Math.max(0, offset - PAGE); readBefore(); };
  $("older").onclick = () => { offset += PAGE; readBefore(); };
  $("search").oninput = () => { search = $("search").value.trim(); offset = 0; readBeforeSoon(); readRunningSoon(); };
  document.addEventListener("keydown", event => {
    const typing = event.target.matches("input");
    if (event.key === "/" && !typing) { event.preventDefault(); $("search").focus(); }
    else if (event.key === "Escape" && typing) { $("search").value = ""; $("search").oninput(); $("search").blur(); }
    else if (event.key === "t" && !typing && !event.ctrlKey && !event.metaKey) $("theme").click();
  });
  setInterval(() => { if (jobs.size && !document.hidden) readHost(); }, 2000);
  placeJobs();
  follow();
}

begin();
