# SPDX-License-Identifier: Apache-2.0
"""compare() and the table of many runs: what libbaro's run set and the summaries have, and no values of their own."""

import json
import subprocess

import pytest

import barograph
from barograph import _where


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three runs of a job on each side; those after write 8 MB, start one process more, and have a phase twice."""
    made = tmp_path_factory.mktemp("runs")
    job = "baro() { :; }; head -c 1000000 /dev/zero > f; %s"
    for i in range(3):
        for side, more in ("before", "true"), ("after", "head -c 8000000 /dev/zero > f; head -c 9 f > g"):
            phase = f"; {_where.baro()} phase -q fit -- true" * 2 if side == "after" else ""
            barograph.run(["sh", "-c", job % more + phase], tape=made / f"{side}-{i}.baro", cwd=made,
                          tags={"side": side, "git.commit": f"c{i}"}, name=f"job {i}")
    return made


def diff(*arguments):
    return json.loads(subprocess.run([_where.baro(), "diff", "--json", *map(str, arguments)], capture_output=True,
                                     text=True, check=True).stdout)


def test_the_rows_are_those_of_baro_diff(folder):
    said = diff("--before", folder / "before-*", "--after", folder / "after-*")
    result = barograph.compare(str(folder / "before-*"), str(folder / "after-*.baro"))
    assert len(result.before) == len(result.after) == 3 and len(result.rows) == len(said["differences"]) > 10
    for row, d in zip(result.rows, said["differences"]):
        for name in "scope", "name", "fact", "unit", "before", "after", "shift", "floor", "mark", "runs_before", "runs_after":
            assert getattr(row, name) == (pytest.approx(d[name]) if isinstance(d[name], float) else d[name]), name
        assert row.verdict == ("cannot tell" if d["answer"] == "unknown" else d["answer"])
        assert row.runs_needed == (d["runs_to_decide"] or None)
        assert row.interval == (None if d["low"] is None else pytest.approx((d["low"], d["high"])))
    written = result.row("io_wchar_bytes")
    assert written.verdict == "changed" and 7_900_000 < written.difference < 9_000_000
    assert result.row("cpu_ns", "phase", "fit").verdict == "new" and result.row("cpu_ns", "phase", "fit") in result.changed
    assert [c.what for c in result.circumstances] == [c["what"] for c in said["circumstances"]]


def test_what_is_printed(folder):
    text = str(barograph.compare(folder / "before-0.baro", folder / "after-0.baro"))
    sentence, _, table = text.partition("\n\n")
    assert sentence.startswith("Changed:") and "write() +8." in sentence and "Cannot tell:" in sentence
    assert "\n" not in table.splitlines()[0] and table.split()[:3] == ["before", "after", "difference"]
    assert any(line.startswith("write() ") and line.endswith("  changed") for line in table.splitlines())
    assert not any(len(line) > 100 for line in text.splitlines())
    same = barograph.compare(folder / "before-0.baro", folder / "before-0.baro")
    assert same.changed == [] and "No change is certain." in str(same)
    assert "<table>" in same._repr_html_() and "write()" in same._repr_html_()


def test_what_a_side_may_be(folder):
    one = folder / "before-0.baro"
    tape = barograph.open(one)
    for given in one, str(one), tape, [one], [tape, one], barograph.runs(one), barograph.runs(str(folder / "before-0*"))[0]:
        assert [run.path for run in barograph.compare(given, one).before] == [str(one)]
    everything = barograph.runs(folder)
    assert len(everything) == 6 == len(barograph.runs(folder, one))
    assert [r.name for r in barograph.runs(str(folder / "after-*"))] == ["after-0.baro", "after-1.baro", "after-2.baro"]
    assert len(barograph.compare(everything.filter(lambda r: r.tags["side"] == "before"), str(folder / "after-*")).before) == 3
    assert len(barograph.compare(barograph.Tape.from_bytes(one.read_bytes()), tape).rows) > 5
    for wrong, error in (("none-*.baro", barograph.TapeNotFoundError), ("@99", barograph.TapeNotFoundError),
                         (__file__, barograph.NotATapeError), ([], barograph.ArgumentError)):
        with pytest.raises(error):
            barograph.compare(wrong, one)


def test_a_table_of_many_runs(folder):
    table = barograph.runs(folder).table()
    rows = table.to_dicts()
    assert list(rows[0]) == table.columns and len(rows) == len(table)
    for tape in map(barograph.open, folder.glob("*.baro")):
        mine = [r for r in rows if r["run"] == tape.path]
        cells = {(r["scope"], r["name"], r["occurrence"], r["fact"]): r for r in mine}
        assert len(cells) == len(mine), "each cell is there once"
        label, job = mine[0], tape.summary.job
        assert (label["host"], label["kernel"]) == (tape.header.host, tape.header.kernel)
        assert label["start"] == tape.header.start_ns and label["title"] == tape.header.name
        assert (label["commit"], label["tag_git.commit"], label["tag_side"]) == (
            tape.tags["git.commit"], tape.tags["git.commit"], tape.tags["side"])
        for name, value in job:
            cell = cells.get(("job", "", 1, name))
            if isinstance(value, barograph.Absent):
                assert cell is None or (cell["value"], cell["absent"]) == (None, value.reason)
            elif isinstance(value, (int, float)):
                assert cell["value"] == float(value) and cell["absent"] is None
                exact = value.is_exact if hasattr(value, "is_exact") else True
                assert (cell["mark"] is None) == exact
                assert (cell["low"], cell["high"]) == (float(value), float(value)) or not exact
        for command in tape.commands:
            assert cells["command", str(command.name), 1, "processes"]["value"] == command.processes
        assert sum(key[0] == "phase" and key[3] == "cpu_ns" for key in cells) == len(tape.phases)
    assert {r["scope"] for r in rows} >= {"job", "command", "phase", "host"}
    assert {r["unit"] for r in rows if r["fact"] == "cpu_ns"} == {"ns"}


def test_parts_of_a_table(folder):
    runs = barograph.runs(folder)
    few = runs.table(scopes="job,command", facts=["cpu_ns"]).to_dicts()
    assert {(r["scope"], r["fact"]) for r in few} == {("job", "cpu_ns"), ("command", "cpu_ns")}
    assert sum(r["scope"] == "job" for r in few) == 6
    with pytest.raises(barograph.ArgumentError, match="no scope 'jobs'; there are job, command"):
        runs.table(scopes="jobs")


def test_a_run_that_cannot_be_read_is_named(folder, tmp_path):
    (tmp_path / "torn.baro").write_bytes((folder / "before-0.baro").read_bytes()[:40])
    rows = barograph.runs(folder / "before-0.baro", tmp_path / "torn.baro").table(facts="cpu_ns").to_dicts()
    assert rows[-1]["run"].endswith("torn.baro") and rows[-1]["absent"].startswith("can't be read: ")
    with pytest.raises(barograph.Error):
        barograph.compare(tmp_path / "torn.baro", folder / "before-0.baro")


def test_bounds():
    from barograph._facts_table import _bounded, _cell
    from barograph.values import ESTIMATE, LOWER_BOUND, UPPER_BOUND, Absent, Whole

    values = {"a_bytes": Whole(5, LOWER_BOUND), "a_at_most_bytes": Whole(9), "b_ns": Whole(5, LOWER_BOUND),
              "c_ns": Whole(5, UPPER_BOUND), "d_ns": Whole(5, LOWER_BOUND | UPPER_BOUND), "e": Whole(5, ESTIMATE),
              "f": Whole(5), "g": Absent("denied"), "p": Whole(3, LOWER_BOUND), "p_at_most": Whole(4)}
    group = [("job", "", 1, name, value) for name, value in values.items()]
    cells = {cell[3]: _cell(cell, most, dict.fromkeys(values, ""))[5:] for cell, most in _bounded(group)}
    assert cells["a_bytes"] == (5.0, 5.0, 9.0, "lower_bound", None) and cells["b_ns"] == (5.0, 5.0, None, "lower_bound", None)
    assert cells["c_ns"] == (5.0, 0.0, 5.0, "upper_bound", None) and cells["e"] == (5.0, None, None, "estimate", None)
    assert cells["d_ns"] == (5.0, None, None, "estimate", None) and cells["f"] == (5.0, 5.0, 5.0, None, None)
    assert cells["g"] == (None, None, None, None, "denied") and cells["p"] == (3.0, 3.0, 4.0, "lower_bound", None)


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_other_libraries_read_them(folder, others, library):
    module = pytest.importorskip(library)
    result = barograph.compare(str(folder / "before-*"), str(folder / "after-*"))
    for made in barograph.runs(folder).table(), result.table():
        if library == "pyarrow":
            assert module.table(made).num_rows == len(made)
        elif library == "polars":
            assert module.DataFrame(made).shape == (len(made), len(made.columns))
        else:
            assert module.sql("select count(*), count(fact) from made").fetchall() == [(len(made), len(made))]
