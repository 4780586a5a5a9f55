# SPDX-License-Identifier: Apache-2.0
"""Which facts of a whole recording are metrics of its run, `summary/NAME`: a dozen in the units that people read, or
those that the user names."""

from __future__ import annotations

from typing import Any, Optional, Union
from collections.abc import Iterable, Iterator

from ..errors import ArgumentError
from ..tape import Tape
from ..values import Absent

Wish = Optional[Union[str, Iterable[str]]]

# The name, the fact's section and name, and how many of its units one of these is.
READABLE: dict[str, tuple[str, str, float]] = {
    "wall_seconds": ("", "wall_ns", 1e9),
    "cpu_seconds": ("job", "cpu_ns", 1e9),
    "cpu_user_seconds": ("job", "cpu_user_ns", 1e9),
    "cpu_system_seconds": ("job", "cpu_system_ns", 1e9),
    "cpu_wait_seconds": ("job", "run_delay_ns", 1e9),
    "cores_mean": ("job", "cores_mean", 1),
    "cores_peak": ("job", "cores_peak", 1),
    "memory_peak_mb": ("job", "rss_peak_bytes", 1e6),
    "memory_needed_mb": ("limits", "memory_peak_bytes", 1e6),
    "io_read_mb": ("job", "io_read_bytes", 1e6),
    "io_write_mb": ("job", "io_write_bytes", 1e6),
    "processes": ("job", "processes_started", 1),
    "gpu_seconds": ("gpu", "busy_job_ns", 1e9),
    "gpu_memory_peak_mb": ("gpu", "memory_job_peak_bytes", 1e6),
}


def _place(name: str) -> tuple[str, str, float] | None:
    """A name of the dozen, a fact of the job such as "rss_peak_bytes", or one with its section: "limits.pids"."""
    from .. import _abi
    from .._lib import lib, raw

    section, _, fact = name.rpartition(".")
    numbers = (_abi.BARO_FACT_UNSIGNED, _abi.BARO_FACT_SIGNED, _abi.BARO_FACT_REAL)
    for where in (section,) if section else ("job", ""):
        found = lib.baro_summary_fact_find(raw(where), raw(fact))
        table = found >= 0 and lib.baro_summary_section(lib.baro_summary_section_find(raw(where))).contents.is_table
        if found >= 0 and not table and lib.baro_summary_fact(found).contents.type in numbers:
            return where, fact, 1
    return READABLE.get(name)


def from_text(text: str) -> str | list[str]:
    """ "all", or names that commas separate."""
    return text if text == "all" else [name.strip() for name in text.split(",") if name.strip()]


def wish_of(given: Wish) -> str | list[str] | None:
    """Checks what a user named. As JSON has it: None, "all", or a list."""
    if given is None:
        return None
    names = from_text(given) if isinstance(given, str) else [str(n) for n in given]
    for name in () if isinstance(names, str) else names:
        if name not in READABLE and _place(name) is None:
            there = ", ".join(READABLE)
            raise ArgumentError(
                f"summary: there is no fact {name!r}; there are {there}, and the numbers of `tape.summary` such as "
                '"rss_peak_bytes" or "limits.pids"'
            )
    return names


def facts_of(tape: Tape, wish: Any = None) -> Iterator[tuple[str, Any, float]]:
    """Names, values and their scale. What is absent is not among them."""
    summary = tape.summary
    if wish == "all":
        places = [("wall_ns", ("", "wall_ns", 1.0))] + [(name, ("job", name, 1.0)) for name, _ in summary.job]
    else:
        names = READABLE if wish is None else [n for n in wish if isinstance(n, str)]
        places = [(n, place) for n in names if (place := READABLE.get(n) or _place(n)) is not None]
    has_gpu = bool(summary["gpu"].get("used", 0))
    for name, (section, fact, scale) in places:
        value = summary[section].get(fact)
        if value is None or isinstance(value, (bool, Absent)) or not isinstance(value, (int, float)):
            continue
        if wish is not None or section != "gpu" or has_gpu:
            yield name, value, scale
