# SPDX-License-Identifier: Apache-2.0
"""The header of a tape: whose recording it is, and where and when it began."""

from __future__ import annotations

from typing import Any

from ._lib import lib, text
from .values import instant


class Header:
    """What was known when the recording began."""

    def __init__(self, pointer: int) -> None:
        def of(name: str) -> Any:
            value = getattr(lib, f"baro_header_{name}")(pointer)
            return text(value) if isinstance(value, bytes) else value

        argv = lib.baro_header_argv(pointer)
        count = 0
        while argv[count] is not None:
            count += 1
        self.argv = [text(argv[i]) for i in range(count)]
        self.mode = "attach" if of("mode") else "run"
        self.name: str = of("name")
        self.cwd: str = of("cwd")
        self.uid: int = of("uid")
        self.targets = [int(lib.baro_header_target(pointer, i)) for i in range(of("target_count"))]
        self.cgroup_mode: str = of("cgroup_mode")
        self.version: str = of("version")
        self.interval_ns: int = of("interval_ns")
        self.overhead = of("overhead_ppm") / 1e6
        self.recorder_pid: int = of("recorder_pid")
        self.recorder_start_ticks: int = of("recorder_start_ticks")
        self.has_start: bool = of("has_start")
        self.segment: int = of("segment")
        self.event_source: str = of("event_source")
        self.exit_source: str = of("exit_source")
        self.start_ns: int = of("start_realtime_ns")
        self.start = instant(self.start_ns)
        self.start_monotonic_ns: int = of("start_monotonic_ns")
        self.boot_id: str = of("boot_id")
        self.clock_ticks: int = of("clock_ticks")
        self.host: str = of("host")
        self.kernel: str = of("kernel")
        self.machine: str = of("machine")
        self.cpu_model: str = of("cpu_model")
        self.cpus: int = of("cpus")
        self.memory_bytes: int = of("memory_bytes")
        self.job_id: str = of("job_id")
        self.step_id: str = of("step_id")
        self.rank: str = of("rank")

    def __repr__(self) -> str:
        what = " ".join(self.argv) or self.name or f"pid {', '.join(map(str, self.targets))}"
        return f"<Header of {what!r} on {self.host}, {self.start:%Y-%m-%d %H:%M:%S}Z>"
