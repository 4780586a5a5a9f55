# SPDX-License-Identifier: Apache-2.0
"""Files of examples/ that other programs read: dashboards of Grafana, alerts of Prometheus, manifests of Kubernetes. Each
is checked by the schema or the program it is for, and what the manifests execute is executed."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import SOURCE, Cgroup, cgroup2_mounts, poll, unshared
from serving import TOKEN, Server

sys.path.append(str(SOURCE / "tests" / "python"))
import environments  # noqa: E402

GRAFANA, RULES, KUBERNETES = (SOURCE / "examples" / name for name in ("grafana", "prometheus", "kubernetes"))
DASHBOARDS = sorted(GRAFANA.glob("*.json"))
MANIFESTS = sorted(KUBERNETES.glob("*.yaml"))
UNITS = {"none", "bytes", "Bps", "s", "percentunit", "celsius", "watt"}
SECONDS = {"ns": "seconds"}
ID, UID = "0123456789abcdef" * 4, "01234567-89ab-cdef-0123-456789abcdef"
# Reads a dashboard by Grafana's own types and writes it again: a member that is lost is none of Grafana's.
BY_GRAFANA = """
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
for path in sys.argv[1:]:
    with open(path) as file:
        dashboard = Dashboard.from_json(json.load(file))
    print(JSONEncoder(sort_keys=True).encode(dashboard))
"""


def program(name):
    return shutil.which(name) or pytest.skip(f"there is no {name}")


# ---- Grafana and Prometheus ----------------------------------------------------------------------------------------


def queries():
    """Of all dashboards, as Grafana sends them."""
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                text = re.sub(r"\$(instance|job)\b", ".*", target["expr"])
                yield panel, re.sub(r"\$__(rate_interval|range)", "1m", text)


def families(run):
    """Names that /metrics and `baro push` can have: by the registry, and those of jobs and servers."""
    names = set(re.findall(r'"(baro_\w+)"', (SOURCE / "src/programs/baro-serve/exposition.c").read_text()))
    names |= {f"{name}_total" for name in names}
    for m in json.loads(run("metrics", "--json", status=0).stdout):
        unit = SECONDS.get(m["unit"], m["unit"])
        total = "_total" if m.get("semantics") == "counter" else ""
        kinds = (m["kind"], "job") if m["kind"] == "process" else (m["kind"],)
        names |= {f"baro_{kind}_{m['stem']}{'_' if unit else ''}{unit}{total}" for kind in kinds if "stem" in m}
    return names | {"baro_job", "baro_phase_cpu_seconds_total"}  # of `baro push` alone


def test_dashboards_are_as_they_are_made(work):
    for path in GRAFANA.iterdir():
        shutil.copy(path, work)
    subprocess.run([sys.executable, work / "make.py"], check=True)
    for path in DASHBOARDS:
        assert (work / path.name).read_text() == path.read_text(), f"{path.name}: run make.py"
    assert [p.stem for p in DASHBOARDS] == ["fleet", "job", "node"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_form_of_a_dashboard(path):
    d = json.loads(path.read_text())
    known = {v["name"] for v in d["templating"]["list"]}
    assert "datasource" in known and d["uid"].startswith("barograph-") and d["schemaVersion"] >= 39
    assert len({p["id"] for p in d["panels"]}) == len(d["panels"])
    cells = set()
    for p in d["panels"]:
        at = p["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in own) < 24 and not own & cells, f"{p['title']} lies on another panel"
        cells |= own
        if p["type"] == "row":
            continue
        assert p["fieldConfig"]["defaults"]["unit"] in UNITS and p["title"] and p["targets"]
        assert p["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in p["targets"]:
            used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval", "__range"}
            assert used <= known and target["datasource"] == p["datasource"]


def test_dashboards_by_grafanas_types():
    python = environments.kept("schemas", "grafana-foundation-sdk", "kubernetes-validate") / "bin/python"
    done = subprocess.run([python, "-c", BY_GRAFANA, *DASHBOARDS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def lost(before, after, at):
        if isinstance(before, dict):
            return [x for k, v in before.items() for x in ([f"{at}.{k}"] if k not in after else lost(v, after[k], f"{at}.{k}"))]
        if isinstance(before, list):
            return [x for i, v in enumerate(before) for x in lost(v, after[i], f"{at}[{i}]")]
        return [] if before == after else [f"{at}: {before!r} is {after!r}"]

    for path, line in zip(DASHBOARDS, done.stdout.splitlines()):
        found = [x for x in lost(json.loads(path.read_text()), json.loads(line), path.stem) if not x.endswith(".current")]
        assert not found


def test_queries_of_the_dashboards(run, work):
    """Prometheus understands each of them, and all their metrics are ones that there can be."""
    known = families(run)
    rules = [{"record": f"q:{i}", "expr": query} for i, (_, query) in enumerate(queries())]
    assert len(rules) > 50
    for rule in rules:
        assert "$" not in rule["expr"] and set(re.findall(r"\bbaro_\w+", rule["expr"])) <= known, rule
    (work / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    done = subprocess.run([program("promtool"), "check", "rules", work / "rules.yml"], capture_output=True, text=True)
    assert done.returncode == 0 and f"{len(rules)} rules found" in done.stdout, done.stdout + done.stderr


def test_alerts(run):
    text = (RULES / "barograph.rules.yml").read_text()
    assert set(re.findall(r"\bbaro_\w+", text)) <= families(run)
    alerts = re.findall(r"- alert: (\w+)", text)
    assert len(alerts) == len(set(alerts)) >= 10
    shown = (RULES / "barograph.test.yml").read_text()
    for name in alerts:  # each fires somewhere
        assert re.search(rf"alertname: {name}\n +exp_alerts:\n", shown), name
    for what in (("check", "rules", "barograph.rules.yml"), ("test", "rules", "barograph.test.yml")):
        done = subprocess.run([program("promtool"), *what], cwd=RULES, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# ---- Kubernetes ----------------------------------------------------------------------------------------------------


def objects(path):
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(path.read_text()))


def pod_of(path):
    (spec,) = (o.get("spec", {}).get("template", o)["spec"] for o in objects(path) if o["kind"] in ("DaemonSet", "Job", "Pod"))
    return spec


def container_of(path, name):
    pod = pod_of(path)
    (found,) = (c for c in pod["containers"] + pod.get("initContainers", []) if c["name"] == name)
    return found


def arguments(container, **values):
    """As the kubelet gives them to the program, without the program."""
    words = container.get("command", [])[2:] if "command" in container else container["args"][1:]
    for name, value in values.items():
        words = [word.replace(f"$({name})", value) for word in words]
    assert not any("$(" in word for word in words), words
    return words


def test_manifests_by_the_schema_of_kubernetes():
    python = environments.kept("schemas", "grafana-foundation-sdk", "kubernetes-validate") / "bin"
    done = subprocess.run([python / "python", python / "kubernetes-validate", "--strict", *MANIFESTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.stem)
def test_form_of_a_manifest(path):
    """What no schema says: volumes that are mounted are there, and so are variables; each container is as unprivileged as
    it can be, and has a limit."""
    pod = pod_of(path)
    volumes = {v["name"] for v in pod["volumes"]}
    mounted = set()
    assert pod["automountServiceAccountToken"] is False
    for c in pod["containers"] + pod.get("initContainers", []):
        mounted |= {m["name"] for m in c.get("volumeMounts", ())}
        variables = {e["name"] for e in c.get("env", ())}
        for word in c.get("args", []) + c.get("command", []):
            assert set(re.findall(r"\$\((\w+)\)", word)) <= variables
        context = c.get("securityContext", {})
        assert not context.get("privileged")
        if context:
            assert context["capabilities"]["drop"] == ["ALL"] and context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
        if "args" in c:
            assert "memory" in c["resources"]["limits"]
    assert mounted == volumes


@pytest.fixture
def pod_group():
    """A control group as the kubelet makes it for a container."""
    mount = next((m for m in cgroup2_mounts() if os.access(m, os.W_OK)), None) or pytest.skip("no cgroup v2 that we may write to")
    pods = pathlib.Path(mount) / "kubepods.slice/kubepods-burstable.slice"
    pod = pods / f"kubepods-burstable-pod{UID.replace('-', '_')}.slice"
    container = pod / f"cri-containerd-{ID}.scope"
    container.mkdir(parents=True)
    yield Cgroup(container)
    Cgroup(pod).remove()
    for path in (pods, pods.parent):
        try:
            path.rmdir()
        except OSError:
            pass  # of a kubelet, or of another test


def test_the_daemonset_records_containers(run, baro, pod_group, work):
    if os.geteuid() != 0:
        pytest.skip("a DaemonSet has root")
    path = KUBERNETES / "daemonset.yaml"
    words = arguments(container_of(path, "observe"), NODE_NAME="node7")
    tapes = work / "tapes"
    words = [f"--dir={tapes}" if word.startswith("--dir=") else word for word in words]
    job = subprocess.Popen(["sleep", "1000"], preexec_fn=pod_group.enter)
    observer = run.popen("observe", *words, "--no-host")
    try:
        poll(lambda: list(tapes.glob("*.baro")))
        (tape,) = tapes.glob("*.baro")
        run.await_samples(tape)
        (work / "token").write_text(TOKEN)
        serve = arguments(container_of(path, "serve"), HOST_IP="127.0.0.1")
        serve = [f"--token-file={work}/token" if w.startswith("--token-file") else w.replace(":2276", ":0") for w in serve[:-1]]
        server = Server(baro, "--listen", serve[0].partition("=")[2], *serve[1:], folder=tapes)
        try:
            info = poll(lambda: re.search(r"^baro_job_info\{.*\} 1$", server.ask("/metrics", Authorization=f"Bearer {TOKEN}")[2].decode(), re.M))[0]
            assert f'container="{ID[:12]}"' in info and f'pod="{UID}"' in info
            assert server.ask("/metrics")[0] == 401
        finally:
            server.process.terminate()
            server.process.wait()
            server.process.stdout.close()
            server.process.stderr.close()
        job.kill()
        job.wait()
        run.await_end(tape)
    finally:
        job.kill()
        job.wait()
        observer.send_signal(signal.SIGTERM)
        assert observer.wait(timeout=60) == 0
    row = json.loads(run("ls", "--json", tapes, status=0).stdout)
    assert ID[:12] in json.dumps(row) and "node7" in json.dumps(row)


def test_the_job_is_recorded_with_its_limits(run, work):
    c = container_of(KUBERNETES / "job.yaml", "train")
    assert c["command"][:2] == ["/baro/baro", "run"]
    words = arguments(c, POD_NAME="train-x7", POD_NAMESPACE="batch", NODE_NAME="node7")
    words = [word.replace("/tapes/", f"{work}/") for word in words]
    assert words[-2:] == ["python3", "train.py"]
    (work / "train.py").write_text("print(sum(range(100)))")
    limits = {"MEM_LIMIT": "4294967296", "CPU_LIMIT": "1", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert {"MEM_LIMIT", "CPU_LIMIT"} <= {e["name"] for e in c["env"]}
    done = run("run", *words, env=limits, status=0)
    assert done.stdout == "4950\n" and done.stderr == ""
    s = run.summary(work / "train-x7.baro")
    assert s["limits"]["memory_at_most_bytes"] <= 4294967296 and s["limits"]["cores_at_most"] <= 1 and s["name"] == "train"
    listed = json.dumps(json.loads(run("ls", "--json", work / "train-x7.baro", status=0).stdout))
    assert all(word in listed for word in ("train-x7", "batch", "node7"))


def test_the_sidecar_records_the_service(run, baro, work):
    """In the PID namespace of the pod, from before the service begins to after its end."""
    words = arguments(container_of(KUBERNETES / "sidecar.yaml", "barograph"), POD_NAME="web-1", POD_NAMESPACE="prod")
    words = [word.replace("/tapes/", f"{work}/") for word in words]
    service = f"exec -a nginx {sys.executable} -c 'import time; time.sleep(1000)'"
    inside = '"$@" & bash -c "$SERVICE"; wait'
    pod = subprocess.Popen([*unshared("--pid", "--fork", "--mount-proc", "--kill-child"), "bash", "-c", inside, "pod", baro, "record", *words],
                           env={**os.environ, "SERVICE": service}, stderr=subprocess.PIPE, text=True)
    tape = work / "web.baro"
    try:
        poll(timeout=40, condition=lambda: "python3" in {row["name"] for row in run.export(tape)} if run.instants(tape) else False)
    finally:
        pod.kill()
        pod.communicate()
    assert run.summary(tape)["name"] == "web"
