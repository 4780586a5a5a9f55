# SPDX-License-Identifier: Apache-2.0
"""Writes rows that come as a stream of Arrow IPC messages on standard input to standard output, as Parquet.

`baro export --format parquet` executes it. It needs pyarrow or polars: what this Python has. With a folder, as `baro
export --fleet` executes it, it adds the rows of many jobs to the files there, which needs pyarrow.
"""

import fcntl
import importlib
import json
import os
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


class Fleet:
    """The tables of a folder: a file for each table, day and machine."""

    TABLES = ("job", "command", "phase", "device", "tag")
    EMPTY = "date=1970-01-01/host=_"  # a file without rows: a table has its columns before it has rows

    def __init__(self, folder, pyarrow):
        self.folder, self.arrow = folder, pyarrow
        self.parquet = importlib.import_module("pyarrow.parquet")
        self.compute = importlib.import_module("pyarrow.compute")
        self.has_schema = False

    def add_all(self, file):
        while line := file.readline():
            head = json.loads(line)
            self.add(head["place"], head["tapes"], {name: self.rows(file) for name in self.TABLES})

    def rows(self, file):
        with self.arrow.ipc.open_stream(file) as batches:
            rows = batches.read_all()
        plain = [
            self.arrow.field(field.name, getattr(field.type, "value_type", field.type)) for field in rows.schema
        ]
        return rows.cast(self.arrow.schema(plain))

    def add(self, place, tapes, tables):
        """Rows of tapes that are there already are replaced: it may be done again, and nothing is there twice."""
        index = os.path.join(self.folder, ".tapes", place)
        os.makedirs(os.path.dirname(index), exist_ok=True)
        with open(index, "a+", encoding="ascii") as known:
            fcntl.flock(known, fcntl.LOCK_EX)
            known.seek(0)
            whole = known.read()
            for name, rows in tables.items():
                if not self.has_schema:
                    self.keep_schema(name, rows.schema)
                self.replace(os.path.join(self.folder, name, place, "part.parquet"), rows, tapes)
            self.has_schema = True
            gap = "" if whole.endswith("\n") or not whole else "\n"  # a line that was cut off
            known.write(gap + "".join(f"{name} {size}\n" for name, size in tapes))
            known.flush()
            os.fsync(known.fileno())

    def keep_schema(self, name, schema):
        path = os.path.join(self.folder, name, self.EMPTY, "part.parquet")
        if not os.path.exists(path) or not set(schema.names) <= set(self.parquet.read_schema(path).names):
            self.write(path, schema.empty_table())

    def replace(self, path, rows, tapes):
        if os.path.exists(path):
            old = self.parquet.ParquetFile(path).read()
            mine = self.arrow.array([name for name, _ in tapes])
            kept = old.filter(self.compute.invert(self.compute.is_in(old["id"], value_set=mine)))
            rows = self.arrow.concat_tables([kept, rows], promote_options="default")
        elif not rows.num_rows:
            return
        self.write(path, rows.sort_by([("start", "ascending"), ("id", "ascending")]))

    def write(self, path, rows):
        """The file is whole at any time."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = f"{path}.{os.getpid()}.new"
        try:
            self.parquet.write_table(rows, new, compression="zstd")
            with open(new, "rb") as file:
                os.fsync(file.fileno())
            os.replace(new, path)
        except BaseException:
            if os.path.exists(new):
                os.unlink(new)
            raise


def write_fleet(folder):
    try:
        pyarrow = importlib.import_module("pyarrow")
    except ImportError:
        return f"{sys.executable} has no pyarrow: `{sys.executable} -m pip install pyarrow` installs it"
    Fleet(folder, pyarrow).add_all(sys.stdin.buffer)
    return ""


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    folder = sys.argv[-1] if "--fleet" in sys.argv else None
    try:
        failed = write_fleet(folder) if folder else write()
    except Exception as error:  # whatever a library raises: a disk that is full, ...
        failed = " ".join(str(error).split()) or type(error).__name__
    if failed:
        print(f"baro export: --{'fleet' if folder else 'format parquet'}: {failed}", file=sys.stderr)
        sys.stdout = None  # nothing is left to be flushed
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
