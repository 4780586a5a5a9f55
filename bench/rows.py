#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rows of processes cost on their way into polars and pandas: rows.py TAPE [TIMES].

The least CPU time of all threads of this process, and the least wall time, of TIMES (5); with twenty columns and with
all. "arrow" is the reading alone, by the bare interface. `tape_density 200 20 5000 FILE` makes a tape of a million.
"""

import ctypes
import sys
import time

TWENTY = (
    "t_ns,pid,start_ticks,ppid,uid,name,cpu_user,cpu_system,rss,rss_anon,rss_file,virtual,threads,fds,io_rchar,"
    "io_wchar,io_read,io_write,faults_minor,state"
)


def read(rows):
    """All arrays, given back at once."""
    from barograph import _abi, rows as module

    at = rows._stream()
    stream = module._Arrow.from_address(at)
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    while True:
        array = _abi.ArrowArray()
        if stream.get_next(at, ctypes.addressof(array)) or not array.release:
            break
        release(array.release)(ctypes.addressof(array))
    stream.release(at)
    module._libc().free(at)


def ways():
    found = {"arrow": read}
    try:
        import pyarrow

        found["pyarrow"] = pyarrow.table
    except ImportError:
        pass
    try:
        import polars

        found["polars"] = polars.DataFrame
    except ImportError:
        pass
    try:
        import pandas

        found["pandas"] = pandas.DataFrame.from_arrow
    except (ImportError, AttributeError):
        pass
    return found


def main(path, times):
    import barograph

    tape = barograph.open(path)
    for what, columns in (("twenty columns", TWENTY), ("all columns", None)):
        rows = tape.rows("process", columns)
        for name, way in ways().items():
            cpu, wall = [], []
            for _ in range(times):
                begun, spent = time.perf_counter(), time.process_time()
                kept = way(rows)
                wall.append(time.perf_counter() - begun)
                cpu.append(time.process_time() - spent)
                del kept
            print(f"{what:<15} {name:<8} {min(cpu) * 1e3:6.0f} ms CPU {min(wall) * 1e3:6.0f} ms", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
