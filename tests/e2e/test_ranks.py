# SPDX-License-Identifier: Apache-2.0
"""Ranks: what their launcher says of them is on the tape, in names and in every list; -o gives each its own file."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest
import slurm
from test_cgroup import v1  # noqa: F401 (a fixture)

RANK = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "12/3"}


def record(run, environment, *options, command=("true",)):
    return run("run", "-q", *options, "--", *command, env=environment)


def tapes(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.baro"))


def launched(run, tape):
    return json.loads(run("summary", "--json", tape).stdout)["launched"]


def test_a_pattern_names_folder_and_file(run, work):
    r = record(run, RANK, "-o", f"{work}/%j/%3r-%N%%.baro")
    assert r.returncode == 0, r.stderr
    tape = work / "12_3" / f"002-{os.uname().nodename}%.baro"
    assert tape.exists()
    assert launched(run, tape) == {"job_id": "12/3", "step_id": None, "rank": "2", "ranks": 4, "node": None,
                                   "attempt": None}  # fmt: skip
    assert "rank 2 of 4" in run("summary", tape).stdout
    assert "rank 2 of 4" in run("ls", tape).stdout


def test_one_name_for_all_ranks_is_one_for_each(run, work):
    for rank in "0123":
        r = record(run, {**RANK, "OMPI_COMM_WORLD_RANK": rank}, "-o", work / "run.baro")
        assert r.returncode == 0, r.stderr
    assert tapes(work) == [f"run-r{i}.baro" for i in range(4)]


def test_a_name_that_is_taken_keeps_no_rank_from_running(run, work):
    for _ in range(3):
        r = record(run, RANK, "-o", f"{work}/%r.baro", command=("sh", "-c", "echo ran"))
        assert r.returncode == 0 and r.stdout == "ran\n", r.stderr
    assert tapes(work) == ["2-2.baro", "2-3.baro", "2.baro"]


def test_without_ranks_a_name_that_is_taken_is_an_error(run, work):
    assert record(run, {}, "-o", f"{work}/%j-%r.baro").returncode == 0
    r = record(run, {}, "-o", f"{work}/%j-%r.baro")
    assert r.returncode == 125 and "exists" in r.stderr
    assert tapes(work) == ["local-0.baro"]


@pytest.mark.parametrize("pattern", ["%q.baro", "%", "%99r.baro"])
def test_what_is_no_conversion_is_one_line(run, work, pattern):
    r = record(run, {}, "-o", f"{work}/{pattern}", command=("touch", work / "ran"))
    assert r.returncode == 125 and r.stderr.count("\n") == 1 and "-o" in r.stderr
    assert not (work / "ran").exists()


def test_what_is_found_elsewhere_is_not_of_the_recorders_job(run, work, v1):  # noqa: F811
    """A launcher's variables are those of the job that it has started: of this command, or of a process that starts a
    recorder for itself, as Python does; not of a group or of processes that are found by their names."""
    environment = {**RANK, "SLURM_JOB_ID": "99", "SLURMD_NODENAME": "n7"}
    group = v1("memory")
    target = run.popen("run", "-q", "-o", work / "of-it.baro", "--", "sleep", "60.25", before=group.enter)
    for name, options in {"group": ["--cgroup", group.path], "match": ["--match", "sleep 60[.]25"],
                          "pid": ["--pid", str(target.pid)]}.items():  # fmt: skip
        run("record", "-q", "-o", work / f"{name}.baro", *options, "--for", "100ms", env=environment, status=0)
        (tape,) = work.glob(f"{name}*.baro")
        found = launched(run, tape)
        own = name == "pid"
        assert found == {"job_id": "99" if own else None, "step_id": None, "rank": "2" if own else None,
                         "ranks": 4 if own else None, "node": "n7", "attempt": None}, name  # fmt: skip
    target.terminate()
    target.wait(60)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun")
def test_mpirun_needs_no_option(run, baro, work):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(
        ["mpirun", "--oversubscribe", "-np", "3", baro, "run", "-q", "-o", f"{work}/%j/%r.baro", "--", "true"],
        check=True, timeout=60, env={**os.environ, **root},
    )  # fmt: skip
    (job,) = {name.partition("/")[0] for name in tapes(work)}
    assert tapes(work) == [f"{job}/{rank}.baro" for rank in range(3)]
    found = [launched(run, work / name) for name in tapes(work)]
    assert [(f["rank"], f["ranks"]) for f in found] == [("0", 3), ("1", 3), ("2", 3)]
    assert len({f["job_id"] for f in found}) == 1


# ---- several tapes as one job ----

JOB = """
work=4000 nap=0
if test "$SLURM_PROCID" = "$SLOW" || test "$SLURMD_NODENAME" = "$SLOW"; then work=16000 nap=1.5; fi
"$BARO" phase compute -- sh -c "n=0; while test \\$n -lt $work; do n=\\$((n + 1)); done; sleep $nap"
"$BARO" phase wait -- sleep 0.1
"""


@pytest.fixture(scope="module")
def srun(tmp_path_factory):
    reason = slurm.why_not()
    if reason:
        pytest.skip(reason)
    with slurm.cluster(tmp_path_factory.mktemp("slurm")) as run_of_cluster:
        yield run_of_cluster


def srun_job(srun, baro, work, ranks, slow):
    done = srun("-N4", f"-n{ranks}", "--ntasks-per-node", ranks // 4, baro, "run", "-q", "-o", f"{work}/%j/%r.baro", "--", "sh", "-c", JOB,
                env={"BARO": baro, "SLOW": str(slow)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    (job,) = {name.partition("/")[0] for name in tapes(work)}
    return work / job


def test_ranks_of_slurm_are_one_job(run, baro, work, srun):
    folder = srun_job(srun, baro, work, 8, slow=5)
    assert tapes(folder) == [f"{i}.baro" for i in range(8)]
    found = json.loads(run("summary", "--json", folder, status=0).stdout)
    assert (found["ranks"], found["missing"], found["step_id"]) == (8, 0, "0")
    assert [e["rank"] for e in found["each"]] == list(range(8))
    assert sorted(e["node"] for e in found["each"]) == sorted([f"n{i}" for i in range(4)] * 2)
    assert [(n["node"], n["ranks"]) for n in sorted(found["nodes"], key=lambda n: n["node"])] == [
        (f"n{i}", 2) for i in range(4)]  # fmt: skip
    for node in found["nodes"]:
        of = [run.summary(folder / f"{e['rank']}.baro") for e in found["each"] if e["node"] == node["node"]]
        assert node["cpu_ns"] == sum(s["job"]["cpu_ns"] for s in of)
        assert node["memory_needed_bytes"] == sum(s["limits"]["memory_peak_bytes"] for s in of)
        assert {s["host"]["ranks_beside"] for s in of} == {1}
    facts = {(f["scope"], f["name"], f["fact"]): f for f in found["facts"]}
    cpu = [run.summary(folder / f"{i}.baro")["job"]["cpu_ns"] for i in range(8)]
    assert facts["job", None, "cpu_ns"]["all"] == sum(cpu)
    assert facts["job", None, "cpu_ns"]["most"] == {"value": max(cpu), "rank": 5}
    assert found["slowest"]["rank"] == 5 and found["slowest"]["phase"] == "compute"
    assert f"rank 5 on {found['each'][5]['node']}" in run("summary", folder, status=0).stdout


def test_a_missing_rank_and_a_double_one_are_named(run, baro, work, srun):
    folder = srun_job(srun, baro, work, 4, slow=-1)
    (folder / "2.baro").unlink()
    shutil.copy(folder / "1.baro", folder / "copy.baro")
    found = json.loads(run("summary", "--json", folder, status=0).stdout)
    assert (found["ranks"], found["missing"], found["missing_ranks"]) == (4, 1, "2")
    (processes,) = [f for f in found["facts"] if f["fact"] == "processes_started" and f["scope"] == "job"]
    assert processes["mark"] in ("lower_bound", "estimate")
    text = run("summary", folder, status=0).stdout
    assert "1 of 4 ranks: 2" in text and "an earlier tape of the same rank" in text


def test_two_folders_of_ranks_are_two_runs(run, baro, work, srun):
    (work / "a").mkdir(), (work / "b").mkdir()
    before, after = srun_job(srun, baro, work / "a", 4, slow=-1), srun_job(srun, baro, work / "b", 4, slow=1)
    found = json.loads(run("diff", "--json", before, after, status=0).stdout)
    (processes,) = [r for r in found["differences"] if r["fact"] == "processes_started" and r["scope"] == "job"]
    assert (processes["runs_before"], processes["runs_after"]) == (1, 1)
    each = [run.summary(before / f"{i}.baro")["job"]["processes_started"] for i in range(4)]
    assert processes["before"] == sum(each)


def test_a_job_as_jobstats_keeps_it(run, baro, work, srun):
    folder = srun_job(srun, baro, work, 8, slow=-1)
    found = json.loads(run("export", "--jobstats", folder, status=0).stdout)
    each = json.loads(run("summary", "--json", folder, status=0).stdout)["each"]
    assert set(found["nodes"]) == {f"n{i}" for i in range(4)} and found["gpus"] == 0
    for name, node in found["nodes"].items():
        used = sum(e["cpu_ns"] for e in each if e["node"] == name) / 1e9
        assert node["total_time"] == pytest.approx(used)
        assert 1 <= node["cpus"] <= os.cpu_count() and 0 < node["used_memory"] < node["total_memory"]
    one = json.loads(run("export", "--jobstats", folder / "0.baro", status=0).stdout)
    assert len(one["nodes"]) == 1
    assert run("export", "--jobstats", folder / "0.baro", folder).returncode != 0


def test_top_shows_who_is_behind(run, baro, work):
    """The one that has ended a phase comes after the one that is in it."""
    script = """
    test $OMPI_COMM_WORLD_RANK = 0 || "$BARO" phase load -- true
    "$BARO" phase compute -- sh -c 'touch "$0.$OMPI_COMM_WORLD_RANK"; while test -e "$0"; do sleep 0.05; done' "$GO"
    """
    (work / "go").touch()
    ranks = [
        subprocess.Popen([baro, "run", "-q", "-o", f"{work}/ranks/%r.baro", "--", "sh", "-c", script],
                         env={**os.environ, **RANK, "OMPI_COMM_WORLD_RANK": rank, "BARO": baro, "GO": f"{work}/go"})
        for rank in "01"
    ]  # fmt: skip
    deadline = time.monotonic() + 60
    while not all((work / f"go.{rank}").exists() for rank in "01"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    while True:  # until both phases are on the tapes
        lines = run("top", work / "ranks", status=0).stdout.splitlines()
        if sum(line.endswith("compute") for line in lines) == 2 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert lines[0].startswith("2 of 4 ranks run: ") and lines[0].endswith("; 2 have no tape")
    assert [line.split()[0] for line in lines[2:]] == ["0", "1"]
    (work / "go").unlink()
    assert [r.wait(60) for r in ranks] == [0, 0]
    lines = run("top", work / "ranks", status=0).stdout.splitlines()
    assert lines[0].startswith("0 of 4 ranks run") and all(line.endswith("(ended)") for line in lines[2:])


# ---- hostile and foreign tapes ----


def test_ranks_of_two_jobs_are_a_list(run, work):
    record(run, {**RANK, "OMPI_COMM_WORLD_RANK": "0"}, "-o", work / "a.baro")
    record(run, {**RANK, "OMPI_COMM_WORLD_RANK": "1", "PMIX_NAMESPACE": "13"}, "-o", work / "b.baro")
    text = run("summary", work, status=0).stdout
    assert "2 tapes" in text and "all ranks" not in text
    assert "b-r1.baro is a rank of another job" in text
    assert "is a rank of another job" in run("report", "-o", work / "all.html", work, status=2).stderr


def test_nodes_whose_times_do_not_touch(run, work):
    """Here they ran one after the other; a clock that is wrong looks the same."""
    for rank, node in enumerate(("n0", "n0", "n1")):
        record(run, {**RANK, "OMPI_COMM_WORLD_RANK": str(rank), "SLURMD_NODENAME": node}, "-o", f"{work}/%r.baro")
    text = " ".join(run("summary", work, status=0).stdout.split())
    assert "clocks the ranks of n0 ended" in text and "before all others began" in text


def test_a_rank_that_cant_be_read_is_named(run, work):
    for rank in "012":
        record(run, {**RANK, "OMPI_COMM_WORLD_RANK": rank}, "-o", f"{work}/%r.baro")
    (work / "1.baro").write_bytes(b"no tape")
    text = run("summary", work, status=0).stdout
    assert "2 of 4 ranks: 1, 3" in text and "not read" in text


def test_a_tape_that_claims_four_billion_ranks(run, work):
    for rank in ("0", "999999999"):
        record(run, {**RANK, "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "999999999"}, "-o", f"{work}/%r.baro")
    found = json.loads(run("summary", "--json", work, status=0, timeout=20).stdout)
    assert found["missing_ranks"] == "1-999999998"


def test_ranks_as_a_page(run, work):
    hostile = "<script>alert(1)</script>"
    for rank in "013":
        record(run, {**RANK, "OMPI_COMM_WORLD_RANK": rank, "SLURMD_NODENAME": hostile}, "-o", f"{work}/ranks/%r.baro",
               command=("sh", "-c", "exit $OMPI_COMM_WORLD_RANK"))  # fmt: skip
    run("report", "-o", work / "ranks.html", work / "ranks", status=0)
    page = (work / "ranks.html").read_text()
    assert hostile not in page and "&lt;script>" in page.replace("&gt;", ">")
    assert "2 ranks failed: first rank 1 exit 1" in page.replace("\u00a0", " ")
    assert "1 of 4 ranks: 2" in page.replace("\u00a0", " ")
    assert page.count("<g><title>rank ") == 3
    assert run("report", "-o", work / "ranks.html", work / "ranks").returncode != 0  # it exists
    run("report", "-o", work / "ranks.md", work / "ranks", status=0)
    text = (work / "ranks.md").read_text()
    assert hostile not in text and text.startswith("## `") and ", 3 ranks on 1 node\n" in text
    assert "- end: 2 ranks failed: first rank 1 exit 1" in text and "- missing: 1 of 4 ranks: 2" in text


def test_limits_are_those_of_all_ranks(run, baro, work, srun):
    """Ranks are one run, not several of which each keeps the limit."""
    folder = srun_job(srun, baro, work, 4, slow=-1)
    each = [run.summary(folder / f"{i}.baro")["job"]["processes_started"] for i in range(4)]
    assert run("check", "--max", f"processes<={sum(each)}", folder).returncode == 0
    assert run("check", "--max", f"processes<={sum(each) - 1}", folder).returncode == 1
    (folder / "1.baro").unlink()
    assert "1 of 4 ranks are missing" in run("check", "--max", f"processes<={sum(each)}", folder).stdout
    assert "in its folders" in run("ls", work, status=0).stderr


def test_advice_is_for_all_ranks(run, baro, work, srun):
    """Memory for the node that needed most, by the rule of one run: a quarter more, in steps of 64 MiB."""
    folder = srun_job(srun, baro, work, 8, slow=-1)
    found = json.loads(run("advise", "--json", folder, status=0).stdout)
    each = {e["rank"]: e["node"] for e in json.loads(run("summary", "--json", folder, status=0).stdout)["each"]}
    least, most = dict.fromkeys(each.values(), 0), dict.fromkeys(each.values(), 0)
    for rank, node in each.items():
        limits = run.summary(folder / f"{rank}.baro")["limits"]
        least[node] += limits["memory_peak_bytes"]
        most[node] += limits["memory_peak_at_most_bytes"]
    assert all(least[n["node"]] <= n["memory_bytes"] <= most[n["node"]] for n in found["nodes"])
    step, asked = 64 << 20, found["ask"]["memory_per_node_bytes"]
    assert asked >= 1.25 * max(least.values()) and asked % step == 0 and asked < 1.25 * max(most.values()) + step
    lines = run("advise", "--for", "slurm", folder, status=0).stdout
    assert "--nodes=4\n" in lines and "--ntasks=8\n" in lines and "--ntasks-per-node=2\n" in lines
    assert f"--mem={asked >> 20}M\n" in lines
    (folder / "3.baro").unlink()
    text = run("advise", folder, status=0).stdout
    assert "After one run of 7 ranks on 4 nodes" in text and "1 of 8 ranks: 3" in text
    assert "--ntasks=8\n" in text and "--ntasks-per-node" not in text


HOLD = "import time; x = bytearray({}000000); time.sleep(1.2)"


@pytest.fixture
def four(run, work):
    """The tapes of 4 ranks on 2 nodes."""
    ranks = [
        run.popen("run", "-q", "-o", f"{work}/ranks/%r.baro", "--", sys.executable, "-S", "-c", HOLD.format(size),
                  env={**RANK, "OMPI_COMM_WORLD_RANK": str(i), "SLURMD_NODENAME": f"n{i // 2}"})
        for i, size in enumerate((50, 60, 70, 80))
    ]  # fmt: skip
    assert [r.wait(60) for r in ranks] == [0] * 4
    return work / "ranks"


@pytest.mark.parametrize("of", [1, 3])
def test_a_rank_whose_memory_is_not_known_is_no_zero(run, four, of):
    """The sum of its node has a mark, and it is said of how many ranks it is not known, also in the lines for Slurm."""
    whole, n = (four / f"{of}.baro").read_bytes(), 0
    assert "not known" not in run("advise", four, status=0).stdout
    while True:  # the recorder was killed before the first sample
        n += 50
        (four / f"{of}.baro").write_bytes(whole[:n])
        if run("summary", four / f"{of}.baro").returncode == 0:
            break
    assert run.summary(four / f"{of}.baro")["limits"]["memory_peak_bytes"] is None
    text = " ".join(run("advise", four, status=0).stdout.split())
    assert "of 1 rank it is not known" in text and "the most had rank 0" not in text
    if of == 1:
        assert "the 2 ranks of n1 needed ≤" in text
    else:
        assert "the 2 ranks of n0 needed ≤" in text and "the most had rank 2 on n1" in text
    assert "# --mem may be too low: what 1 of 4 ranks needed is not known" in run("advise", "--for", "slurm", four).stdout
    nodes = json.loads(run("advise", "--json", four, status=0).stdout)["nodes"]
    assert [node["memory_mark"] for node in nodes] == (["lower_bound", "upper_bound"] if of == 1 else ["upper_bound", "lower_bound"])


def test_advice_after_one_rank_says_so(run, four):
    """What it needs is no part of a node's memory, and no --mem."""
    text = run("advise", four / "2.baro", status=0).stdout
    assert "rank 2 of 4 alone" in " ".join(text.split())
    lines = run("advise", "--for", "slurm", four / "2.baro", status=0).stdout
    found = json.loads(run("advise", "--json", four / "2.baro", status=0).stdout)
    mib = found["ask"]["memory_bytes"] / found["ask"]["cores"] / (1 << 20)
    assert f"--mem-per-cpu={mib:.0f}M\n" in lines and "--mem=" not in lines
    assert found["rank"] == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
@pytest.mark.not_sanitized("the recorders are in the group, too, and a sanitizer needs more")
def test_a_limit_is_that_of_all_ranks_of_a_node(run, work, v1):  # noqa: F811
    """Each has half of the limit of their group; together they are near it, and no strangers to each other."""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 200 << 20)
    hog = "import time; x = bytearray(90 << 20); time.sleep(1.5)"
    ranks = [
        run.popen("run", "-q", "-o", f"{work}/ranks/%r.baro", "--", sys.executable, "-c", hog, before=group.enter,
                  env={**RANK, "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "2"})
        for rank in "01"
    ]  # fmt: skip
    assert [r.wait(60) for r in ranks] == [0, 0]
    found = json.loads(run("summary", "--json", work / "ranks", status=0).stdout)
    (node,) = found["nodes"]
    assert node["memory_is_allowed_together"] and node["memory_allowed_bytes"] == 200 << 20
    assert 180 << 20 <= node["memory_needed_bytes"] <= 220 << 20
    text = " ".join(run("summary", work / "ranks", status=0).stdout.split())
    assert "the 2 ranks of" in text and "of the 200 MiB that they may have together (cgroup /" in text


def test_no_variable_leaves_the_folder(run, work):
    """Ids become parts of file names: none of them is "..", hidden, or has bytes that a terminal obeys."""
    variables = {"SLURM_JOB_ID": "..", "SLURM_STEP_ID": "a/../b", "SLURM_ARRAY_JOB_ID": "\x1b[2J\u202e"}
    run("run", "-q", "-o", f"{work}/runs/%j/%s/%A.baro", "--", "true", env=variables, status=0)
    (name,) = tapes(work / "runs")
    assert name == "_./a_.._b/__2J___.baro".replace("__2J", "_[2J")


def test_a_missing_rank_makes_sums_of_diff_lower_bounds(run, baro, work, srun):
    folder = srun_job(srun, baro, work, 4, slow=-1)
    shutil.copytree(folder, work / "part")
    (work / "part" / "2.baro").unlink()
    done = run("diff", "--json", folder, work / "part", status=0)
    assert "1 of 4 ranks are missing" in done.stderr
    differences = json.loads(done.stdout)["differences"]
    (cpu,) = [d for d in differences if d["scope"] == "job" and d["fact"] == "cpu_ns"]
    assert cpu["answer"] == "unknown" and cpu["mark"] is not None
