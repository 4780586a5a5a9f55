# SPDX-License-Identifier: Apache-2.0
"""Workers as tasks by name: each with totals, a peak and a curve of their own in the recording.

    multiprocessing.Pool(4, initializer=named("loader"))
    concurrent.futures.ProcessPoolExecutor(4, initializer=named("fold"))
    joblib.Parallel(4, initializer=named("fold"))
    dask.distributed.Client().register_plugin(dask_plugin("dask"))
"""

from __future__ import annotations

import os
from typing import Any, Callable

from .._current import VARIABLES, task
from ._base import base_of


class named:
    """An initializer of workers: their processes are the task `name`. initializer: is called after that, with the
    arguments that the pool gives."""

    def __init__(self, name: str, initializer: Callable[..., Any] | None = None) -> None:
        self.name, self.initializer = name, initializer
        # For a worker whose environment is older than the recording: that of a fork server.
        self._recording = {name: os.environ[name] for name in VARIABLES if name in os.environ}

    def __call__(self, *arguments: Any) -> None:
        os.environ.update(self._recording)
        task(self.name)
        if self.initializer is not None:
            self.initializer(*arguments)


def dask_plugin(name: str) -> Any:
    """A plug-in for workers of Dask that run on this machine, below the recorded process."""
    base = base_of("distributed:WorkerPlugin")

    class Barograph(base):  # type: ignore[misc,valid-type]
        def setup(self, worker: Any) -> None:
            task(name)

        def __reduce__(self) -> Any:
            return dask_plugin, (name,)

    plugin = Barograph()
    plugin.name = f"barograph-{name}"
    return plugin
