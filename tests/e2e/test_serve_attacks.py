# SPDX-License-Identifier: Apache-2.0
"""baro serve: hostile and slow clients cost others nothing."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import threading

import pytest
from conftest import poll
from serving import SOURCE, Stream, kept, running, serve  # noqa: F401 (fixtures)

sys.path.insert(0, str(SOURCE / "bench"))
import attack  # noqa: E402


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def children_cpu(pid):
    """CPU time of reaped children, in clock ticks."""
    return sum(int(x) for x in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[13:15])


def test_malformed_requests(serve):
    s = serve()
    host = b"Host: localhost\r\n"
    requests = (*attack.MALFORMED[:8], attack.MALFORMED[-1], b"GET / HTTP/1.1\r\nX: " + b"b" * 50000 + b"\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                b"GET /?" + b"a=b&" * 500 + b" HTTP/1.1\r\n" + host + b"\r\n",
                b"POST / HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
                *(b"GET " + path + b" HTTP/1.1\r\n" + host + b"\r\n" for path in (b"/%zz%f", b"/healthz%00", b"/healthz%00/report")))
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        for data, answer in zip(requests, pool.map(lambda data: s.raw(data, 5), requests)):
            assert not answer.startswith(b"HTTP/1.1 2"), (data[:60], answer[:200])
    assert s.ask("/healthz")[0] == 200


def test_answers_that_are_not_taken(serve, run):
    """Many clients ask for much and read nothing: what is held stays within a budget, others are answered, and the
    memory goes back to the kernel."""
    loop = "i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done"
    run("run", "-q", "--overhead", "off", "--", "sh", "-c", loop)
    s = serve("--unsent", "16MB")
    job = s.summed(1)[0]["id"]
    path = f"/api/v1/jobs/{job}/exits?limit=10000"
    status, _, body = s.ask(path)
    assert status == 200 and len(body) > 1 << 20
    before = rss_kib(s.process.pid)
    greedy = []
    for _ in range(100):
        c = socket.create_connection(("127.0.0.1", s.port), timeout=60)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        greedy.append(c)
    answers = [c.recv(2000) for c in greedy]
    assert {a.split()[1] for a in answers} == {b"200", b"503"}
    assert all(b"Retry-After: " in a for a in answers if a.split()[1] == b"503")
    assert s.ask("/healthz")[0] == 200 and s.ask("/metrics")[0] == 200
    sanitized = os.environ.get("BARO_SANITIZED") == "1"
    assert rss_kib(s.process.pid) - before < 40 * 1024 or sanitized
    # Those that take nothing are given up while much is held, though they stay connected.
    assert poll(lambda: s.ask(path)[0] == 200)
    poll(lambda: rss_kib(s.process.pid) - before < 12 * 1024 or sanitized)
    for c in greedy:
        c.close()


def test_requests_of_clients_that_have_left(serve, run):
    """Nothing large is made for them, and the server ends without working off what waits."""
    loop = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"
    run("run", "-q", "--overhead", "off", "--", "sh", "-c", loop)
    s = serve()
    job = s.summed(1)[0]["id"]
    request = f"GET /jobs/{job}/report HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    before = children_cpu(s.process.pid)
    s.ask(f"/jobs/{job}/report")
    one = children_cpu(s.process.pid) - before
    before += one
    clients = [socket.create_connection(("127.0.0.1", s.port), timeout=60) for _ in range(100)]
    for c in clients:
        c.sendall(request)
    for c in clients:
        c.close()
    poll(lambda: re.search(rb"\nbaro_serve_connections [1-3]\n", s.ask("/metrics")[2]))
    # Some were begun before their clients left.
    assert children_cpu(s.process.pid) - before < 50 * max(one, 2)
    clients = [socket.create_connection(("127.0.0.1", s.port), timeout=60) for _ in range(100)]
    for c in clients:
        c.sendall(request)
    assert s.stop()[0] == 0
    for c in clients:
        c.close()


def test_it_ends_with_clients(serve, running):
    running("cat")
    s = serve()
    job = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stream = Stream(s, f"/api/v1/jobs/{job}/live")
    events = stream.events()
    next(events)
    idle = socket.create_connection(("127.0.0.1", s.port))
    status, text = s.stop()
    assert status == 0 and "Sanitizer" not in text
    list(events)  # the stream has an end
    idle.close()
    stream.close()


@pytest.mark.not_sanitized("a sanitizer takes descriptors itself")
def test_few_descriptors(baro, work):
    """It serves, or says in one line that there are too few."""
    statuses = []
    for n in range(5, 22):
        command = [baro, "serve", "--listen", "127.0.0.1:0", work]
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=lambda n=n: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        if p.stdout.readline():
            p.terminate()
        text = p.communicate(timeout=60)[1].decode()
        statuses.append(p.returncode)
        assert text.count("\n") == 1, (n, text)
        assert p.returncode == 0 or (p.returncode == 2 and text.endswith(": Too many open files\n")), (n, text)
    assert set(statuses) == {0, 2}


def good_answer(server, path):
    """A client that is refused because all connections of its user are taken comes back, as each does."""
    try:
        status, _, body = server.ask(path)
    except (OSError, http.client.HTTPException):
        return None
    assert status == 200 or (status == 503 and b"too_many" in body), (status, body)
    return json.loads(body) if status == 200 else None


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
@pytest.mark.long
def test_an_attack_costs_the_recording_nothing(serve, run, work, cgroup, started):
    """All attacks at once while control groups are recorded: samples go on, without a gap, a good client is answered,
    and afterwards nothing is held. How regular the samples are is measured by bench/attack.py."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 3000:
        pytest.skip("too few descriptors are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    folder = work / "tapes"
    for name in ("one", "two"):
        (cgroup.path / name).mkdir()
        started(["sh", "-c", "while sleep 0.05; do :; done"], preexec_fn=type(cgroup)(cgroup.path / name).enter)
    env = dict(os.environ, BARO_NO_BUDGET="1")
    s = serve("--cgroup", f"{cgroup.path}/*", "--interval", "100ms", folder=folder, env=env)
    tapes = poll(lambda: len(t := [*folder.glob("*-one-*.baro"), *folder.glob("*-two-*.baro")]) == 2 and t)
    for tape in tapes:
        run.await_samples(tape, 3)
    held = rss_kib(s.process.pid)
    over = threading.Event()
    threads = attack.attack(s.port, over, slow_connections=500)
    try:
        for _ in range(3):
            before = [len(run.instants(tape)) for tape in tapes]
            for tape, n in zip(tapes, before):
                run.await_samples(tape, n + 10)
            assert poll(lambda: good_answer(s, "/healthz"))["observer"] == {"is_running": True, "starts": 1}
            assert len(poll(lambda: good_answer(s, "/api/v1/jobs"))["jobs"]) >= 2
    finally:
        over.set()
        for thread in threads:
            thread.join()
    for tape in tapes:
        instants = run.instants(tape)
        assert instants == sorted(set(instants))
        assert [e for e in run.export(tape, "event") if e["event"] == "gap"] == []
    poll(lambda: re.search(rb"\nbaro_serve_connections [1-3]\n", s.ask("/metrics")[2]))
    poll(lambda: b"\nbaro_serve_streams 0\n" in s.ask("/metrics")[2])
    assert rss_kib(s.process.pid) - held < 40 * 1024 or os.environ.get("BARO_SANITIZED") == "1"


# Connections of another user: each asks for much and takes a little of it now and then; many send nothing.
GREEDY = r"""
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100
port, n = int(sys.argv[1]), int(sys.argv[2])
def connect(i):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.setblocking(False)
    c.connect_ex(("127.0.0.1", port))
    return c
all = [connect(i) for i in range(n)]
print("begun", flush=True)
while True:
    for i, c in enumerate(all):
        try:
            if i % 2:
                c.send(request)
                if not c.recv(1):
                    raise ConnectionResetError
            elif c.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            c.close()
            all[i] = connect(i)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="has to be two users")
def test_a_user_cannot_take_all_connections(serve, kept):
    """Another user comes back with 500 connections again and again: each request of this one is answered at its first
    try, and there are always free places."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 3000:
        pytest.skip("too few descriptors are allowed")
    s = serve("--clients", "64")
    job = s.summed(3)[0]["id"]
    greedy = subprocess.Popen(["/usr/bin/python3", "-c", GREEDY, str(s.port), "500"], stdout=subprocess.PIPE,
                              user=65534, group=65534, extra_groups=())
    try:
        assert greedy.stdout.readline() == b"begun\n"
        for _ in range(20):
            for path in ("/healthz", f"/api/v1/jobs/{job}", "/metrics"):
                assert s.ask(path)[0] == 200
            # It has 32, and those of its others that are being closed: this request is one of the 64 as well.
            assert int(re.search(rb"\nbaro_serve_connections (\d+)\n", s.ask("/metrics")[2])[1]) <= 64
        assert greedy.poll() is None
    finally:
        greedy.kill()
        greedy.wait()
        greedy.stdout.close()
    poll(lambda: re.search(rb"\nbaro_serve_connections [1-3]\n", s.ask("/metrics")[2]))
