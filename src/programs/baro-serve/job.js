/* The page of a running job: its curves and processes, updated by the server's events. */
"use strict";

const id = decodeURIComponent(location.pathname.split("/")[2]), base = "/api/v1/jobs/" + encodeURIComponent(id);
const STEPS = 300, POINTS = 1200;       /* of a curve: steps at first, points at most */
const GAP_NS = 10e9;                     /* what is not known for so long is a gap of a curve */
const TREE_MS = 2000, PROCESSES = 200;  /* how often processes are read, and how many */

/* least: the smallest value at the top of the axis */
const rate = v => bytes(v) + "/s", percent = v => (v * 100).toFixed(0) + "\u00a0%";
const ofJob = [
  {title: "Cores", metric: "job.cores", of: s => s.job.cores, text: cores, least: 0.1},
  {title: "Memory (rss)", metric: "process.rss", of: s => s.job.rss_bytes, text: bytes, least: 1e6},
  {title: "Read from storage", metric: "job.io_read_bytes_per_second", of: s => s.job.io_read_bytes_per_second, text: rate, least: 1e3},
  {title: "Written to storage", metric: "job.io_write_bytes_per_second", of: s => s.job.io_write_bytes_per_second, text: rate, least: 1e3},
  {title: "Processes", metric: "job.processes", of: s => s.job.processes, text: count, least: 2},
];
/* of a recording of the machine alone */
const ofMachine = [
  {title: "Memory in use", metric: "host.memory_used", of: s => s.host && s.host.memory_used_bytes, text: bytes, least: 1e6},
  {title: "Waiting for a CPU", metric: "host.pressure_cpu_some_ratio", of: s => s.host && s.host.pressure_cpu_some_ratio, text: percent, least: 0.1, most: 1},
  {title: "Waiting for storage", metric: "host.pressure_io_some_ratio", of: s => s.host && s.host.pressure_io_some_ratio, text: percent, least: 0.1, most: 1},
  ...["disk_read", "disk_write", "net_receive", "net_transmit"].map((name, i) => ({title: ["Disks read", "Disks written", "Network received", "Network sent"][i],
    metric: "host." + name + "_bytes_per_second", of: s => s.host && s.host[name + "_bytes_per_second"], text: rate, least: 1e3})),
];
const ofBoth = {title: "Cores of the machine", metric: "host.cores", of: s => s.host && s.host.cores, text: cores, least: 0.1, isOfCpus: true};
const mostOf = c => c.isOfCpus ? cpus : c.most || 0;
let curves = [], isMachine = false;
let began = 0; /* milliseconds since 1970 */
let newest = 0, isOver = false, cpus = 0, rowMarks = {}, shown = null; /* shown: the row of the job */

/* ---- curves ---- */

function beginCurves() {
  curves = (isMachine ? [ofBoth, ...ofMachine] : [...ofJob, ofBoth]).map(c => ({...c, points: []}));
  for (const c of curves) {
    c.now = make("b");
    c.scale = make("span", {class: "past"});
    c.svg = newCurve(c.title + " over time");
    c.node = make("figure", {class: "row", hidden: ""}, make("figcaption", {}, make("h3", {text: c.title}), c.now, c.scale), c.svg);
    $("curves").append(c.node);
  }
  $("curves").append(axis.node);
}

/* ---- the time axis: the clock of the browser ---- */

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const axis = {box: make("div", {class: "ticks", "aria-hidden": "true"})};
axis.node = make("div", {class: "row axis"}, make("span", {class: "past", text: "time"}), axis.box);

/* Returns [percent, text] of ticks between two times in milliseconds since 1970, at whole steps of local time. */
function ticksOf(from, to, most) {
  const step = 1000 * (SECONDS.find(s => (to - from) / 1000 / s <= most) || 86400 * Math.ceil((to - from) / 864e5 / most));
  const local = -60000 * new Date(to).getTimezoneOffset(), two = n => String(n).padStart(2, "0"), ticks = [];
  for (let t = Math.ceil((from + local) / step) * step - local; t <= to; t += step) {
    const at = new Date(t), isMidnight = (t + local) % 864e5 === 0;
    const time = two(at.getHours()) + ":" + two(at.getMinutes()) + (step < 60000 ? ":" + two(at.getSeconds()) : "");
    ticks.push([100 * (t - from) / (to - from), isMidnight ? two(at.getMonth() + 1) + "-" + two(at.getDate()) : time]);
  }
  return ticks;
}

/* Writes the axis; returns where its lines are. */
function drawAxis(from, length) {
  const ticks = ticksOf(began + from / 1e6, began + (from + length) / 1e6, Math.max(2, Math.floor(axis.box.clientWidth / 95)));
  axis.box.replaceChildren(...ticks.map(([x, text]) => {
    const tick = make("span", {class: x < 4 ? "first" : x > 96 ? "last" : null, text});
    tick.style.left = x + "%";
    return tick;
  }));
  return ticks.map(([x]) => x);
}

function drawCurves() {
  const begins = curves.filter(c => c.points.length).map(c => c.points[0][0]), from = Math.min(...begins), length = newest - from || 1;
  const ticks = begins.length ? drawAxis(from, length) : [];
  for (const c of curves) {
    const known = c.points.filter(p => p[1] !== null);
    c.node.hidden = known.length < 2;
    if (known.length < 2) continue;
    const peak = Math.max(...known.map(p => p[1]));
    const last = c.points[c.points.length - 1][1];
    c.now.textContent = last === null ? "\u2013" : c.text(last);
    c.scale.textContent = "peak " + c.text(peak) + " in " + duration(length);
    drawPath(c.svg, c.points, Math.max(c.least, peak), from, length, ticks);
  }
}

/* Keeps the larger of two neighbours, so that peaks stay. */
function halve(points) {
  const half = [];
  for (let i = 0; i + 1 < points.length; i += 2) {
    const [a, b] = [points[i], points[i + 1]];
    half.push([b[0], a[1] === null ? b[1] : b[1] === null ? a[1] : Math.max(a[1], b[1])]);
  }
  return half;
}

async function readCurves() {
  for (const c of curves) {
    const range = await get(base + "/range?metric=" + c.metric + "&buckets=" + STEPS);
    if (!range) continue; /* the tape does not have it */
    const before = pointsOf(range, 0).filter(p => p[0] < newest || !newest).map(([t, v]) => [t, within(v, mostOf(c))]);
    const last = before.length ? before[before.length - 1][0] : 0;
    c.points = before.concat(c.points.filter(p => p[0] > last));
    newest = Math.max(newest, last);
  }
  drawCurves();
}

/* ---- now ---- */

function putMachine(host) {
  const share = (v, most) => v === null || !most ? null : v / most, wait = host.pressure_cpu_some_ratio, read = host.disk_read_bytes_per_second, written = host.disk_write_bytes_per_second;
  $("now").replaceChildren(
    figure("CPUs busy", cores(within(host.cores, cpus)) || "\u2013", "of " + cpus, share(host.cores, cpus)),
    figure("Memory in use", bytes(host.memory_used_bytes) || "\u2013", "of " + bytes(host.memory_total_bytes), share(host.memory_used_bytes, host.memory_total_bytes)),
    figure("Waiting for a CPU", wait === null ? "\u2013" : percent(wait), "of the time", wait),
    figure("Disks", read === null || written === null ? "\u2013" : rate(read + written), "read and written", null));
}

function put(sample) {
  if (isMachine) { if (sample.host) putMachine(sample.host); return; }
  const job = sample.job, low = new Set((job.lower_bounds || "").split(/[^a-z_]+/));
  const marked = (name, text) => {
    const mark = rowMarks[name] || (low.has(name) ? "lower_bound" : "");
    return (text && mark ? MARKS[mark][0] : "") + (text || "\u2013");
  };
  $("now").replaceChildren(
    figure("Cores", marked("cores", cores(job.cores)), "", null),
    figure("Memory", marked("rss_bytes", bytes(job.rss_bytes)), "rss", null),
    figure("Processes", count(job.processes) || "\u2013", job.processes_started > job.processes ? marked("processes_started", count(job.processes_started)) + " so far" : "", null),
    figure("CPU time", marked("cpu_ns", duration(job.cpu_ns)), "", null));
}

let due = 0;
function onSample(sample) {
  if (sample.t_ns <= newest) return;
  newest = sample.t_ns;
  for (const c of curves) {
    const value = within(c.of(sample), mostOf(c)), last = c.points.length ? c.points[c.points.length - 1][0] : newest;
    if (value === null && newest - last < GAP_NS) continue; /* a rate needs two readings, which samples may be too near for */
    c.points.push([newest, value]);
    if (c.points.length > POINTS) c.points = halve(c.points);
  }
  due = due || requestAnimationFrame(() => { due = 0; drawCurves(); put(sample); if (shown) $("wall").textContent = took(shown); });
}

/* ---- processes ---- */

const brief = line => line.replace(/^\/\S*\/(?=[^\s\/])/, "");

function forest(list) {
  const has = new Map(list.map(p => [p.pid, p])), children = new Map(), rows = [];
  for (const p of list) {
    const up = has.has(p.ppid) && p.ppid !== p.pid ? p.ppid : 0;
    children.set(up, [...(children.get(up) || []), p]);
  }
  const walk = (pid, lead) => (children.get(pid) || []).forEach((p, i, all) => {
    const last = i === all.length - 1;
    rows.push([lead === null ? "" : lead + (last ? "\u2514\u2500 " : "\u251c\u2500 "), p]);
    walk(p.pid, lead === null ? "" : lead + (last ? "   " : "\u2502  "));
  });
  walk(0, null);
  return rows;
}

function treeRow([branch, p]) {
  const line = p.cmdline ? plain(brief(p.cmdline)) : "[" + plain(p.name) + "]", code = make("code", {title: plain(p.cmdline || "")});
  code.append(make("span", {class: "branch", text: branch}), line);
  return make("tr", {}, make("td", {}, code), make("td", {class: "n", text: p.pid}), make("td", {class: "n", text: cores(p.cores) || "\u2013"}),
    make("td", {class: "n", text: duration(p.cpu_ns) || "\u2013"}), make("td", {class: "n", text: bytes(p.rss_bytes) || "\u2013"}));
}

async function readTree() {
  if (isOver || document.hidden || isMachine) return;
  const list = await get(base + "/processes?columns=pid,ppid,name,cmdline,cores,cpu_ns,rss_bytes&limit=" + PROCESSES);
  if (!list) return;
  $("tree").tBodies[0].replaceChildren(...forest(list.processes).map(treeRow));
  $("tree-count").textContent = count(list.total);
  $("more").hidden = list.total <= list.processes.length;
  $("more").textContent = "The first " + list.processes.length + " of " + count(list.total) + ".";
}

/* ---- the job ---- */

function putRow(row) {
  shown = row;
  isOver = row.state !== "running";
  rowMarks = {...row.marks, ...(row.now && row.now.rss_is_lower_bound ? {rss_bytes: "lower_bound"} : {})};
  isMachine = row.is_machine;
  began = Date.parse(row.start);
  document.title = titled(row) + " - barograph";
  $("title").textContent = titled(row);
  $("since").textContent = "since " + when(row.start);
  $("wall").textContent = took(row);
  $("tree").closest("section").hidden = isMachine;
  $("machine").hidden = row.has_machine;
  $("state").textContent = isOver ? row.result || row.state : "running";
  $("state").className = "pill" + (!isOver ? "" : row.result === "exit 0" ? " good" : " bad");
  $("report").textContent = isOver ? "Open the report" : "Report so far";
}

async function readRow() {
  const job = await get(base);
  if (!job) return null;
  cpus = job.summary.cpus;
  putRow(job.job);
  return job.job;
}

/* The list of the server has the end of a job a moment later than its tape. A tape that was removed may come back: its
 * recorder writes it anew at the end. */
async function readEnd() {
  const row = await readRow();
  const answer = row || isOver ? null : await fetch(base, {credentials: "same-origin"}).catch(() => null);
  if (answer && answer.status === 404) {
    $("state").textContent = "the tape was removed";
    $("state").className = "pill bad";
  }
  if (!row || row.state === "running" || !row.result) setTimeout(readEnd, 1000);
}

function follow() {
  const events = new EventSource(base + "/live"), link = $("link");
  events.onopen = () => { link.className = "live"; link.textContent = "live"; };
  events.onerror = () => { link.className = "lost"; link.textContent = "no connection"; };
  events.addEventListener("sample", event => onSample(JSON.parse(event.data)));
  events.addEventListener("end", event => {
    events.close();
    link.className = link.textContent = "";
    putRow(JSON.parse(event.data));
    readEnd();
  });
}

async function begin() {
  beginTheme();
  $("report").href = page(id) + "/report";
  $("machine").href = page(id) + "/machine";
  $("json").href = base;
  document.addEventListener("keydown", event => { if (event.key === "t" && !event.ctrlKey && !event.metaKey) $("theme").click(); });
  const row = await readRow();
  if (row && row.state !== "running") { location.replace($("report").href); return; }
  beginCurves();
  follow();
  await readCurves();
  readTree();
  setInterval(() => { if (!isOver && !document.hidden) { readTree(); readRow(); } }, TREE_MS);
}

begin();
