# SPDX-License-Identifier: Apache-2.0
"""Which process of a job failed first: found from the end backwards, and never claimed where statuses are not known."""

import json
import os
import signal
import subprocess

import pytest
from conftest import unshared

KNOWS_STATUSES = "connector"


def failure(baro, tape):
    """The event source, all verdicts, and what the rule "failed" found."""
    read = json.loads(subprocess.check_output([baro, "summary", "--json", tape]))
    found = [v for v in read["verdicts"] if v["rule"] == "failed"]
    evidence = {e["name"]: e.get("text") or e.get("value") for v in found for e in v["evidence"]}
    return read["accounting"]["event_source"], read["verdicts"], found, evidence


def record(baro, tmp_path, *command, status, env=None):
    tape = tmp_path / f"{len(list(tmp_path.iterdir()))}.baro"
    done = subprocess.run([baro, "run", "-v", "-o", tape, "--", *command], cwd=tmp_path, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    assert done.returncode == status, done.stderr
    return (*failure(baro, tape), done.stderr)


@pytest.fixture
def makefile(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "Makefile").write_text("all: probes\n\t$(MAKE) -C src\nprobes:\n" + "\t-@sh -c 'exit 4'\n" * 20)
    (tmp_path / "src" / "Makefile").write_text("all: good bad\ngood:\n\tsleep 0.3\nbad:\n\tsh ./link.sh; exit $$?\n")
    (tmp_path / "src" / "link.sh").write_text("sleep 0.1\nsh -c 'sleep 0.1; exit 7'\n")
    return tmp_path


@pytest.mark.parametrize("events", [None, "1"], ids=["events", "scan"])
def test_make(baro, makefile, events):
    source, verdicts, found, evidence, text = record(baro, makefile, "make", "-j2", status=2,
                                                     env={"BARO_NO_EVENTS": events} if events else None)
    assert verdicts[0]["rule"] == "failed" and verdicts[0]["weight"] == "problem"
    assert "It ended with status 2" in " ".join(text.split())
    if source != KNOWS_STATUSES:
        assert "is not known" in found[0]["title"] and "first_status" not in evidence
        return
    assert "first, with status 7" in found[0]["title"] and evidence["first_name"] == "sh", found
    assert evidence["failed_after"].endswith("make") and "Before that 20 processes had failed" in found[0]["title"]
    exits = subprocess.check_output([baro, "export", "-e", "exit", "-F", "jsonl", makefile / "2.baro"], text=True)
    rows = [json.loads(line) for line in exits.splitlines()]
    assert [str(r["pid"]) for r in rows if r["status"] == 7][0] == evidence["first_pid"]


def test_signal_and_oneself(baro, tmp_path):
    source, _, found, evidence, _ = record(
        baro, tmp_path, "sh", "-c", "ulimit -c 0; sh -c 'kill -SEGV $$'; exit $?", status=128 + signal.SIGSEGV)
    if source == KNOWS_STATUSES:
        assert evidence["first_signal"] == "SIGSEGV" and "failed first, with SIGSEGV" in found[0]["title"]
    _, _, found, evidence, _ = record(baro, tmp_path, "sh", "-c", "true; exit 3", status=3)
    assert found[0]["title"] == "It ended with status 3." and "first_pid" not in evidence


def test_a_job_that_went_well_has_none(baro, tmp_path):
    _, _, found, _, _ = record(baro, tmp_path, "sh", "-c", "for i in 1 2 3 4; do sh -c 'exit 1'; done; true", status=0)
    assert not found


def test_in_a_pid_namespace_nothing_is_claimed(baro, makefile):
    enter = unshared("-fp" if os.geteuid() == 0 else "-rfp", "--mount-proc")
    tape = makefile / "ns.baro"
    assert subprocess.run([*enter, baro, "run", "-q", "-o", tape, "--", "make", "-j2"], cwd=makefile,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 2
    source, _, found, evidence = failure(baro, tape)
    assert source != KNOWS_STATUSES
    assert "failed first, with" not in found[0]["title"] and "is not known" in found[0]["title"], found
    assert "first_status" not in evidence
