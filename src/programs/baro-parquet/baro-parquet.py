# SPDX-License-Identifier: Apache-2.0
"""Writes rows that come as a stream of Arrow IPC messages on standard input to standard output, as Parquet.

`baro export --format parquet` executes it. It needs pyarrow or polars: what this Python has.
"""

import importlib
import signal
import sys


class Output:
    """Standard output, also where it is a pipe: libraries ask for the position in it, which a pipe can't tell."""

    closed = False

    def __init__(self, file):
        self.file, self.at = file, 0

    def write(self, data):
        self.at += self.file.write(data)
        return len(data)

    def tell(self):
        return self.at

    def flush(self):
        self.file.flush()

    def close(self):
        self.flush()

    def writable(self):
        return True

    def readable(self):
        return False

    def seekable(self):
        return False


def with_pyarrow(pyarrow, rows, output):
    """A batch at a time, each with dictionaries of its own. What the fields mean goes into the file."""
    parquet = importlib.import_module("pyarrow.parquet")
    with pyarrow.ipc.open_stream(rows) as batches:
        with parquet.ParquetWriter(output, batches.schema, compression="zstd") as file:
            for batch in batches:
                file.write_batch(batch)


def with_polars(polars, rows, output):
    """All rows are in memory at once; what the fields mean gets lost."""
    polars.read_ipc_stream(rows).write_parquet(output, compression="zstd")


WAYS = {"pyarrow": with_pyarrow, "polars": with_polars}


def write():
    for name, way in WAYS.items():
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        output = Output(sys.stdout.buffer)
        way(library, sys.stdin.buffer, output)
        output.flush()
        return ""
    return f"{sys.executable} has neither pyarrow nor polars: `{sys.executable} -m pip install pyarrow` installs one"


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        failed = write()
    except Exception as error:  # whatever a library raises: a disk that is full, ...
        failed = " ".join(str(error).split()) or type(error).__name__
    if failed:
        print(f"baro export: --format parquet: {failed}", file=sys.stderr)
        sys.stdout = None  # nothing is left to be flushed
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
