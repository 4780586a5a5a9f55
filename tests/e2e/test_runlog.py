# SPDX-License-Identifier: Apache-2.0
"""Lines of a RunLog come back from `export --format runlog` as they were written; what can't be kept is named."""

import json
import math
import random

from jobs import script

LEVELS = 16  # of a value that is kept
TEXTS = ["", "a b", "ä", "\u202ereordered", "😀", "\x7f", "\x1b[0m", "\t\r\n\"\\/", "\x00", "half \ud800", "x" * 5000,
         "=1+1"]
NUMBERS = [0, -1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**40, 0.1, -0.0, 1e22, 5e-324, 1.7976931348623157e308,
           0.30000000000000004, math.nan, math.inf, -math.inf, 3.0, True, False, None, 1e-7, 2.5e-310]
NAMES = ["loss", "step", "id", "duration_ns", "time", "monotonic_ns", "pid", "start_ticks", "begin", "mark", "phase",
         "data", "at ä", "written_ts", "attributes_beside", "time_error_ns", "is_open", "x" * 200]


def runlog(run, tape):
    return [json.loads(line) for line in run("export", "--format", "runlog", tape, status=0).stdout.splitlines()]


def is_same(a, b):
    """Also the types, signs of zeros, and NaN."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(is_same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(is_same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def record(run, tape, lines):
    """Writes the lines in a job."""
    (tape.parent / "lines").write_bytes("".join(line + "\n" for line in lines).encode())
    run.record(tape, script("""
        import os
        with open(os.environ["BARO_EVENTS"], "ab", 0) as f:
            for line in open("lines", "rb"):
                f.write(line)
    """), cwd=str(tape.parent))
    return [e["text"] for e in run.export(tape, "event") if e["event"] == "warning" and "left out" in e["text"]]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def scalar(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return self.random.choice(TEXTS)
        if kind == 1:
            return self.random.choice(NUMBERS)
        if kind == 2:
            return self.random.uniform(-1, 1) * 10 ** self.random.randint(-300, 300)
        return self.random.randint(-(2**70), 2**70) >> self.random.randrange(70)

    def value(self, levels):
        kind = self.random.randrange(4) if levels else 3
        if kind == 0:
            return [self.value(levels - 1) for _ in range(self.random.randrange(4))]
        if kind == 1:
            return {self.random.choice(NAMES): self.value(levels - 1) for _ in range(self.random.randrange(4))}
        return self.scalar()

    def line(self, i):
        ts = f"20{i % 70:02d}-01-02T03:04:05.{i:03d}{self.random.choice(['+00:00', 'Z', '-05:30'])}"
        extra = {name: self.value(4) for name in self.random.sample(NAMES, self.random.randrange(6))}
        if i % 2:
            return {
                "ts": ts,
                "type": "phase",
                "name": f"phase {i}",
                "seconds": self.random.choice([round(self.random.random() * 100, 3), 7, 0.123456789012, -0.25, 0.0]),
                **extra,
            }
        line = {"ts": ts, "type": "event", "event": f"event {i}"}
        if i % 8 == 0:
            line.update(extra)
        elif extra:
            line["data"] = self.value(3) if i % 16 == 2 else extra
        return line


def test_random_lines_come_back(run, tape):
    """As they were written, whenever that was: most of them before the recording began."""
    generator = Generator(7)
    given = []
    while len(given) < 200:
        line = generator.line(len(given))
        text = json.dumps(line, ensure_ascii=len(given) % 3 > 0 or "\\ud800" in json.dumps(line))
        given += [text] if len(text.encode()) < 16000 else []
    assert record(run, tape, given) == []
    got = {line.get("name") or line["event"]: line for line in runlog(run, tape)}
    assert len(got) == len(given)
    for text in given:
        line = json.loads(text)
        assert is_same(line, got[line.get("name") or line["event"]]), text


def test_spelling(run, tape):
    """Numbers that only their text holds, and a name that is there twice."""
    begin = '{"ts": "2026-01-02T03:04:05Z", "type": '
    given = [begin + '"phase", "name": "a", "seconds": 1.5, "k": 1e400, "l": [1.10, 1E5, -0]}',
             begin + '"event", "event": "b", "data": {"k": {"a": 1, "a": [2]}, "l": 123456789012345678901.5}}',
             begin + '"event", "event": "c", "data": {"k": 1, "k": 2}}']
    assert record(run, tape, given) == []
    out = run("export", "--format", "runlog", tape, status=0).stdout
    assert [json.loads(line) for line in out.splitlines()] == [json.loads(line) for line in given]
    assert '"k": 1e400, "l": [1.10, 1E5, -0]' in out


def test_what_cannot_be_kept_is_named(run, tape):
    def nested(levels):
        return json.loads("[" * levels + "]" * levels)

    line = {"ts": "2026-01-02T03:04:05Z", "type": "phase", "name": "fit", "seconds": 1.5}
    given = [{**line, "deepest": nested(LEVELS)}, {**line, "kept": 1, "deep": nested(LEVELS + 1)},
             {**line, "very deep": nested(900)}, {**line, "long": "x" * 16000}, {**line, "too long": "x" * 17000},
             {**line, **{f"k{i}": i for i in range(40)}}]
    notes = record(run, tape, [json.dumps(g) for g in given])
    got = runlog(run, tape)
    assert got == [given[0], {**line, "kept": 1}, line, given[3], {**line, **{f"k{i}": i for i in range(28)}}]
    assert len(notes) == 1
    assert '1 lines are too long or no JSON, the first begins with {"ts": "2026-01-02T03:04:05Z"' in notes[0]
    assert '14 values, the first is "deep" of "fit", which is nested too deeply' in notes[0]


def test_nested_values_elsewhere(run, tape):
    """JSON of other outputs has them as values, and null for what only Python's JSON has; text has them as they are."""
    record(
        run,
        tape,
        [
            '{"begin": "m", "none": null, "by": {"n": [1, NaN, -Infinity, "\\u202e\u202e\x7f"]}, "loss": 0.5,'
            ' "big": 18446744073709551616}'
        ],
    )
    done = run("summary", "--by", "phase", "--json", tape, status=0).stdout
    assert "\u202e" not in done and "\x7f" not in done
    expected = {"none": None, "by": {"n": [1, None, None, "\u202e\u202e\x7f"]}, "loss": 0.5, "big": 2**64}
    assert json.loads(done)["phases"][0]["attributes"] == expected
    (event,) = [e for e in run.export(tape, "event") if e["event"] == "phase_begin"]
    assert {k: event["attributes"][k] for k in expected} == expected
    text = run("summary", "--by", "phase", tape, status=0).stdout
    assert "m none=null" in text


def test_words_that_are_no_json_numbers(run, baro, tape):
    """`baro mark` gives what JSON has as a number as one, and all else as text."""
    run.record(tape, f"{baro} mark m a=007 b=1. c=-Infinity d=-0.5 e=1e400 f=NaN g=18446744073709551616")
    (line,) = runlog(run, tape)
    assert line["data"] == {"a": "007", "b": "1.", "c": "-Infinity", "d": -0.5, "e": math.inf, "f": "NaN", "g": 2**64}
