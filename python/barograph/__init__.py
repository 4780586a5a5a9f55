# SPDX-License-Identifier: Apache-2.0
"""barograph: what a Python program, and all that it starts, uses of a machine.

    import barograph

    with barograph.record() as rec:
        with rec.phase("fit"):
            model.fit(x, y)
        rec.mark("epoch", loss=0.1)
    print(rec.summary.job.rss_peak_bytes, rec.verdicts)

    tape = barograph.open("@last")

Nothing is imported before it is used.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING without the import, which takes longer than all else here

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from .errors import (
        AccessError,
        ArgumentError,
        ClosedError,
        Error,
        LinuxOnlyError,
        NotATapeError,
        NotInstalledError,
        RecordingError,
        RecordingWarning,
        TapeNotFoundError,
    )
    from ._compare import Comparison, Difference, compare
    from .header import Header
    from .records import Event, Exit
    from ._current import mark, phase, task
    from .recorder import Recording, available, record
    from .runner import CompletedRun, run
    from ._runs import Run, Runs, runs
    from .sample import Now, Process, Sample
    from .series import Series
    from .summary import Summary, Verdict
    from .tape import Tape
    from .timeline import Mark, Phase
    from .values import Absent

    open = Tape

__all__ = [
    "Absent",
    "AccessError",
    "ArgumentError",
    "ClosedError",
    "Comparison",
    "CompletedRun",
    "Difference",
    "Error",
    "Event",
    "Exit",
    "Header",
    "LinuxOnlyError",
    "Mark",
    "NotATapeError",
    "NotInstalledError",
    "Now",
    "Phase",
    "Process",
    "Recording",
    "RecordingError",
    "RecordingWarning",
    "Run",
    "Runs",
    "Sample",
    "Series",
    "Summary",
    "Tape",
    "TapeNotFoundError",
    "Verdict",
    "__version__",
    "available",
    "compare",
    "mark",
    "open",
    "phase",
    "record",
    "run",
    "runs",
    "task",
]

_PLACES = {
    "errors": (
        "AccessError",
        "ArgumentError",
        "ClosedError",
        "Error",
        "LinuxOnlyError",
        "NotATapeError",
        "NotInstalledError",
        "RecordingError",
        "RecordingWarning",
        "TapeNotFoundError",
    ),
    "_current": ("mark", "phase", "task"),
    "recorder": ("Recording", "available", "record"),
    "runner": ("CompletedRun", "run"),
    "_runs": ("Run", "Runs", "runs"),
    "_compare": ("Comparison", "Difference", "compare"),
    "header": ("Header",),
    "records": ("Event", "Exit"),
    "sample": ("Now", "Process", "Sample"),
    "series": ("Series",),
    "summary": ("Summary", "Verdict"),
    "tape": ("Tape",),
    "timeline": ("Mark", "Phase"),
    "values": ("Absent",),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}
_WHERE["open"] = "tape"


class _Nothing:
    """What record(), mark(), phase() and task() are where they can't be imported: no descriptor is left, or the program
    has changed its root; and what these return. Each call tries it again, also that of a name which was imported then:
    `from barograph import record`."""

    path = now = None
    active = False
    variables = ()

    def __init__(self, name: str, error: Exception) -> None:
        self._name, self._error = name, error

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._name:
            found = globals().get(self._name) or __getattr__(self._name)
            if not isinstance(found, _Nothing):
                return found(*arguments, **options)
            if self._name == "record" and options.get("strict"):
                raise self._error
            warnings: Any = sys.modules.get("warnings")
            if warnings is not None:
                warnings.warn(f"nothing is recorded: {self._error}", stacklevel=2)
        return arguments[0] if arguments and callable(arguments[0]) else _Nothing("", self._error)

    def __getattr__(self, name: str) -> Any:
        """tape, summary, report() and the like: there are none."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise OSError(f"nothing is recorded: {self._error}")

    def mark_allocators(self) -> dict[str, Any]:
        return {}

    def _itself(self, *_: Any, **__: Any) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def _aitself(self, *_: object) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    start = stop = mark = phase = begin = end = __enter__ = _itself
    astart = astop = __aenter__ = _aitself


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'barograph' has no attribute {name!r}")
    # A submodule that is imported becomes an attribute of its package: of `runs` it is the function that is wanted.
    try:
        from importlib import import_module

        found = import_module(f"barograph.{module}")
    except (OSError, ImportError) as error:
        if name not in ("record", "mark", "phase", "task"):
            raise
        return _Nothing(name, error)
    for each in _PLACES[module]:
        globals()[each] = getattr(found, each)
    if name == "open":
        globals()[name] = found.Tape
    return globals()[name]


def load_ipython_extension(shell: Any) -> None:
    """%load_ext barograph: the magics %baro and %%baro."""
    from ._magic import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What %baro on began is stopped."""
    from ._magic import unload

    unload(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
