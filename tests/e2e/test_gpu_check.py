# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-check on a made-up GPU: the driver (fake_nvml.c), PyTorch, nvidia-smi and nvidia-ml-py (fake_gpu/) say the
same of what its processes do, unless one is told to lie."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import tarfile
import threading

import pytest
from conftest import SOURCE
from jobs import PYTHON
from nvidia import gpus  # noqa: F401
from programs import programs_of

FAKE = SOURCE / "tests" / "e2e" / "fake_gpu"
SCRIPT = SOURCE / "tools" / "gpu-check"
pytestmark = pytest.mark.not_sanitized("it is no code of ours in C that is tested")


def gpu_check(*argv, env):
    env = {**os.environ, **{name: str(value) for name, value in env.items() if value is not None}}
    return subprocess.run([PYTHON, SCRIPT, *map(str, argv)], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=180)


@pytest.fixture
def card(gpus, work, monkeypatch):  # noqa: F811
    """The environment of a machine with this GPU. Its driver knows within 20 ms what processes do."""
    monkeypatch.syspath_prepend(FAKE)
    import card as made_up

    folder, over = work / "card", threading.Event()
    folder.mkdir()

    def drive():
        while not over.wait(0.02):
            gpus.write(*made_up.script(folder))

    gpus.write(*made_up.script(folder))
    thread = threading.Thread(target=drive)
    thread.start()
    yield {**gpus.env, "FAKE_CARD": folder, "PYTHONPATH": FAKE, "PATH": f"{FAKE}:{os.environ['PATH']}"}
    over.set()
    thread.join()


def verdicts(done):
    """{(scene, what, by): verdict}"""
    line = re.compile(r"(\w+) +(\S.*?)  +\S.*?  +(right|marked|wrong|absent|not compared)  +.* by (.*)")
    return {(m[1], m[2], m[4]): m[3] for m in map(line.fullmatch, done.stdout.splitlines()) if m}


def test_where_it_cannot_be_done(work, baro):
    """It says why in one line, and its status is 2."""
    fake = f"{FAKE}:{os.environ['PATH']}"
    for path, folder, why in (("/nowhere", work, "nvidia-smi: No such file or directory"),
                              (fake, work, "no archive of a release, nor baro in it"),
                              (fake, os.path.dirname(baro), "neither PyTorch nor JAX can use a GPU")):
        done = gpu_check(folder, work / f"out of {why[:10]}", env={"PATH": path})
        assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, done


def test_a_process_that_is_killed(work, baro, card):
    """From its start to its table. nvidia-smi says twice the memory: what agreed with it would be wrong, and baro does
    not. On a busy machine the process may have been killed before a reading: then the value is absent."""
    done = gpu_check(os.path.dirname(baro), work / "out", "--only", "killed", "--scale", "0.12",
                     env={**card, "FAKE_SMI_TIMES": 2})
    found = {(what, by): verdict for (_, what, by), verdict in verdicts(done).items()}
    assert done.returncode in (0, 1) and done.returncode == ("wrong" in found.values()), done
    assert found["status of the recording", "the job"] == "right", done
    assert found["memory of process 1", "its framework"] in ("right", "absent"), done.stdout
    assert found["memory of process 1", "query-compute-apps"] in ("wrong", "absent", "not compared"), done.stdout
    assert (work / "out" / "table").read_text() in done.stdout and (work / "out" / "killed.baro").stat().st_size


def test_verdicts():
    """Each value that is not within its bounds is marked, or wrong."""
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    assert [module.judge(*case) for case in ((5, 4, 6), (3, 4, 6), (3, 4, 6, "at least"), (7, 4, 6, "at least"),
                                             (7, 4, 6, "estimate"), (None, 4, 6), (5, None, None))] == [
        "right", "wrong", "marked", "wrong", "marked", "absent", "not compared"]


@pytest.mark.slow
@pytest.mark.long
def test_all_scenes_by_an_archive(work, baro, card):
    """The GPU of this test has no buffer of values, so that utilisation is that of the moments in which it was read."""
    archive = work / "barograph-0-linux-none.tar.xz"
    with tarfile.open(archive, "w:xz", preset=0, dereference=True) as tar:
        for path in programs_of(baro):
            tar.add(path, f"barograph-0-linux-none/bin/{path.name}")
    done = gpu_check(archive, work / "out", "--scale", "0.3", env=card)
    found = {name: verdict for name, verdict in verdicts(done).items() if not re.match("utilisation|GPU time", name[1])}
    assert len({scene for scene, _, _ in found}) == 6 and list(found.values()).count("right") > 60, done.stdout
    assert "wrong" not in found.values(), done.stdout
