# SPDX-License-Identifier: Apache-2.0
"""`baro phase` keeps the rules of the wrapper: some tests of `baro run`, run with `baro phase` in front of the command.
"""

import json
import os

import pytest

from conftest import lock_events
from test_terminal import (  # noqa: F401 (terminal is a fixture, the others are collected here)
    terminal,
    test_command_that_handles_ctrl_c,
    test_ctrl_c_comes_once,
    test_handles_ctrl_z_itself,
    test_isatty_size_and_foreground,
    test_keys_that_end,
    test_shell_within,
    test_stops_and_goes_on,
)
from test_wrapper import (  # noqa: F401
    test_command_alone_is_continued_or_killed,
    test_command_stops_itself,
    test_command_that_ignores_term,
    test_death_by_signal,
    test_exec_failure,
    test_exit_status,
    test_group_signal_from_the_command_is_not_sent_back,
    test_in_the_shell,
    test_what_the_command_closes_is_closed,
    test_queued_values_are_kept_in_order,
    test_signal_ends_the_job,
    test_stop_and_go_many_times,
    test_stop_is_forwarded,
)
from wrapping import BARO

NAME = "a phase"


@pytest.fixture
def wrap(tmp_path, monkeypatch):
    """Replaces the fixture with which these tests run elsewhere. At the end each phase that began has ended."""
    events = tmp_path / "events"
    events.touch()
    for name in ("BARO_TAPE", "BARO_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BARO_EVENTS", str(events))
    monkeypatch.chdir(tmp_path)
    with lock_events(events):
        yield [BARO, "phase", "-q", NAME, "--"]
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    begun = [line["id"] for line in lines if line.get("begin") == NAME]
    ended = [line["id"] for line in lines if line.get("end") == NAME]
    assert set(ended) <= set(begun) and len(set(ended)) == len(ended)
    assert all("status" in line or "signal" in line for line in lines if "end" in line)


def test_events_file_not_writable(tmp_path, run):
    """A child may not write to the file: one clear line is printed, and the command runs all the same."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    (folder / "events").touch(mode=0o600)
    as_nobody = {"via": ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
                 "env": {"BARO_EVENTS": folder / "events"}}
    done = run("mark", "epoch", status=0, **as_nobody)
    assert done.stderr.count("\n") == 1 and "may not write" in done.stderr and "BARO_EVENTS" in done.stderr
    assert run("mark", "-q", "epoch", status=0, **as_nobody).stderr == ""
    done = run("phase", "load", "--", "sh", "-c", "echo out; exit 5", status=5, **as_nobody)
    assert done.stdout == "out\n" and done.stderr.count("\n") == 1 and "may not write" in done.stderr
    assert (folder / "events").read_bytes() == b""


def test_a_command_that_is_not_there(run, tape):
    """Its name, which may control a terminal, is written escaped, within a recording as outside of one."""
    for before in ((), ("run", "-q", "-o", tape, "--", BARO)):
        done = run(*before, "phase", "load", "--", "a\x1b[31mb", status=127)
        assert "baro phase: a\\x1b[31mb: No such file or directory\n" in done.stderr and "\x1b" not in done.stderr
