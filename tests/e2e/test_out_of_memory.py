# SPDX-License-Identifier: Apache-2.0
"""Commands that read tapes, with one failed allocation after the other: all of the output or one line, never a part.
The server: a line, or all of each answer, or an error that is none any more the next time."""

import fcntl
import http.client
import json
import os
import pathlib
import re
import select
import struct
import subprocess
import termios

import pytest
from conftest import FULL, poll
from serving import Server

# The N-th allocation fails; with FAIL_ALL all from there on; with FAIL_ONLY in programs of that name. The readers call
# __libc_malloc() themselves.
FAIL = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
    static long count, at;
    static int counts, all;
    static void find(void) /* other libraries may allocate before the constructor runs */
    {
        real_malloc = dlsym(RTLD_NEXT, "__libc_malloc");
        real_calloc = dlsym(RTLD_NEXT, "__libc_calloc");
        real_realloc = dlsym(RTLD_NEXT, "__libc_realloc");
    }
    __attribute__((constructor)) static void begin(void)
    {
        find();
        const char *only = getenv("FAIL_ONLY");
        if (only && strcmp(only, program_invocation_short_name) != 0)
            return;
        at = atol(getenv("FAIL_AT"));
        all = getenv("FAIL_ALL") != NULL;
        counts = 1;
    }
    __attribute__((destructor)) static void end(void)
    {
        char text[32];
        if (!counts)
            return;
        int n = snprintf(text, sizeof(text), "%ld", count), fd = open(getenv("FAIL_COUNT"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (write(fd, text, n) < 0)
            abort();
    }
    static int fails(void)
    {
        if (!real_malloc)
            find();
        long n = counts ? __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) : 0;
        errno = ENOMEM;
        return n && at && (n == at || (all && n > at));
    }
    void *__libc_malloc(size_t n) { return fails() ? NULL : real_malloc(n); }
    void *__libc_calloc(size_t n, size_t size) { return fails() ? NULL : real_calloc(n, size); }
    void *__libc_realloc(void *p, size_t n) { return fails() ? NULL : real_realloc(p, n); }
    """

COMMANDS = {
    "summary": ["baro-read", "summary"],
    "summary of JSON": ["baro-read", "summary", "--json"],
    "show": ["baro-top", "show"],
    "show of JSON": ["baro-top", "show", "--json"],
    "export": ["baro-read", "export"],
    "export of the job": ["baro-read", "export", "-e", "job", "--format", "jsonl"],
    "export of exits": ["baro-read", "export", "-e", "exit"],
    "dialect": ["baro-read", "export", "-d", "spare-cores"],
    "trace": ["baro-read", "export", "--format", "trace"],
    "report": ["baro-report", "report", "-o", "-"],
    "plot": ["baro-report", "plot"],
    "top": ["baro-top", "top", "--once"],
}
QUICK = {"export of the job": 31, "summary": 41, "top": 53}  # every so many-th allocation fails


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in COMMANDS])
def test_a_failed_allocation(run, baro, tape, work, name):
    run.record(tape, ["sh", "-c", "for i in 1 2 3 4; do sleep 0.03 & done; wait"], "-i", "10ms")
    (work / "fail.c").write_text(FAIL)
    done = subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "-o", work / "fail.so", work / "fail.c", "-ldl"], check=False
    )
    program, *argv = COMMANDS[name]
    program = pathlib.Path(baro).with_name(program)
    if done.returncode or not program.exists():
        pytest.skip(f"no {program}, or no shared library can be made")

    def execute(at, every=False):
        env = os.environ | {"LD_PRELOAD": str(work / "fail.so"), "FAIL_AT": str(at), "FAIL_COUNT": str(work / "count")}
        return subprocess.run(
            [program, *argv, tape], capture_output=True, timeout=60, env=env | ({"FAIL_ALL": "1"} if every else {})
        )

    whole = execute(0)
    allocations = int((work / "count").read_text())
    assert whole.returncode == 0 and allocations > 50
    step = 1 if FULL else QUICK[name]
    for at in range(1, allocations, step):
        for every in (False, True):
            cut = execute(at, every)
            assert (cut.returncode, cut.stderr) == (2, b"baro: out of memory\n"), (at, cut)
            assert whole.stdout.startswith(cut.stdout)


def fail_so(work):
    """The shared library, or a skip."""
    (work / "fail.c").write_text(FAIL)
    done = subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", work / "fail.so", work / "fail.c", "-ldl"], check=False)
    if done.returncode:
        pytest.skip("no shared library can be made")
    return work / "fail.so"


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
def test_a_database_when_an_allocation_fails(run, baro, tape, work):
    run.record(tape, ["sh", "-c", "for i in 1 2 3 4; do sleep 0.03 & done; wait"], "-i", "10ms")
    program, to = pathlib.Path(baro).with_name("baro-sqlite"), work / "to.db"
    if not program.exists():
        pytest.skip("built without SQLite")
    env = os.environ | {"LD_PRELOAD": str(fail_so(work)), "FAIL_COUNT": str(work / "count")}

    def execute(at):
        command = [program, "export", "--format", "sqlite", "-o", to, tape]
        return subprocess.run(command, capture_output=True, timeout=60, env=env | {"FAIL_AT": str(at)})

    assert execute(0).returncode == 0
    allocations = int((work / "count").read_text())
    whole = to.read_bytes()
    assert allocations > 100
    for at in range(1, allocations, 1 if FULL else 197):
        to.unlink(missing_ok=True)
        r = execute(at)
        assert (r.returncode, r.stderr) == (2, b"baro: out of memory\n"), (at, r)
        assert not to.exists() or to.read_bytes() == whole, at  # its end, after the file was given its name


def on_terminal(argv, env, keys):
    """The status of a program on a terminal of its own, what it wrote there and to standard error, and whether it has
    left the terminal as it was."""
    main, end = os.openpty()
    before = termios.tcgetattr(end)
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(argv, stdin=end, stdout=end, stderr=subprocess.PIPE, env=env, start_new_session=True)
    shown, is_sent = b"", False
    while child.poll() is None or select.select([main], [], [], 0)[0]:
        if select.select([main], [], [], 0.02)[0]:
            shown += os.read(main, 65536)
        if not is_sent and b"PID" in shown:
            is_sent = True
            os.write(main, keys)
    is_as_before = termios.tcgetattr(end) == before
    text = child.stderr.read()
    for fd in (main, end):
        os.close(fd)
    child.stderr.close()
    return child.returncode, shown, text, is_as_before


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
def test_the_live_view_when_an_allocation_fails(run, baro, tape, work):
    """It ends with the line, below the shell's prompt: the terminal is as it was before."""
    program = pathlib.Path(baro).with_name("baro-top")
    if b"libncursesw.so" not in program.read_bytes():
        pytest.skip("built without ncurses")
    run.record(tape, ["sh", "-c", "for i in 1 2 3 4; do sleep 0.03 & done; wait"], "-i", "10ms")
    env = os.environ | {"LD_PRELOAD": str(fail_so(work)), "FAIL_COUNT": str(work / "count"), "TERM": "xterm-256color"}

    def execute(at):
        return on_terminal([program, "top", tape], env | {"FAIL_AT": str(at)}, b"mq")  # the view of memory; the end

    status, shown, text, is_as_before = execute(0)
    allocations = int((work / "count").read_text())
    assert (status, text, is_as_before) == (0, b"", True) and b"\x1b[?1049l" in shown
    assert allocations > 100
    for at in range(1, allocations, 1 if FULL else 97):
        status, shown, text, is_as_before = execute(at)
        assert (status, text, is_as_before) == (2, b"baro: out of memory\n", True), (at, status, text)
        assert shown.count(b"\x1b[?1049h") == shown.count(b"\x1b[?1049l") and shown.count(b"\x1b[?25l") <= shown.count(
            b"\x1b[?25h"
        ) + shown.count(b"\x1b[?12l\x1b[?25h"), (at, shown)


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
@pytest.mark.parametrize("every", [False, True])
def test_a_page_when_the_reporter_has_no_memory(run, baro, work, every):
    """The answer says so, and not that the tape were damaged."""
    folder = work / "served"
    folder.mkdir()
    run.record(folder / "t.baro", ["true"])
    env = os.environ | {"LD_PRELOAD": str(fail_so(work)), "FAIL_COUNT": str(work / "count"), "FAIL_ONLY": "baro-report"}
    server = Server(baro, folder=folder, env=env | {"FAIL_AT": "200"} | ({"FAIL_ALL": "1"} if every else {}))
    try:
        server.summed(1)
        error = server.json("/jobs/t/report", status=503)["error"]
        assert error["code"] == "no_memory" and "memory" in error["message"]
    finally:
        assert server.stop()[0] == 0


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_task_file_when_an_allocation_fails(baro, work, options):
    (work / "fail.c").write_text(re.sub(r"\*__libc_(malloc|calloc|realloc)\((?=size_t n|void \*p)", r"*\1(", FAIL))
    done = subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", work / "fail.so", work / "fail.c", "-ldl"], check=False)
    program = pathlib.Path(baro).with_name("baro-tasks")
    if done.returncode or not program.exists():
        pytest.skip(f"no {program}, or no shared library can be made")
    (work / "job.yaml").write_text("name: nightly\ntasks:\n  a: {exact: [sh, sleep], user: daemon}\n  b: {match: 'gul(py|mc)'}\n")

    def execute(at, every=False):
        env = os.environ | {"LD_PRELOAD": str(work / "fail.so"), "FAIL_AT": str(at), "FAIL_COUNT": str(work / "count")}
        return subprocess.run(
            [program, "tasks", *options, work / "job.yaml"],
            capture_output=True,
            timeout=60,
            env=env | ({"FAIL_ALL": "1"} if every else {}),
        )

    whole = execute(0)
    allocations = int((work / "count").read_text())
    assert whole.returncode == 0 and allocations > 50
    for at in range(1, allocations + 1):
        for every in (False, True):
            cut = execute(at, every)
            if cut.returncode == 0:
                assert cut.stdout == whole.stdout, at
            else:
                assert cut.returncode == 2 and b"out of memory" in cut.stdout + cut.stderr, (at, cut)


PATHS = (
    "/api/v1/jobs/t", "/api/v1/jobs/t/verdicts", "/api/v1/jobs/t/processes?at=0&pick=after", "/api/v1/jobs/t/exits",
    "/api/v1/jobs/t/events", "/api/v1/jobs/t/range?metric=job.cores", "/api/v1/jobs/t/tasks?at=0&pick=after",
    "/api/v1/jobs/t/entities/cpu?at=0&pick=after", "/api/v1/jobs/t/sample?at=0&pick=after", "/api/v1/jobs/t/metrics",
    "/api/v1/host",
    "/api/v1/metrics", "/api/v1/jobs?search=sh",
)  # fmt: skip


@pytest.mark.not_sanitized("a sanitizer has an allocator of its own")
@pytest.mark.slow
def test_the_server_when_an_allocation_fails(run, baro, tape, work):
    """A job is listed and read again, and an answer that could not be made is an error; whatever fails, once."""
    folder = work / "served"
    folder.mkdir()
    run.record(
        folder / "t.baro",
        ["sh", "-c", "for i in 1 2 3 4; do sleep 0.3 & done; wait"],
        "-i",
        "10ms",
        "--overhead",
        "off",
    )
    (work / "fail.c").write_text(FAIL)
    done = subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", work / "fail.so", work / "fail.c", "-ldl"], check=False)
    if done.returncode:
        pytest.skip("no shared library can be made")

    def ask(server, path):
        """The answer, or None: there is none, or an error."""
        try:
            status, _, body = server.ask(path)
        except OSError:
            return None
        except http.client.HTTPException:
            return None
        assert status == 200 or (status >= 500 and json.loads(body)["error"]), (path, status, body)
        return body if status == 200 else None

    def serve(at):
        """Returns what it answers, or None: it ended with a line."""
        env = os.environ | {"LD_PRELOAD": str(work / "fail.so"), "FAIL_AT": str(at), "FAIL_COUNT": str(work / "count")}
        try:
            server = Server(pathlib.Path(baro).with_name("baro-serve"), folder=folder, env=env)
        except AssertionError as ended:  # it has no address
            assert re.search("memory|start", str(ended)), (at, ended)
            return None
        try:
            poll(lambda: (b := ask(server, "/api/v1/jobs")) and json.loads(b)["total"] and b"cpu_ns" in b)
            first = {path: ask(server, path) for path in PATHS}
            again = {path: ask(server, path) or ask(server, path) for path in PATHS}
        finally:
            status, text = server.stop()
        assert (status, text.count("\n")) == (0, 1), (at, status, text)
        for path in PATHS:
            assert first[path] in (None, again[path]), (at, path, first[path], again[path])
        return again

    whole = serve(0)
    allocations = int((work / "count").read_text())
    assert allocations > 1000 and None not in whole.values()
    for at in range(1, allocations, 1 if FULL else 97):
        assert serve(at) in (None, whole), at
