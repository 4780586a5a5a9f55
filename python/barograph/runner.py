# SPDX-License-Identifier: Apache-2.0
"""run(): subprocess.run() with a tape."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any
from collections.abc import Iterable, Mapping, Sequence

from . import _where
from ._marks import stat_of
from .errors import LinuxOnlyError, NotInstalledError, RecordingError, warn
from ._options import options_of

if TYPE_CHECKING:
    from datetime import timedelta

    from .tape import Tape

    _Base = subprocess.CompletedProcess[Any]
else:
    _Base = subprocess.CompletedProcess

_ENDS_WITHIN = 10.0  # seconds; only what may not be killed takes so long


class CompletedRun(_Base):
    """A subprocess.CompletedProcess with `.tape`; None where nothing was recorded."""

    tape_path: str | None = None

    @property
    def tape(self) -> Tape | None:
        from .tape import Tape

        return Tape(self.tape_path) if self.tape_path and os.path.exists(self.tape_path) else None


def _new_path(command: str) -> str:
    """A name among the kept runs, as `baro run` makes it."""
    from ._runs import runs

    now_ns = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_ns // 1_000_000_000))
    safe = "".join(c if c.isalnum() or c in "._+" else "_" for c in os.path.basename(command))[:32] or "run"
    name = f"{stamp}.{now_ns // 1000 % 1_000_000:06d}Z-{safe}-{os.getpid()}.baro"
    return os.path.join(runs().folder, name)


def _check_command(name: str, folder: Any, environment: Any) -> None:
    """Popen() says so of baro alone."""
    if "/" not in name:
        if not shutil.which(name, path=(environment or os.environ).get("PATH")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return
    path = os.path.join(os.fsdecode(folder or ""), name)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def _command_line(pid: int | str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _kill(process: subprocess.Popen[Any]) -> None:
    """SIGKILL to the wrapper would leave the command running: what it started is killed, and the wrapper ends as the
    command did. Its own forks have its command line: the recorder, and a command that has not been executed yet."""
    late = time.monotonic() + _ENDS_WITHIN
    while process.poll() is None and time.monotonic() < late:
        own = _command_line(process.pid)  # empty in the first instant of its execve(2)
        for pid in map(int, filter(str.isdigit, os.listdir("/proc") if own else ())):
            if stat_of(pid, 1) == process.pid and _command_line(pid) != own:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass  # it has ended, or is another user's
        time.sleep(0.005)
    process.kill()


def run(
    args: Sequence[str | bytes | os.PathLike[str]] | str | bytes | os.PathLike[str],
    *,
    tape: str | os.PathLike[str] | None = None,
    interval: str | float | timedelta = "auto",
    task: str | None = None,
    wait_all: bool = False,
    metrics: str | Iterable[str] | None = None,
    du: Iterable[str | os.PathLike[str]] = (),
    keep: str | None = None,
    overhead: str | None = None,
    host: bool = True,
    gpu: bool | int | str | Iterable[int | str] = True,
    cmdline: bool = True,
    force: bool = False,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    strict: bool = False,
    shell: bool = False,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **kwargs: Any,
) -> CompletedRun:
    """Runs a command as subprocess.run() does, records it from its first instruction to its end, and returns a
    CompletedProcess that has `.tape` besides. wait_all: returns when all that the command started has ended, too.
    name and tags: of the recording, as of record()."""
    command = [os.fsdecode(a) for a in ([args] if isinstance(args, (str, bytes, os.PathLike)) else args)]
    executable = kwargs.pop("executable", None)  # Popen() would execute it in the place of baro
    if shell:
        command = [os.fsdecode(executable or "/bin/sh"), "-c", *command]
    elif executable is not None:
        command[0] = os.fsdecode(executable)
    _check_command(command[0], kwargs.get("cwd"), kwargs.get("env"))
    path: str | None = None
    prefix: list[str] = []
    try:
        if not _where.is_linux():
            raise LinuxOnlyError("Linux only")
        program = _where.baro()
        if not program or not os.access(program, os.X_OK):
            raise NotInstalledError("the program baro is not installed")
        path = os.path.abspath(os.fsdecode(tape)) if tape is not None else _new_path(command[0])
        options = options_of(path, interval, None, metrics, du, keep, overhead, host, gpu, cmdline, force,
                             name, tags)
        prefix = [program, "run", "-q", *options, *(["--task", task] if task else [])]
        prefix += ["--wait-all", "--"] if wait_all else ["--"]
    except OSError as error:  # Error is one; others are those of a folder that was removed
        if strict:
            raise RecordingError(f"nothing is recorded: {error}") from None
        warn(f"nothing is recorded: {error}")
    if input is not None:
        kwargs["stdin"] = subprocess.PIPE
    if capture_output:
        kwargs["stdout"] = kwargs["stderr"] = subprocess.PIPE

    kill = _kill if prefix else subprocess.Popen.kill
    with subprocess.Popen([*prefix, *command], **kwargs) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            kill(process)
            process.wait()
            late.cmd = args
            raise
        except BaseException:
            kill(process)
            raise
    done = CompletedRun(args, process.returncode, out, err)
    done.tape_path = path
    if check and process.returncode:
        failed = subprocess.CalledProcessError(process.returncode, args, out, err)
        failed.tape = done.tape  # type: ignore[attr-defined]
        raise failed
    return done
