# SPDX-License-Identifier: Apache-2.0
"""python -m barograph.mlflow: sends tapes to MLflow.

    python -m barograph.mlflow log TAPE [--run-id ID] [--names system|process|baro] [--every SECONDS] [--summary NAMES|all]
        [--no-artifacts]
    python -m barograph.mlflow status TAPE

`log` waits until all has arrived; after an interruption the same command goes on where it was. MLFLOW_TRACKING_URI and
the like say where to.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and sys.path[:1] in ([""], [os.getcwd()]):
    del sys.path[0]  # python -m: what lies in the working directory is nobody's MLflow


def _log(arguments: list[str]) -> int:
    import argparse

    from . import NAMES, _request
    from ..tape import Tape

    parser = argparse.ArgumentParser(prog="python -m barograph.mlflow log", description="Sends a tape to MLflow.")
    parser.add_argument("tape", help="a file, or @last")
    parser.add_argument("--run-id", help="of a run that exists (default: $MLFLOW_RUN_ID, else a new one)")
    parser.add_argument("--names", choices=NAMES, default="system", help="what metrics are called (default: system)")
    parser.add_argument(
        "--every", type=float, metavar="SECONDS", help="a point for each so many seconds, not for each sample"
    )
    parser.add_argument(
        "--summary", metavar="NAMES", help="facts that are metrics summary/..., or all (default: a dozen)"
    )
    parser.add_argument("--no-artifacts", action="store_true", help="without the report, the verdicts and the tape")
    parser.add_argument(
        "--patience",
        type=float,
        metavar="SECONDS",
        help="for how long an absent server is asked again (default: a day)",
    )
    given = parser.parse_args(arguments)
    request = _request(given.run_id, given.names, True, given.every, not given.no_artifacts, given.patience, given.summary)
    request["tape"] = os.path.abspath(Tape(given.tape).path)
    from ._follow import follow
    from ._position import going_on

    return follow(going_on(request), print)


def _status(arguments: list[str]) -> int:
    import glob

    from ._position import beside, read
    from .._lib import shown
    from ..tape import Tape

    if len(arguments) != 1:
        sys.exit("usage: python -m barograph.mlflow status TAPE")
    tape = os.path.abspath(Tape(arguments[0]).path)
    found = sorted(glob.glob(glob.escape(beside(tape)) + "*"))
    for path in found:
        at = read(path)
        error = f": {at['error']}" if at.get("error") else ""
        run = at.get("run_id", "not known yet")
        print(shown(f"run {run}: {at.get('stage', 'waiting')}, {at.get('points', 0)} points{error}"))
    if not found:
        print(f"{tape} was not sent to MLflow")
    return 0


def _follow() -> int:
    import json

    line = sys.stdin.readline()
    if not line.endswith("\n"):
        return 0  # nothing was recorded
    from ._follow import follow

    return follow(json.loads(line))


def _beside(session: str, tape: str) -> int:
    """As `baro run --mlflow` calls it."""
    from ._auto import _from_environment
    from ._follow import follow

    request = {**_from_environment(), "tape": tape, "live": True, "artifacts": True}
    run = os.environ.pop("MLFLOW_RUN_ID", None)
    return follow({**request, "run_id": run} if run else {**request, "session": session, "or_new": True})


def main() -> int:
    what = sys.argv[1:2]
    if what == ["follow"]:
        return _follow()
    if what == ["beside"] and len(sys.argv) == 4:
        return _beside(sys.argv[2], sys.argv[3])
    if what == ["log"]:
        return _log(sys.argv[2:])
    if what == ["status"]:
        return _status(sys.argv[2:])
    print((__doc__ or "").strip())
    return 0 if what in ([], ["--help"], ["-h"]) else 2


if __name__ == "__main__":
    sys.exit(main())
