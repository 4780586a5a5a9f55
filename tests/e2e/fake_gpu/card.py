# SPDX-License-Identifier: Apache-2.0
"""A made-up GPU for the tests of tools/gpu-check: what torch.py, pynvml.py and nvidia-smi beside this file, and the
driver's script (nvidia.py), say of it. $FAKE_CARD is a folder with a file for each process that uses the GPU: its bytes
of memory, and until when it computes."""

import os
import pathlib
import time

MIB = 1 << 20
UUID = "GPU-00000000-1111-2222-3333-444444444444"
USED = 1 << 30  # by nobody
CONTEXT = 400 * MIB
WATTS = 250
FOLDER = pathlib.Path(os.environ.get("FAKE_CARD", "/nowhere"))


def write_use(allocated, computes):
    fresh = FOLDER / f".{os.getpid()}"
    fresh.write_text(f"{allocated + CONTEXT} {time.monotonic() + computes}")
    fresh.rename(FOLDER / str(os.getpid()))


def uses(folder=FOLDER):
    """Returns {pid: (bytes, percent)} of the processes that live."""
    found = {}
    for path in folder.glob("[0-9]*"):
        try:
            if pathlib.Path(f"/proc/{path.name}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                memory, until = path.read_text().split()
                found[int(path.name)] = int(memory), 100 * (time.monotonic() < float(until))
        except OSError:
            pass
    return found


def script(folder):
    """Returns the lines of the driver's script."""
    now = uses(folder)
    share = max(1, sum(use > 0 for _, use in now.values()))
    lines = [f"0 uuid {UUID}", "0 buffer none", f"0 power {WATTS}",
             f"0 util {max((use for _, use in now.values()), default=0)}",
             f"0 used {USED + sum(memory for memory, _ in now.values())}"]
    for pid, (memory, use) in now.items():
        lines += [f"0 proc {pid} memory {memory}", f"0 proc {pid} sm {use // share}"]
    return lines
