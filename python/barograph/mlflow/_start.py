# SPDX-License-Identifier: Apache-2.0
"""Starting the follower: a process that is nobody's child, and gets its request through a pipe, since a URI may have a
password in it."""

from __future__ import annotations

import json
import os
import sys

from .. import _spawn, _where
from ..errors import warn

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

# With -m and -c the working directory is first in sys.path, whatever has the program itself (-P: since Python 3.11).
_FOLLOW = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; from barograph.mlflow.__main__ import main; sys.exit(main())"
)
_LEFT_OUT = ("LD_PRELOAD", "BARO_TAPE", "BARO_PID", "BARO_EVENTS", "BAROGRAPH_MLFLOW", "MLFLOW_RUN_ID")


def _environment() -> dict[str, str]:
    out = {k: v for k, v in _spawn.environment().items() if k not in _LEFT_OUT}
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = _spawn.absolute(out.pop("PYTHONPATH", ""))
    if here in sys.path and here not in paths:  # found without being installed
        paths.append(here)
    return {**out, "PYTHONPATH": os.pathsep.join(paths)} if paths else out


def start_waiting() -> int:
    """Starts a follower that waits for its request; returns the end of the pipe for it. -1: it can't be started."""
    log = os.environ.get("BAROGRAPH_MLFLOW_LOG") or os.devnull
    theirs, ours, kept = -1, -1, -1
    try:
        if not sys.executable:
            raise OSError("this interpreter has no executable")
        theirs, ours = os.pipe()
        actions = [
            (_spawn.DUP, theirs, 0),
            (_spawn.OPEN, 1, os.devnull, os.O_WRONLY),
            (_spawn.OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        ]
        # The shell ends at once: the follower is a child of init by the time that a recording begins.
        follower = _where.beside([sys.executable, "-c", _FOLLOW, "follow"])
        shell = ["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh", *follower]
        _spawn.start(shell, _environment(), actions, setsid=True)
        kept = ours
    except (OSError, NotImplementedError) as error:
        warn(f"nothing is sent to MLflow: {error}")
    finally:
        for fd in {theirs, ours} - {kept, -1}:
            os.close(fd)
    return kept


def tell(fd: int, request: dict[str, Any]) -> None:
    if fd >= 0:
        _spawn.write(fd, json.dumps(request).encode() + b"\n")


def start(request: dict[str, Any]) -> None:
    fd = start_waiting()
    if fd >= 0:
        tell(fd, request)
        os.close(fd)
