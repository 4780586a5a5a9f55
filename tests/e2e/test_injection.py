# SPDX-License-Identifier: Apache-2.0
"""Hostile names and arguments of real processes (terminal sequences, formulas, markup, JSON, Prometheus labels,
reordered text, invalid UTF-8): every output is plain text without control characters, Python's parsers read it, and
each parsed value can be converted back into the bytes of exactly one name.
"""

import csv
import io
import json
import os
import random
import re
import shlex
import subprocess

import pytest

from conftest import beside
from readers import unescape

TAPES, EACH, ARGUMENTS = 3, 450, 3  # 3 * 450 * (1 + 3) = 5400 strings
ENTITIES = ["process", "job", "event", "exit", "host", "cpu", "disk", "fs", "net", "sensor", "cgroup", "task"]
DIALECTS = [("spare-cores", "process"), ("spare-cores", "host"), ("spare-cores-mended", "process"),
            ("spare-cores-mended", "host"), ("pytyche-cpu", "host"), ("oasislmf", "process")]

FRAGMENTS = [
    # what terminals interpret: colours, titles, clipboard, cursor, answers, 8-bit forms, and what overwrites a line
    b"\x1b[31m", b"\x1b]0;title\x07", b"\x1b]52;c;ZXZpbA==\x07", b"\x1b[2J\x1b[H", b"\x1b[6n", b"\x1bP$q\x1b\\",
    b"\x1bc", b"\x1b]8;;http://x\x1b\\y", b"\x9b31m",
    b"\xc2\x9b2J", b"\xc2\x85", b"\x08\x08\x08", b"\r", b"\x07", b"\x0e", b"\x7f", b"\x1b(0", b"\x01\x02\x03",
    # formulas
    b"=1+1", b"=cmd|'/C calc'!A0", b"+1+1", b"-2+3", b"@SUM(A1)", b"\t=1", b"\r=1", b'=HYPERLINK("h")', b";=1", b"'=1",
    # CSV and lines
    b",", b'"', b'""', b'","', b"\n", b"\r\n", b"a\nb,c", b'"\n"', b" ", b"  x", b"x  ", b"\x0b", b"\x0c", b"\x1c",
    b"\x1e", b"\xe2\x80\xa8", b"\xe2\x80\xa9",
    # markup and scripts
    b"<script>alert(1)</script>", b"<img src=x>", b"&lt;", b"-->", b"]]>", b"</pre>", b"javascript:a", b"${x}",
    b"{{7*7}}", b"`id`", b"$(id)", b"%s%n", b"%00",
    # JSON, Prometheus
    b'{"a":1}', b'"}', b'","x":"', b"\\", b"\\\\", b'\\"', b"\\n", b"\\u0000", b"\\x41", b"\\x", b"\\x1b[0m", b"null",
    b"NaN", b"1e999", b'm{l="v"} 1', b'"} 1\nup 0\n', b"# HELP a",
    # text in another order, invisible, or in more than one form, or empty
    b"\xe2\x80\xae", b"\xe2\x80\xab", b"\xe2\x81\xa6", b"\xe2\x81\xa9", b"\xe2\x80\x8f", b"\xd8\x9c", b"\xe2\x80\x8b",
    b"\xef\xbb\xbf", b"e\xcc\x81", b"\xc3\xa9", b"\xe6\xbc\xa2",
    b"\xf0\x9f\x98\x80", b"\xff", b"\xfe\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80",
    b"\x80", b"\xc3", b"\xf0\x9f",
    # what /proc, shells and paths interpret
    b") S 1 1", b"a) R 0", b"(", b"/", b"../../x", b"-", b"--", b"*", b"~", b"'", b"''", b"#", b"|", b"&", b"a", b"0",
    b"-1", b"=", b":",
]
# Control characters, and marks that reorder the text that is displayed (src/base/escape.c).
ACTIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def string(rng, most):
    """Some fragments, with random bytes among them, truncated to so many bytes at any position: also within a
    character."""
    parts = rng.choices(FRAGMENTS, k=rng.randint(1, 4))
    if rng.random() < 0.3:
        parts.insert(rng.randrange(len(parts) + 1), bytes(rng.randrange(1, 256) for _ in range(rng.randint(1, 4))))
    return b"".join(parts)[:most]


def corpus():
    """The same each time: TAPES lists of (name, arguments), no string twice."""
    rng, used, found = random.Random(19), set(), []
    while len(found) < TAPES * EACH:
        name = string(rng, 15)
        arguments = tuple(string(rng, 60) for _ in range(ARGUMENTS))
        strings = {name, *arguments}
        if len(strings) <= ARGUMENTS or used & strings or any(name in a for a in arguments):
            continue  # a name of 15 bytes that an argument begins with would be completed from it
        used |= strings
        found.append((name, arguments))
    assert len({s for name, arguments in found for s in (name, *arguments)}) >= 5000
    return [found[i * EACH : (i + 1) * EACH] for i in range(TAPES)]


def plain(raw):
    """Checks that all of it is UTF-8 without active characters, and returns it as text."""
    text = raw.decode()
    active = ACTIVE.search(text)
    assert not active, (active, text[max(0, active.start() - 80) : active.end() + 80])
    return text


def words(line):
    """Returns the arguments of a command line as bytes: it is escaped, and quoted as for a shell."""
    return tuple(w.encode("utf-8", "surrogateescape")
                 for w in shlex.split(unescape(line).decode("utf-8", "surrogateescape")))


def members(pairs):
    assert len({k for k, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


def no_number(text):
    raise AssertionError(text)


def strict(text):
    """Parses JSON and rejects what Python's parser accepts in addition: NaN, infinities, duplicate members."""
    return json.loads(text, object_pairs_hook=members, parse_constant=no_number)


class Recorded:
    def __init__(self, run, folder, batch, nr):
        self.run, self.batch, self.missing = run, batch, None
        self.folder = folder
        self.records = folder / f"records{nr}"
        self.records.write_bytes(b"".join(b + b"\0" for name, arguments in batch for b in (name, *arguments)))
        hostile = b"20260101T000000.000000Z-\x1b[31m\xff=\"',\n\xe2\x80\xae-%d.baro" % (nr + 1)
        self.tape = folder / os.fsdecode(hostile)

    def record(self):
        argv = [beside(self.run.built, "named"), self.records, *(os.fsdecode(a) for a in self.batch[0][1])]
        self.run.record_gated(self.tape, argv, self.all_are_known, "-i", "100ms", "--overhead", "off")

    def all_are_known(self):
        done = self.run("export", "-F", "jsonl", "-e", "process", "-c", "name,cmdline", self.tape)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        seen = {(r["name"], r["cmdline"]) for r in rows if r["cmdline"] is not None}
        found = {(unescape(name), words(line)) for name, line in seen}
        self.missing = [b for b in self.batch if b not in found]
        return not self.missing

    def read(self, *args, line_end=b"\n", **env):
        done = subprocess.run([self.run.binary, *map(str, args)], capture_output=True, timeout=120,
                              env={**os.environ, **env})
        assert done.returncode == 0, (args, done.stderr)
        plain(done.stderr)
        return plain(done.stdout.replace(line_end, b"\n"))

    def csv(self, entity, *options):
        rows = list(csv.reader(io.StringIO(self.read("export", "-e", entity, *options, self.tape), newline=""),
                               strict=True))
        assert len({len(row) for row in rows}) == 1
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def jsonl(self, entity):
        return [strict(line) for line in self.read("export", "-F", "jsonl", "-e", entity, self.tape).split("\n")[:-1]]


@pytest.fixture(params=range(TAPES))
def recorded(request, run, work):
    folder = work / "runs"
    folder.mkdir()
    r = Recorded(run, folder, corpus()[request.param], request.param)
    r.record()
    return r


def cell(value):
    """Returns a value as CSV has it."""
    return "" if value is None else str(int(value)) if isinstance(value, bool) else value


def check_rows(r, entity):
    """CSV and JSON lines have the same values, and CSV for spreadsheets differs in the apostrophe alone. A tab or
    carriage return is \\x09 or \\x0d by then; a name that contains this text begins with two backslashes."""
    rows, objects, safe = r.csv(entity), r.jsonl(entity), r.csv(entity, "--safe")
    for row, obj, guarded in zip(rows, objects, safe, strict=True):
        assert all(row[k] == cell(v) for k, v in obj.items() if isinstance(v, (str, bool, type(None)))), (row, obj)
        texts = {k for k, v in obj.items() if isinstance(v, str) and re.match(r"[-=+@']|\\x09|\\x0d", v)}
        differ = {k for k in row if guarded[k] != row[k]}
        assert differ == texts and all(guarded[k] == "'" + row[k] for k in texts), (row, guarded)
    return objects


def check_reports(r, objects):
    d = strict(r.read("summary", "--json", r.tape))
    assert {unescape(c["name"]) for c in d["commands"]} <= {unescape(o["name"]) for o in objects}
    assert unescape(d["tape"]).endswith(os.fsencode(r.tape.name))
    assert tuple(unescape(a) for a in d["command"][2:]) == r.batch[0][1]
    assert strict(r.read("show", "--json", "--at", "50%", r.tape))["processes"]
    (listed,) = strict(r.read("ls", "--json", BARO_DIR=str(r.folder)))
    assert unescape(listed["name"]) == os.fsencode(r.tape.name)
    assert tuple(unescape(a) for a in listed["command"][2:]) == r.batch[0][1]
    middle = ["show", "--at", "50%", r.tape]
    for args in (["summary", r.tape], ["show", r.tape], middle, [*middle, "--top", "400"], ["ls"]):
        for locale in ("C.UTF-8", "C"):
            text = r.read(*args, BARO_DIR=str(r.folder), LC_ALL=locale)
            assert text and (locale != "C" or text.isascii()), args


def test_injection(recorded):
    r, names, known = recorded, {name for name, _ in recorded.batch}, {}
    assert not r.missing, (len(r.missing), r.missing[:5])
    for entity in ENTITIES:
        known[entity] = check_rows(r, entity)
    for entity in ("process", "exit"):
        assert names <= {unescape(o["name"]) for o in known[entity]}, entity
    check_reports(r, known["exit"])
    for dialect, entity in DIALECTS:
        text = r.read("export", "-d", dialect, "-e", entity, r.tape, line_end=b"\r\n")
        assert len({len(row) for row in csv.reader(io.StringIO(text), strict=True)}) == 1


def test_injection_attached(run, work, started):
    """The command of an attached process is also in the list of runs; and messages contain its path."""
    folder = work / "runs"
    folder.mkdir()
    records = work / "records"
    hostile = (b"=1\x1b[31m\n\xff,\"", (b"=\x1b]0;t\x07", b"\xe2\x80\xae\n\"", b"\\x41"))
    records.write_bytes(b"\0".join([hostile[0], *hostile[1], b""]))
    os.mkfifo(work / "gate")
    target = started([beside(run.built, "named"), records, os.fsdecode(hostile[1][0])], cwd=work)
    r = Recorded(run, folder, [hostile], 9)
    plain(run("record", "-i", "10ms", "--pid", target.pid, "--for", "300ms", "-o", r.tape, status=0, text=False).stderr)
    assert {o["name"] for o in check_rows(r, "process")}
    for args in (["summary"], ["summary", r.tape], ["ls"], ["ls", "--json"], ["show", r.tape]):
        r.read(*args, BARO_DIR=str(folder))
    calls = (["summary"], ["export"], ["show"], ["export", "-c"], ["show", "--at"], ["run"], ["record", "--cgroup"])
    for args in calls:
        done = subprocess.run([run.binary, *args, os.fsdecode(b"/\x1b[31m\xff\n\xe2\x80\xae")], capture_output=True,
                              timeout=60)
        assert done.returncode and plain(done.stderr).count("\n") == 1, (args, done)
