# SPDX-License-Identifier: Apache-2.0
"""baro export --format arrow: a stream of Arrow IPC messages, read by arrow_file.py."""

import pathlib

import arrow_file

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_file_of_many_batches(run, tape):
    """Mostly more rows than a batch has: texts are numbered anew in each."""
    run.record(tape, "for i in $(seq 300); do sleep 3 & done; wait", "--interval", "10ms", "--overhead", "off")
    columns = "t_ns,pid,name,state,user"
    done = run("export", "--format", "arrow", "--columns", columns, tape, status=0, text=False)
    rows = [tuple(row.values()) for row in run.export(tape, "process", "--columns", columns)]
    names, _, found = arrow_file.read(done.stdout)
    assert names == columns.split(",")
    assert found == [row[:5] for row in rows]


def test_file_to_a_path_and_what_does_not_fit(run, tape, work):
    run.record(tape, "true", "--interval", "20ms")
    made = work / "rows.arrows"
    run("export", "--format", "arrow", "-e", "job", "-o", made, tape, status=0)
    assert made.read_bytes() == run("export", "--format", "arrow", "-e", "job", tape, text=False).stdout
    for option in (["--follow"], ["--safe"], ["--dialect", "spare-cores"]):
        done = run("export", "--format", "arrow", *option, tape, status=2)
        assert option[0] in done.stderr and done.stdout == ""


def test_damage_is_told(run, tape, work):
    run.record(tape, "sleep 0.5", "--interval", "10ms")
    data = bytearray(tape.read_bytes())
    late = len(data) // 8 * 7  # behind the header, which is half of a short tape
    data[late:late + 300] = bytes(300)
    tape.write_bytes(data)
    told = [run("export", "--format", form, tape, status=0, text=False).stderr for form in ("csv", "arrow")]
    assert told[0] == told[1]


def test_every_row_of_a_tape_without_samples(run):
    """Rows with a phase are looked for from the beginning, also where no sample gives the tape a range."""
    tape = SOURCE / "tests/tape/v1-attributes.baro"
    rows = run.export(tape, "event")
    assert rows and len(run.export(tape, "event", "--columns", "t_ns,phase")) == len(rows)
