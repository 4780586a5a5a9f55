# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the readers: a tape with hostile names, and calls of the binary."""

import html.parser
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

# A name as long as the kernel allows (15 bytes): it ends a comm field, breaks a line and CSV, colours a terminal,
# starts a formula, and is not valid UTF-8.
HOSTILE_NAME = b'=) S 1\n\x1b[31m,"\xff'
HOSTILE_ARGUMENT = b'a,"b"\n\x1b]0;t\x07 \\ \xc3\xa9 \xff\xfe\xe2\x80\xae x=\'1\''
HOSTILE = (
    "import ctypes,os,sys,time\n"
    "n = os.environb[b'NAME']\n"
    "assert ctypes.CDLL(None).prctl(15, n, 0, 0, 0) == 0\n"
    "x = bytearray(20 << 20)\n"
    "t = time.process_time()\n"
    "while time.process_time() - t < 0.3: pass\n"
    "time.sleep(0.2)\n"
)


def unescape(text):
    """The bytes that an escaped text stands for."""
    out, i, raw = b"", 0, text.encode()
    while i < len(raw):
        if raw[i : i + 2] == b"\\x":
            out += bytes([int(raw[i + 2 : i + 4], 16)])
            i += 4
        elif raw[i : i + 1] == b"\\":
            assert raw[i : i + 2] == b"\\\\"
            out += b"\\"
            i += 2
        else:
            out += raw[i : i + 1]
            i += 1
    return out


def sibling(baro, name):
    """Returns the path of what the build made beside a binary."""
    return pathlib.Path(baro).with_name(name)


def call(baro, *args, **kwargs):
    return subprocess.run([baro, *map(str, args)], capture_output=True, timeout=60, **kwargs)


def good(baro, *args, **kwargs):
    r = call(baro, *args, **kwargs)
    assert r.returncode == 0, r.stderr.decode()
    return r.stdout


@pytest.fixture(scope="session")
def hostile_tape(baro, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "t.baro"
    job = [sys.executable, "-c", HOSTILE, HOSTILE_ARGUMENT]
    # Without a budget: a slow machine's start uses it up, and no sample has the process under its new name.
    argv = [baro, "run", "-q", "-i", "20ms", "--overhead", "off", "-o", path, "--", "sh", "-c", "true; true; \"$@\"; exit 3", "sh", *job]
    env = {k: v for k, v in os.environb.items() if not k.startswith(b"BARO_") or k == b"BARO_NO_BUDGET"}
    assert subprocess.run(argv, env={**env, b"BARO_ANNOUNCED": b"", b"NAME": HOSTILE_NAME}, timeout=60).returncode == 3
    return path


@pytest.fixture
def tape(hostile_tape, work):
    """A copy of a tape with hostile names, which is recorded once."""
    return pathlib.Path(shutil.copy(hostile_tape, work))


def one_line(r, status, *words):
    assert r.returncode == status, (r.returncode, r.stderr)
    assert r.stdout == b""
    text = r.stderr.decode()
    assert text.count("\n") == 1 and text.endswith("\n") and text.startswith("baro"), text
    for word in words:
        assert word in text, text


VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(html.parser.HTMLParser):
    """Checks that elements nest, and keeps the parts that tests use."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text, self.rows = [], [], [], [], []
        self.scripts, self.styles, self.facts, self.comments = [], [], {}, []
        self.table = None
        self.feed(text)
        self.close()
        assert self.open == [], "elements that are not closed"

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        a = dict(attrs)
        if tag == "table":
            self.table = a.get("data-table")
        if tag == "tr":
            self.rows.append((self.table, []))
        if tag in ("td", "th"):
            self.rows[-1][1].append({"v": a.get("data-v"), "text": ""})
        if tag in ("script", "style"):
            (self.scripts if tag == "script" else self.styles).append([a, ""])
        if tag not in VOID:
            self.open.append((tag, a))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        inside = any(t == "svg" for t, _ in self.open) or tag == "svg"
        assert inside or tag in VOID, f"<{tag}/> is no void element"

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        tags = [t for t, _ in self.open]
        if "script" in tags or "style" in tags:
            (self.scripts if "script" in tags else self.styles)[-1][1] += data
            return
        self.text.append(data)
        if ("td" in tags or "th" in tags) and self.rows:
            self.rows[-1][1][-1]["text"] += data
        for _, a in self.open:
            if "data-fact" in a:
                self.facts[a["data-fact"]] = self.facts.get(a["data-fact"], "") + data

    def data(self):
        (data,) = [json.loads(text) for a, text in self.scripts if a.get("type") == "application/json"]
        return data

    def table_rows(self, name):
        return [cells for table, cells in self.rows if table == name and cells]
