# SPDX-License-Identifier: Apache-2.0
"""The size of the sandbox: by du, or as the Mesos agent has it."""

from __future__ import annotations

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

from .. import _base
from ... import _programs, _spawn
from .quantity import Amount, Time, seconds

log = logging.getLogger("barograph.compat.aurora")


class _Completed:
    """Set as soon as a program has ended, without a thread that waits for it."""

    def __init__(self, ended: Any = None) -> None:
        self._ended = ended

    def is_set(self) -> bool:
        return self._ended is not None and bool(self._ended())

    def wait(self, timeout: float | None = None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True


# The original's way: the blocks of files, as often as they have names, and no directories.
_DU_OF_ORIGINAL = """find "$1" -type f -printf '%b\\n' | awk '{ sum += $1 } END { printf "%.0f\\n", sum * 512 }'"""


class _Du:
    """One run of du(1): files with their blocks, each once, and directories."""

    def __init__(self, path: str) -> None:
        self.value: int | None = None
        argv = [_spawn.program("du") or "/usr/bin/du", "-s", "-B1", "--", path]
        if _base.as_original(None):
            argv = ["/bin/sh", "-c", _DU_OF_ORIGINAL, "sh", path]
        self._process = _programs.start(*argv)
        self.event = _Completed(lambda process=self._process: process.poll() is not None)
        _base.at_end(self, _programs.kill, self._process)

    def finished(self) -> bool:
        if self.value is None and self._process.poll() is not None:
            words = self._process.communicate()[0].split()
            self.value = int(words[0]) if words and words[0].isdigit() else 0
        return self.value is not None


class _Client(threading.Thread):
    """Asks a Mesos agent."""

    def __init__(self, path: str, settings: DiskCollectorSettings) -> None:
        super().__init__(daemon=True)
        self.value = MesosDiskCollector.DEFAULT_ERROR_VALUE
        self.event = threading.Event()
        self._path, self._settings = path, settings

    def run(self) -> None:
        try:
            found = [
                c for c in self._containers() if str(self._settings.executor_id_json_expression.search(c)) in self._path
            ]
            value = self._settings.disk_usage_json_expression.search(found[0]) if len(found) == 1 else None
            if value is None:
                log.warning(
                    "MesosDiskCollector: Didn't find disk usage stats for path %s in agent metrics.", self._path
                )
            else:
                self.value = value
        finally:
            self.event.set()

    def _containers(self) -> list[Any]:
        from urllib.request import urlopen

        try:
            with urlopen(
                self._settings.http_api_url, timeout=seconds(self._settings.disk_collection_timeout)
            ) as answer:
                found = json.load(answer)
        except (OSError, ValueError, RecursionError) as error:
            log.warning("MesosDiskCollector: Unexpected error talking to agent api: %s", error)
            return []
        return found if isinstance(found, list) else []

    def finished(self) -> bool:
        return self.event.is_set()


class AbstractDiskCollector(ABC):
    def __init__(self, root: str, settings: DiskCollectorSettings | None = None) -> None:
        self._root, self._settings = root, settings or DiskCollectorSettings()
        self._thread: Any = None
        self._value = 0
        self.lock = threading.RLock()

    @abstractmethod
    def _begin(self) -> Any: ...

    def sample(self) -> None:
        """Begins to measure, if it does not measure already."""
        with self.lock:
            if self._thread is None:
                self._thread = self._begin()

    @property
    def value(self) -> int:
        """Bytes; 0 before the first measurement has ended."""
        with self.lock:
            if self._thread is not None and self._thread.finished():
                self._value, self._thread = self._thread.value, None
            return self._value

    @property
    def completed_event(self) -> Any:
        """Is set once what is being measured is there."""
        with self.lock:
            return _Completed() if self._thread is None else self._thread.event


class DuDiskCollector(AbstractDiskCollector):
    """What a directory takes, by du(1)."""

    def _begin(self) -> _Du:
        return _Du(self._root)


DiskCollector = DuDiskCollector  # the name of older versions


class MesosDiskCollector(AbstractDiskCollector):
    """What the Mesos agent says of a directory; -1 if it says nothing."""

    DEFAULT_ERROR_VALUE = -1

    def _begin(self) -> _Client:
        client = _Client(self._root, self._settings)
        client.start()
        return client


class _Path:
    """A path of names with dots between; jmespath, where it is installed, knows more."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def search(self, value: Any) -> Any:
        for name in self.expression.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _compiled(expression: str) -> Any:
    try:
        return import_module("jmespath").compile(expression)
    except ImportError:
        return _Path(expression)


class DiskCollectorSettings:
    """How a Mesos agent is asked."""

    DEFAULT_AGENT_CONTAINERS_ENDPOINT = "http://localhost:5051/containers"
    DEFAULT_EXECUTOR_ID_PATH = "executor_id"
    DEFAULT_DISK_USAGE_PATH = "statistics.disk_used_bytes"
    DEFAULT_DISK_COLLECTION_TIMEOUT = Amount(5, Time.SECONDS)
    DISK_COLLECTION_INTERVAL = Amount(60, Time.SECONDS)

    def __init__(
        self,
        http_api_url: str = DEFAULT_AGENT_CONTAINERS_ENDPOINT,
        executor_id_json_path: str = DEFAULT_EXECUTOR_ID_PATH,
        disk_usage_json_path: str = DEFAULT_DISK_USAGE_PATH,
        disk_collection_timeout: Any = DEFAULT_DISK_COLLECTION_TIMEOUT,
        disk_collection_interval: Any = DISK_COLLECTION_INTERVAL,
    ) -> None:
        self.http_api_url = http_api_url
        self.executor_id_json_expression = _compiled(executor_id_json_path)
        self.disk_usage_json_expression = _compiled(disk_usage_json_path)
        self.disk_collection_timeout = disk_collection_timeout
        self.disk_collection_interval = disk_collection_interval


class DiskCollectorProvider:
    DEFAULT_DISK_COLLECTOR_CLASS = DuDiskCollector

    def __init__(
        self, enable_mesos_disk_collector: bool = False, settings: DiskCollectorSettings | None = None
    ) -> None:
        self.settings = settings or DiskCollectorSettings()
        self.disk_collector_class: type[AbstractDiskCollector] = self.DEFAULT_DISK_COLLECTOR_CLASS
        if enable_mesos_disk_collector:
            self.disk_collector_class = MesosDiskCollector

    def provides(self, sandbox: str) -> AbstractDiskCollector:
        return self.disk_collector_class(sandbox, settings=self.settings)
