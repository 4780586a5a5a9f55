# SPDX-License-Identifier: Apache-2.0
"""What the tests of `baro push` share: a store that lies, a tape, and what is counted."""

import json
import pathlib

import pytest
from lying import Store

WORK = "for i in 1 2 3; do seq 30000 | sort -R >/dev/null; done"


@pytest.fixture(autouse=True)
def built(baro):
    if not pathlib.Path(baro).with_name("baro-push").exists():
        pytest.skip("built without libcurl or snappy")


@pytest.fixture
def store():
    made = []

    def make(*args, **kw):
        made.append(Store(*args, **kw))
        return made[-1]

    yield make
    for s in made:
        s.close()


@pytest.fixture
def recorded(run, tape):
    return run.record(tape, f"{run.binary} phase sort -- sh -c '{WORK}'; sleep 0.3; {WORK}", "-i", "20ms")


def status(run, **kw):
    found = json.loads(run("push", "--status", "--json", status=0, **kw).stdout)
    return found[0] if len(found) == 1 else found


def counted(s):
    return s["sent"] + s["refused"] + s["set_aside"] + s["there"]


def reference(run, store, tape, work, protocol="prometheus"):
    """All points of a tape, as a store that never lies gets them from a pusher that is never killed."""
    s = store()
    run("push", tape, "--to", s.url(protocol), status=0, env={"XDG_STATE_HOME": work / "reference"})
    return s.points


def rows(run, tape, kind):
    return [json.loads(line) for line in run("export", tape, "--entity", kind, "--format", "jsonl",
                                             status=0).stdout.splitlines()]


def pusher_of(tape):
    """The folder in /proc of the process that pushes a tape; None if there is none."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "exe").readlink().name == "baro-push" and str(tape).encode() in (
                    folder / "cmdline").read_bytes().split(b"\0"):
                return folder
        except OSError:
            pass
    return None
