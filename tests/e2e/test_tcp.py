# SPDX-License-Identifier: Apache-2.0
"""--metrics default,tcp: what the TCP sockets of the job's processes send and receive, compared with transfers of a
known size and with ss(8)."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import needs_strace, poll, unshared
from wrapping import helpers

SIZE = 5_000_000
TCP = ("-m", "default,tcp", "-i", "50ms", "--overhead", "off")

# A server and a client, which is its child. Both wait for a file before anything is sent and before anything is closed,
# so that their sockets are seen. Prints what arrived.
PAIR = """
import os, pathlib, socket, sys, time
family, address, size = (socket.AF_INET6, "::1", int(sys.argv[1])) if sys.argv[2] == "6" else (
    socket.AF_INET, sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1", int(sys.argv[1]))
def wait(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.02)
l = socket.socket(family)
l.bind((address, 0))
l.listen(5)
child = os.fork()
if not child:
    port = l.getsockname()[1]
    l.close()
    c = socket.create_connection((address, port))
    wait("send")
    c.sendall(b"x" * size)
    c.shutdown(socket.SHUT_WR)
    assert c.recv(10) == b"ok"
    wait("close")
    c.close()
    os._exit(0)
a, _ = l.accept()
print(os.getpid(), child, flush=True)
got = 0
while chunk := a.recv(1 << 20):
    got += len(chunk)
a.sendall(b"ok")
print(got, flush=True)
wait("close")
a.close()
l.close()
os.wait()
"""


@pytest.fixture
def pair(work):
    script = work / "pair.py"
    script.write_text(PAIR)
    return ["/usr/bin/python3", str(script), str(SIZE)]


def last_rows(run, tape):
    rows = run.export(tape, "process")
    return {row["pid"]: row for row in rows}


def await_connected(run, tape, *pids):
    """Waits until each of them has a connection on the tape."""

    def connected():
        rows = last_rows(run, tape) if run.instants(tape) else {}
        return all(rows.get(pid, {}).get("tcp_connections") == 1 for pid in pids)

    poll(connected, "both ends on the tape")


@pytest.mark.parametrize("version", ["4", "6"])
def test_a_transfer(run_both, tape, work, pair, version, wait_until):
    p = run_both.popen("run", "-o", tape, *TCP, "--", *pair, version, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    server, client = map(int, p.stdout.readline().split())
    assert server and client, "no connection"
    await_connected(run_both, tape, server, client)
    assert last_rows(run_both, tape)[server]["tcp_listening"] == 1
    (work / "send").touch()
    assert int(p.stdout.readline()) == SIZE

    def sent():
        rows = last_rows(run_both, tape)
        there = rows[client]["tcp_sent_bytes"] == SIZE and rows[server]["tcp_received_bytes"] >= SIZE
        back = rows[server]["tcp_sent_bytes"] == 2 and rows[client]["tcp_received_bytes"] == 2
        return there and back

    wait_until(sent, "the transfer and its answer on the tape")
    rows, truth = last_rows(run_both, tape), ss(server)
    if truth:
        assert truth == [(2, rows[server]["tcp_received_bytes"])]
    (work / "close").touch()
    text = p.communicate(timeout=60)[1]
    job = run_both.summary(tape)["job"]
    assert job["tcp_sent_bytes"] == SIZE + 2
    assert SIZE + 2 <= job["tcp_received_bytes"] <= SIZE + 4, "the end of a stream counts as a byte"
    assert re.search(r"network +tcp sent ≥?5.00 MB, received ≥?5.00 MB", text)
    # It may be one for other reasons: a busy machine reads the sockets late.
    assert job["tcp_is_lower_bound"] or job["tcp_unattributed_sent_bytes"] + job["tcp_unattributed_received_bytes"] == 0
    shown = run_both("show", "--at", "peak", tape).stdout
    assert re.search(r"^so far .*, tcp sent ≥?\d.*, received ", shown, re.M)
    assert re.search(r"^ *PID .* SENT +RECVD +COMMAND$", shown, re.M)
    assert "tcp_sent" in run_both("plot", tape, "job.tcp_sent").stdout


def ss(pid):
    """[(sent, received)] of the established connections of a process, as ss(8) has them; empty if it has none."""
    try:
        out = subprocess.check_output(["ss", "-tinpOH"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    found = []
    for line in out.splitlines():
        if f"pid={pid}," in line and "bytes_received" in line:
            value = {n: int(v) for n, v in re.findall(r"(bytes_\w+):(\d+)", line)}
            found.append((value.get("bytes_sent", 0) - value.get("bytes_retrans", 0), value["bytes_received"]))
    return found


def test_not_asked_for(run, tape, work, pair):
    (work / "send").touch()
    (work / "close").touch()
    r = run("run", "-o", tape, "--", *pair, "4", status=0)
    assert "network" not in r.stderr
    job = run.summary(tape)["job"]
    assert job["tcp_sent_bytes"] is None and job["tcp_is_lower_bound"] is None
    assert "tcp" not in (text := run("show", tape).stdout) and "RECVD" not in text
    shown = json.loads(run("show", "--json", tape).stdout)
    assert shown["job"]["absent"]["tcp_sent_bytes"] == "not asked"
    page = work / "report.html"
    run("report", tape, "-o", page, status=0)
    assert "TCP of the job" not in page.read_text() and "tcp received" not in page.read_text()


def test_connections_that_are_too_short(run, tape, work):
    """Each ends before a reading: what they sent is shown as that of nobody, and the job's is a lower bound, or absent
    if no socket was read."""
    script = work / "short.py"
    script.write_text("""
import socket
l = socket.create_server(("127.0.0.1", 0))
for i in range(200):
    c = socket.create_connection(l.getsockname())
    a, _ = l.accept()
    c.sendall(b"x" * 1000)
    c.close()
    while a.recv(65536):
        pass
    a.close()
""")
    run("run", "-q", "-o", tape, "-m", "default,tcp", "--", "/usr/bin/python3", script, status=0)
    job = run.summary(tape)["job"]
    assert job["tcp_sent_bytes"] is None or job["tcp_is_lower_bound"]
    assert (job["tcp_sent_bytes"] or 0) + job["tcp_unattributed_sent_bytes"] >= 200 * 1000


def test_connections_of_a_server_that_are_too_short(run_both, tape, work, wait_until):
    """It is known who listens: all that the server received is its own, though none of its connections was seen. On a
    busy machine the last ones may not be read before the recording ends, which is marked."""
    script = work / "server.py"
    script.write_text("""
import os, pathlib, socket, time
port, tell = os.pipe()
if not os.fork():  # before there is a socket that it could accept from
    os.close(tell)
    address = ("127.0.0.1", int(os.read(port, 10)))
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    for i in range(300):
        c = socket.create_connection(address)
        c.sendall(b"x" * 1000)
        c.recv(10)
        c.close()
    os._exit(0)
l = socket.create_server(("127.0.0.1", 0))
os.write(tell, b"%d" % l.getsockname()[1])
print(os.getpid(), flush=True)
for i in range(300):
    a, _ = l.accept()
    got = 0
    while got < 1000:
        got += len(a.recv(1000))
    a.sendall(b"ok")
    a.recv(10)
    a.close()
os.wait()
""")
    p = run_both.popen("run", "-q", "-o", tape, *TCP, "--", "/usr/bin/python3", str(script), stdout=subprocess.PIPE,
                       text=True)
    server = int(p.stdout.readline())

    def listens():
        rows = last_rows(run_both, tape) if run_both.instants(tape) else {}
        return rows.get(server, {}).get("tcp_listening") == 1

    wait_until(listens, "its socket on the tape")
    (work / "go").touch()
    assert p.wait(timeout=60) == 0
    [e] = [e for e in run_both.export(tape, "exit") if e["pid"] == server]
    assert e["tcp_sent_bytes"] <= 600 and e["tcp_received_bytes"] <= 300_300, "the end of a stream counts as a byte"
    if not e["tcp_is_lower_bound"]:
        assert e["tcp_sent_bytes"] == 600 and e["tcp_received_bytes"] >= 300_000


def test_attached_counts_from_then_on(run, tape, work, pair, started):
    p = started([*pair, "4"], stdout=subprocess.PIPE, text=True, cwd=work)
    server, client = map(int, p.stdout.readline().split())
    (work / "send").touch()
    assert int(p.stdout.readline()) == SIZE
    r = run.popen("record", "-q", "-o", tape, *TCP, "--pid", server)
    await_connected(run, tape, client)
    (work / "close").touch()
    assert p.wait(timeout=60) == 0 and r.wait(timeout=60) == 0
    job = run.summary(tape)["job"]
    assert job["tcp_sent_bytes"] == 0 and job["tcp_received_bytes"] <= 2


def test_a_namespace_of_the_job(run, tape, work, pair, uplink):
    """Its sockets are found there, and its interfaces are counted, but for the loopback."""
    job = uplink('uplink; ip link set lo up; transfer; exec "$@"')
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", "unshare", "-n", *job, "sh", *pair, "4", stdout=subprocess.PIPE,
                  text=True)
    await_connected(run, tape, *map(int, p.stdout.readline().split()))
    (work / "send").touch()
    assert int(p.stdout.readline()) == SIZE
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer through the interface on the tape")
    poll(lambda: run.summary(tape)["job"]["tcp_received_bytes"] >= SIZE + 2, "that of the sockets")
    (work / "close").touch()
    assert p.wait(timeout=60) == 0
    job = run.summary(tape)["job"]
    assert job["tcp_sent_bytes"] == SIZE + 2 <= job["tcp_received_bytes"] <= SIZE + 4
    assert SIZE <= job["net_sent_bytes"] < 1.5 * SIZE


# A namespace with an interface that leads to no one: what is sent through it is counted by the interface.
UPLINK = """
uplink() {
    ip link add v type veth peer name w && ip link set v up && ip link set w up
    ip address add 10.9.9.1/24 dev v && ip neighbour add 10.9.9.2 lladdr 02:00:00:00:00:02 dev v nud permanent
}
transfer() {
    /usr/bin/python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5000):
    s.sendto(bytes(1000), ("10.9.9.2", 9))'
}
await() { until [ -e $1 ]; do sleep 0.02; done; }
"""


@pytest.fixture
def uplink():
    """uplink(script): the command line of a shell that has the functions of UPLINK."""
    probe = ["unshare", "-n", "sh", "-c", f"{UPLINK} uplink"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no network namespaces: needs root")
    return lambda text: ["sh", "-ec", UPLINK + text]


def net_of(run, tape):
    """What the job's namespaces have sent so far, and when that was read."""
    job = run.summary(tape)["job"] if run.instants(tape) else {}
    return job.get("net_sent_bytes") or 0, run.export(tape, "job")[-1]["tcp_read_at_ns"] or 0 if job else 0


def await_readings(run, tape, wait_until, n):
    for _ in range(n):
        before = net_of(run, tape)[1]
        wait_until(lambda before=before: net_of(run, tape)[1] > before, "another reading")


def ended(run, tape, p):
    """Lets the job end, and returns its sums."""
    (run.work / "end").touch()
    assert p.wait(timeout=60) == 0
    return run.summary(tape)["job"]


def test_an_interface_that_is_removed(run, tape, work, uplink, wait_until):
    """What it has counted is not lost."""
    job = uplink("uplink; transfer; await remove; ip link delete v; await end")
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", "unshare", "-n", *job)
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer on the tape")
    (work / "remove").touch()
    await_readings(run, tape, wait_until, 3)
    job = ended(run, tape, p)
    assert SIZE <= job["net_sent_bytes"] < 1.5 * SIZE
    assert job["net_is_lower_bound"], "it may have sent more after the last reading"
    assert "its own namespace: sent ≥5." in run("summary", "-v", tape).stdout


def test_a_namespace_that_was_there_before(run, tape, work, uplink, started, wait_until):
    """What its interfaces had counted before the job entered it is not the job's."""
    other = started(["unshare", "-n", *uplink("uplink; transfer; transfer; touch ready; exec sleep 1000")], cwd=work)
    wait_until(lambda: (work / "ready").exists(), "the namespace")
    job = uplink("await send; transfer; await end")
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", "nsenter", "-n", "-t", str(other.pid), *job)
    await_readings(run, tape, wait_until, 3)
    assert net_of(run, tape)[0] < SIZE / 10
    (work / "send").touch()
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer on the tape")
    job = ended(run, tape, p)
    assert SIZE <= job["net_sent_bytes"] < 1.5 * SIZE and job["net_is_lower_bound"]


@needs_strace
def test_a_namespace_made_before_the_recorder_began(run, tape, work, uplink, wait_until):
    """The recorder gets the CPU late, as on a busy machine: the namespace is the job's all the same, and all that it
    has counted."""
    job = uplink("uplink; transfer; touch sent; await end")
    late = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=epoll_create1",
            "-e", "inject=epoll_create1:delay_enter=2000000"]
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", "unshare", "-n", *job, via=late)
    wait_until((work / "sent").exists, "the transfer")
    await_readings(run, tape, wait_until, 3)
    job = ended(run, tape, p)
    assert SIZE <= job["net_sent_bytes"] < 1.5 * SIZE
    assert not job["net_is_lower_bound"] or job["tcp_is_lower_bound"], "a busy machine: there was no last reading"


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "killed"])
def test_a_namespace_that_is_entered_again(run, tape, work, uplink, wait_until, is_killed):
    """It is kept by a mount while no process is in it. What it has counted is counted once, also where the helper that
    reads it was killed meanwhile, and replaced."""
    inside = uplink("uplink; transfer; await left")
    again = uplink("await end")
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", *unshared("-m"), "sh", "-ec", """
        touch ns && unshare --net=ns true
        nsenter --net=ns sh -ec "$1"
        until [ -e enter ]; do sleep 0.02; done
        nsenter --net=ns sh -ec "$2" """, "sh", inside[2], again[2])
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer on the tape")
    (work / "left").touch()
    await_readings(run, tape, wait_until, 3)
    for pid in helpers(p.pid) if is_killed else ():
        os.kill(pid, signal.SIGKILL)
    await_readings(run, tape, wait_until, 3)
    (work / "enter").touch()
    await_readings(run, tape, wait_until, 3)
    job = ended(run, tape, p)
    assert SIZE <= job["net_sent_bytes"] < 1.5 * SIZE
    if is_killed:
        assert job["net_is_lower_bound"]
    else:
        # null where no socket was read at all
        is_late = job["tcp_is_lower_bound"] is not False
        assert not job["net_is_lower_bound"] or is_late, "a busy machine: there was no last reading"


def test_a_namespace_with_the_inode_of_another(run, tape, work, uplink, started, wait_until):
    """One that was there before the job has ended. The kernel uses the lowest free inode, so the job's has the same,
    unless other tests make namespaces meanwhile."""
    time.sleep(0.5)  # the kernel frees a namespace, as that of uplink(), some time after its last process has ended
    others = [started(["unshare", "-n", "sleep", "1000"]) for _ in range(4)]
    own = os.stat("/proc/self/ns/net").st_ino

    wait_until(lambda: all(os.stat(f"/proc/{p.pid}/ns/net").st_ino != own for p in others), "the namespaces")
    job = "until [ -e go ]; do sleep 0.02; done; unshare -n sh -ec \"$1\""
    inside = uplink("uplink; transfer; echo sent; await end")[2]
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", "sh", "-ec", job, "sh", inside, stdout=subprocess.PIPE)
    run.await_samples(tape)
    for one in others:
        one.kill()
        one.wait()
    time.sleep(0.5)
    (work / "go").touch()
    p.stdout.readline()
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer on the tape")
    job = ended(run, tape, p)
    assert job["net_sent_bytes"] < 1.5 * SIZE
    assert not job["net_is_lower_bound"] or job["tcp_is_lower_bound"] is not False, "a busy machine: a reading was late"


def test_many_namespaces_before(run, tape, work, uplink, wait_until):
    """Those without interfaces, as sandboxes have them, are forgotten, and the next one is counted all the same."""
    job = uplink("for i in $(seq 70); do unshare -n sleep 0.06; done; unshare -n sh -ec \"$1\"")
    p = run.popen("run", "-q", "-o", tape, *TCP, "--", *job, "sh", uplink("uplink; transfer; await end")[2])
    poll(lambda: net_of(run, tape)[0] >= SIZE, "the transfer on the tape")
    assert ended(run, tape, p)["net_sent_bytes"] < 1.5 * SIZE


def test_what_reads_the_sockets_is_killed_at_once(run, tape, work, wait_until):
    """It is replaced. A job that is in no namespace of its own has no sum of their interfaces, not one of 0 bytes."""
    p = run.popen("run", "-q", "-o", tape, "-m", "default,tcp", "-i", "1s", "--", "sh", "-c",
                  "until [ -e end ]; do sleep 0.02; done")
    wait_until(lambda: helpers(p.pid), "the worker")
    for pid in helpers(p.pid):
        os.kill(pid, signal.SIGKILL)
    run.await_samples(tape)
    await_readings(run, tape, wait_until, 1)
    assert ended(run, tape, p)["net_sent_bytes"] is None


def test_a_namespace_that_ended_before_its_sockets_were_read(run, tape, work, started, wait_until):
    """Its processes are known, none of their sockets is: what the job sent is absent, and no lower bound of 0."""
    script = work / "short.py"
    script.write_text("""
import pathlib, socket, subprocess, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
while not pathlib.Path("go").exists():
    time.sleep(0.02)
l = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(l.getsockname())
a, _ = l.accept()
c.sendall(b"x" * 1000)
c.close()
while a.recv(65536):
    pass
""")
    if subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True).returncode:
        pytest.skip("no network namespaces: needs root")
    p = started(["unshare", "-n", "/usr/bin/python3", str(script)], cwd=work)
    own = os.readlink("/proc/self/ns/net")
    wait_until(lambda: os.readlink(f"/proc/{p.pid}/ns/net") != own, "the namespace")
    r = run.popen("record", "-q", "-o", tape, "-m", "default,tcp", "-i", "1h", "--pid", p.pid)
    wait_until(lambda: run.instants(tape), "the first sample")
    (work / "go").touch()
    assert p.wait(timeout=60) == 0 and r.wait(timeout=60) == 0
    job = run.summary(tape)["job"]
    assert job["tcp_sent_bytes"] is None and job["tcp_received_bytes"] is None
    assert job["tcp_unattributed_sent_bytes"] == 1000
    text = run("summary", "-v", tape).stdout
    assert "tcp not known: its sockets ended before they were read" in text and "sent 1.00 kB" in text


def test_exits_tasks_and_commands(run_both, tape, work, pair):
    """Both ends of a connection are processes that have ended, of a task: what each sent and received is in its exit
    record, and in sum in the task and the command, exact or marked."""
    p = run_both.popen("run", "-o", tape, *TCP, "--", run_both.binary, "run", "--task", "both", "--", *pair, "4",
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server, client = map(int, p.stdout.readline().split())
    await_connected(run_both, tape, server, client)
    (work / "send").touch()
    (work / "close").touch()
    p.communicate(timeout=60)
    exits = {e["pid"]: e for e in run_both.export(tape, "exit")}
    truth = {server: (2, SIZE), client: (SIZE, 2)}
    for pid, (sent, received) in truth.items():
        e = exits[pid]
        if e["tcp_is_lower_bound"]:
            assert e["tcp_sent_bytes"] <= sent and e["tcp_received_bytes"] <= received + 1
        else:
            assert e["tcp_sent_bytes"] == sent and received <= e["tcp_received_bytes"] <= received + 1
    whole = run_both.summary(tape)
    [task] = [t for t in whole["tasks"] if t["name"] == "both"]
    [command] = [c for c in whole["commands"] if c["name"].startswith("python3")]
    for one in (task, command):
        assert one["tcp_sent_bytes"] == sum(exits[pid]["tcp_sent_bytes"] for pid in truth)
        assert one["tcp_received_bytes"] == sum(exits[pid]["tcp_received_bytes"] for pid in truth)
        if not one["tcp_is_lower_bound"]:
            assert one["tcp_sent_bytes"] == SIZE + 2 == whole["job"]["tcp_sent_bytes"]
    text = run_both("summary", "-v", tape).stdout
    if not command["tcp_sent_bytes"] and not command["tcp_received_bytes"]:
        assert command["tcp_is_lower_bound"]  # a busy machine: nothing was read after the connection was made
        assert re.search(r"network +tcp sent (≥|not known)", text), text
        return
    assert re.search(r"command +processes .*tcp sent +received", text)
    assert re.search(r"python3.* ≥?[0-9.]+ [kM]?B +≥?[0-9.]+ [kM]?B\n", text)
    page = work / "report.html"
    run_both("report", tape, "-o", page, status=0)
    assert "TCP of the job" in page.read_text() and "tcp received" in page.read_text()


def test_the_last_reading_never_comes(run, tape, work, pair):
    """What reads the sockets is stopped, as a process that gets no CPU time: all that is sent is sent after the
    reading that it did last. The sums of that reading are lower bounds."""
    p = run.popen("run", "-o", tape, *TCP, "--", *pair, "4", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server, client = map(int, p.stdout.readline().split())
    await_connected(run, tape, server, client)
    stopped = helpers(p.pid)
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    (work / "send").touch()
    (work / "close").touch()
    text = p.communicate(timeout=60)[1]
    job = run.summary(tape)["job"]
    assert job["tcp_is_lower_bound"]
    assert job["tcp_sent_bytes"] <= SIZE + 2
    assert re.search(r"network +tcp sent (at least|not known).*, received (at least|not known)", text)


def test_doctor(run_both):
    found = {f["what"]: f for f in json.loads(run_both("doctor", "--json", status=0).stdout) if f["topic"] == "tcp"}
    assert set(found) == {"sockets", "ends", "namespaces"}
    assert found["sockets"]["state"] == "yes" and "--metrics default,tcp" in found["sockets"]["text"]
    if found["namespaces"]["state"] != "yes":
        assert "CAP_SYS_ADMIN" in found["namespaces"]["grant"]
