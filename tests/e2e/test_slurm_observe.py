# SPDX-License-Identifier: Apache-2.0
"""Jobs of Slurm that an observer of the node records: found by their control groups, named by path and prolog."""

import json
import pathlib
import signal
import subprocess
import time

import pytest
import slurm

pytestmark = pytest.mark.alone  # another observer would find its jobs, too

# What a job executes: it ends when there are so many tapes. A search for groups pauses until its cost is paid for, which
# may take seconds where the observer is a slow build.
UNTIL_RECORDED = """\
i=0
while [ $(ls "$1" | grep -c 'baro$') -lt "$2" ] && [ $i -lt 600 ]; do i=$((i+1)); sleep 0.1; done
sleep 1
exit "$3"
"""
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "slurm"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    reason = slurm.why_no_groups()
    if reason:
        pytest.skip(reason)
    with slurm.cluster(tmp_path_factory.mktemp("slurm"), EXAMPLES) as run_of_cluster:
        yield run_of_cluster


@pytest.fixture
def observed(baro, work):
    """The folder of the tapes of all jobs."""
    process = subprocess.Popen(
        [baro, "observe", "--cgroup", "slurm*/uid_*/job_*", "--dir", work / "jobs", "--no-host"],
        stderr=subprocess.DEVNULL, env={"SLURM_JOB_ID": "99", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1",
                                        "SLURM_STEP_NUM_TASKS": "4", "PATH": "/bin:/usr/bin"},
    )  # fmt: skip
    yield work / "jobs"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def ended(run, folder, count):
    """Summaries of so many jobs that have ended."""
    deadline = time.monotonic() + 60
    while True:
        found = json.loads(run("ls", "--json", *folder.iterdir()).stdout) if any(folder.glob("*.baro")) else []
        if sum(f["state"] == "ended" for f in found) >= count:
            return [run.summary(p) for p in folder.iterdir()]
        assert time.monotonic() < deadline, [p.name for p in folder.iterdir()]
        time.sleep(0.2)


def test_a_job_is_named_by_path_and_prolog(run, cluster, observed):
    done = cluster("-N1", "-n2", "sh", "-c", UNTIL_RECORDED, "sh", observed, 1, 3)
    assert "exit code 3" in done.stderr, done.stderr
    (job,) = ended(run, observed, 1)
    assert job["command"][0].endswith("/uid_0/job_1")
    assert (job["name"], job["tags"]) == ("job 1 of root in main", {"user": "root", "partition": "main"})
    assert job["launched"]["job_id"] == "1" and job["launched"]["rank"] is None
    assert not pathlib.Path("/run/barograph/slurm/1").exists()  # the epilog has removed it
    text = run("ls", "--tag", "user=root", *observed.iterdir(), status=0).stdout
    assert "job 1 of root in main" in text


def test_srun_in_a_recording_leaves_work_to_slurm(run, cluster, work):
    environment = {"SLURM_CONF": cluster.conf}
    run("run", "-q", "-o", work / "srun.baro", "--", "srun", "-n2", "true", env=environment, status=0)
    (verdict,) = [v for v in run.summary(work / "srun.baro")["verdicts"] if v["rule"] == "client"]
    assert verdict["title"] == "srun left work to Slurm, which is not in this recording."


def test_array_tasks_are_jobs(run, cluster, observed, work):
    """What srun starts in them is in their control groups: it is no work that is not recorded."""
    (work / "until").write_text(UNTIL_RECORDED)
    done = cluster("--array=3-4", "-N1", "-n1", "-o", work / "out.%a", "--wait", "--wrap",
                   f"srun sh {work}/until {observed} 2 0; sleep 1", program="sbatch")  # fmt: skip
    assert done.returncode == 0, done.stderr
    jobs = ended(run, observed, 2)
    assert len({json.dumps(j["launched"]["job_id"]) for j in jobs}) == 2
    assert all(j["tags"]["partition"] == "main" for j in jobs)
    assert all("client" not in [v["rule"] for v in j["verdicts"]] for j in jobs)
