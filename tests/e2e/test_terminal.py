# SPDX-License-Identifier: Apache-2.0
"""Bare and wrapped commands on a terminal with typed input: keys that end and stop, foreground and background, hangup.
"""
import os
import pty
import re
import select
import shlex
import signal
import time

import pytest

from wrapping import children, comm, PATIENCE, read_when, state, until, wrap  # noqa: F401 (a fixture)


# ---- a terminal ----


class Terminal:
    """bash with job control on a terminal of its own."""

    PROMPT = "ready-for-more> "

    def __init__(self, wrap=None, argv=None):
        self.text = ""
        self.wrap = shlex.join(wrap or [])
        try:
            self.pid, self.fd = pty.fork()
        except OSError as no:
            pytest.skip(f"no terminal: {no}")
        if self.pid == 0:
            os.environ.update(PS1=self.PROMPT, TERM="dumb", HISTFILE="/dev/null")
            argv = argv or ["bash", "--norc", "--noprofile", "--noediting", "-i"]
            os.execvp(argv[0], argv)
        if not argv:
            self.expect(re.escape(self.PROMPT))

    def expect(self, pattern):
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end() :]
                return found
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                pytest.fail("no %r in %r" % (pattern, self.text))
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                pytest.fail("no %r in %r at the end" % (pattern, self.text))

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text.replace("{W}", self.wrap) + "\n")

    def asks(self, text, pattern):
        """Runs a line whose output, not its echo, has the pattern; returns after the prompt."""
        self.line(text)
        found = self.expect(pattern)
        self.expect(re.escape(self.PROMPT))
        return found

    def prompt(self):
        self.expect(re.escape(self.PROMPT))

    def stops(self, key=None):
        """By a key, or by itself."""
        self.type(key or "")
        self.expect("Stopped")
        self.prompt()

    def ends(self, status):
        self.prompt()
        self.asks("echo status=$?", "status=%d\r" % status)

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(wrap):
    t = Terminal(wrap)
    yield t
    t.close()


def sleeping(terminal):
    """Waits until the sleep below the shell exists and sleeps."""

    def look():
        todo = [terminal.pid]
        for pid in todo:
            todo += children(pid)
        return [p for p in todo if comm(p) == "sleep" and state(p) == "S"]

    return until("a sleep", look)[0]


@pytest.mark.parametrize("key,status", [("\x03", 130), ("\x1c", 131)], ids=["ctrl-c", "ctrl-backslash"])
def test_keys_that_end(terminal, key, status):
    terminal.line("{W} sleep 60")
    sleeping(terminal)
    terminal.type(key)
    terminal.ends(status)


def test_ctrl_c_comes_once(terminal):
    code = "$|=1; $n=0; $SIG{INT}=sub{$n++}; print qq(u).qq(p\\n); "
    code += "select undef,undef,undef,0.02 until $n; select undef,undef,undef,0.3; print qq(n=$n.\\n)"
    terminal.line("{W} perl -e '%s'" % code)
    terminal.expect("up\r")
    terminal.type("\x03")
    assert terminal.expect(r"n=(\d+)\.").group(1) == "1"


def test_command_that_handles_ctrl_c(terminal):
    terminal.line("{W} sh -c 'trap \"exit 33\" INT; echo u''p; while :; do sleep 0.05; done'")
    terminal.expect("up\r")
    terminal.type("\x03")
    terminal.ends(33)


def test_stops_and_goes_on(terminal):
    """By a key, in the foreground again or first in the background."""
    terminal.line("{W} sleep 60")
    for background in (False, False, True):
        pid = sleeping(terminal)
        terminal.stops("\x1a")
        until("the command's stop", lambda: state(pid) == "T")  # the shell saw that of its own child
        terminal.asks("jobs", "Stopped")
        if background:
            terminal.asks("bg", r"&\r")
            until("going on", lambda: state(pid) == "S")
            terminal.asks("jobs", "Running")
        terminal.line("fg")
        until("going on", lambda: state(pid) == "S")
    time.sleep(0.1)
    terminal.type("\x03")
    terminal.ends(130)


def test_command_that_ignores_ctrl_z_keeps_the_terminal(terminal):
    terminal.line("{W} sh -c 'trap \"\" TSTP; echo u''p; read x; echo got=$x.'")
    terminal.expect("up\r")
    terminal.type("\x1a")
    time.sleep(0.1)
    terminal.type("line\n")
    terminal.expect(r"got=line\.")
    terminal.prompt()


def test_command_that_stops_itself_gives_the_terminal_back(terminal):
    terminal.line("{W} sh -c 'kill -STOP $$; exit 21'")
    terminal.stops()
    terminal.line("fg")
    terminal.ends(21)


def test_handles_ctrl_z_itself(terminal):
    """As editors do: put the terminal in order, then stop the whole group."""
    code = "$|=1; $SIG{TSTP}=sub{print qq(tidy\\n); $SIG{TSTP}=q(DEFAULT); kill q(TSTP),0; "
    code += "select undef,undef,undef,0.1; print qq(back.\\n); exit 5}; print qq(u).qq(p\\n); sleep 60 while 1"
    terminal.line("{W} perl -e '%s'" % code)
    terminal.expect("up\r")
    terminal.type("\x1a")
    terminal.expect("tidy\r")
    terminal.stops()
    terminal.line("fg")
    terminal.expect(r"back\.")
    terminal.ends(5)


def test_background_read_stops(terminal):
    terminal.line("{W} sh -c 'read x; echo got=$x.' &")
    terminal.prompt()

    def stopped():
        terminal.line("jobs")
        return terminal.expect(r"Stopped|Running").group(0) == "Stopped"

    until("the stop", stopped)
    terminal.line("fg")
    time.sleep(0.1)
    terminal.type("line\n")
    terminal.expect(r"got=line\.")


def test_isatty_size_and_foreground(terminal):
    tests = "test -t 0 && test -t 1 && test -t 2 && stty size"
    foreground = "[ $(ps -o pgid= -p $$) = $(ps -o tpgid= -p $$) ] && echo f''ine"
    terminal.asks("{W} sh -c '%s && %s'" % (tests, foreground), "0 0\r\nfine\r")


def test_shell_within(terminal):
    """A command that takes the terminal for groups of its own, and gives it back."""
    terminal.asks("{W} bash --norc --noprofile --noediting -i", "")
    terminal.asks("echo level=$SHLVL", r"level=\d+\r")
    terminal.line("sleep 60")
    pid = sleeping(terminal)
    terminal.stops("\x1a")
    terminal.line("fg")
    until("going on", lambda: state(pid) == "S")
    terminal.type("\x03")
    terminal.prompt()
    terminal.line("exit 9")
    terminal.ends(9)


def test_hangup_reaches_the_command(wrap):
    """The wrapper is the leader of a session, so it is the only process that gets SIGHUP when the terminal is lost."""
    command = ["sh", "-c", "trap 'echo hup > hup; exit' HUP; echo u''p; while :; do sleep 0.05; done"]
    t = Terminal(argv=wrap + command)
    t.expect("up\r")
    os.close(t.fd)
    read_when("hup", "hup")
    os.waitpid(t.pid, 0)


def test_hangup_continues_a_stopped_command(wrap):
    """The kernel sends SIGCONT after SIGHUP to the leader of the session: else a stopped command would never see it."""
    command = ["sh", "-c", "trap 'echo hup > hup; exit' HUP; echo u''p $$; while :; do sleep 0.05; done"]
    t = Terminal(argv=wrap + command)
    pid = int(t.expect(r"up (\d+)\r").group(1))
    os.kill(pid, signal.SIGSTOP)
    until("the stop", lambda: state(pid) == "T" and state(t.pid) == "T")
    os.close(t.fd)
    try:
        read_when("hup", "hup")
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    os.waitpid(t.pid, 0)
