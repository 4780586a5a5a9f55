# SPDX-License-Identifier: Apache-2.0
"""baro push: each point of a tape is once in the store, or counted. The stores are our own that lie (lying.py);
real ones are in test_push_stores.py."""

import base64
import json
import os
import pathlib
import random
import shutil
import signal
import ssl
import subprocess
import sys
import time

import pytest
from conftest import SOURCE, beside, poll
from pushing import WORK, built, counted, pusher_of, recorded, reference, rows, status, store  # noqa: F401 (fixtures)



# ---- what is sent ---------------------------------------------------------------------------------------------------


def test_the_points_are_those_of_the_tape(run, store, recorded):
    s = store()
    run("push", recorded, "--to", s.url(), status=0)
    now = status(run)
    assert now["state"] == "sent" and now["sent"] == len(s.points) and counted(now) == len(s.points)
    cpu = [(t, v) for (labels, t), v in s.points.items() if labels[0] == ("__name__", "baro_job_cpu_seconds_total")]
    read = [row["cpu_ns"] / 1e9 for row in rows(run, recorded, "job")]
    assert [v for _, v in sorted(cpu)] == [*read, "end"]
    phase = [v for (labels, _), v in s.points.items()
             if ("__name__", "baro_phase_cpu_seconds_total") in labels and ("phase", "sort") in labels]
    assert phase and phase[-1] == "end"
    assert s.headers[0]["X-Prometheus-Remote-Write-Version"] in ("0.1.0", "2.0.0")
    assert not any(k in ("pid", "command") for labels, _ in s.points for k, _ in labels
                   if labels[0][1] != "baro_job_info")
    ends = {labels for (labels, _), v in s.points.items() if v == "end"}
    assert ends == {labels for labels, _ in s.points}, "each series ends"


@pytest.mark.parametrize("command, expected", [("exit 7", 7), ("kill -9 $$", 137)])
def test_how_a_job_ended(run, store, work, command, expected):
    s = store()
    tape = work / "ended.baro"
    run("run", "-q", "-o", tape, "--", "sh", "-c", f"sleep 0.1; {command}")
    run("push", tape, "--to", s.url(), status=0)
    of = {name: [v for (labels, _), v in sorted(s.points.items(), key=lambda p: p[0][1])
                 if ("__name__", f"baro_job_{name}") in labels]
          for name in ("exit_status", "running", "sample_timestamp_seconds")}
    assert of["exit_status"] == [expected, "end"]
    assert of["running"] == [*[1] * (len(of["running"]) - 2), 0, "end"]
    assert len(of["sample_timestamp_seconds"]) == len(of["running"]) - 1
    assert abs(of["sample_timestamp_seconds"][0] - time.time()) < 600


def test_again_sends_nothing(run, store, recorded):
    s = store()
    for _ in range(3):
        run("push", recorded, "--to", s.url(), status=0)
    assert s.twice == 0 and status(run)["sent"] == len(s.points)


def test_otlp(run, store, recorded):
    s = store()
    run("push", recorded, "--to", s.url("otlp"), "--all", status=0)
    assert len(s.points) == status(run)["sent"]
    cpu = {}
    for (labels, t), (start, v) in s.points.items():
        of = dict(labels)
        assert of["host.name"] and of["service.instance.id"] and of["service.name"] == "sh"
        if of["__name__"] == "process.cpu.time" and v != "end":
            assert 0 < start <= t
            cpu.setdefault(t, {})[of["cpu.mode"]] = v
        if of["__name__"] == "barograph.job.cpu" and v != "end":
            assert isinstance(v, int)
    read = [(row["cpu_user_ns"] / 1e9, row["cpu_system_ns"] / 1e9) for row in rows(run, recorded, "job")]
    assert [(v["user"], v["system"]) for _, v in sorted(cpu.items())] == read
    whole = [v for (labels, _), (_, v) in sorted(s.points.items(), key=lambda p: p[0][1])
             if labels[0][1] == "barograph.job.cpu" and v != "end"]
    assert whole == [row["cpu_ns"] for row in rows(run, recorded, "job")]


@pytest.mark.parametrize("protocol", ["prometheus", "otlp"])
def test_hostile_names(run, store, hostile_tape, protocol):
    """Labels are valid, whatever a job calls itself."""
    s = store()
    run("push", hostile_tape, "--to", s.url(protocol), status=0)
    assert status(run)["sent"] == len(s.points) > 0
    assert not any(c < " " or c == "\x7f" for labels, _ in s.points for _, v in labels for c in v)


def test_positions_that_cannot_be_used(run, store, recorded, work):
    s = store()
    (work / "file").write_text("")
    done = run("push", recorded, "--to", s.url(), status=2, env={"XDG_STATE_HOME": work / "file"})
    assert "where positions are kept" in done.stderr and done.stderr.count("\n") == 1 and not s.requests
    run("push", recorded, "--to", s.url(), status=0)
    position, = (pathlib.Path(os.environ["HOME"]) / ".local/state/barograph/push").glob("*.json")
    position.write_text(position.read_text()[:40])
    done = run("push", recorded, "--to", s.url(), status=2)
    assert "is damaged; remove it" in done.stderr and done.stderr.count("\n") == 1
    assert run("push", "--status").returncode == 0


def test_a_position_that_is_another_files(run, store, recorded, work):
    """Its id is no way out of the folder, and a FIFO is no position."""
    s = store()
    run("push", recorded, "--to", s.url(), status=0)
    folder = pathlib.Path(os.environ["HOME"]) / ".local/state/barograph/push"
    position, = folder.glob("*.json")
    text = json.loads(position.read_text())
    position.write_text(json.dumps(text | {"id": "../../evil"}))
    os.mkfifo(folder / "fifo.json")
    done = run("push", recorded, "--to", s.url(), status=2, timeout=20)
    assert "is damaged; remove it" in done.stderr
    assert not list(folder.parent.parent.glob("evil*"))
    assert json.loads(run("push", "--status", "--json", status=0, timeout=20).stdout) == []


# ---- servers that lie -----------------------------------------------------------------------------------------------

LIES = ["cut", "lost", "500", "503", "429 1", "garbage", "stored 503", "404"]


@pytest.mark.parametrize("protocol", ["prometheus", "otlp"])
@pytest.mark.long
def test_lies_cost_no_point(run, store, recorded, work, protocol):
    """Retries of what was stored, with an answer that was lost, are the same points."""
    lies = [lie for lie in LIES if protocol == "prometheus" or lie != "500"]
    plan = iter(["ok", *lies])
    s = store(lambda n: next(plan, "ok"))
    said = ""
    for _ in range(len(lies)):  # each error that is the user's, as 404, ends it: the next one goes on
        done = run("push", recorded, "--to", s.url(protocol))
        said += done.stderr
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    assert "404: nothing takes points at this path" in said
    assert s.points == reference(run, store, recorded, work, protocol)
    now = status(run)
    assert counted(now) == now["sent"] == len(s.points)


def test_what_a_store_refuses_is_counted(run, store, recorded, work):
    """As by Prometheus, which stores nothing of a message with a point that is too old."""
    all_points = reference(run, store, recorded, work)
    times = sorted(t for _, t in all_points)
    oldest = times[len(times) // 2]
    s = store(oldest=oldest)
    run("push", recorded, "--to", s.url(), status=1)
    now = status(run)
    assert now["set_aside"] and counted(now) == len(all_points) and now["sent"] == len(s.points)
    newer = sum(t >= oldest for t in times)
    assert newer - 200 < now["sent"] <= newer, "of one sample at most, points are refused with others"
    assert s.requests < 100 + len(all_points) / 50, "no request for each point"
    refused, = (pathlib.Path(os.environ["HOME"]) / ".local/state/barograph/push").glob("*.refused")
    lines = [json.loads(line) for line in refused.read_text().splitlines()]
    assert sum(line["points"] for line in lines) == now["set_aside"]
    assert all(line["status"] == 400 and line["answer"] == "out of bounds" for line in lines)


@pytest.mark.parametrize("most", [0, 3000])
def test_messages_that_are_too_large(run, store, recorded, work, most):
    """The size that a server takes is learnt; one that takes none costs few requests."""
    all_points = reference(run, store, recorded, work)
    s = store(lambda n: f"most {most}")
    run("push", recorded, "--to", s.url(), status=0 if most else 1)
    now = status(run)
    assert counted(now) == len(all_points) and now["sent"] == len(s.points) == (len(all_points) if most else 0)
    assert s.requests < (len(all_points) / 10 if most else len(all_points) / 1000 + 40), s.requests


def test_partial_success(run, store, recorded, work):
    all_points = reference(run, store, recorded, work, "otlp")
    s = store(lambda n: "partial 7")
    done = run("push", recorded, "--to", s.url("otlp"), status=1)
    now = status(run)
    assert 7 * (s.requests - 1) < now["refused"] <= 7 * s.requests and counted(now) == len(all_points) and now["sent"] == len(s.points)
    assert done.stderr.count("some are bad?[2J") == 1, "said once, without what controls a terminal"


@pytest.mark.parametrize("protocol, lies", [
    ("otlp", ["cut headers"]), ("prometheus", ["cut headers"]), ("otlp", ["ok", "body 200 not an answer"]),
    ("otlp", ["written 400 0"]), ("otlp", ["written 500 0"]), ("otlp", ["503", "body 500 out of order sample"]),
    ("prometheus", ["written 400 99999999"]), ("prometheus", ["written 400 5abc"])])
def test_what_did_not_arrive_is_not_counted_as_sent(run, store, recorded, work, protocol, lies):
    plan = iter(lies)
    s = store(lambda n: next(plan, "ok"))
    run("push", recorded, "--to", s.url(protocol))
    now = status(run)
    assert now["sent"] == len(s.points), now
    assert counted(now) == len(reference(run, store, recorded, work, protocol))


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["prometheus", "otlp"])
def test_an_endless_answer_is_no_answer(run, store, recorded, work, protocol):
    s = store(lambda n: "endless" if n == 1 else "ok")
    run("push", recorded, "--to", s.url(protocol), status=0)
    assert s.points == reference(run, store, recorded, work, protocol)


@pytest.mark.parametrize("lie, says", [
    ("trailers", ""), ("hints", ""), ("continues", ""), ("gzip", ""), ("two answers", ""),
    ("long 404", "nothing takes points at this path"), ("long 400", "it refused")])
def test_answers_that_are_odd(run, store, recorded, work, lie, says):
    """They say what became of the points."""
    s = store(lambda n: lie)
    done = run("push", recorded, "--to", s.url(), timeout=60)
    all_points = reference(run, store, recorded, work)
    if not says:
        assert done.returncode == 0 and s.points == all_points and status(run)["sent"] == len(s.points)
    elif "404" in lie:
        assert done.returncode == 2 and says in done.stderr and s.requests == 1
    else:
        assert done.returncode == 1 and says in done.stdout and status(run)["set_aside"] == len(all_points)


@pytest.mark.long
@pytest.mark.parametrize("lie", ["http/2", "http/0.9", "chunks of garbage", "a large chunk", "a length that is none",
                                 "status 0", "many headers", "long 200"])
def test_answers_that_say_nothing(run, store, recorded, work, lie):
    """The points are sent again."""
    s = store(lambda n: lie if n == 1 else "ok")
    run("push", recorded, "--to", s.url(), status=0, timeout=120)
    assert s.points == reference(run, store, recorded, work) and status(run)["sent"] == len(s.points)


@pytest.mark.parametrize("lie", ["a lie about a part", "less than none"])
def test_absurd_numbers_of_refused_points(run, store, recorded, work, lie):
    s = store(lambda n: lie)
    run("push", recorded, "--to", s.url("otlp"), timeout=60)
    now, n = status(run), len(reference(run, store, recorded, work, "otlp"))
    assert counted(now) == n and (now["refused"] == n if "lie" in lie else now["sent"] == len(s.points) == n)


@pytest.mark.not_sanitized("sanitizers take more memory")
def test_phases_without_end(run, store, work):
    """100,000 of them are left out and counted, and not kept in memory."""
    lines = ["process 100 sh cpu_ns=1"]
    for i in range(100_000):
        lines += [f"begin {i} p{i}", f"end {i + 0.5} p{i}"]
        if i % 100 == 99:
            lines.append(f"sample {i + 0.7} cpu_ns={i}")
    subprocess.run([beside(run.binary, "write_tape"), work / "phases.baro"], input="\n".join(lines), text=True, check=True)
    s = store()
    argv = ["/usr/bin/time", "-f", "%M", run.binary, "push", work / "phases.baro", "--to", s.url()]
    done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *argv], check=True, capture_output=True, text=True)
    now = status(run)
    assert now["sent"] == len(s.points) and now["left_out"] > 0
    assert int(done.stderr) < 80_000, "kB"


def test_a_position_with_absurd_numbers(run, store, recorded, work):
    """It may make points be sent again, or not; nothing else."""
    s = store(lambda n: "503 300")
    pusher = run.popen("push", recorded, "--to", s.url(), stderr=subprocess.DEVNULL)
    poll(lambda: s.requests)
    poll(lambda: status(run))
    pusher.kill()
    pusher.wait()
    s.say = lambda n: "ok"
    position, = (pathlib.Path(os.environ["HOME"]) / ".local/state/barograph/push").glob("*.json")
    text = json.loads(position.read_text())
    expected = reference(run, store, recorded, work)
    for number in (2**64 - 1, 2**63, 1):
        for members in (("until_ns",), ("until_ns", "done"), ("sending", "until_ns"), ("samples", "missed"), ("version",)):
            s.points, s.last = {}, {}
            position.write_text(json.dumps(text | {member: number for member in members}))
            done = run("push", recorded, "--to", s.url(), timeout=60)
            assert done.returncode in (0, 1), done.stderr
            assert set(s.points) <= set(expected)
            if "done" not in members:
                assert s.points == expected, (members, number)


@pytest.mark.parametrize("version", [1, 2, "415"])
def test_versions_of_remote_write(run, store, recorded, work, version):
    """A receiver of 1.0 may say that all is well, and store nothing of 2.0."""
    s = store(version=version)
    run("push", recorded, "--to", s.url(), status=0)
    assert s.points == reference(run, store, recorded, work) and status(run)["sent"] == len(s.points)
    versions = [h["X-Prometheus-Remote-Write-Version"] for h in s.headers]
    assert versions == ["2.0.0"] * len(versions) if version == 2 else versions[1:] == ["0.1.0"] * (len(versions) - 1)


@pytest.mark.parametrize("older", [1, "415"])
def test_a_receiver_that_is_older_than_before(run, store, recorded, work, older):
    s = store(version=2)
    s.say = lambda n: setattr(s, "version", older if n > 1 else 2) or "ok"
    run("push", recorded, "--to", s.url(), status=0)
    assert s.points == reference(run, store, recorded, work) and status(run)["sent"] == len(s.points)


def test_a_receiver_of_2_0_says_what_it_wrote(run, store, recorded, work):
    all_points = reference(run, store, recorded, work)
    times = sorted(t for _, t in all_points)
    s = store(oldest=times[len(times) // 2], version=2)
    run("push", recorded, "--to", s.url(), status=1)
    now = status(run)
    assert now["sent"] == len(s.points) == sum(t >= s.oldest for t in times)
    assert counted(now) == len(all_points)


@pytest.mark.parametrize("protocol, lie, says", [
    ("prometheus", "401", "the token or password is wrong"), ("prometheus", "302", "it is elsewhere"),
    ("prometheus", "404", "nothing takes points at this path"), ("prometheus", "html", "that is no receiver"),
    ("otlp", "body 200 OK", "none that a receiver gives"), ("prometheus", "long 200", "none that a receiver gives")])
def test_wrong_servers_are_one_line(run, store, recorded, protocol, lie, says):
    s = store(lambda n: lie)
    done = run("push", recorded, "--to", s.url(protocol), status=2)
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert s.requests == 1
    now = status(run)
    assert now["state"] == "fails" and says in now["failure"]
    s.say = lambda n: "ok"
    run("push", recorded, "--to", s.url(protocol), status=0)
    assert status(run)["sent"] == len(s.points)


@pytest.mark.parametrize("to, says", [
    ("ftp://x/", "its protocol is not known"), ("http://127.0.0.1:1/", "does not say what is there"),
    ("prometheus+http://", "can't be parsed"), ("prometheus+http://127.0.0.1:1", "connect"),
    ("prometheus+http://u:1/s3cr3t@127.0.0.1:1", "%2F"), ("prometheus+http://u:pa/s3cr3t@127.0.0.1:1", "%2F"),
    ("otlp", "set OTEL_EXPORTER_OTLP_ENDPOINT")])
def test_wrong_urls_are_one_line(run, recorded, to, says):
    done = run("push", recorded, "--to", to, status=2)
    assert "s3cr3t" not in done.stderr
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_server_that_asks_for_patience_is_named(run, store, recorded):
    """Also if its first answer does not say which version of the protocol it knows."""
    pusher = run.popen("push", recorded, "--to", store(lambda n: "503 300").url(), stderr=subprocess.PIPE, text=True)
    assert "no; what is not sent stays on the tape" in pusher.stderr.readline()
    now = status(run)
    assert now["state"] == "fails" and now["failure"] == "no"
    pusher.terminate()
    pusher.communicate()


def test_secrets_are_nowhere(run, store, recorded, work):
    s = store(lambda n: "401" if n == 0 else "ok", strict=False)
    secret = "hunter2hunter2"
    url = s.url().replace("127.0.0.1", f"ada:{secret}@127.0.0.1")
    first = run("push", recorded, "--to", url)
    second = run("push", recorded, "--to", url, status=0)
    assert s.headers[1]["Authorization"].startswith("Basic ")
    (work / "token").write_text(f"{secret}\n")
    third = run("push", recorded, "--to", s.url() + "/other/write", "--token-file", work / "token", status=0)
    assert s.headers[-1]["Authorization"] == f"Bearer {secret}"
    said = first.stderr + first.stdout + second.stdout + second.stderr + third.stdout + third.stderr
    said += run("push", "--status").stdout
    folder = pathlib.Path(os.environ["HOME"]) / ".local/state/barograph/push"
    said += "".join(p.read_text() for p in folder.iterdir())
    assert secret not in said and "ada" not in said
    run("push", recorded, "--to", s.url(), env={"BARO_PUSH_TOKEN": "a b"}, status=2)


@pytest.fixture
def certificates(work):
    """Those of an authority of our own, and of a server at 127.0.0.1."""
    (work / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for args in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ours -days 2",
                 "req -newkey rsa:2048 -nodes -keyout key.pem -out asked.pem -subj /CN=127.0.0.1",
                 "x509 -req -in asked.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names"):
        subprocess.run(["openssl", *args.split()], cwd=work, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(work / "cert.pem", work / "key.pem")
    return context, work / "ca.pem"


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl")
@pytest.mark.parametrize("protocol", ["prometheus", "otlp"])
def test_tls_and_netrc(run, store, recorded, work, certificates, protocol):
    context, ca = certificates
    s = store(tls=context)
    done = run("push", recorded, "--to", s.url(protocol), status=2)
    assert "certificate" in done.stderr and done.stderr.count("\n") == 1 and not s.requests
    (work / "none.pem").write_text("")
    done = run("push", recorded, "--to", s.url(protocol), "--ca-file", work / "none.pem", status=2)
    assert "none.pem" in done.stderr and done.stderr.count("\n") == 1 and not s.requests
    netrc = pathlib.Path(os.environ["HOME"]) / ".netrc"
    netrc.write_text("machine 127.0.0.1 login ada password hunter2hunter2\n")
    netrc.chmod(0o600)
    run("push", recorded, "--to", s.url(protocol), "--ca-file", ca, status=0)
    assert {h["Authorization"] for h in s.headers} == {"Basic " + base64.b64encode(b"ada:hunter2hunter2").decode()}
    assert s.points == reference(run, store, recorded, work, protocol)
    elsewhere = s.url(protocol).replace("127.0.0.1", "localhost")
    assert "localhost" in run("push", recorded, "--to", elsewhere, "--ca-file", ca, status=2).stderr


def waiter_of(follower):
    """The folder in /proc of the process that waits for a follower."""
    status = dict(line.split(":", 1) for line in (follower / "status").read_text().splitlines())
    return follower.with_name(status["PPid"].strip())


def test_a_follower_holds_nothing_of_the_job(run, store, tape):
    """Neither a pipe that a reader of the job's stderr waits for, nor a password in arguments."""
    s = store(lambda n: "sleep 5")
    url = s.url().replace("127.0.0.1", "ada:hunter2hunter2@127.0.0.1")
    done = run("run", "-q", "-o", tape, "--push", url, "--", "true", status=0, timeout=60)
    follower = poll(lambda: pusher_of(tape))
    waiter = waiter_of(follower)
    assert (waiter / "comm").read_text() == "baro-follower\n"
    assert b"hunter2" not in (waiter / "cmdline").read_bytes() + (follower / "cmdline").read_bytes()
    assert {os.readlink(fd) for fd in (waiter / "fd").iterdir()} == {"/dev/null"}
    assert done.stderr == ""
    os.kill(int(follower.name), signal.SIGTERM)


@pytest.mark.parametrize("size", [0, 30])
def test_a_tape_without_a_header_ends_it(run, store, recorded, work, size):
    cut = work / "cut.baro"
    cut.write_bytes(pathlib.Path(recorded).read_bytes()[:size])
    done = run("push", cut, "--to", store().url(), status=2)
    assert "nothing was recorded" in done.stderr and done.stderr.count("\n") == 1


# ---- pushers that are killed ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["prometheus", "otlp"])
def test_killed_at_any_moment(run, store, recorded, work, protocol):
    s = store(lambda n: f"sleep {0.05 + random.random() / 10}", strict=protocol == "prometheus")
    expected = reference(run, store, recorded, work, protocol)
    for _ in range(20):
        before = s.requests
        pusher = run.popen("push", recorded, "--to", s.url(protocol), stdout=subprocess.DEVNULL)
        poll(lambda: s.requests > before or pusher.poll() is not None, least=0.001)
        time.sleep(random.random() / 4)
        pusher.kill()
        pusher.wait()
        if s.requests == before:
            break
    run("push", recorded, "--to", s.url(protocol), status=0)
    assert s.points == expected
    now = status(run)
    assert now["sent"] == counted(now) == len(expected)


# ---- tapes that grow ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_run_push(run, store, work, tape):
    """The store is down at first. The job does not notice, and has what it has without."""
    s = store(lambda n: "503" if n < 2 else "ok")
    done = run("run", "-q", "-o", tape, "-i", "50ms", "--push", s.url(), "--", "sh", "-c", f"{WORK}; exit 7", status=7,
               env={"BARO_PUSH_LOG": work / "log"})
    assert done.stderr == ""
    poll(lambda: (now := status(run)) and now["state"] == "sent")
    assert s.points == reference(run, store, tape, work)


def test_a_recorder_that_is_killed(run, store, work, tape):
    """The series end with what is on the tape."""
    s = store()
    job = run.popen("record", "-q", "-o", tape, "-i", "20ms", "--push", s.url(), "--host")
    poll(lambda: s.points)
    job.kill()
    job.wait()
    poll(lambda: status(run)["state"] == "sent")
    assert s.points == reference(run, store, tape, work)
    assert {labels for (labels, _), v in s.points.items() if v == "end"} == {labels for labels, _ in s.points}


def test_a_wrong_variable_costs_no_job(run, tape):
    done = run("run", "-q", "-o", tape, "--", "sh", "-c", "exit 3", status=3, env={"BARO_PUSH": "ftp://x"})
    assert "BARO_PUSH: its protocol is not known" in done.stderr


@pytest.mark.long
def test_all_and_follow(run, store, work):
    s = store()
    follower = run.popen("push", "--all", "-f", "--every", "100ms", "--to", s.url())
    try:
        for _ in range(3):
            run("run", "-q", "--", "sh", "-c", "sleep 0.2", status=0)
        poll(lambda: isinstance(now := status(run), list) and len(now) == 3 and all(n["state"] == "sent" for n in now))
    finally:
        follower.send_signal(signal.SIGTERM)
        assert follower.wait() == 0
    assert sum(n["sent"] for n in status(run)) == len(s.points)
    assert len({dict(labels)["baro_job"] for labels, _ in s.points}) == 3


def test_many_tapes(run, store, recorded, work):
    """More than are open at once, once and with -f; the second time none is read."""
    s = store()
    (work / "many").mkdir()
    for i in range(20):
        run.record(work / "many" / f"{i}.baro", "true")
    run("push", work / "many", "--to", s.url(), status=0)
    assert sum(n["sent"] for n in status(run)) == len(s.points) and len(status(run)) == 20
    state = {"XDG_STATE_HOME": work / "following"}
    other = store()
    follower = run.popen("push", work / "many", "-f", "--every", "100ms", "--to", other.url(), env=state)
    poll(lambda: len(found := status(run, env=state)) == 20 and all(n["state"] == "sent" for n in found))
    follower.terminate()
    assert follower.wait() == 0 and other.points == s.points
    assert run("push", work / "many", "--to", s.url(), status=0).stdout.startswith("0 points of 20 tapes")


def test_status_of_some_tapes(run, store, recorded, work):
    s = store()
    for name in ("a", "b"):
        (work / name).mkdir()
        run.record(work / name / "0.baro", "true")
        run("push", work / name, "--to", s.url(), status=0)
    assert [pathlib.Path(n["tape"]).parent.name for n in status(run)] == ["a", "b"], "newest last"
    shown = run("push", "--status", work / "b", status=0).stdout
    assert "b/0.baro" in shown and "a/0.baro" not in shown
    assert "nothing of this" in run("push", "--status", recorded, status=0).stdout
    assert run("push", "--status", work / "none.baro", status=2).stderr.count("\n") == 1


@pytest.mark.parametrize("version", [1, 2])
def test_two_users_push_one_tape(run, store, work, tape, version):
    """The second user sends what the first one has not sent, and counts the others."""
    s = store(version=version)
    job = run.popen("run", "-q", "-o", tape, "-i", "20ms", "--", "sleep", "3")
    poll(lambda: run("export", tape, "--entity", "job").stdout.count("\n") > 20)
    run("push", tape, "--to", s.url(), status=0)
    first = len(s.points)
    job.wait()
    other = {"XDG_STATE_HOME": work / "other"}
    said = run("push", tape, "--to", s.url(), status=0, env=other).stdout
    assert s.points == reference(run, store, tape, work)
    now = status(run, env=other)
    assert counted(now) == len(s.points) and now["set_aside"] == now["refused"] == 0
    assert 0 < now["there"] <= first and "were there already" in said


def test_a_url_in_arguments(run, store, work, tape):
    """Any user can read them while the job runs: they have no password. The name of the host stays."""
    s = store()
    url = s.url().replace("127.0.0.1", "ada:hunter2hunter2@127.0.0.1")
    job = run.popen("run", "-q", "-o", tape, "--push", url, "--", "sleep", "100")
    try:
        poll(lambda: tape.exists())
        assert b"hunter2" not in (shown := pathlib.Path(f"/proc/{job.pid}/cmdline").read_bytes()) and b"ada" not in shown
        assert b"*@127.0.0.1:" in shown
        poll(lambda: s.requests)
        assert s.headers[0]["Authorization"].startswith("Basic ")
    finally:
        job.terminate()
        job.wait()


def test_two_pushers_of_one_tape(run, store, recorded):
    s = store(lambda n: "sleep 1" if n == 0 else "ok")
    first = run.popen("push", recorded, "--to", s.url(), stdout=subprocess.DEVNULL)
    poll(lambda: s.requests)
    assert "another baro push sends" in run("push", recorded, "--to", s.url(), status=2).stderr
    assert first.wait() == 0 and s.twice == 0


@pytest.mark.long
def test_removed_before_it_was_sent(run, store, work):
    """Of a tape with --keep. Samples that are not there any more are counted."""
    s = store()
    folder = work / "kept.baro"
    recording = run.popen("run", "-q", "-o", folder, "-i", "20ms", "--keep", "10s", "--", "sleep", "26")
    try:
        poll(lambda: run("export", folder, "--entity", "job").stdout.count("\n") > 2)
        run("push", folder, "--to", s.url(), status=0)
    finally:
        recording.wait()
    run("push", folder, "--to", s.url(), status=0)
    now = status(run)
    times = {t for (labels, t), v in s.points.items() if labels[0][1] == "baro_recorder_cpu_seconds_total" and v != "end"}
    samples = json.loads(run("summary", folder, "--json", status=0).stdout)["recorder"]["samples"]
    assert now["missed_samples"] > 0 and now["missed_samples"] + len(times) == samples
    assert now["sent"] == len(s.points)


# ---- another reader ----------------------------------------------------------------------------------------------------


def test_the_messages_are_those_of_opentelemetry(run, store, recorded, monkeypatch):
    """As its own package reads them."""
    sys.path.insert(0, str(SOURCE / "tests/python"))
    import environments

    folder = environments.kept("opentelemetry", "opentelemetry-proto", "opentelemetry-semantic-conventions")
    bodies = []
    s = store()
    read = s.read
    s.read = lambda request, body: bodies.append(body) or read(request, body)
    run("push", recorded, "--to", s.url("otlp"), status=0)
    (pathlib.Path(recorded).parent / "bodies").write_bytes(b"".join(len(b).to_bytes(4, "big") + b for b in bodies))
    done = subprocess.run([f"{folder}/bin/python", SOURCE / "tests/e2e/read_otlp.py",
                           pathlib.Path(recorded).parent / "bodies"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"] == len(s.points)
