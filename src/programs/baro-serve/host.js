/* The page of the host: reads the list of jobs, and updates it by the server's events. */
"use strict";

const PAGE = 25, POINTS = 90, VERDICTS = 3, GROUP_PILLS = 5;
const MOST = 1000;              /* ended jobs that are read to sort or group them */
const SHOWN = 50, DENSE = 8;    /* most running jobs that are shown; if more than DENSE are, each is a line */
const jobs = new Map();         /* the running jobs that are shown: id -> {row, node, curve: [[t_ns, cores], ...], tasks} */
const running = new Set();      /* ids of the running jobs that events have named */
let total = 0, offset = 0, search = "", cpus = 0, memory = 0;

/* ---- the machine ---- */

/* The machine's last hour, from all tapes that have it: name -> [[milliseconds since 1970, value], ...] */
const HISTORY = 3600e3, STEPS = 120;
const MACHINE = {"host.cores": s => s.cores, "host.memory_used": s => s.memory_used_bytes, "host.pressure_cpu_some_ratio": s => s.pressure_cpu_some_ratio,
  "host.disk_read_bytes_per_second": s => s.disk_read_bytes_per_second, "host.disk_write_bytes_per_second": s => s.disk_write_bytes_per_second};
const machineHistory = new Map(Object.keys(MACHINE).map(name => [name, []]));
let historyOf = null;

const known = v => v !== null && v !== undefined;
const plus = (a, b) => known(a) && known(b) ? a + b : null;
const mostOf = name => name === "host.cores" ? cpus : name.endsWith("_ratio") ? 1 : 0;

async function readHistory(host) {
  historyOf = host.job;
  const at = Date.parse(host.sample.time), t = host.sample.t_ns, wall = p => [at + (p[0] - t) / 1e6, p[1]];
  const from = Math.max(0, t - HISTORY * 1e6) / 1e9;
  const range = await get("/api/v1/jobs/" + encodeURIComponent(host.job) + "/range?buckets=" + STEPS + "&from=%2B" + from.toFixed(3) + "s&" + Object.keys(MACHINE).map(name => "metric=" + name).join("&"));
  if (!range) { historyOf = null; return; }
  Object.keys(MACHINE).forEach((name, k) => {
    const points = pointsOf(range, k).map(wall).map(([t, v]) => [t, within(v, mostOf(name))]);
    if (!points.length) return;
    const first = points[0][0], last = points[points.length - 1][0], old = machineHistory.get(name);
    const before = old.filter(p => p[0] < first), gap = before.length && first - before[before.length - 1][0] > 60e3 ? [[first - 1, null]] : [];
    machineHistory.set(name, [...before, ...gap, ...points, ...old.filter(p => p[0] > last)]);
  });
}

/* Reads the past once for each tape, and adds the present. */
async function keepHistory(host) {
  const at = Date.parse(host.sample.time);
  if (host.job && host.job !== historyOf) await readHistory(host);
  for (const [name, of] of Object.entries(MACHINE)) {
    const points = machineHistory.get(name), v = within(of(host.sample.host), mostOf(name)), last = points.length ? points[points.length - 1][0] : 0;
    if (at > last && (v !== null || at - last > 60e3)) points.push([at, v]); /* a rate needs two readings */
    machineHistory.set(name, points.filter(p => p[0] > at - HISTORY));
  }
}

function past(node, points, text, most) {
  const known = points.filter(p => p[1] !== null), peak = Math.max(...known.map(p => p[1]));
  if (known.length < 2) return node;
  const from = points[0][0], length = points[points.length - 1][0] - from || 1, svg = newCurve("the last " + duration(length * 1e6)), box = boxed(svg);
  drawPath(svg, points, Math.max(most, peak) || 1, from, length);
  box.say(text(Math.max(most, peak) || 1), length * 1e6);
  node.append(box.node, make("p", {class: "past", text: "peak " + text(peak) + " in " + duration(length * 1e6)}));
  return node;
}

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
  await keepHistory(host);
  const used = sample.memory_used_bytes, wait = sample.pressure_cpu_some_ratio, io = plus(sample.disk_read_bytes_per_second, sample.disk_write_bytes_per_second);
  const percent = v => (v * 100).toFixed(0) + "\u00a0%", of = name => machineHistory.get("host." + name);
  const reads = new Map(of("disk_read_bytes_per_second")), disks = of("disk_write_bytes_per_second").map(([t, v]) => [t, plus(v, reads.get(t))]);
  $("figures").replaceChildren(
    past(figure("CPUs busy", known(sample.cores) ? cores(sample.cores) : "\u2013", "of " + cpus, known(sample.cores) ? sample.cores / cpus : null), of("cores"), cores, cpus),
    past(figure("Memory in use", known(used) ? bytes(used) : "\u2013", "of " + bytes(memory), known(used) ? used / memory : null), of("memory_used"), bytes, memory),
    past(figure("Waiting for a CPU", known(wait) ? percent(wait) : "\u2013", "of the time", wait), of("pressure_cpu_some_ratio"), percent, 1),
    past(figure("Disks", known(io) ? bytes(io) + "/s" : "\u2013", "read and written", null), disks, v => bytes(v) + "/s", 1));
}

/* ---- the machine's days ---- */

const DAYS = 31, DAY_STEPS = 288, LANES = 6, HOUR = 3600e3;
let machines = [];              /* the recordings of the machine */
const days = new Map();         /* recording and day -> {row, from, to, begin, end, node, ...} */
const begun = row => Date.parse(row.start);
const over = row => row.state === "running" ? Date.now() + ahead : begun(row) + row.wall_ns / 1e6;
const has = (machine, row) => !row.has_machine && machine.host === row.host && begun(machine) <= begun(row) && over(machine) > begun(row);
const clock = ms => new Date(ms).toTimeString().slice(0, 5);

/* Days are read when they are visible, as curves are. */
const dayInView = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const day = entry.isIntersecting && days.get(entry.target.dataset.day);
    if (!day) continue;
    dayInView.unobserve(entry.target);
    curves = curves.then(() => drawDay(day));
  }
});

function newDay(key, row, from, to) {
  const day = {row, from, to, cores: newCurve("CPUs busy"), memory: newCurve("memory in use"), most: make("span", {class: "past"}), hours: make("div", {class: "hours"}), bars: make("div", {class: "bars"})};
  const hours = (to - from) / HOUR, step = Math.ceil(hours / 6) * HOUR;
  day.x = t => 100 * (t - from) / (to - from);
  day.at = Array.from({length: Math.ceil(hours * HOUR / step)}, (_, i) => from + i * step);
  const ticks = make("div", {class: "ticks", "aria-hidden": "true"}, ...day.at.map(t => make("span", {class: t === from ? "first" : null, text: clock(t)})));
  [...ticks.children].forEach((tick, i) => { tick.style.left = day.x(day.at[i]) + "%"; });
  day.node = make("article", {class: "day", "data-day": key}, make("div", {}, make("h3", {text: new Date(from).toDateString()}), day.most),
    make("div", {}, make("div", {class: "over"}, day.cores, day.memory, day.hours), ticks, day.bars));
  days.set(key, day);
  dayInView.observe(day.node);
  return day;
}

/* One link for each hour of which there is something. */
async function drawDay(day) {
  const buckets = Math.max(2, Math.round(DAY_STEPS * (day.end - day.begin) / (day.to - day.from)));
  const range = await get("/api/v1/jobs/" + encodeURIComponent(day.row.id) + "/range?metric=host.cores&metric=host.memory_used&buckets=" + buckets + "&from=" + iso(day.begin) + "&to=" + iso(day.end));
  if (!range) return;
  const curve = (k, most) => pointsOf(range, k).map(([t, v]) => [day.begin + (t - range.from_ns) / (range.to_ns - range.from_ns) * (day.end - day.begin), within(v, most)]);
  const used = [curve(0, cpus), curve(1, 0)], peaks = used.map(points => Math.max(...points.filter(p => p[1] !== null).map(p => p[1])));
  day.node.hidden = peaks[0] === -Infinity && !day.bars.children.length; /* nothing is kept of it */
  if (peaks[0] === -Infinity) return;
  [day.cores, day.memory].forEach((svg, k) => drawPath(svg, used[k], Math.max(peaks[k], k ? memory : cpus) || 1, day.from, day.to - day.from, day.at.slice(1).map(day.x)));
  day.most.textContent = "most: " + cores(peaks[0]) + " CPUs, " + (peaks[1] > 0 ? bytes(peaks[1]) : "\u2013");
  const half = (day.end - day.begin) / buckets / 2;
  day.hours.replaceChildren();
  for (let t = day.from; t < day.to; t += HOUR) {
    const from = Math.max(t, day.begin), to = Math.min(t + HOUR, day.end), most = Math.max(...used[0].filter(p => p[1] !== null && p[0] - half >= from && p[0] - half < to).map(p => p[1]));
    if (most === -Infinity) continue;
    place(day, day.hours, from, to, {href: report(day.row.id) + "?from=" + iso(from) + "&to=" + iso(to), title: clock(t) + "\u2013" + clock(t + HOUR) + ": at most " + cores(most) + " CPUs busy"});
  }
}

const iso = ms => new Date(ms).toISOString();

function place(day, box, from, to, options) {
  const node = make("a", {"aria-label": options.title, ...options});
  node.style.left = day.x(from) + "%";
  node.style.width = day.x(to) - day.x(from) + "%";
  box.append(node);
  return node;
}

function drawBars(day, rows) {
  const ends = [], least = (day.to - day.from) / 150;
  let more = 0;
  day.bars.replaceChildren();
  for (const row of rows.filter(row => begun(row) < day.to && over(row) > day.from)) {
    const from = Math.max(begun(row), day.from), to = Math.min(over(row), day.to), free = ends.findIndex(end => end <= from), lane = free < 0 ? ends.length : free;
    if (lane === LANES) { more++; continue; }
    ends[lane] = Math.max(to, from + least);
    place(day, day.bars, from, to, {href: row.state === "running" ? page(row.id) : report(row.id), class: row.exit_status || row.exit_signal ? "bad" : null, title: titled(row) + "\n" + when(row.start) + ", " + took(row)}).style.top = 9 * lane + "px";
  }
  day.bars.style.height = 9 * ends.length + "px";
  if (more) day.bars.append(make("span", {class: "past", text: "+" + count(more)}));
}

const midnight = (ms, n = 0) => { const t = new Date(ms); return new Date(t.getFullYear(), t.getMonth(), t.getDate() + n).getTime(); };

/* Each day has the recording that has most of it. A single day is shown by its hours. */
async function readDays() {
  const lists = await Promise.all(["running", "over"].map(state => get("/api/v1/jobs?limit=" + MOST + "&state=" + state)));
  const rows = lists.flatMap(list => list ? list.jobs : []).filter(row => row.start && known(row.wall_ns)), before = machines.length, nodes = [];
  machines = rows.filter(row => row.has_machine);
  if (machines.length !== before) showBefore();
  const newest = machines.reduce((a, b) => a && over(a) >= over(b) ? a : b, null);
  $("days").hidden = !newest;
  if (!newest) return;
  const all = machines.filter(row => row.host === newest.host), began = Math.min(...all.map(begun)), end = over(newest), isOne = midnight(began) === midnight(end);
  const hour = ms => Math.floor(ms / HOUR) * HOUR, ofHost = rows.filter(row => !row.has_machine && row.host === newest.host).sort((a, b) => begun(a) - begun(b));
  for (let from = midnight(end); from >= midnight(began) && nodes.length < DAYS; from = midnight(from, -1)) {
    const [first, last] = isOne ? [hour(began), hour(end) + HOUR] : [from, midnight(from, 1)];
    const part = row => Math.min(over(row), last) - Math.max(begun(row), first), row = all.reduce((a, b) => part(a) >= part(b) ? a : b);
    if (part(row) <= 0) continue;
    const key = row.id + " " + first + " " + last, day = days.get(key) || newDay(key, row, first, last), was = day.end;
    day.begin = Math.max(begun(row), first);
    day.end = Math.min(over(row), last);
    if (was && was !== day.end) dayInView.observe(day.node);
    drawBars(day, ofHost);
    nodes.push(day.node);
  }
  document.querySelector(".days").replaceChildren(...nodes);
  $("days-jobs").textContent = count(MOST);
}

/* ---- running jobs ---- */

function value(name) {
  const big = make("p", {class: "big", text: "\u2013"});
  return {node: make("div", {class: "value"}, make("h3", {text: name}), big), big};
}

/* Curves are read when they are visible, one after the other, because the server reads a whole tape for each. */
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
  const job = {row, curve: [], values: {cores: value(row.is_machine ? "Cores busy" : "Cores"), memory: value(row.is_machine ? "Memory in use" : "Memory"), processes: value("Processes"), cpu: value("CPU time")}};
  if (row.is_machine) [job.values.processes, job.values.cpu].forEach(v => v.node.classList.add("none")); /* nothing counts them */
  job.since = make("span", {class: "since"});
  job.svg = newCurve("cores over time");
  job.box = boxed(job.svg);
  job.tasks = make("table", {class: "tasks", hidden: ""});
  job.node = make("article", {class: "job", "data-id": row.id},
    make("div", {class: "top"}, make("a", {href: page(row.id), title: "Watch it: curves and processes"}, make("code", {text: titled(row)})), job.since),
    make("div", {class: "values"}, ...Object.values(job.values).map(v => v.node), make("div", {class: "value spark"}, make("h3", {text: "Cores over time"}), job.box.node)), job.tasks);
  jobs.set(row.id, job);
  inView.observe(job.node);
  return job;
}

function showValue(v, text, mark, unit) {
  v.big.className = "big" + (mark ? " " + mark : "");
  v.big.title = mark ? MARKS[mark][1] : "";
  v.big.replaceChildren(text || "\u2013", unit ? make("small", {text: " " + unit}) : "");
}

function drawCurve(job) {
  const points = job.curve.slice(-POINTS), peak = Math.max(...points.map(p => p[1])), most = Math.max(0.1, peak);
  if (points.length < 2) return;
  const from = points[0][0], length = points[points.length - 1][0] - from || 1;
  job.box.say(cores(most), length);
  drawPath(job.svg, points, most, from, length);
}

async function readCurve(job) {
  const range = await get("/api/v1/jobs/" + encodeURIComponent(job.row.id) + "/range?metric=" + (job.row.is_machine ? "host" : "job") + ".cores&buckets=60");
  if (!range) return;
  const before = pointsOf(range, 0).filter(p => p[1] !== null);
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

const showSince = job => job.since.replaceChildren(make("span", {text: "since "}), when(job.row.start) + " \u00b7 " + took(job.row));

function showJob(row) {
  const job = jobs.get(row.id) || newJob(row), now = row.now, marks = row.marks || {};
  job.row = row;
  showSince(job);
  showValue(job.values.cpu, duration(row.cpu_ns), marks.cpu_ns);
  if (now) {
    showValue(job.values.cores, cores(now.cores));
    showValue(job.values.memory, bytes(row.is_machine ? now.memory_used_bytes : now.rss_bytes), now.rss_is_lower_bound ? "lower_bound" : "");
    showValue(job.values.processes, count(now.processes), "", row.processes_started > now.processes ? count(row.processes_started) + " so far" : "");
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

/* Rows of recordings that this client may not see have no more than an id. */
function dropPrivate(list) {
  const all = list.jobs.length;
  list.jobs = list.jobs.filter(row => !row.is_private);
  list.total -= all - list.jobs.length;
}

async function readRunning() {
  const list = await get("/api/v1/jobs?state=running&limit=" + SHOWN + (search ? "&search=" + encodeURIComponent(search) : ""));
  if (!list) return;
  dropPrivate(list);
  const ids = new Set(list.jobs.map(row => row.id));
  for (const id of [...jobs.keys()]) if (!ids.has(id)) jobs.delete(id);
  total = list.total;
  list.jobs.forEach(row => { running.add(row.id); showJob(row); });
  placeJobs();
}

/* ---- jobs that have ended ---- */

/* The facts of columns, as the page of a trend takes them. */
const TRENDS = {took: "wall", CPU: "cpu", cores: "cores_mean", peak: "memory", processes: "processes"};

function cell(row, text, name, figure) {
  const mark = text && row.marks && row.marks[figure];
  const reason = !text && row.absent && row.absent[figure];
  const node = make("td", {class: "n" + (mark ? " " + mark : "") + (text ? "" : " soft"), "data-name": name, title: reason ? "not known: " + reason : mark ? MARKS[mark][1] : null, text: text || "\u2013"});
  if (text && row.id && row.state === "ended" && TRENDS[name]) node.replaceChildren(make("a", {class: "trend", href: page(row.id) + "/trend?fact=" + TRENDS[name], title: name + " of all jobs of this command", text}));
  return node;
}

function pills(row, most = VERDICTS) {
  const bad = row.state === "unreadable" || row.state === "cut_off" || (row.result && row.result !== "exit 0" && row.result !== "ended" && row.result !== "detached");
  const text = row.state === "ended" ? row.result || "ended" : row.state === "cut_off" ? "cut off" : row.state;
  const node = make("div", {class: "pills"}, make("span", {class: "pill" + (bad ? " bad" : row.result === "exit 0" ? " good" : ""), text, title: row.error || null}));
  const names = row.verdicts || [], shown = names.slice(0, most), rest = names.slice(most);
  node.append(...shown.map(name => make("span", {class: "pill warn", text: name, title: "a rule; its verdict is in the report"})));
  if (rest.length) node.append(make("span", {class: "pill warn", text: "+" + rest.length, title: rest.join(", ")}));
  return make("td", {}, node);
}

const started = row => !row.start ? "" : row.rows || !machines.some(m => has(m, row)) ? when(row.start) :
  make("a", {class: "trend", href: page(row.id) + "/machine", title: "the machine meanwhile", text: when(row.start)});

const numbers = row => [make("td", {class: "n"}, started(row)), cell(row, duration(row.wall_ns), "took"),
  cell(row, duration(row.cpu_ns), "CPU", "cpu_ns"), cell(row, cores(row.cores_mean), "cores", "cores_mean"), cell(row, bytes(row.rss_peak_bytes), "peak", "rss_peak_bytes"),
  cell(row, count(row.processes_started), "processes", "processes_started")];

function line(row) {
  const command = make("code", {text: titled(row), title: titled(row)});
  const first = make("td", {}, row.state === "unreadable" ? command : make("a", {href: report(row.id)}, command));
  return make("tr", {}, first, pills(row), ...numbers(row));
}

/* Jobs of one name, or else of one batch job, or else of one command, are a group. */
const nameOf = row => row.name || (row.job_id ? "job " + row.job_id : row.title);

function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) || []), row]);
  return [...groups].map(([title, rows]) => rows.length === 1 ? rows[0] : groupOf(title, rows));
}

/* A group has the sums of its jobs, and of what no sum has the highest value. */
function groupOf(title, rows) {
  const values = name => rows.map(row => row[name]).filter(known), sum = name => values(name).reduce((a, b) => a + b, 0), most = name => values(name).length ? Math.max(...values(name)) : null;
  const marks = Object.assign({}, ...rows.map(row => row.marks));
  const isOne = rows.every(row => row.title === rows[0].title);
  return {title, id: isOne ? rows[0].id : null, state: rows[0].state, rows, marks, start: rows[0].start, wall_ns: most("wall_ns"), cpu_ns: sum("cpu_ns"), cores_mean: most("cores_mean"), rss_peak_bytes: most("rss_peak_bytes"), processes_started: sum("processes_started")};
}

/* "28 exit 0", "2 exit 1", "12 failed" */
function groupPills(rows) {
  const node = make("div", {class: "pills"}), seen = new Map();
  for (const row of rows) for (const pill of pills(row, Infinity).querySelectorAll(".pill")) {
    const found = seen.get(pill.textContent) || {pill, n: 0};
    found.n++;
    seen.set(pill.textContent, found);
  }
  for (const {pill, n} of [...seen.values()].sort((x, y) => y.n - x.n).slice(0, GROUP_PILLS)) {
    pill.textContent = count(n) + " \u00d7 " + pill.textContent;
    node.append(pill);
  }
  return make("td", {}, node);
}

function groupLines(group) {
  const isOpen = opened.has(group.title), button = make("button", {class: "group", type: "button", "aria-expanded": isOpen}, make("code", {text: plain(group.title)}));
  button.onclick = () => { if (!opened.delete(group.title)) opened.add(group.title); showBefore(); };
  const node = make("tr", {class: "group"}, make("td", {}, button, make("small", {text: count(group.rows.length) + " jobs"})), groupPills(group.rows), ...numbers(group));
  ["newest", "longest", "together", "highest", "highest", "together"].forEach((what, i) => { node.cells[i + 2].title = what + (node.cells[i + 2].title ? ", " + node.cells[i + 2].title : ""); });
  return [node, ...(isOpen ? group.rows.map(row => { const n = line(row); n.classList.add("of-group"); return n; }) : [])];
}

/* What a column is sorted by. */
const KEYS = [row => row.title.toLowerCase(), row => row.rows ? "" : row.result || row.state, row => row.start || "", row => row.wall_ns, row => row.cpu_ns, row => row.cores_mean, row => row.rss_peak_bytes, row => row.processes_started];
let sorted = null, down = true;         /* the column; null: the newest first, as the server has them */
let grouped = null;                     /* null: the user has not said so; it is if there are many of few names */
let before = {total: 0, jobs: []}, isWhole = false;
const opened = new Set();

function inOrder(rows) {
  if (sorted === null) return rows;
  const key = KEYS[sorted];
  return rows.map((row, i) => [key(row), i, row]).sort(([a, i], [b, j]) => a === b ? i - j : !known(a) ? 1 : !known(b) ? -1 : (a < b ? -1 : 1) * (down ? -1 : 1)).map(x => x[2]);
}

const wantsAll = () => sorted !== null || Boolean(grouped);

/* The server has the pages of the newest jobs; for another order or for groups all rows are read, and paged here. */
async function readBefore() {
  const find = search ? "&search=" + encodeURIComponent(search) : "", all = wantsAll();
  const list = await get("/api/v1/jobs?state=over&" + (all ? "limit=" + MOST : "offset=" + offset + "&limit=" + PAGE) + find);
  if (!list || all !== wantsAll()) return;
  dropPrivate(list);
  before = list;
  isWhole = all;
  if (grouped === null && list.total > PAGE) {
    const whole = await get("/api/v1/jobs?state=over&limit=" + MOST);
    if (whole) dropPrivate(whole);
    grouped = whole !== null && 2 * new Set(whole.jobs.map(nameOf)).size <= whole.jobs.length;
    if (grouped) return readBefore();
  }
  showBefore();
}

function showBefore() {
  const all = isWhole ? inOrder(grouped ? groupsOf(before.jobs) : before.jobs) : before.jobs, total = isWhole ? all.length : before.total;
  if (isWhole && offset >= total) offset = 0;
  const shown = isWhole ? all.slice(offset, offset + PAGE) : all;
  $("before").tBodies[0].replaceChildren(...shown.flatMap(row => row.rows ? groupLines(row) : [line(row)]));
  $("none").hidden = shown.length > 0;
  $("none").textContent = search ? "No command that has ended has this in it." : "No recording has ended yet.";
  document.querySelector(".tw").hidden = !shown.length;
  $("before-count").textContent = before.total ? count(before.total) + (isWhole && before.total > MOST ? ", the newest " + count(MOST) + " here" : "") : "";
  $("group").hidden = before.total < 2;
  $("group").setAttribute("aria-pressed", Boolean(grouped));
  $("newer").disabled = offset === 0;
  $("older").disabled = offset + PAGE >= total;
  $("page").textContent = total ? offset + 1 + "\u2013" + Math.min(offset + PAGE, total) + " of " + count(total) : "";
  document.querySelector(".pager").hidden = total <= PAGE;
}

function beginSorting() {
  [...$("before").tHead.rows[0].cells].forEach((th, i, all) => {
    const sort = () => {
      down = sorted === i ? !down : i > 1;
      sorted = i;
      offset = 0;
      all.forEach(other => other.setAttribute("aria-sort", other !== th ? "none" : down ? "descending" : "ascending"));
      readBefore();
    };
    th.tabIndex = 0;
    th.setAttribute("aria-sort", "none");
    th.onclick = sort;
    th.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } };
  });
  $("group").onclick = () => { grouped = !grouped; offset = 0; readBefore(); };
}

/* ---- the server ---- */

/* Many events at once cause one read. */
function soon(read, wait = () => 300) {
  let waiting = 0;
  return () => { waiting = waiting || setTimeout(() => { waiting = 0; read(); }, wait()); };
}

const readBeforeSoon = soon(readBefore, () => wantsAll() && before.total > 4 * PAGE ? 3000 : 300), readRunningSoon = soon(readRunning);

async function readAll() {
  running.clear();
  await readRunning();
  readBefore();
  readHost();
  readDays();
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

/* The browser does not try again after an answer that is no stream: a token is needed, or there are too many streams. */
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

/* ---- clicks and keys ---- */

function begin() {
  beginTheme();
  beginSorting();
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
  setInterval(() => jobs.forEach(showSince), 1000);
  setInterval(() => { if (!document.hidden) readDays(); }, 60e3);
  placeJobs();
  follow();
}

begin();
