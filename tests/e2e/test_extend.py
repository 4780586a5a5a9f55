# SPDX-License-Identifier: Apache-2.0
"""What it takes to add a metric and a kind of entity (CONTRIBUTING.md): a copy of the tree is changed in these places
and no others, and every reader has both.
"""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A metric of processes from a file that is read already: its row and its assignment.
METRIC = {
    "src/libbaro/metric/process.def": ("END", 'METRIC(session, NONE, INFO, STAT, ALWAYS, "id of its session")\n'),
    "src/recorder/collectors/processes/process.c": (
        "    set(m, PROCESS_threads, st->num_threads);\n",
        "    set(m, PROCESS_session, (uint64_t)st->session);\n",
    ),
}

# A kind of entity: its metrics, its lines in the table of kinds, and its collector, which is a row of the sampler.
KIND = {
    "src/libbaro/metric/pool.def": (
        "END",
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        'METRIC(entropy, NONE, GAUGE, UPTIME, ALWAYS, "bits of entropy in the kernel\'s pool")\n',
    ),
    "src/libbaro/metric/kinds.def": (
        "END",
        '\n#define KIND POOL\nKIND_BEGIN(pool)\n#include "libbaro/metric/pool.def"\nKIND_END(pool, MAX)\n#undef KIND\n',
    ),
    "src/recorder/collectors/pool/pool_row.c": (
        "END",
        """/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "base/fd.h"
#include "base/span.h"
#include "recorder/collectors/pool/pool_row.h"
#include "recorder/sampler/entity.h"

static bool tick(void *state, const struct collector_tick *t)
{
    struct pool_row *r = state;
    char text[32];
    uint64_t bits;
    ssize_t len = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/entropy_avail", text, sizeof(text));
    struct span rest = span_of(text, len > 0 ? (size_t)len : 0);
    if (!r->table.n)
        entity_add(&r->table, &r->sampling->entity_ids, "input", "");
    if (r->table.n && scan_u64(&rest, &bits))
        entity_put(r->table.at[0], POOL_entropy, bits);
    t->sample->entities[KIND_pool] = entity_view(&r->table);
    t->sample->entities[KIND_pool].read_ns = t->now_ns;
    return true;
}

static void close_pool(void *state, bool exiting)
{
    struct pool_row *r = state;
    if (!exiting)
        entity_table_done(&r->table);
}

const struct collector pool_collector = {
    .name = "pool", .kinds = COLLECTOR_KIND(KIND_pool), .tick = tick, .close = close_pool};
""",
    ),
    "src/recorder/collectors/pool/pool_row.h": (
        "END",
        """/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POOL_ROW_H
#define POOL_ROW_H
#include "recorder/sampler/sampling.h"
#include "recorder/sampler/entity.h"
struct pool_row {
    struct sampling *sampling;
    struct entity_table table;
};
extern const struct collector pool_collector;
#endif
""",
    ),
    "src/recorder/collectors/sampler.h": ("    struct own_cost own;\n", "    struct pool_row pool;\n"),
    "src/recorder/collectors/sampler.c": (
        "    sampler_add(s, &cgroup_collector, &s->cgroups);\n",
        "    s->pool = (struct pool_row){.sampling = g, .table = {.kind = KIND_pool}};\n"
        "    sampler_add(s, &pool_collector, &s->pool);\n",
    ),
    "src/recorder/meson.build": ("  'collectors/sampler.c',\n", "  'collectors/pool/pool_row.c',\n"),
}


INCLUDE = {"src/recorder/collectors/sampler.h": ('#include "recorder/sampler/own_cost.h"\n', '#include "recorder/collectors/pool/pool_row.h"\n')}


def change(tree, places):
    for name, (after, text) in places.items():
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else ""
        assert after == "END" or old.count(after) == 1, name
        path.write_text(old + text if after == "END" else old.replace(after, after + text))


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    if not shutil.which("meson") or not shutil.which("ninja"):
        pytest.skip("no meson and ninja to build a copy with")
    tree = tmp_path_factory.mktemp("extended") / "tree"
    shutil.copytree(
        ROOT,
        tree,
        ignore=lambda folder, names: [n for n in names if n in (".git", "build") or n.startswith("build-")],
        symlinks=True,
    )
    change(tree, METRIC)
    change(tree, KIND)
    change(tree, INCLUDE)
    options = ["-Dfuzz=off", "--werror", "--buildtype=plain"]
    subprocess.run(["meson", "setup", "build", *options], cwd=tree, check=True, stdout=subprocess.PIPE)
    done = subprocess.run(["ninja", "-C", "build", "baro", "baro-read"], cwd=tree, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return tree


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.not_sanitized("it is another build")
@pytest.mark.slow
def test_a_metric_and_a_kind_in_a_copy_of_the_tree(extended, tmp_path):
    baro, tape = str(extended / "build/baro"), str(tmp_path / "t.baro")

    def out(*args):
        done = subprocess.run([baro, *args], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    out("run", "-q", "-m", "default,session", "-i", "50ms", "-o", tape, "--", "sh", "-c", "sleep 0.5; exit 0")
    assert {row["session"] for row in rows(out("export", tape)) if row["session"]} == {str(os.getsid(0))}
    pools = rows(out("export", "-e", "pool", tape))
    assert len(pools) > 3 and {row["name"] for row in pools} == {"input"} and all(int(r["entropy"]) > 0 for r in pools)
    lines = [json.loads(line) for line in out("export", "-e", "pool", "--format", "jsonl", tape).splitlines()]
    assert [line["entropy"] for line in lines] == [int(row["entropy"]) for row in pools]
    for args in ([], [tape]):
        metrics = out("metrics", *args)
        assert "id of its session" in metrics and "bits of entropy" in metrics
    doctor = out("doctor", "--metrics")
    assert any(line.split()[:1] == ["entropy"] or " entropy " in line for line in doctor.splitlines()), doctor
    # A library that was built without them, and a program that knows neither, use the schema in the tape.
    other = pathlib.Path(os.environ.get("BARO", ROOT / "build/baro"))
    plain = subprocess.run([other, "export", "-e", "pool", tape], capture_output=True, text=True)
    assert [row["entropy"] for row in rows(plain.stdout)] == [row["entropy"] for row in pools], plain.stderr
    library = other.parent / "libbaro.so.0"
    for lib in (extended / "build/libbaro.so.0", library):
        done = subprocess.run(
            [sys.executable, ROOT / "examples/entities_csv.py", tape, "pool", str(lib)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert [row["entropy"] for row in rows(done.stdout)] == [row["entropy"] for row in pools]
