# SPDX-License-Identifier: Apache-2.0
"""%baro and %%baro: `%load_ext barograph`.

    %%baro [name]          records the cell and shows what it used
    %baro statement        the same for a line
    %baro on, %baro off    records from here on; each cell is a phase
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from . import recorder
from .errors import Error

_SESSION = "_barograph"  # of a shell


class _Session:
    """`%baro on`: one recording, in which each cell is a phase."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.recording: recorder.Recording | None = None
        self._phases: list[Any] = []  # a cell may run another one: %%baro does

    def on(self) -> None:
        if self.recording is None:
            self.recording = recorder.record().start()
            self._shell.events.register("pre_run_cell", self._begin)
            self._shell.events.register("post_run_cell", self._end)

    def off(self) -> Any:
        recording, self.recording = self.recording, None
        if recording is None:
            return None
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)
        while self._phases:
            self._end()
        return recording.stop()

    def _begin(self, info: Any = None) -> None:
        if self.recording is not None:
            self._phases.append(self.recording.phase(f"cell {self._shell.execution_count}").begin())

    def _end(self, result: Any = None) -> None:
        if self._phases:
            self._phases.pop().end()


@contextlib.contextmanager
def _silent(shell: Any) -> Generator[None, None, None]:
    """An error of the cell is raised again, and shown then."""
    names = ("showtraceback", "showsyntaxerror", "showindentationerror")
    own = vars(shell)  # has what others have put in place of the methods
    before = {name: own[name] for name in names if name in own}
    is_silent = True

    def silenced(show: Any) -> Any:
        return lambda *given, **named: None if is_silent else show(*given, **named)

    ours = {name: silenced(getattr(shell, name)) for name in names}
    own.update(ours)
    try:
        yield
    finally:
        is_silent = False  # the cell may have put something there that calls ours: rich.traceback.install()
        for name in names:
            if own.get(name) is ours[name]:
                del own[name]
                own.update({name: before[name]} if name in before else {})


def unload(shell: Any) -> None:
    session = vars(shell).pop(_SESSION, None)
    if session is not None:
        session.off()


def load(shell: Any) -> None:
    unload(shell)
    session = _Session(shell)
    setattr(shell, _SESSION, session)

    def baro(line: str, cell: str | None = None) -> Any:
        """%%baro records a cell, %baro a line; %baro on and %baro off what is between them."""
        if cell is None and line.strip() in ("on", "off"):
            return session.on() if line.strip() == "on" else session.off()
        code = line if cell is None else cell
        _check_loop(shell, code)
        with recorder.record() as recording:
            with recording.phase((line.strip() if cell is not None else "") or f"cell {shell.execution_count}"):
                with _silent(shell):
                    result = shell.run_cell(code, store_history=False)
        shell.user_ns["_baro"] = recording
        if recording.path is not None:
            try:
                _show(recording)
            except Error as error:
                print(f"barograph: {error}")
        result.raise_error()

    shell.register_magic_function(baro, "line_cell", "baro")


def _check_loop(shell: Any, code: str) -> None:
    """A notebook's cells run inside of its loop, and a magic can't wait for another one there."""
    import asyncio
    from importlib import import_module

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if shell.should_run_async(code, transformed_cell=shell.transform_cell(code)):
        text = "%baro can't record `await` here: write `async with barograph.record() as rec:` in the cell, or %baro on"
        raise import_module("IPython.core.error").UsageError(text)


def _show(recording: recorder.Recording) -> None:
    from importlib import import_module

    import_module("IPython.display").display(recording)
