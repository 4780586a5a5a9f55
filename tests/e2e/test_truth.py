# SPDX-License-Identifier: Apache-2.0
"""What a summary says of jobs that know what they have used (account.c): each value is right, or marked, never wrong.

Each job is recorded as root and as an ordinary user, on the host and in a PID namespace (as in a container with perf:
neither the process connector nor taskstats are there), with `auto` and with an interval of 1 s; and where no event
source is: as a user of a distribution that refuses perf (`scan`), in a default container, and in a restricted one
(contain.c). A value with a mark (a lower bound, an estimate, absent) may be too small; an estimate may be too large as
well. BARO_TRUTH=FILE appends a line for each cell to FILE; `python3 tests/e2e/test_truth.py FILE` sums them up.
"""

import collections
import json
import os
import pathlib
import shutil
import sys

import pytest

from conftest import ENGINE, FULL, ORDINARY, SLOW, Runner, Truth, beside, contained, unshared

CELLS = os.environ.get("BARO_TRUTH")  # a test has none of the variables of this name
MB = 1 << 20
MS = 1_000_000
SEEN = 50 * MS  # a process that used so much is found everywhere, with its name
PAGES = 64 << 10  # what a kernel that counts whole folios may count for some lines of a log, and for a file's metadata

# name: steps of account.c. The first process is `account`, others are named by spawn=, exec= and name=.
JOBS = {
    "one": "burn=200",
    "threads": "threads=4,150",
    "threads that end one after the other": "threads=1,20 " * 10,
    "idle threads": "idle=60 burn=100 sleep=300",
    "eight at once": "( name=worker burn=60 ) " * 8 + "wait",
    "fifty short ones": "( burn=2 ) wait " * 50,
    "fifty programs": "spawn=leaf ( burn=2 ) wait " * 50,
    "late burst": "sleep=700 " + "spawn=leaf ( burn=5 ) " * 20 + "wait",
    "deep": "( name=a ( name=b ( name=c burn=80 ) wait burn=20 ) wait burn=20 ) wait",
    "sequence of names": "exec=first burn=60 exec=second burn=60 sleep=300 exec=third burn=60",
    "env": "exec=first sleep=10 exec=second sleep=300 " + "( burn=40 ) " * 3 + "wait",
    "renamed": "( burn=40 name=other burn=40 ) wait",
    "ignored children": "ignore " + "( name=worker burn=60 ) " * 6 + "wait",
    "children that nobody waits for": "nocldwait " + "( name=worker burn=40 sleep=30 ) " * 6 + "wait sleep=200",
    "orphan": "( ( setsid name=daemon burn=150 meet=2 ) ) wait meet=2 sleep=200",
    "subreaper": "subreaper ( ( name=worker burn=100 ) ) sleep=250 wait",
    "zombies": "( name=worker burn=60 ) ( name=worker burn=60 ) sleep=500 wait",
    "killed": "( name=worker burn=100 kill=9 ) wait",
    "failed": "( name=worker burn=30 exit=3 ) wait exit=7",
    "leader gone": "( name=worker burn=30 leader burn=80 ) wait",
    "pid namespace": "( pidns ( name=first " + "( name=second burn=100 sleep=5000 ) " * 3 + "sleep=700 ) wait ) wait",
    "memory of one": "grow=80 meet=1 free burn=50",
    "memory held for a moment": "sleep=500 ( name=worker sleep=300 grow=80 meet=1 ) wait sleep=300",
    "eight that grow together": "grow=30 sleep=500 "
    + "( name=worker sleep=100 grow=40 meet=8 sleep=20 ) " * 8
    + "wait sleep=300",
    "shared memory": "share=60 " + "( name=reader touch sleep=1500 meet=4 sleep=1500 ) " * 4 + "wait",
    "forked memory": "grow=60 " + "( name=reader touch sleep=1500 meet=4 sleep=1500 ) " * 4 + "wait",
    "writer": "( name=writer write=20 ) wait sleep=100",
    "writers below writers": "( name=upper write=5 ( name=lower write=20 ) wait sleep=200 ) wait sleep=300",
    "waiting": "( name=worker burn=200 ) " * 4 + "wait",
}
# Processes and threads that are there at the same time, the first one included.
AT_ONCE = {
    "idle threads": (1, 61),
    "eight that grow together": (9, 9),
    "shared memory": (5, 5),
    "forked memory": (5, 5),
}
STATUS = {"failed": 7}

PLACES = [
    (user, where, interval)
    for user in ("root", "ordinary")
    for where in ("host", "pidns")
    for interval in ("auto", "1s")
]
PLACES += [
    ("root", "container", "auto"),
    ("ordinary", "container", "auto"),
    ("ordinary", "restricted", "auto"),
    ("ordinary", "scan", "auto"),
]
# Those that ./check runs as well.
QUICK = {
    ("ordinary", "pidns", "auto"): {
        "ignored children", "pid namespace", "writers below writers", "memory held for a moment"
    },
    ("root", "container", "auto"): {
        "one", "eight at once", "fifty programs", "late burst", "deep", "env", "orphan", "failed", "memory of one",
        "writers below writers",
    },
    ("ordinary", "restricted", "auto"): {"fifty short ones", "killed"},
    ("ordinary", "scan", "auto"): {"ignored children", "sequence of names"},
}


def is_chosen(place, job):
    if ENGINE:  # in which an ordinary user may not enter the group
        return place[:2] == ("root", "container") and job != "pid namespace"
    return FULL or job in QUICK.get(place, ())


CASES = [pytest.param(place, job, id="-".join([*place, job]))
         for place in PLACES for job in JOBS if is_chosen(place, job)]


def mark_of(section, key):
    """Is a value absent or marked? Flags are named after a value without its unit, or after a group of values."""
    if section[key] is None:
        return "absent"
    words = key.split("_")
    for n in range(len(words), 0, -1):
        for flag in ("is_estimate", "is_lower_bound", "is_approximate", "is_uncertain"):
            if section.get("_".join([*words[:n], flag])):
                return flag
    return None


class Cells:
    """The values of one recording, compared with the job's own account."""

    def __init__(self, place, job):
        self.at = (*place, job)
        self.cells = []

    def compare(self, section, key, least, most, where="job", upper=None, mark=None):
        """Compares section[key] with the interval of the truth. mark: one that the value has from elsewhere."""
        value, mark = section[key], mark_of(section, key) or mark
        if value is None:
            verdict = "marked"
        elif least <= value <= most:
            verdict = "right" if not mark else "right, marked"
        elif mark and (value < least or mark == "is_estimate"):
            verdict = "marked"
        else:
            verdict = "wrong"
        if upper is not None and section.get(upper) is not None and section[upper] < least:
            verdict = "wrong"
        self.add(f"{where}.{key}", verdict, value, least, most, mark)

    def add(self, what, verdict, value=None, least=None, most=None, mark=None):
        self.cells.append((*self.at, what, verdict, value, least, most, mark))

    def done(self):
        if CELLS:
            with open(CELLS, "a", encoding="utf-8") as out:
                out.write("".join(json.dumps(c) + "\n" for c in self.cells))
        wrong = [c for c in self.cells if c[5] == "wrong"]
        assert not wrong, "\n".join(
            f"{what}: {value} is not within {least} and {most} (mark: {mark})"
            for *_, what, _verdict, value, least, most, mark in wrong
        )


def around(truth, share, slack):
    return truth * (1 - share) - slack, truth * (1 + share) + slack


def check_cpu(cells, s, truth, accounts):
    job = s["job"]
    least, most = (truth.cgroup.usage_ns() + int(used) for used in truth.note.read_text().split())
    cells.compare(job, "cpu_ns", least * 0.995 - 5 * MS * SLOW, most * 1.005 + 5 * MS * SLOW)
    cells.compare(s["accounting"], "cpu_counted_ns", 0, job["cpu_ns"] * 1.001 + 1000, "accounting")
    total = sum(c["cpu_ns"] or 0 for c in s["commands"])
    cells.add(
        "commands' cpu above the job's",
        "wrong" if total > job["cpu_ns"] * 1.005 + MS else "right",
        total,
        0,
        job["cpu_ns"],
    )


def check_commands(cells, s, accounts, executes):
    """CPU time, memory and I/O by command. The end of a process (its memory is freed) is in no account of its own. One
    that executes others has a single account, under its last name: then the programs' CPU time is compared in sum."""
    of = collections.defaultdict(list)
    for a in accounts:
        of[a["name"]].append(a)
    seen = {c["name"]: c for c in s["commands"]}
    for name, all_ in of.items():
        cpu, hwm = sum(a["cpu"] for a in all_), max(a["hwm"] for a in all_)
        c = seen.get(name)
        if c is None:  # the command without a name has those whose name is not known: a mark
            hidden = "" in seen or len(s["commands"]) >= 20 or s["job"]["processes_started_is_lower_bound"]
            hidden &= all(a["cpu"] < SEEN for a in all_)
            cells.add(f"{name}.missing", "marked" if hidden else "wrong", None, cpu, cpu)
            continue
        # Some of them may be in the row without a name.
        rest = "not known" if "" in seen else None
        short = cpu * 0.01 + (1 + hwm / MB / 4) * MS * len(all_) + 5 * MS
        if not executes:
            cells.compare(c, "cpu_ns", cpu - short, cpu + short, name, mark=rest)
        cells.compare(c, "rss_peak_bytes", hwm * 0.97 - MB, hwm * 1.03 + MB, name, mark=rest)
        written = sum(a["written"] for a in all_)
        cells.compare(c, "io_write_bytes", written, written * 1.05 + PAGES * len(all_), name, mark=rest)
    if executes:
        total = sum(a["cpu"] for a in accounts)
        marked = any(mark_of(c, "cpu_ns") for c in s["commands"]) and "is_estimate"
        short = total * 0.02 + (2 + len(accounts)) * 5 * MS
        cells.compare({"cpu_ns": sum(c["cpu_ns"] or 0 for c in s["commands"])}, "cpu_ns", total - short, total + short,
                      "programs", mark=marked)
    for name, c in seen.items():
        if not executes and name not in of and name and c["cpu_ns"] and c["cpu_ns"] > 10 * MS:
            cells.add(f"{name}.stranger", "wrong", c["cpu_ns"], 0, 0)


def check_counts(cells, s, job_name, accounts):
    job = s["job"]
    n = len({a["pid"] for a in accounts})
    if job_name != "pid namespace":  # pids of two namespaces
        cells.compare(job, "processes_started", n, n)
        cells.compare(job, "processes_ended", n, n)
        for name, count in collections.Counter(a["name"] for a in accounts).items():
            row = next((c for c in s["commands"] if c["name"] == name), None)
            if row:  # check_commands() has the others
                cells.compare(row, "processes", count, count, name)
    if job_name in AT_ONCE:
        processes, threads = AT_ONCE[job_name]
        cells.compare(job, "processes_peak", processes, processes)
        cells.compare(job, "threads_peak", threads, threads)
    delay = sum(a["delay"] for a in accounts)
    if "exec=" not in JOBS[job_name]:  # what threads before an execve(2) waited is not in the account
        ends = max(n, AT_ONCE.get(job_name, (0, 0))[1])  # each thread waits once more to end
        last = 20 + ends * max(5, 3 * os.getloadavg()[0] / os.cpu_count())  # 3 ms: what the scheduler gives to each
        cells.compare(job, "run_delay_ns", delay * 0.95 - 20 * MS, delay * 1.05 + last * MS)
    freed = sum(a["hwm"] for a in accounts) / MB  # at their ends: a process may lose its CPU at each MB
    for key, of in (("switches_voluntary", "vol"), ("switches_involuntary", "invol")):
        count = sum(a[of] for a in accounts)
        cells.compare(job, key, count * 0.97 - 10 - 2 * n, count * 1.03 + 10 + 4 * n + freed)
    minor = sum(a["minor"] for a in accounts)
    cells.compare(job, "faults_minor", minor * 0.98 - 50 - 10 * n, minor * 1.02 + 300 + 60 * n)


def check_io(cells, s, accounts):
    job = s["job"]
    passed = sum(a["wchar"] for a in accounts)
    # Each account is a line that its own length does not have.
    cells.compare(job, "io_wchar_bytes", passed, passed + 1000 * (1 + len(accounts)))
    written = sum(a["written"] for a in accounts)
    cells.compare(job, "io_write_bytes", written, written * 1.05 + PAGES * (1 + len(accounts)))
    by_command = sum(c["io_write_bytes"] or 0 for c in s["commands"])
    cells.add(
        "commands' io above the job's", "wrong" if by_command > job["io_write_bytes"] + 4096 else "right", by_command
    )


def check_memory(cells, s, met, accounts):
    """At its meetings a job knows what all its processes have at one moment. The highest sum of high-water marks is
    more than it ever had."""
    job = s["job"]
    together = collections.Counter()
    pss = collections.Counter()
    uss = collections.Counter()
    for m in met:
        together[m["met"]] += m["rss"]
        pss[m["met"]] += m["pss"]
        uss[m["met"]] += m["uss"]
    least = max([*together.values(), *(a["hwm"] for a in accounts)])
    most = sum(a["hwm"] for a in accounts)
    cells.compare(job, "rss_peak_bytes", least * 0.97 - MB, most * 1.03 + MB, upper="rss_peak_at_most_bytes")
    if pss:
        # The first process is not among those that meet, unless it is alone: its part is at most its own mark.
        alone = len(accounts) == len(met)
        own = 0 if alone else max(a["hwm"] for a in accounts)
        cells.compare(job, "pss_peak_bytes", max(pss.values()) * 0.97 - MB, max(pss.values()) * 1.03 + own + 2 * MB)


def record(place, job, truth, tape, baro):
    user, where, interval = place
    work = truth.runner.work
    program = work / "account"
    shutil.copy(beside(baro, "account"), program)
    program.chmod(0o755)
    for name in ("leaf", "first", "second", "third"):
        (work / name).symlink_to("account")
    enter = ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', str(truth.outer.path)]
    env = {"BARO_NO_EVENTS": "1"} if where == "scan" else {}
    group = truth.cgroup.path
    via = [*enter, *unshared("-fp", "--mount-proc")] if where == "pidns" else ()
    if where in ("container", "restricted"):
        group = work / "group"
        group.mkdir()
        via = [*enter, *contained(baro, work, f"{truth.cgroup.path}:{group}", uid=truth.runner.uid, restricted=where == "restricted")]
        truth.runner.uid = None  # the container has the user
    argv = [*truth.entering(group), str(program), str(work), *JOBS[job].split()]
    done = truth.runner("run", "-q", "-i", interval, "-o", tape, "--", *argv, cgroup=truth.outer, via=via, env=env)
    assert (work / "log").exists(), (done.returncode, done.stderr)
    return done.returncode


@pytest.mark.not_sanitized("the values are those of a recorder within its budget")
@pytest.mark.parametrize("place, job", CASES)
def test_truth(place, job, baro, work, cgroup, tape):
    if os.geteuid() != 0 and (place[0] == "root" or place[1] not in ("host", "scan")):
        pytest.skip("not root")
    truth = Truth(Runner(baro, work, uid=ORDINARY if place[0] == "ordinary" else None), cgroup)
    status = record(place, job, truth, tape, baro)
    s = truth.runner.summary(tape)
    lines = [json.loads(line) for line in (work / "log").read_text().splitlines()]
    accounts = [a for a in lines if "name" in a]
    met = [a for a in lines if "met" in a]
    cells = Cells(place, job)
    cells.add(
        "status", "right" if status == s["exit"]["status"] == STATUS.get(job, 0) else "wrong", s["exit"]["status"]
    )
    if job == "pid namespace":  # those that are killed with it write no account: the control group has their CPU time
        check_cpu(cells, s, truth, accounts)
    else:
        check_cpu(cells, s, truth, accounts)
        check_commands(cells, s, accounts, "exec=" in JOBS[job])
        check_counts(cells, s, job, accounts)
        check_io(cells, s, accounts)
        check_memory(cells, s, met, accounts)
    cells.done()


def sum_up(path):
    cells = [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    counts = collections.Counter(c[5] for c in cells)
    print(f"{len(cells)} cells: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    for verdict in ("wrong", "marked", "right, marked"):
        of = collections.Counter((c[3], c[4]) for c in cells if c[5] == verdict)
        print(f"\n{verdict}:")
        for (job, what), n in of.most_common():
            some = next(c for c in cells if (c[3], c[4], c[5]) == (job, what, verdict))
            print(f"  {n:3}  {job}: {what}   e.g. {'-'.join(some[:3])}: {some[6]} of {some[7]}..{some[8]} ({some[9]})")


if __name__ == "__main__":
    sum_up(sys.argv[1])
