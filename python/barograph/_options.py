# SPDX-License-Identifier: Apache-2.0
"""The options of `baro record` and `baro run` for the arguments of record() and run()."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from .errors import ArgumentError

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any


def time_of(value: Any) -> str:
    """A text is itself; else seconds, or a timedelta."""
    if isinstance(value, str):
        return value
    try:
        return f"{round(float(value.total_seconds() if hasattr(value, 'total_seconds') else value) * 1e9)}ns"
    except (ValueError, TypeError, OverflowError):
        raise ArgumentError(f"{value!r} is no time") from None


def options_of(
    path: str | None,
    interval: str | float | timedelta,
    tasks: Mapping[str, str] | None,
    metrics: str | Iterable[str] | None,
    du: Iterable[str | os.PathLike[str]],
    keep: str | None,
    overhead: str | None,
    host: bool | str,
    gpu: bool | int | str | Iterable[int | str],
    cmdline: bool,
    force: bool,
    name: str | None,
    tags: Mapping[str, str] | None,
) -> list[str]:
    """Options that run() and record() share."""
    for key in tags or {}:
        if "=" in key:
            raise ArgumentError(f"{key!r} is no key of a tag: it has a '='")
    for task in tasks or {}:
        if "=" in task:
            raise ArgumentError(f"{task!r} is no name of a task: it has a '='")
    options = [] if path is None else ["-o", path]
    options += ["--interval", time_of(interval)]
    for folder in du:
        options += ["--du", os.fspath(folder)]
    if metrics is not None:
        options += ["--metrics", metrics if isinstance(metrics, str) else ",".join(metrics)]
    if keep is not None:
        options += ["--keep", keep]
    if overhead is not None:
        options += ["--overhead", overhead]
    for task, pattern in (tasks or {}).items():
        options += ["--task", f"{task}={pattern}"]
    options += [] if name is None else ["--name", name]
    for key, value in (tags or {}).items():
        options += ["--tag", f"{key}={value}"]
    options += [] if host else ["--no-host"]
    if gpu is not True:
        numbers = () if gpu is False else (gpu,) if isinstance(gpu, (int, str)) else gpu
        options += ["--gpu", ",".join(map(str, numbers)) or "off"]
    options += [] if cmdline else ["--no-cmdline"]
    return [*options, "--force"] if force else options
