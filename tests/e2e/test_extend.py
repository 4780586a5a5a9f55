# SPDX-License-Identifier: Apache-2.0
"""The recipes of CONTRIBUTING.md: a copy of the tree is changed in the places that each one names, and in no others."""

import csv
import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import SOURCE

# A metric of processes from a file that is read already: its row and its assignment.
METRIC = {
    "src/libbaro/metric/process.def": ("END", 'METRIC(session, NONE, INFO, STAT, ALWAYS, "id of its session")\n'),
    "src/recorder/collectors/processes/process_stat.c": (
        "        member_set_value(m, PROCESS_threads, st->num_threads);\n",
        "    member_set_value(m, PROCESS_session, (uint64_t)st->session);\n",
    ),
}

# A kind of entity: its metrics, and its lines in the table of kinds.
KIND = {
    "src/libbaro/metric/pool.def": (
        "END",
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        'METRIC(entropy, NONE, GAUGE, UPTIME, ALWAYS, "bits of entropy in the kernel\'s pool")\n',
    ),
    "src/libbaro/metric/kinds.def": (
        "END",
        '\n#define KIND POOL\nKIND_BEGIN(pool)\n#include "libbaro/metric/pool.def"\nKIND_END(pool, MAX, UNKNOWN)\n#undef KIND\n',
    ),
    "src/programs/common/row_kinds.def": ("END", 'ROW_KIND("pool", "the pool of random bits")\n'),
}

# A collector: its folder, which has the example of collectors/README.md, its line in the list of collectors, and its
# file in that of sources.
COLLECTOR = {
    "src/recorder/collectors/pool/pool_row.c": (
        "END",
        re.search(r"```c\n(.*?)```", (SOURCE / "src/recorder/collectors/README.md").read_text(), re.S).group(1),
    ),
    "src/recorder/collectors/independent.def": ("END", "COLLECTOR(pool)\n"),
    "src/recorder/meson.build": ("recorder = static_library('baro-recorder', files(\n", "  'collectors/pool/pool_row.c',\n"),
}


# A command that reads tapes: its file, its row, its declaration, and its file in the list of sources.
COMMAND = {
    "src/programs/baro-read/cmd_samples.c": (
        "END",
        """/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/tape_args.h"

int cmd_samples(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct reader_path path;
    struct baro_record record;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf out = {0};
    unsigned n = 0;
    int code;
    int status = reader_open(cli, argv[0], &tape, &path);
    (void)s;
    if (status)
        return status;
    while ((code = baro_tape_next(tape, &record, &err)) > 0)
        n += record.kind == BARO_RECORD_SAMPLE;
    baro_tape_close(tape);
    if (code < 0)
        return cli_fail(cli, &err);
    buf_printf(&out, "%u samples\\n", n);
    status = cli_out(cli, &out);
    buf_done(&out);
    return status;
}
""",
    ),
    "src/programs/common/command_table.c": (
        "const struct cli_command cli_commands[] = {\n",
        """    {.name = "samples",
     .operands = "[TAPE]",
     .summary = "how many samples a tape has",
     .options = options_none,
     .function = cmd_samples,
     .operands_max = 1},
""",
    ),
    "docs/help.md": ("END", "\n# samples\nCounts them.\n"),
    "src/programs/common/cli.h": ("cli_function cmd_help;\n", "__attribute__((weak)) cli_function cmd_samples;\n"),
    "src/programs/meson.build": ("baro_read_sources = ends + files(\n", "  'baro-read/cmd_samples.c',\n"),
}

# A dialect: its columns, its row, and its name.
DIALECT = {
    "src/output/rows/dialect_table.c": [
        (
            "#define COLUMNS(of) .columns = (of), .n = sizeof(of) / sizeof(*(of))\n",
            """
static const struct dialect_column faults[] = {
    {"when", FROM_TIME, NULL, FORM_EPOCH},
    {"major", FROM_JOB, "faults_major", FORM_COUNT},
};
""",
        ),
        (
            "const struct dialect_table dialect_tables[] = {\n",
            '    {"faults", "page faults of a job", BARO_KIND_PROCESS, .end = "\\n", COLUMNS(faults)},\n',
        ),
        ("const char *const dialect_names[] = {", '"faults", '),
    ]
}

# A figure: its row.
FIGURE = {
    "src/output/chart/figure_rows.c": (
        "const struct figure_row figure_rows[] = {\n",
        """    {{"hard_faults", "Hard page faults", "Page faults of the job that needed a disk", CHART_PER_SECOND, FIGURE_PAGE},
     {{"major", BARO_KIND_JOB, "faults_major", ROW_RATE, CHART_LINE, false}}, ORDER_CPU, false, NULL, NULL},
""",
    )
}


def change(tree, places):
    for name, pieces in places.items():
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        for after, text in pieces if isinstance(pieces, list) else [pieces]:
            old = path.read_text() if path.exists() else ""
            assert after == "END" or old.count(after) == 1, name
            path.write_text(old + text if after == "END" else old.replace(after, after + text))


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    if not shutil.which("meson") or not shutil.which("ninja"):
        pytest.skip("no meson and ninja to build a copy with")
    tree = tmp_path_factory.mktemp("extended") / "tree"
    shutil.copytree(SOURCE, tree,
                    ignore=lambda folder, names: [n for n in names if n in (".git", "build") or n.startswith("build-")],
                    symlinks=True)
    for places in (METRIC, KIND, COLLECTOR, COMMAND, DIALECT, FIGURE):
        change(tree, places)
    options = ["-Dfuzz=off", "--werror", "--buildtype=plain"]
    subprocess.run(["meson", "setup", "build", *options], cwd=tree, check=True, stdout=subprocess.PIPE)
    done = subprocess.run(["ninja", "-C", "build", "baro", "baro-read", "baro-report"], cwd=tree,
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return tree


def output(baro, *args):
    done = subprocess.run([baro, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.not_sanitized("it is another build")
@pytest.mark.slow
def test_a_command_a_dialect_and_a_figure_in_a_copy_of_the_tree(extended, tmp_path):
    tape, out = str(tmp_path / "t.baro"), functools.partial(output, str(extended / "build/baro"))
    out("run", "-q", "-i", "50ms", "-o", tape, "--", "sleep", "0.4")
    samples = len(rows(out("export", "-e", "job", tape)))
    assert out("samples", tape) == f"{samples} samples\n"
    assert "how many samples a tape has" in out("help") and "\nCounts them.\n" in out("samples", "--help")
    lines = out("export", "--dialect", "faults", tape).splitlines()
    assert lines[0] == "when,major" and len(lines) > 3 and all(line.endswith(",0") for line in lines[1:])
    assert "page faults of a job (--entity process)" in out("export", "--list")
    assert "Hard page faults" in out("plot", "hard_faults", tape)
    assert "Hard page faults" in out("report", "-o", "-", tape)


@pytest.mark.not_sanitized("it is another build")
@pytest.mark.slow
def test_a_metric_and_a_kind_in_a_copy_of_the_tree(extended, tmp_path):
    tape, out = str(tmp_path / "t.baro"), functools.partial(output, str(extended / "build/baro"))
    out("run", "-q", "-m", "default,session", "-i", "50ms", "-o", tape, "--", "sh", "-c", "sleep 0.5; exit 0")
    assert {row["session"] for row in rows(out("export", tape)) if row["session"]} == {str(os.getsid(0))}
    pools = rows(out("export", "-e", "pool", tape))
    assert "the pool of random bits" in out("export", "--list")
    assert len(pools) > 3 and {row["name"] for row in pools} == {"input"} and all(int(r["entropy"]) > 0 for r in pools)
    lines = [json.loads(line) for line in out("export", "-e", "pool", "--format", "jsonl", tape).splitlines()]
    assert [line["entropy"] for line in lines] == [int(row["entropy"]) for row in pools]
    for args in ([], [tape]):
        metrics = out("metrics", *args)
        assert "id of its session" in metrics and "bits of entropy" in metrics
    doctor = out("doctor", "--metrics")
    assert any(line.split()[:1] == ["entropy"] or " entropy " in line for line in doctor.splitlines()), doctor
    # A library that was built without them, and a program that knows neither, use the schema in the tape.
    other = pathlib.Path(os.environ.get("BARO", SOURCE / "build/baro"))
    plain = subprocess.run([other, "export", "-e", "pool", tape], capture_output=True, text=True)
    assert [row["entropy"] for row in rows(plain.stdout)] == [row["entropy"] for row in pools], plain.stderr
    library = other.parent / "libbaro.so.0"
    for lib in (extended / "build/libbaro.so.0", library):
        done = subprocess.run([sys.executable, SOURCE / "examples/entities_csv.py", tape, "pool", str(lib)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert [row["entropy"] for row in rows(done.stdout)] == [row["entropy"] for row in pools]
