# SPDX-License-Identifier: Apache-2.0
"""Many machines that push to one store: a real tape is copied once for each of them, with a host and an id of its own.

    bench/push_fleet.py senders TAPE [N] [AT_ONCE]   N processes of `baro push -f`, AT_ONCE of them at a time, through a
                                                     proxy that answers 429, 503, or cuts; 5000 and 500
    bench/push_fleet.py nodes TAPE [N]               one process that pushes N tapes; 5000. Then it asks the store for all
                                                     points, and as the dashboard of a fleet does

The store is VictoriaMetrics, started here. Prints what was sent, how fast, and with how much memory. All points of all
machines (with `nodes`, of 500 of them) are compared with those of the tape. (build/baro)
"""

import collections
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))

from lying import Store  # noqa: E402
from tapefile import copy_tape  # noqa: E402

BARO = os.environ.get("BARO", SOURCE / "build" / "baro")

# ---- the store ------------------------------------------------------------------------------------------------------


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Victoria:
    def __init__(self, folder):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            ["victoria-metrics", f"-storageDataPath={folder}", f"-httpListenAddr={self.url[7:]}",
             "-search.latencyOffset=0", "-search.maxUniqueTimeseries=5000000", "-search.maxQueryDuration=120s",
             "-search.maxSeries=5000000", "-search.maxPointsPerTimeseries=100000", "-search.maxQueueDuration=60s"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                urllib.request.urlopen(self.url + "/health").close()
                return
            except OSError:
                time.sleep(0.2)

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return {name: int(re.search(rf"{name}:\s+(\d+)", status)[1]) // 1024 for name in ("VmRSS", "VmHWM")}

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=300) as answer:
            return answer.read()

    def points_of(self, match):
        """All points of each machine: a set of (labels without host and id, times, values)."""
        query = urllib.parse.urlencode({"match[]": match, "reduce_mem_usage": "1"})
        found = collections.defaultdict(dict)
        with urllib.request.urlopen(f"{self.url}/api/v1/export?{query}", timeout=600) as answer:
            for line in answer:
                series = json.loads(line)
                labels = series["metric"]
                host, _ = labels.pop("instance"), labels.pop("baro_job")
                points = zip(series["timestamps"], series["values"])  # of a part of a series
                found[host].setdefault(tuple(sorted(labels.items())), {}).update(points)
        return found

    def close(self):
        self.process.terminate()
        self.process.wait()


def expected(tape, state):
    """The points of a tape as a store has them that never lies."""
    store = Store()
    subprocess.run([BARO, "push", tape, "--to", store.url()], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "XDG_STATE_HOME": str(state)})
    found = collections.defaultdict(dict)
    for (labels, t), v in store.points.items():
        found[tuple(label for label in labels if label[0] not in ("instance", "baro_job"))][t] = v
    store.close()
    return dict(found)


def same(a, b):
    """To the 12 digits of VictoriaMetrics, which are those of the largest value of a block; the end of a series is null
    there."""
    def is_end(v):
        return v in (None, "end") or v != v

    if a.keys() != b.keys():
        return False
    for labels, points in a.items():
        of = b[labels]
        least = 1e-11 * max((abs(v) for v in of.values() if v != "end"), default=0)
        if points.keys() != of.keys():
            return False
        for t, v in points.items():
            if is_end(v) and is_end(of[t]):
                continue
            if is_end(v) or is_end(of[t]) or abs(v - of[t]) > least:
                return False
    return True


def compare(store, n, want, share=1):
    """Compares all machines, or one hundred of so many, in parts: a million series are too many at once."""
    wrong, points, begun = [], 0, time.monotonic()
    for at in range(0, n, 100 * share):
        hosts = [f"node-{i:05}" for i in range(at, min(at + 100, n))]
        found = store.points_of('{instance=~"' + "|".join(hosts) + '"}')
        points += sum(len(of) for series in found.values() for of in series.values())
        wrong += [host for host in hosts if not same(found.get(host, {}), want)]
    print(f"read back in {time.monotonic() - begun:.0f} s: {points:,} points; machines whose points are not those of "
          f"the tape: {len(wrong)} {wrong[:3]}", flush=True)
    return points


def settle(store):
    """New series are found after a while."""
    for _ in range(2):
        store.ask("/internal/force_flush")
        time.sleep(5)


def status(state):
    done = subprocess.run([BARO, "push", "--status", "--json"], check=True, capture_output=True,
                          env={**os.environ, "XDG_STATE_HOME": str(state)})
    all_of = json.loads(done.stdout)
    names = ("sent", "refused", "set_aside", "there", "left_out", "missed_samples")
    return {name: sum(of[name] for of in all_of) for name in names} | collections.Counter("state " + of["state"] for of in all_of)


# ---- senders --------------------------------------------------------------------------------------------------------


class Proxy:
    """Passes on two of three requests. Of the others it answers 429 or 503, cuts, or forgets the answer."""

    def __init__(self, url):
        self.said = collections.Counter()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                lie = random.choice(("429", "503", "cut", "lost")) if random.random() < 1 / 3 else "passed"
                proxy.said[lie] += 1
                status = int(lie) if lie.isdigit() else 0
                if lie in ("passed", "lost"):
                    to = http.client.HTTPConnection(url[7:], timeout=60)
                    to.request("POST", self.path, body, {k: v for k, v in self.headers.items() if k != "Host"})
                    answer = to.getresponse()
                    status = answer.status
                    answer.read()
                    to.close()
                if lie in ("cut", "lost"):
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                if lie == "429":
                    self.send_header("Retry-After", "2")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 4096
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


def senders(work, store, tape, n, at_once):
    want = expected(tape, work / "reference")
    proxy = Proxy(store.url)
    environment = {**os.environ, "XDG_STATE_HOME": str(work / "state")}
    left, running, most, failed = list(range(n)), [], 0, 0
    begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    while left or running:
        while left and len(running) < at_once:
            path = work / "tapes" / f"{left.pop()}.baro"
            running.append(subprocess.Popen([BARO, "push", "-f", path, "--to", f"prometheus+{proxy.url}"],
                                            env=environment, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
        most = max(most, len(running))
        time.sleep(0.05)
        failed += sum(process.poll() not in (None, 0) for process in running)
        running = [process for process in running if process.poll() is None]
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    now = status(work / "state")
    settle(store)
    print(f"{n} senders, {most} at once: {wall:.0f} s, {1000 * cpu / n:.0f} ms of CPU each; {failed} failed; "
          f"the proxy: {dict(proxy.said)}\ncounted: {dict(now)}; the tape has {sum(map(len, want.values()))} points", flush=True)
    points = compare(store, n, want)
    print("accepted + counted = all:", now["sent"] == points == n * sum(map(len, want.values())))


# ---- nodes ----------------------------------------------------------------------------------------------------------


def dashboard_queries():
    """Those of the fleet's dashboard, with what Grafana puts in."""
    panels = json.loads((SOURCE / "examples/grafana/fleet.json").read_text())["panels"]
    for panel in panels:
        for target in panel.get("targets", []):
            expr = target["expr"]
            for name, value in (("$__rate_interval", "1m"), ("$__range", "10m"), ("$__interval", "15s")):
                expr = expr.replace(name, value)
            yield panel.get("title", ""), re.sub(r"\$\{?\w+(:\w+)?\}?", ".*", expr)


def nodes(work, store, tape, n):
    want = expected(tape, work / "reference")
    series, of_each = len(want), sum(map(len, want.values()))
    begun, cpu = time.monotonic(), store.cpu_s()
    pusher = subprocess.Popen([BARO, "push", work / "tapes", "--to", f"prometheus+{store.url}"],
                              env={**os.environ, "XDG_STATE_HOME": str(work / "state")}, stdout=subprocess.PIPE)
    _, code, used = os.wait4(pusher.pid, 0)
    wall = time.monotonic() - begun
    total = n * of_each
    print(pusher.stdout.read().decode().strip(), f"(status {code})")
    print(f"{n} nodes, {series} series and {of_each} points each: {n * series:,} series, {total:,} points in {wall:.0f} s: "
          f"{total / wall:,.0f} points/s\npusher: {used.ru_utime + used.ru_stime:.0f} s of CPU, {used.ru_maxrss // 1024} MB; "
          f"store: {store.cpu_s() - cpu:.0f} s, MB {store.memory_mb()}", flush=True)
    print("counted:", dict(status(work / "state")))
    settle(store)
    last = max(t for points in want.values() for t in points) // 1000
    for title, expr in dashboard_queries():
        at = time.monotonic()
        try:
            found = json.loads(store.ask("/api/v1/query", query=expr, time=last - 10))["data"]["result"]
            print(f"  {title[:46]:46} {time.monotonic() - at:6.2f} s  {len(found):6} rows  "
                  f"{str([r.get('value', r)[1] for r in found[:1]])[:30]}")
        except urllib.error.HTTPError as error:
            print(f"  {title[:46]:46} {error.code}: {error.read()[:200]}")
    compare(store, n, want, max(n // 500, 1))
    print("store: MB", store.memory_mb())


def main():
    what, tape = sys.argv[1], sys.argv[2]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    work = pathlib.Path(tempfile.mkdtemp(prefix="baro-push-fleet-"))
    try:
        (work / "tapes").mkdir()
        for i in range(n):
            copy_tape(pathlib.Path(tape), work / f"tapes/{i}.baro", f"node-{i:05}", f"{i:032x}")
        store = Victoria(work / "store")
        try:
            if what == "nodes":
                nodes(work, store, tape, n)
            else:
                senders(work, store, tape, n, int(sys.argv[4]) if len(sys.argv) > 4 else 500)
        finally:
            store.close()
    finally:
        shutil.rmtree(work)


main()
