#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does an attack on `baro serve` delay the samples of the observer that it started?

    bench/attack.py BARO [ROUNDS [SECONDS]]     (as root: it makes control groups)

Three jobs, each a process that works now and then, are recorded once a second by `baro serve --cgroup`. In turns the
server is left alone and attacked, by processes of lower priority, with all of attacks() at once. From the tapes: the
distance between samples, with and without.
"""

import datetime
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

MALFORMED = (
    b"\0" * 1000,
    b"GET\r\n\r\n",
    b"A" * 100000,
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET /" + b"a" * 50000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(2000)) + b"\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nxx",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n",
    bytes(range(256)) * 20,
)
DEAR = (b"/metrics", b"/api/v1/jobs?limit=1000", b"/api/v1/host", b"/")


def request(path):
    return b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=1)
    s.settimeout(0.2)
    return s


def repeat(over, step):
    """Calls step() until the end; errors of connections are what an attacker expects."""
    while not over.is_set():
        try:
            step()
        except OSError:
            over.wait(0.01)


def malformed(port, over):
    def step():
        with connect(port) as s:
            s.sendall(random.choice(MALFORMED))
            s.recv(65536)

    repeat(over, step)


def slow(port, over, connections=1000):
    """Connections that send a byte of their header now and then and never finish it; each that the server closes is made
    again."""
    held = []
    while not over.is_set():
        while len(held) < connections and not over.is_set():
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            held.append(s)
        alive = []
        for s in held:
            try:
                s.send(b"G")
                alive.append(s)
            except BlockingIOError:
                alive.append(s)
            except OSError:
                s.close()
        held = alive
        over.wait(0.2)
    for s in held:
        s.close()


def half_closed(port, over):
    """Requests large answers, closes its half of the connection, and reads nothing."""
    held = []

    def step():
        s = connect(port)
        s.sendall(request(random.choice(DEAR)))
        s.shutdown(socket.SHUT_WR)
        held.append(s)
        if len(held) > 30:
            held.pop(0).close()
        over.wait(0.02)

    repeat(over, step)
    for s in held:
        s.close()


def streams(port, over):
    """Opens all streams that the server allows, and reads none."""
    held = []

    def step():
        s = connect(port)
        s.sendall(request(b"/api/v1/live"))
        held.append(s)
        if len(held) > 64:
            held.pop(0).close()
        over.wait(0.05)

    repeat(over, step)
    for s in held:
        s.close()


def dear(port, over):
    def step():
        with connect(port) as s:
            s.sendall(request(random.choice(DEAR)))
            while s.recv(65536):
                pass

    repeat(over, step)


def attack(port, over, slow_connections=1000):
    """Starts all attacks, as threads that end with `over`."""
    attacks = (malformed, malformed, half_closed, streams, dear, dear)
    threads = [threading.Thread(target=f, args=(port, over)) for f in attacks]
    threads.append(threading.Thread(target=slow, args=(port, over, slow_connections)))
    for thread in threads:
        thread.start()
    return threads


# ---- measuring ------------------------------------------------------------------------------------------------------

WORK = "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; read -t 0.2 x <> /dev/ptmx; done"


def distances(baro, folder, periods):
    """The distances between samples in each of the periods (CLOCK_REALTIME), in ms."""
    found = []
    for tape in folder.glob("*-job*.baro"):
        export = [baro, "export", "-e", "job", "-c", "time", "-F", "csv", tape]
        rows = subprocess.run(export, capture_output=True, check=True).stdout
        times = [datetime.datetime.fromisoformat(line).timestamp() for line in rows.decode().split()[1:]]
        for before, after in zip(times, times[1:]):
            if any(begin <= before and after <= end for begin, end in periods):
                found.append((after - before) * 1e3)
    return sorted(found)


def main():
    baro, rounds, seconds = (sys.argv[1:] + ["3", "20"][len(sys.argv) - 2 :])[:3]
    rounds, seconds = int(rounds), float(seconds)
    mount = next(line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2")
    base = pathlib.Path(tempfile.mkdtemp(prefix="baro-attack-", dir=mount))
    folder = pathlib.Path(tempfile.mkdtemp())
    jobs = []
    for i in range(3):
        (base / f"job{i}").mkdir()
        jobs.append(subprocess.Popen(["bash", "-c", WORK], stdin=subprocess.DEVNULL))
        (base / f"job{i}" / "cgroup.procs").write_text(str(jobs[-1].pid))
    options = ["--listen", "127.0.0.1:0", "--interval", "1s", "--cgroup", f"{base}/*", folder]
    server = subprocess.Popen([baro, "serve", *options], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
    quiet, attacked = [], []
    time.sleep(5)
    try:
        for _ in range(rounds):
            begin = time.time()
            time.sleep(seconds)
            quiet.append((begin, time.time()))
            child = os.fork()
            if child == 0:
                os.nice(10)
                over = threading.Event()
                threading.Timer(seconds, over.set).start()
                for thread in attack(port, over):
                    thread.join()
                os._exit(0)
            begin = time.time()
            time.sleep(seconds)
            attacked.append((begin, time.time()))
            os.waitpid(child, 0)
            time.sleep(2)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        for job in jobs:
            job.kill()
            job.wait()
    for name, periods in (("left alone", quiet), ("attacked", attacked)):
        ms = distances(baro, folder, periods)
        p50, p99 = ms[len(ms) // 2], ms[len(ms) * 99 // 100]
        print(f"{name}: {len(ms)} distances, p50 {p50:.1f} ms, p99 {p99:.1f}, max {ms[-1]:.1f}")
    shutil.rmtree(folder)
    for i in range(3):
        (base / f"job{i}").rmdir()
    base.rmdir()


if __name__ == "__main__":
    main()
