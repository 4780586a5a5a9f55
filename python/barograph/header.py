# SPDX-License-Identifier: Apache-2.0
"""The header of a tape: whose recording it is, and where and when it began."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi
from ._lib import lib, text
from .values import instant


class Header:
    """What was known when the recording began. A text that is not known is "", a number is None."""

    def __init__(self, pointer: int) -> None:
        value = _abi.baro_value()

        def of(name: str, row: int = 0) -> Any:
            fact = lib.baro_header_fact_find(name.encode())
            of_type = lib.baro_header_fact(fact).contents.type
            if lib.baro_header_value(pointer, fact, row, ctypes.byref(value)) and of_type != _abi.BARO_FACT_TEXT:
                return None  # a number that is not known is no 0
            signed = of_type in (_abi.BARO_FACT_SIGNED, _abi.BARO_FACT_TIME)
            return text(value.text) if of_type == _abi.BARO_FACT_TEXT else value.i64 if signed else value.u64

        def all_of(name: str) -> list[Any]:
            return [of(name, i) for i in range(lib.baro_header_rows(pointer, lib.baro_header_fact_find(name.encode())))]

        self.argv: list[str] = all_of("argument")
        self.mode: str = of("mode")
        self.name: str = of("name")
        self.tags: dict[str, str] = dict(tag.partition("=")[::2] for tag in all_of("tag"))
        self.cwd: str = of("cwd")
        self.uid: int = of("uid")
        self.targets: list[int] = all_of("target")
        self.cgroup_mode: str = of("cgroup_mode")
        self.version: str = of("version")
        self.interval_ns: int = of("interval_ns")
        self.overhead = of("overhead_ppm") / 1e6
        self.recorder_pid: int | None = of("recorder_pid")
        self.recorder_start_ticks: int | None = of("recorder_start_ticks")
        self.has_start: bool = lib.baro_header_has_start(pointer)
        self.segment: int = of("segment")
        self.event_source: str = of("event_source")
        self.exit_source: str = of("exit_source")
        self.start_ns: int = of("start")
        self.start = instant(self.start_ns)
        self.start_monotonic_ns: int = of("start_monotonic_ns")
        self.boot_id: str = of("boot_id")
        self.clock_ticks: int | None = of("clock_ticks")
        self.host: str = of("host")
        self.kernel: str = of("kernel")
        self.machine: str = of("machine")
        self.cpu_model: str = of("cpu_model")
        self.cpus: int | None = of("cpus")
        self.memory_bytes: int | None = of("memory_bytes")
        self.job_id: str = of("job_id")
        self.step_id: str = of("step_id")
        self.rank: str = of("rank")

    def __repr__(self) -> str:
        what = " ".join(self.argv) or self.name or f"pid {', '.join(map(str, self.targets))}"
        return f"<Header of {what!r} on {self.host}, {self.start:%Y-%m-%d %H:%M:%S}Z>"
