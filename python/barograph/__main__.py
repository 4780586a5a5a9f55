# SPDX-License-Identifier: Apache-2.0
"""`python -m barograph` and the scripts `baro` and `barograph`: become the program baro. Nothing else is imported: this
stands in front of short commands."""

import os
import sys

from barograph import _where


def main() -> None:
    if sys.argv[1:] == ["--where"]:
        print(_where.baro())
        return
    path = _where.baro() if _where.is_linux() else ""
    if not path:
        sys.exit(
            "barograph: the program baro is not installed: it is neither in this package nor in PATH"
            if _where.is_linux()
            else "barograph: Linux only"
        )
    if sys.argv[1:2] == ["export"]:  # its Parquet is written by a Python: this one, which may not be that of PATH
        os.environ.setdefault("BARO_PYTHON", sys.executable)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"barograph: can't execute {path}: {error.strerror}")


if __name__ == "__main__":
    main()
